"""What print, rich and a notebook show of a schedule and a verdict: never empty, always escaped."""

import io
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

import schedgen as sg
from schedgen.happens_before.judge import judge

EARLY = sg.load(Path(__file__).parents[1] / "known_bad" / "sg203_early_release.sched")
V5 = sg.load("hopper_matmul_v5")


class Reader(HTMLParser):
    """Text and tags; complains about tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(html):
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader.text


def rich_text(value):
    console = Console(file=io.StringIO(), width=200, no_color=True)
    console.print(value)
    return console.file.getvalue()


def test_schedule():
    assert str(V5) == sg.show(V5)
    page, told = V5._repr_html_(), rich_text(V5)
    assert read(page).startswith(sg.show(V5).rstrip())
    assert told.startswith(sg.show(V5).rstrip())
    assert "<svg" in page
    for shown in (page, told):
        assert "hopper_matmul_v5 with 4 stages at K = 6 tiles" in shown
        assert "tensor core" in shown


@pytest.mark.parametrize("schedule", [V5, EARLY], ids=lambda s: s.name)
def test_verdict(schedule):
    verdict = sg.check(schedule)
    text = str(verdict)
    assert text.startswith(f"{schedule.name}: {verdict.outcome}")
    for finding in verdict.findings:
        assert f"{finding.code} {finding.name}: {finding.message}" in text
    for shown in (read(verdict._repr_html_()), rich_text(verdict)):
        assert all(line in shown for line in text.splitlines())
    assert read(verdict._repr_html_()).endswith(sg.show(schedule).rstrip())
    drawn = schedule is EARLY
    assert ("<svg" in verdict._repr_html_()) == ("a witness of" in rich_text(verdict)) == drawn


def test_html_is_escaped():
    html = sg.check(EARLY)._repr_html_()
    assert "retire mma k=0 -&gt; release use 0" in html
    assert "<script" not in html


@cache
def values():
    """One of each kind of value that `sg` returns."""
    verdict, proved = sg.check(EARLY), sg.check(V5)
    return {
        "schedule": (V5, "role producer warp"),
        "verdict": (verdict, "SG203 overwrite-before-retire"),
        "finding": (verdict.findings[0], "SG203 overwrite-before-retire"),
        "proof": (proved.certificate, "K = 0..18 judged one by one"),
        "fix": (sg.suggest_fix(EARLY), "(fixed)"),
        "timeline": (sg.trace(V5, k_tiles=2), "consumer[1]"),
        "comparison": (sg.diff(sg.load("hopper_matmul_v4"), V5), "lag 0 -> 1"),
        "limits": (sg.limits(sg.load("hopper_matmul_v4")), "least stages"),
        "prediction": (sg.predict(V5, shape=(1024, 1024, 1024)), "limited by"),
        "run": (sg.run(V5, m=128, n=256, k=64, device="cpu"), "right, relative error"),
        "kernel": (sg.emit(V5), "class HopperMatmulV5"),
    }


KINDS = ["schedule", "verdict", "finding", "proof", "fix", "timeline", "comparison", "limits",
         "prediction", "run", "kernel"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_shows_itself_in_a_notebook(kind):
    from IPython.lib.pretty import pretty

    value, words = values()[kind]
    page = value._repr_html_()
    assert words in read(page)
    assert words in pretty(value)
    assert words in str(value)
    assert words in rich_text(value)
    assert not re.search(r"\b(src|href)=['\"]|@import|url\(", page)  # nothing from elsewhere
    assert "\n\n" not in page  # Markdown would end the block there
    assert len(page) < 64_000


def test_kernel_is_a_string_in_every_other_way():
    text = sg.emit(V5)
    assert isinstance(text, str)
    assert json.loads(json.dumps(text)) == text
    assert text == "".join(text.splitlines(keepends=True))


BROKEN = sorted((Path(__file__).parents[1] / "known_bad").glob("*.sched"))


def test_no_broken_schedule_keeps_a_notebook_from_showing_it():
    without = []
    for path in BROKEN:
        try:
            schedule = sg.load(path)
        except sg.IllFormed:
            continue
        page = schedule._repr_html_()
        assert sg.show(schedule).splitlines()[0] in read(page)
        if "<svg" not in page:
            without.append(path.stem)
            with pytest.raises(sg.IllFormed):  # it waits for ever, or counts to no end
                sg.trace(schedule, k_tiles=max(ring.stages for ring in schedule.rings) + 2)
    assert 0 < len(without) < len(BROKEN) // 3


def test_a_value_that_was_built_wrong_shows_its_words():
    wrong = replace(V5, roles=V5.roles[:1])
    assert "role producer warp" in read(wrong._repr_html_())
    assert "role producer warp" in rich_text(replace(V5, rings=()))


def test_result_of_passes_has_the_name_that_it_is_given():
    named = sg.apply(V5, "set-stages{n=3}", name="mine")
    assert str(named).startswith("schedule mine\n")
    assert sg.apply(V5, "set-stages{n=3}").name == V5.name
    assert named.roles == sg.apply(V5, "set-stages{n=3}").roles
    with pytest.raises(sg.IllFormed):
        sg.apply(V5, "set-stages{n=3}", name="no name")


def test_findings_have_what_one_looks_for():
    verdict = sg.check(EARLY)
    finding = verdict.findings[0]
    assert (finding.code, finding.k) == ("SG203", 4)
    assert [row.label for row in finding.rows] == ["ring", "write", "read"]
    assert finding.witness
    assert verdict.schedule == EARLY
    assert verdict.schedule.source == EARLY.source


def test_a_verdict_without_its_schedule():
    assert str(judge(V5, trips=range(2))) == "checked"
    assert "checked" in read(judge(V5, trips=range(2))._repr_html_())


def test_every_value_has_a_short_repr():
    text = sg.show(V5).replace("wait 1", "wait 2")
    verdict = sg.check(sg.parse(text))
    assert repr(V5) == "<Schedule hopper_matmul_v5: 2 roles, ring tma of 4 stages>"
    assert repr(verdict) == "<Verdict refuted: SG203 at K = 5>"
    assert repr(sg.check(V5)).startswith("<Verdict proved for every K >= 0 (")
    assert repr(verdict.findings[0]).startswith("<Finding") is False
    assert repr(verdict.findings[0]).startswith("<OverwriteBeforeRetire SG203 overwrite-")
    timeline = sg.trace(V5)
    assert repr(timeline).startswith("<Timeline hopper_matmul_v5 ")
    values = [V5, verdict, *verdict.findings, timeline, sg.diff(V5, EARLY), sg.limits(V5),
              sg.suggest_fix(EARLY), sg.predict(V5, shape=(8192, 8192, 8192))]  # fmt: skip
    for value in values:
        assert "\n" not in repr(value)
        assert len(repr(value)) <= 120


def test_what_is_printed_has_no_blanks_at_its_ends():
    for value in (sg.check(EARLY), sg.trace(V5), sg.diff(V5, EARLY)):
        assert str(value) == "\n".join(line.rstrip() for line in str(value).rstrip().split("\n"))


def test_dir_names_what_is_public_alone():
    names = [name for name in dir(sg) if not name.startswith("__")]
    assert names == sorted(sg.__all__)
