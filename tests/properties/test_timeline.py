"""Laws of every execution: one at a time at each engine, every op once, the graph respected."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgen as sg
from schedgen.happens_before.matching import Matching
from schedgen.happens_before.unroll import unroll
from schedgen.kernels import KERNELS
from schedgen.predict import Numbers, h200
from schedgen.predict.costs import RESOURCES, Costs
from schedgen.timeline import gantt_text, traced
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


# --- the text: what it shows is so, and nothing in it is lost
def drawn_rows(text, made):
    """The rows of a text by their names, from when on, cycles a column."""
    scale = int(re.search(r"a column is\s+([\d,]+)\s+cycles", text)[1].replace(",", ""))
    part = re.search(r"^drawn +cycles ([\d,]+) to ([\d,]+)", text, re.MULTILINE)
    first, stop = (int(n.replace(",", "")) for n in part.groups()) if part else (0, made.shown)
    names = {lane.name for lane in made.lanes}
    lines = [line for line in text.splitlines() if line.split("  ")[0].rstrip() in names]
    width = max(len(name) for name in names) + 2
    return {line[:width].strip(): line[width:] for line in lines}, first, stop, scale


def engine_signs(lane):
    """(begin, end, letter) of what is drawn: bars without a gap that look the same are one."""
    made = []
    for bar in lane.bars:
        small = lane.name == "tensor core" and bar.replica % 2
        letter = (bar.letter.lower() if small else bar.letter) or "#"
        if made and made[-1][1:] == (bar.begin, letter):
            made[-1] = (made[-1][0], bar.end, letter)
        else:
            made.append((bar.begin, bar.end, letter))
    return made


def role_signs(lane):
    made, last = [], None
    for bar in lane.bars:
        if bar.op.startswith("release"):
            made.append((bar.begin, "^"))
        elif bar.op.startswith(("load ", "mma ")):
            if (bar.letter, bar.tile) != last:
                made.append((bar.begin, bar.letter or "*"))
            last = bar.letter, bar.tile
    return made


def truthful(made, width):
    """Assert that a text shows only what is so, and all that lies in its part."""
    rows, first, stop, scale = drawn_rows(gantt_text(made, width=width), made)
    for lane in made.lanes:
        row = rows.get(lane.name, "")
        if lane.serial:
            engine_is_so(engine_signs(lane), row, first, stop, scale)
        else:
            role_is_so(role_signs(lane), row, first, stop, scale)


def engine_is_so(signs, row, first, stop, scale):
    count = -(-(stop - first) // scale)
    seen = {n: set() for n in range(count)}
    for number, (begin, end, letter) in enumerate(signs):
        low = max((begin - first) // scale, 0)
        high = min(max(-(-(end - first) // scale), low + 1), count)
        for column in range(low, high):
            seen[column].add((number, letter))
        if first <= begin and end <= stop:
            low = min(low, count - 1)
            assert set(row[low : max(high, low + 1)]) & {letter, "+"}, (begin, letter, row)
    for column, sign in enumerate(row):
        if sign == "+":
            assert len(seen[column]) > 1
        elif sign not in " _":
            assert sign in {letter for _, letter in seen[column]}, (column, row)


def role_is_so(signs, row, first, stop, scale):
    inside = [((begin - first) // scale, sign) for begin, sign in signs if first <= begin < stop]
    for column, sign in inside:
        at = row.ljust(column + 2)
        assert at[column] in (sign, "+") or at[column + 1] in (sign, "+"), (column, sign, row)
    for column, sign in enumerate(row):
        near = [s for at, s in inside if at in (column, column - 1)]
        if sign == "+":
            assert len(near) > 1
        elif sign not in " .-#":
            assert sign in near, (column, row)


WIDTHS = st.sampled_from([40, 63, 80, 120])


@FEW
@given(small_pipelines(), st.integers(0, 24), WIDTHS, tables)
def test_text_of_small_pipelines_is_so(schedule, k_tiles, width, numbers):
    truthful(traced(schedule, k_tiles, numbers), width)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("k_tiles", [6, 40])
def test_text_of_the_ladder_is_so(name, k_tiles):
    made = sg.trace(sg.load(name), k_tiles=k_tiles)
    for width in (40, 80, 133):
        truthful(made, width)
        truthful(made.between(made.shown // 2, made.shown), width)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_stages_of_a_long_loop_are_used_in_turn(stages):
    made = sg.trace(sg.apply(sg.load("hopper_matmul_v5"), f"set-stages{{n={stages}}}"), k_tiles=200)
    rows, *_ = drawn_rows(gantt_text(made, width=80), made)
    for name in ("TMA loads", "consumer[0]"):
        letters = re.sub(r"[^A-Z]", "", re.sub(r"(.)\1+", r"\1", rows[name]))
        assert letters == ("ABCD"[:stages] * 50)[: len(letters)]
        assert len(letters) >= 8
