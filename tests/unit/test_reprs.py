"""What print, rich and a notebook show of a schedule and a verdict: never empty, always escaped."""

import io
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
    assert read(V5._repr_html_()) == sg.show(V5)
    assert rich_text(V5).rstrip() == sg.show(V5).rstrip()


@pytest.mark.parametrize("schedule", [V5, EARLY], ids=lambda s: s.name)
def test_verdict(schedule):
    verdict = sg.check(schedule)
    text = str(verdict)
    assert text.startswith(f"{schedule.name}: {verdict.outcome}")
    for finding in verdict.findings:
        assert f"{finding.code} {finding.name}: {finding.message}" in text
    for shown in (read(verdict._repr_html_()), rich_text(verdict)):
        assert all(line in shown for line in text.splitlines())
    assert read(verdict._repr_html_()).endswith(sg.show(schedule))


def test_html_is_escaped():
    html = sg.check(EARLY)._repr_html_()
    assert "release use 0 -&gt;" in html
    assert "<script" not in html


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
