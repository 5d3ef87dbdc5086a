"""`schedgen explain`: every page that a schedule can show has one, judged as it is read."""

import pytest

import schedgen as sg
from schedgen.diagnostics.catalog import CATALOG, page
from schedgen.explaining import example_of, explained
from tests.benchmarks.examples import EXAMPLES, example, known_bad

CODES = sorted(known_bad())


def test_every_code_with_a_known_bad_schedule_has_an_example():
    assert sorted(f.stem.upper() for f in EXAMPLES.glob("*")) == CODES


@pytest.mark.parametrize("code", CODES)
def test_an_example_is_a_known_bad_schedule(code):
    assert example_of(code) in [example(file) for file in known_bad()[code]]


@pytest.mark.parametrize("code", [c for c in CODES if c < "SG2"])
def test_a_text_that_is_refused_is_shown_with_what_is_said(code):
    text = explained(code)
    assert text.startswith(page(code))
    assert "A text that is refused\n" in text
    assert f"error[{code}]: " in text.splitlines()[-1]


@pytest.mark.parametrize("code", ["SG203", "SG208", "SG301", "SG302", "SG308", "SG501"])
def test_a_schedule_is_shown_with_its_finding_and_its_repair(code):
    text = explained(code)
    assert text.startswith(page(code))
    shown = text.split("A schedule that shows it, and its repair (proved for every K)\n")[1]
    body, _, said = shown.partition("What is said of it\n")
    assert said.startswith(f"    {code} {CATALOG[code].name}: ")
    lines = body.splitlines()[:-1]
    before = "\n".join(line[3:] for line in lines if line[2:3] != "+")
    after = "\n".join(line[3:] for line in lines if line[2:3] != "-")
    assert sg.check(sg.parse(before)).outcome is sg.Outcome.REFUTED
    assert sg.check(sg.parse(after)).outcome is sg.Outcome.PROVED


def test_where_nothing_is_found_it_says_so():
    text = explained("SG211")
    assert "A schedule that shows it (`check` finds no repair)\n" in text
    assert "What is said of it\n    SG211 " in text


def test_a_code_without_a_schedule_has_its_page():
    assert explained("SG504") == page("SG504")
    assert explained("SG999") is None


@pytest.mark.parametrize("code", [c for c in CATALOG if c[2] == "3" or c in ("SG203", "SG206")])
def test_what_can_happen_is_drawn(code):
    """Its witness as a timeline; of what is computed there is none."""
    page = explained(code)
    assert page is not None
    assert "What happens: its witness" in page
    drawn = page.partition("What happens")[2]
    assert f"refused    {code}" in drawn
    assert max(map(len, drawn.splitlines())) <= 80
