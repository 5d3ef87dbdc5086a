"""The checker and the explorer agree: what is refuted can happen, what is accepted cannot go wrong.

The explorer follows every interleaving of a small case; the checker looks at one graph.  They share
the language alone.
"""

from pathlib import Path

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import schedgen as sg
from schedgen.machine import adversaries, execute, explore, replay, seeded
from tests.strategies import mutants, small_pipelines, trip_counts

GOOD = Path(__file__).parents[1] / "known_good"
SAMPLES = [
    sg.load(GOOD / f"{name}.sched")
    for name in (
        "b29_one_arrival_by_each_warp_group", "plain_barrier_handover",
        "read_and_proxy_fenced_slot_reuse", "staged_buffer_used_again", "staged_epilogue",
        "staged_in_parts", "staged_in_the_ring", "staged_in_turns", "v5_two_stages",
    )
]  # fmt: skip
"""What the generated pipelines lack: plain and named barriers, ordinary stores, TMA stores,
buffers of parts and in a ring."""

RESULTS = {"SG209", "SG211", "SG215", "SG216", "SG501", "SG502", "SG503"}
"""Codes of what is computed and of limits: no interleaving shows them."""

GHOSTS = {"phase", "bytes"}
"""Hazards that end a branch of the explorer and that the machine itself does not see."""

STATES = 6_000
EVERYTHING = 3_000

some = settings(max_examples=3 * settings.default.max_examples)
few = settings(max_examples=max(settings.default.max_examples, 30))


@st.composite
def cases(draw):
    """A schedule with up to two edits, as its text says it, and a K."""
    schedule = draw(st.one_of(small_pipelines(), small_pipelines(), st.sampled_from(SAMPLES)))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        schedule = draw(mutants(schedule))
    k_tiles = draw(trip_counts(schedule))
    text = sg.show(schedule)
    note(f"{text}# K = {k_tiles}")
    try:
        return sg.parse(text, name="generated.sched"), k_tiles
    except sg.IllFormed:  # a mutant whose loop is gone and its variable still used
        assume(False)


@some
@given(cases())
def test_clean_for_one_is_clean_for_the_other(case):
    schedule, k_tiles = case
    codes = {f.code for f in sg.check(schedule, k_tiles).findings} - RESULTS
    found = explore(schedule, k_tiles=k_tiles, budget=STATES)
    note(f"checker {sorted(codes)}, explorer {sorted(found.reached)} in {found.states} states")
    assert codes or not found.reached
    assume(found.complete)
    assert bool(codes) == bool(found.reached)


@few
@given(cases())
def test_reduction_reaches_what_everything_reaches(case):
    schedule, k_tiles = case
    full = explore(schedule, k_tiles=k_tiles, budget=EVERYTHING, reduce=False)
    assume(full.complete)
    reduced = explore(schedule, k_tiles=k_tiles, budget=EVERYTHING)
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
