"""Bugs that show only from some K on: no few explicit K can see them, and the proof must not miss.

A file of `known_bad` says its smallest K in its first line.  Those under `beyond` are clean for
all the K that the checker unrolls on its own; a verdict on them must not be `proved`.
"""

import re
import time
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.machine import explore

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
LATE = 6
FURTHER = 3
STATES = 20_000


def smallest_k(file):
    """Code and smallest K of the only finding that the first line names; None for several."""
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    found = re.fullmatch(r"# expect: (SG\d+) K=(\d+)", first)
    return None if found is None else (found[1], int(found[2]))


BEYOND = sorted((KNOWN_BAD / "beyond").glob("*.sched"))
FILES = [f for f in sorted(KNOWN_BAD.glob("*.sched")) if (smallest_k(f) or ("", 0))[1] >= LATE]
FILES += BEYOND
UNSEEN = {"SG209"}
"""Codes that no interleaving shows."""

TOO_MANY = {"sg301_one_sync_skipped"}
"""Schedules with too many interleavings to follow them all: two roles that hardly meet."""


def test_there_are_many():
    assert len(FILES) >= 35
    assert len(BEYOND) >= 15


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_clean_below_its_k_and_refused_from_there_on(file):
    code, k = smallest_k(file)
    schedule = sg.load(file)
    assert sg.check(schedule, (0, k - 1)).outcome is sg.Outcome.CHECKED
    for later in range(k, k + FURTHER):
        verdict = sg.check(schedule, later)
        assert verdict.outcome is sg.Outcome.REFUTED, later
        if later == k:
            assert {f.code for f in verdict.findings} == {code}


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in TOO_MANY], ids=lambda f: f.stem)
def test_the_explorer_reaches_it_at_that_k_and_not_before(file):
    code, k = smallest_k(file)
    schedule = sg.load(file)
    before = explore(schedule, k_tiles=k - 1, budget=STATES)
    there = explore(schedule, k_tiles=k, budget=STATES)
    assert before.is_clean
    assert bool(there.reached) != (code in UNSEEN)


@pytest.mark.parametrize("file", BEYOND, ids=lambda f: f.stem)
def test_what_lies_beyond_the_explicit_range_is_never_accepted(file):
    verdict = sg.check(sg.load(file))
    assert not verdict.ok
    assert verdict.outcome in (sg.Outcome.REFUTED, sg.Outcome.UNSUPPORTED)


# --- the same bug at another number of stages


def of_stages(name, stages, *edits):
    """A known-bad schedule with other stages, and perhaps other words."""
    text = (KNOWN_BAD / f"{name}.sched").read_text(encoding="utf-8")
    text, count = re.subn(r"^ring tma stages \d+", f"ring tma stages {stages}", text, flags=re.M)
    assert count == 1
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return sg.parse(text)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_second_loop_that_waits_for_less_is_clean_to_four_turns(stages):
    """A stage is released under its own mma from k = 3S on; the next to land there is tile 4S."""
    schedule = of_stages("sg203_second_loop_waits_for_less", stages)
    assert sg.check(schedule, (0, 4 * stages)).outcome is sg.Outcome.CHECKED
    (finding,) = sg.check(schedule).findings
    assert (finding.code, finding.k) == ("SG203", 4 * stages + 1)
    assert f"tile {4 * stages} may land in stage 0" in finding.message


@pytest.mark.parametrize("stages", [1, 2, 4, 8, 13])
def test_wait_two_shows_one_tile_after_the_stages(stages):
    """No constant says so but the stages."""
    schedule = of_stages("sg203_wait_two_in_a_deep_ring", stages)
    findings = sg.check(schedule).findings
    code = "SG203" if stages > 1 else "SG307"  # a lag of all stages hangs
    assert {(f.code, f.k) for f in findings} == {(code, stages + 1)}


@pytest.mark.parametrize("skipped", [3, 7, 16, 31])
@pytest.mark.parametrize("stages", [1, 3])
def test_one_wait_skipped_shows_where_its_stage_is_filled_again(skipped, stages):
    schedule = of_stages("sg203_one_wait_skipped", stages, ("k != 3*5", f"k != {skipped}"))
    findings = sg.check(schedule).findings
    assert {(f.code, f.k) for f in findings} == {("SG203", skipped + stages + 1)}


@pytest.mark.parametrize("frame", ["sg214_two_tiles_too_many", "sg310_peeled_step_without_guard"])
@pytest.mark.parametrize("more", [1, 2, 5])
def test_a_producer_of_too_many_tiles_is_refused(frame, more):
    text = (KNOWN_BAD / f"{frame}.sched").read_text(encoding="utf-8")
    text = re.sub(r"for k in 0\.\.K(?: \+ 2)? \{", f"for k in 0..K + {more} {{", text)
    assert sg.check(sg.parse(text)).outcome is sg.Outcome.REFUTED


# --- bad for some K and right for others, for ever

SPORADIC = {
    "2*k != K": (3, lambda k: k % 2 == 0 and k >= 8),
    "2*k != K + 9": (2, lambda k: k % 2 == 1 and k >= 15),
    "3*k != 2*K": (2, lambda k: k % 3 == 0 and k >= 9),
    "k + 2*tma.stages != K": (3, lambda k: k >= 6),
    "k != K / 3": (4, lambda k: k >= 7),
}
"""A guard of the wait, the stages, and the K that it makes bad."""


@pytest.mark.parametrize("guard", SPORADIC)
def test_a_wait_that_is_skipped_at_some_k(guard):
    stages, is_bad = SPORADIC[guard]
    schedule = of_stages("sg203_wait_skipped_in_the_middle", stages, ("k != K / 2", guard))
    refused = [k for k in range(40) if not sg.check(schedule, k).ok]
    assert refused == [k for k in range(40) if is_bad(k)]
    assert not sg.check(schedule).ok


# --- far away

FAR = {
    "K <= 1000": "unsupported", "k < 1000": "unsupported", "k + 1000 < K": "refuted",
    "K > 1000": "refuted",
}  # fmt: skip


@pytest.mark.parametrize("guard", FAR)
def test_a_guard_at_a_thousand_is_never_proved(guard):
    """Where the wait goes is beyond what is unrolled; said so, and in good time."""
    schedule = of_stages("sg203_wait_skipped_in_the_middle", 2, ("k != K / 2", guard))
    started = time.process_time()
    verdict = sg.check(schedule)
    assert verdict.outcome == FAR[guard]
    assert time.process_time() - started < 3  # some 0.8 s where nothing else runs


def test_a_lone_warp_that_waits_for_a_group_closes_no_cycle():
    """Once a traceback: everybody blocked, no root and no cycle of waits to name."""
    lone = sg.show(sg.load("hopper_matmul_v5")).replace("consumer[2] warpgroup", "consumer[2] warp")
    schedule = sg.parse(
        lone.replace("tma.B, 0", "tma.B, 0 lag 1").replace("B, k\n", "B, k lag 1\n", 2)
    )
    verdict = sg.check(schedule, k=2)
    assert {"SG502", "SG309"} <= {f.code for f in verdict.findings}
