"""The checker and the explorer agree: what is refuted can happen, what is accepted cannot go wrong.

The explorer follows every interleaving of a small case; the checker looks at one graph.  They share
the language alone.  `tests.agreement` has the statements.
"""

from collections import Counter

from hypothesis import assume, given, note, seed, settings
from hypothesis import strategies as st

from schedgen.machine import adversaries, execute, explore, replay, seeded
from schedgen.machine.explorer import DATA
from tests.agreement import ALL_KINDS, compare
from tests.mutations import MUTATIONS
from tests.small_cases import cases, edited_cases

GHOSTS = {"phase", "bytes", "count"}
"""Hazards that end a branch of the explorer and that the machine itself may not see."""

STATES = 20_000
EVERYTHING = 3_000

each = settings(max_examples=max(settings.default.max_examples // 3, 1))
some = settings(max_examples=2 * settings.default.max_examples)
few = settings(max_examples=max(settings.default.max_examples, 30))


def test_both_judges_name_what_happens():
    """Clean for one iff clean for the other; causes are reached, what is reached is named.

    As many cases of each operator, and of none; 1 % of all at most may need more states than there
    are.
    """
    ends = Counter()
    for number, first in enumerate((None, *MUTATIONS)):

        @each
        @given(edited_cases(first))
        def agree(case):
            found = compare(case.schedule, case.k_tiles, budget=STATES)
            note(str(found))
            ends["wrong" if found.claims else "right"] += 1
            ends["budget"] += not found.complete
            assert not found.unnamed
            assert not found.unreached or not found.complete

        if settings.default.derandomize:  # else all operators would meet the same cases
            agree = seed(number)(agree)
        agree()
    assert 100 * ends["budget"] <= ends["wrong"] + ends["right"]
    assert 4 * min(ends["wrong"], ends["right"]) > ends["wrong"] + ends["right"]


@some
@given(cases(), st.sampled_from([frozenset(), DATA, ALL_KINDS]))
def test_reduction_reaches_what_everything_reaches(case, past):
    schedule, k_tiles = case
    full = explore(schedule, k_tiles=k_tiles, budget=EVERYTHING, reduce=False, past=past)
    assume(full.complete)
    reduced = explore(schedule, k_tiles=k_tiles, budget=EVERYTHING, past=past)
    assert reduced.complete
    assert reduced.reached.keys() == full.reached.keys()
    assert reduced.states <= full.states
    for kind, trace in reduced.reached.items():
        assert len(trace.steps) >= len(full.reached[kind].steps)


@few
@given(cases())
def test_traces_replay_and_schedulers_find_nothing_else(case):
    schedule, k_tiles = case
    found = explore(schedule, k_tiles=k_tiles, budget=STATES)
    for kind, trace in found.reached.items():
        run = replay(schedule, k_tiles=k_tiles, steps=trace.steps)
        assert trace.hazard in run.hazards or kind in GHOSTS
    assume(found.complete and not found.reached.keys() & GHOSTS)
    for policy in [*adversaries(schedule), seeded(1), seeded(2)]:
        run = execute(
            schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
        )  # fmt: skip
        assert {hazard.kind for hazard in run.hazards} <= found.reached.keys(), str(policy)


@few
@given(cases())
def test_going_on_finds_more_but_only_after_something(case):
    """What is found past hazards of data contains what is found first, and nothing from nothing."""
    schedule, k_tiles = case
    first = explore(schedule, k_tiles=k_tiles, budget=STATES)
    further = explore(schedule, k_tiles=k_tiles, budget=STATES, past=DATA)
    assume(first.complete and further.complete)
    assert first.reached.keys() <= further.reached.keys()
    assert bool(first.reached) == bool(further.reached)
