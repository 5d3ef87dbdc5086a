"""Laws of every execution: one at a time at each engine, every op once, the graph respected."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgen as sg
from schedgen.happens_before.matching import Matching
from schedgen.happens_before.unroll import unroll
from schedgen.predict import Numbers, h200
from schedgen.predict.costs import RESOURCES, Costs
from schedgen.timeline import traced
from schedgen.timeline.execution import execute
from schedgen.timeline.trace import settled_tiles
from tests.strategies import serial_schedules, small_pipelines

GOOD = sorted((Path(__file__).parents[1] / "known_good").glob("*.sched"))

tables = st.builds(
    Numbers, load_latency=st.integers(0, 2000), load_rate=st.floats(1, 200),
    load_queue=st.integers(0, 100), wakeup=st.integers(0, 200), launch=st.just(0),
    store_rate=st.floats(1, 50), clock=st.just(1.5),
)  # fmt: skip


def lawful(schedule, k_tiles, numbers):
    """Assert the laws of one execution; its timeline."""
    made = traced(schedule, k_tiles, numbers)
    costs = Costs(schedule, numbers, queued=made.loads.queued)
    respects_the_graph(Matching(schedule, k_tiles), costs)
    for lane in made.lanes:
        if lane.serial:
            for before, after in pairwise(lane.bars):
                assert before.end <= after.begin, lane.name
        assert all(0 <= b.begin <= b.end <= made.end for b in lane.bars)
    every_op_once(schedule, k_tiles, made)
    assert all(0 <= u.share <= 1 for u in made.usages)
    assert all(u.settled is None or u.settled <= 1 for u in made.usages)
    return made


def respects_the_graph(run, costs):
    done = execute(run, costs)
    for v, before in enumerate(run.predecessors):
        for u in before:
            assert done.at[v] >= done.at[u] + costs.between(run, u, v)
    for node, cause in enumerate(done.cause):  # as soon as possible
        waited = run.events[node].kind in RESOURCES and node in done.behind
        due = done.busy[node] if waited else costs.between(run, cause, node) if cause >= 0 else 0
        assert done.at[node] == (done.at[cause] if cause >= 0 else 0) + due


def every_op_once(schedule, k_tiles, made):
    for role in schedule.roles:
        for replica in range(role.replica_count):
            program = unroll(schedule, role, replica, k_tiles, 100_000)
            wanted = [i.op.text for i in program if i.effects.cursor is None]
            lane = made.lane(role.label(replica))
            assert lane is not None
            assert [b.op for b in lane.bars] == wanted


FEW = settings(max_examples=12)
"""An execution of many turns is part of each example."""


@FEW
@given(small_pipelines(), st.integers(0, 9), tables)
def test_laws_on_small_pipelines(schedule, k_tiles, numbers):
    lawful(schedule, k_tiles, numbers)


@FEW
@given(serial_schedules, st.integers(0, 6))
def test_laws_on_serial_schedules(schedule, k_tiles):
    lawful(schedule, k_tiles, h200())


@pytest.mark.parametrize("file", GOOD, ids=lambda f: f.stem)
def test_laws_on_known_good_schedules(file):
    lawful(sg.load(file), 7, h200())


@FEW
@given(small_pipelines(), tables)
def test_the_cycle_is_as_fast_as_long_loops(schedule, numbers):
    """Over as many turns as the cycle has, a long execution takes what the cycle says; at most."""
    made = traced(schedule, 1, numbers)
    if made.cycle is None:
        return
    costs = Costs(schedule, numbers, queued=made.loads.queued)
    longest = settled_tiles(schedule, 1)
    turns = made.cycle.turns * 3

    def last(k_tiles):
        done = execute(Matching(schedule, k_tiles), costs)
        return max(at for at, e in zip(done.at, done.run.events, strict=True) if e.kind == "retire")

    slope = (last(longest) - last(longest - turns)) / turns
    assert slope == pytest.approx(float(made.cycle.per_turn), rel=0.02, abs=2)
