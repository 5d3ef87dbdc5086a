"""Real bugs are refused with the right code at the right K; repairs and false alarms are accepted.

The first line of a form is what it deserves: ``# expect: SG203 K=3`` (all codes, each at its
smallest K, over every K) or ``# expect: clean``.  ``# clean at: K=0, K=4`` names K at which a bad
form goes right, as its report says.
"""

import re

import pytest

import schedgen as sg
from schedgen.machine import adversaries, execute, explore, seeded
from tests.real_bugs.cases import CASES, DISAGREES, HERE, KINDS, header

FILES = sorted(HERE.glob("*.sched"))
BAD = [f for f in FILES if header(f)["expect"] != "clean"]
GOOD = [f for f in FILES if header(f)["expect"] == "clean"]

STATIC = {"SG105", "SG501"}
"""Codes that no execution shows."""

STATES = 3_000
"""States that the explorer may visit at one K."""


def params(files):
    """The forms, those that are judged otherwise marked as failing (xfail is strict here)."""
    reasons = {file: DISAGREES.get(file.stem) for file in files}
    marks = {f: [pytest.mark.xfail(reason=why)] if why else [] for f, why in reasons.items()}
    return [pytest.param(file, id=file.stem, marks=marks[file]) for file in files]


def expected(file):
    return set(header(file)["expect"].split(", "))


def judged(file):
    """The codes that the checker gives, each at its smallest K, and what it says."""
    try:
        findings = sg.check(sg.load(file)).findings
    except sg.IllFormed as error:
        return {error.code}, str(error)
    codes = {f.code if f.k is None else f"{f.code} K={f.k}" for f in findings}
    return codes, "\n".join(f"{f.code} {f.message}" for f in findings)


@pytest.mark.parametrize("file", params(BAD))
def test_bad_form_is_refused_with_exactly_these_codes(file):
    codes, text = judged(file)
    assert codes == expected(file), text


@pytest.mark.parametrize("file", params(GOOD))
def test_good_form_is_accepted(file):
    verdict = sg.check(sg.load(file))
    assert [f"{f.code} K={f.k} {f.message}" for f in verdict.findings] == []
    assert verdict.outcome == "proved", verdict.reason


@pytest.mark.parametrize(
    "file", [f for f in FILES if "clean at" in header(f)], ids=lambda f: f.stem
)
def test_bad_form_is_right_at_these_k(file):
    schedule = sg.load(file)
    for k_tiles in map(int, re.findall(r"K=(\d+)", header(file)["clean at"])):
        assert sg.check(schedule, k_tiles).ok, k_tiles
        assert not hazards(schedule, k_tiles), k_tiles


@pytest.mark.parametrize(
    "file", [f for f in BAD if not expected(f) & STATIC], ids=lambda f: f.stem
)  # fmt: skip
def test_bad_form_goes_wrong_in_the_machine(file):
    """At each K that it names, under an adversary or in some interleaving."""
    schedule = sg.load(file)
    for k_tiles in sorted(map(int, re.findall(r"K=(\d+)", header(file)["expect"]))):
        assert hazards(schedule, k_tiles), k_tiles


@pytest.mark.parametrize("file", params(GOOD))
def test_good_form_goes_right_in_the_machine(file):
    schedule = sg.load(file)
    for k_tiles in range(max((ring.stages for ring in schedule.rings), default=1) + 2):
        assert not hazards(schedule, k_tiles), k_tiles


def hazards(schedule, k_tiles):
    """What the machine and the explorer see go wrong at one K."""
    seen = set(explore(schedule, k_tiles=k_tiles, budget=STATES).reached)
    for policy in [*adversaries(schedule), seeded(0), seeded(1)]:
        run = execute(schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True)
        seen |= {hazard.kind for hazard in run.hazards}
    return seen


def test_every_case_is_in_or_says_why_not():
    assert [case.id for case in CASES if case.status == "in" and not case.files] == []
    assert [case.id for case in CASES if case.status == "out" and case.files] == []
    assert [case.id for case in CASES if case.status != "in" and not case.remark] == []
    assert len(CASES) == 38


def test_every_form_belongs_to_a_case_and_names_its_source():
    known = {case.id.lower() for case in CASES}
    for file in FILES:
        told = header(file)
        assert file.stem.partition("_")[0] in known
        assert told["about"].startswith(f"{file.stem[:3].upper()}: ")
        assert told["source"].startswith("https://github.com/")
        assert ("_good_" in file.stem) == (told["expect"] == "clean"), file.name


def test_cases_that_are_in_have_a_bad_and_a_good_form():
    for case in (case for case in CASES if case.status == "in"):
        kinds = {"_good_" in file.stem for file in case.files}
        assert kinds == {True, False} or case.id in ("B18", "B22"), case.id  # they share B17's


def test_codes_are_of_the_kind_that_the_report_tells():
    for case in CASES:
        kinds = [KINDS[kind] for kind in case.kinds.split(", ")]
        for file in case.files:
            codes = {code.partition(" ")[0] for code in expected(file)} - {"clean"}
            assert not codes or codes & {code for kind in kinds for code in kind}, file.stem
