"""`schedgen explain`: every code has a picture and a fix, both executed as the page is made."""

import dataclasses
import functools
import re
import shlex

import pytest

import schedgen as sg
from schedgen.diagnostics.catalog import CATALOG, HEADINGS, page
from schedgen.diagnostics.refused import place_of, refused_text
from schedgen.explaining import drawn, example_of, explained, explanation
from schedgen.explaining.commands import FILE, STOPPED, command_sections
from schedgen.explaining.own_pass import OWN_PASSES, RIGHT, own_pass_sections
from schedgen.explaining.parts import difference, section_text
from schedgen.explaining.repairs import REPAIRS, edited
from schedgen.explaining.schedules import schedule_sections
from schedgen.fixes import SMALL, Fix, search
from schedgen.happens_before.limits import SHARED_BYTES, limit_findings, shared_bytes
from schedgen.ir.printer import to_text
from tests.benchmarks.examples import EXAMPLES, example, known_bad
from tests.command_line import schedgen

CODES = sorted(known_bad())
JUDGED = [code for code in CODES if code >= "SG2"]
parts_of = functools.cache(explanation)


def sections(code, part):
    return [section for section in parts_of(code).sections if section.part == part]


# --- Every code


@pytest.mark.parametrize("code", CATALOG)
def test_every_code_has_a_picture(code):
    assert sections(code, "picture")
    for section in parts_of(code).sections:
        assert section.text.strip()
        assert section.heading
        assert "None" not in section_text(section)


@pytest.mark.parametrize("code", CATALOG)
def test_every_code_has_a_fix_that_works(code):
    fixes = sections(code, "fix")
    assert [section.works for section in fixes] == [True]
    claim = re.search(r"\((.*)\)$", fixes[0].heading)[1]
    assert claim.endswith("checked" if code == "SG116" else "proved for every K")


@pytest.mark.parametrize("code", CATALOG)
def test_the_refusal_is_said_under_its_code(code):
    said = "\n".join(section.text for section in parts_of(code).sections)
    assert re.search(rf"^(error\[{code}\]|{code} {CATALOG[code].name}): \S", said, re.MULTILINE)


@pytest.mark.parametrize("code", CATALOG)
def test_the_text_is_the_page_of_the_catalog_and_the_parts(code):
    parts, text = parts_of(code), explained(code)
    assert (parts.code, parts.slug) == (code, CATALOG[code].name)
    assert text == page(code) + "".join(map(section_text, parts.sections))
    for heading, written in zip(HEADINGS, (parts.means, parts.why, parts.example, parts.fix),
                                strict=True):  # fmt: skip
        assert f"{heading}\n    {written.splitlines()[0]}\n" in text


def test_what_has_no_example_has_no_sections():
    """So a code that is added without one fails the tests above."""
    assert list(command_sections("SG999")) == []
    assert (explanation("SG999"), explained("SG999")) == (None, None)


def test_parts_are_a_frozen_value():
    assert explanation("sg203") == explanation("SG203")
    with pytest.raises(dataclasses.FrozenInstanceError):
        explanation("SG203").code = "SG204"


# --- Schedules


def test_every_code_with_a_known_bad_schedule_has_an_example():
    assert sorted(f.stem.upper() for f in EXAMPLES.glob("*")) == CODES


@pytest.mark.parametrize("code", CODES)
def test_an_example_is_a_known_bad_schedule(code):
    assert example_of(code) in [example(file) for file in known_bad()[code]]


@pytest.mark.parametrize("code", [code for code in CODES if code < "SG2"])
def test_of_a_text_that_is_refused_the_place_is_shown(code):
    said = parts_of(code).sections[0].text.splitlines()
    with pytest.raises(sg.IllFormed) as refused:
        sg.parse(example_of(code), name=f"{code.lower()}.sched")
    place = place_of(refused.value)
    assert said == refused_text(refused.value.within(example_of(code).splitlines())).splitlines()
    line = example_of(code).splitlines()[place.line - 1]
    assert f"{place.line:>8} | {line}" in said
    mark = said[said.index(f"{place.line:>8} | {line}") + 1]
    assert mark.index("^") >= len("         | ") + place.column - 1
    assert len(parts_of(code).sections[1].text.splitlines()) < 20


@pytest.mark.parametrize("code", JUDGED)
def test_a_schedule_is_shown_with_its_finding_and_its_repair(code):
    fix, said = parts_of(code).sections[:2]
    assert f"{code} {CATALOG[code].name}: " in said.text
    lines = fix.text.splitlines()
    before = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    after = "\n".join(line[1:] for line in lines if not line.startswith("-"))
    assert f"{before}\n" == example_of(code)
    assert sg.check(sg.parse(before)).outcome is sg.Outcome.REFUTED
    assert sg.check(sg.parse(after)).outcome is sg.Outcome.PROVED


@pytest.mark.parametrize("code", REPAIRS)
def test_every_edit_of_a_repair_by_hand_does_something(code):
    for old, new in REPAIRS[code]:
        assert old in example_of(code)
        assert old != new
    assert sg.check(sg.parse(edited(example_of(code), REPAIRS[code]))).outcome is sg.Outcome.PROVED


@pytest.mark.parametrize("code", [code for code in JUDGED if code in REPAIRS])
def test_no_repair_is_written_where_one_is_found(code):
    schedule = sg.parse(example_of(code))
    assert not isinstance(search(schedule, sg.check(schedule), SMALL), Fix)


def test_a_repair_that_is_none_is_not_called_one(monkeypatch):
    monkeypatch.setitem(REPAIRS, "SG503", (("stages 2", "stages 1"),))
    monkeypatch.setitem(REPAIRS, "SG101", (("    wait\n", "    wait 1 2\n"),))
    monkeypatch.delitem(REPAIRS, "SG310")
    bad = {code: list(schedule_sections(code, example_of(code)))
           for code in ("SG101", "SG310", "SG503")}  # fmt: skip
    assert bad["SG503"][0].heading.endswith("(refuted)")
    assert bad["SG101"][1].heading.endswith("(refused, SG101)")
    assert bad["SG310"][0].heading.endswith("(`check` finds no repair)")
    assert not any(s.works for found in bad.values() for s in found)


# --- Pictures


@pytest.mark.parametrize("code", [c for c in JUDGED if c < "SG5" and c not in drawn.DRAWINGS])
def test_what_can_happen_is_drawn(code):
    """Its witness as a timeline; what no execution shows has another picture."""
    picture = sections(code, "picture")[0]
    if code == "SG216":
        assert "^^^^^^ buffer" in picture.text
        return
    assert picture.kind == "timeline"
    assert f"refused    {code}" in picture.text
    assert max(map(len, section_text(picture).splitlines())) <= 80


def test_shared_memory_is_summed_up():
    picture = sections("SG501", "picture")[0].text
    schedule = sg.parse(example_of("SG501"))
    *parts, last, limit = picture.splitlines()
    assert len(parts) == 5
    assert last.endswith(f"{shared_bytes(schedule):,}")
    assert limit.split()[2:4] == [f"{SHARED_BYTES:,}", f"{shared_bytes(schedule) - SHARED_BYTES:,}"]
    columns = {line.index("|") for line in picture.splitlines()}
    assert len(columns) == 1, "the limit is one column"
    assert [line.rstrip().split("|")[1].startswith("#") for line in parts] == [False] * 4 + [True]


def test_registers_are_those_of_the_finding():
    schedule = sg.parse(example_of("SG503"))
    finding = sg.check(schedule).findings[0]
    picture = sections("SG503", "picture")[0].text
    needed = finding.accumulators + finding.others
    assert f"{needed:,}\n" in picture
    assert picture.endswith(f"{needed - finding.limit} too many")


@pytest.mark.parametrize("text", [
    *(example(file) for file in known_bad()["SG502"]), to_text(sg.load("hopper_matmul_v5")),
])  # fmt: skip
def test_a_number_is_marked_where_it_does_not_fit(text):
    schedule = sg.parse(text)
    lines = list(drawn.encodings(schedule, sg_finding()))
    assert any("does not fit" in line for line in lines) == any(limit_findings(schedule))


def test_sums_stores_and_operands_name_who_is_wrong():
    assert sections("SG209", "picture")[0].text.splitlines()[1:] == [
        "acc of consumer[0]    2!  2!  2!", "acc of consumer[1]    2!  2!  2!",
    ]  # fmt: skip
    assert "| 2 times: consumer[1], consumer[1] |" in sections("SG215", "picture")[0].text
    wrong = [line for line in sections("SG211", "picture")[0].text.splitlines() if "<-" in line]
    assert [line.split("|")[2] for line in wrong] == ["  0..64  <- not those of c"]


@pytest.mark.parametrize("name", ["hopper_matmul_v5", "hopper_matmul_v6"])
def test_nothing_is_marked_in_a_schedule_that_is_right(name):
    schedule = sg.load(name)
    drawings = [draw for _, draw in drawn.DRAWINGS.values()]
    text = "\n".join(line for draw in drawings for line in draw(schedule, sg_finding()))
    assert not re.search(r"<-|!|too many|[02-9] times", text)
    assert "fits" in text


def sg_finding():
    """Any finding; drawings ask it for its K alone."""
    return sg.check(sg.parse(example_of("SG209"))).findings[0]


# --- Commands


def typed(section):
    """The command line of a section and what is said, without the marks under the former."""
    lines = section.text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("$ "))
    marks = [n for n in range(at + 1, len(lines)) if not lines[n].strip(" ^")]
    return lines[at][2:], lines[max([at, *marks]) + 1 :], lines[at : max([at, *marks]) + 1]


COMMANDS = sorted(set(CATALOG) - set(CODES) - set(OWN_PASSES))


@pytest.mark.parametrize("code", COMMANDS)
def test_the_command_line_says_the_same(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused, works = parts_of(code).sections
    command, said, marked = typed(refused)
    if FILE in command:
        given = STOPPED[code].given if code in STOPPED else None
        text = to_text(sg.load("hopper_matmul_v5")).replace("warp {\n", "warp {\n  set tma = 0\n")
        (tmp_path / FILE).write_text(to_text(given.schedule()) if given else text)
    result = schedgen(*shlex.split(command)[1:])
    assert result.code in (1, 2, 3)
    assert result.out == ""
    said = [line for line in said if not line.endswith(" has")]
    without_excerpt = [line for line in said if not re.match(r"\s*\d* \|", line)]
    assert result.err.splitlines() in (said, without_excerpt)
    assert set(marked[1]) == {" ", "^"}
    command, said, _ = typed(works)
    result = schedgen(*shlex.split(command)[1:])
    assert result.code == 0
    assert said[0] in (*result.out.splitlines(), *result.err.splitlines())


@pytest.mark.parametrize("code", COMMANDS)
def test_what_is_refused_is_underlined(code):
    command, mark = typed(parts_of(code).sections[0])[2][:2]
    what = command[mark.index("^") : mark.rindex("^") + 1]
    wanted = {"SG115": "hopper_matmul_v55", "SG116": "5..2", "SG504": FILE}
    last = STOPPED[code].pipeline.split("},")[-1] if code in STOPPED else None
    assert what == wanted.get(code, last)


@pytest.mark.parametrize("code", OWN_PASSES)
def test_a_pass_is_broken_as_it_is_shown(code):
    fix, said = own_pass_sections(code)
    before = [line[1:] for line in fix.text.splitlines() if not line.startswith("+")]
    after = [line[1:] for line in fix.text.splitlines() if not line.startswith("-")]
    assert "\n".join(after) + "\n" == RIGHT
    assert before != after
    assert "            ^^^^^^^^^^" in said.text
    assert ("smallest K = 1 tile (k = 64)" in said.text) == (code == "SG901")


def test_hunks_of_a_difference_are_set_apart():
    before = "".join(f"{n}\n" for n in range(20))
    after = before.replace("3\n", "three\n", 1).replace("15\n", "fifteen\n")
    assert difference(before, after, context=1).splitlines() == [
        " 2", "-3", "+three", " 4", " ...", " 14", "-15", "+fifteen", " 16",
    ]  # fmt: skip
