"""Times of `trace`: those of `predict`, loads that wait for each other, the order as measured."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.kernels import KERNELS
from schedgen.predict.costs import serialised_roles
from schedgen.predict.model import loop_of
from schedgen.timeline import gantt_text
from schedgen.timeline.loads import loads_of, queued_by_use
from schedgen.timeline.trace import settled_run
from tests.benchmarks import trace_page
from tests.benchmarks.ladder_run import ladder
from tests.command_line import schedgen

KNOWN_GOOD = Path(__file__).parents[1] / "known_good"
REFUSED = {("hopper_matmul_v2", 2), ("hopper_matmul_v6", 4), ("hopper_matmul_v5_own", 4)}
"""V2 fetches three uses ahead; of the others four stages are more than shared memory holds."""

LADDER = [(kernel, n) for kernel in KERNELS for n in (None, 2, 3, 4) if (kernel, n) not in REFUSED]
SHAPE = (8192, 8192, 8192)


@cache
def made(kernel, stages):
    schedule = sg.load(kernel)
    return schedule if stages is None else sg.apply(schedule, f"set-stages{{n={stages}}}")


@pytest.mark.parametrize(("kernel", "stages"), LADDER)
def test_trace_and_predict_say_the_same(kernel, stages):
    schedule = made(kernel, stages)
    timeline = sg.trace(schedule, k_tiles=6)
    prediction = sg.predict(schedule, shape=SHAPE)
    assert float(timeline.cycle.per_turn) == pytest.approx(prediction.cycles_per_step, abs=1e-6)
    assert timeline.loads.queued == prediction.loads_queued
    assert timeline.loads.ctas == prediction.occupancy.ctas
    assert timeline.loads.unfolded == ""


# --- loads that wait for each other
@pytest.mark.parametrize(("kernel", "stages"), [p for p in LADDER if p[1] in (None, 2)])
def test_the_use_of_an_execution_asks_for_what_predict_says(kernel, stages):
    schedule = made(kernel, stages)
    told = loads_of(schedule, settled_run(schedule, 6), sg.h200())
    by_use = queued_by_use(schedule, settled_run(schedule, 6), sg.h200(), told.ctas)
    assert by_use == told.queued == loop_of(schedule, sg.h200()).queued > 0


def asked(queued):
    """The wait by the use of TMA, by the formula of docs/predict.md, where loads wait so long."""
    numbers = sg.h200()
    later = replace(numbers, load_queue=0, load_latency=numbers.load_latency + queued)
    made = sg.trace(sg.load(KNOWN_GOOD / "drain_of_a_quarter.sched"), k_tiles=4, numbers=later)
    tma, tensor = (usage.settled * made.loads.ctas for usage in made.usages)
    use = tma / max(1, tma, tensor)
    return numbers.load_queue * use / (1 - use)


def test_where_nothing_folds_the_use_of_the_execution_decides():
    shown = schedgen("trace", KNOWN_GOOD / "drain_of_a_quarter.sched", "--k", 4, "--unsafe")
    assert shown.code == 0
    words = " ".join(shown.out.split())
    assert "cycles for others, by the use of TMA here: `schedgen predict` cannot say (" in words
    loads = sg.trace(sg.load(KNOWN_GOOD / "drain_of_a_quarter.sched"), k_tiles=4).loads
    assert loads.unfolded
    assert asked(loads.queued) < loads.queued
    assert asked(loads.queued - 1) >= loads.queued - 1


def test_a_longer_queue_makes_longer_waits():
    schedule = made("hopper_matmul_v4", 3)
    drawn = [
        sg.trace(schedule, k_tiles=1, numbers=replace(sg.h200(), load_queue=n)) for n in (0, 32, 64)
    ]
    waits = [made.loads.queued for made in drawn]
    assert waits[0] == 0
    assert waits == sorted(set(waits))
    assert drawn[0].cycle.per_turn == 1024 < drawn[1].cycle.per_turn  # three stages as four, else


def test_load_queue_of_a_file(tmp_path):
    file = tmp_path / "card.json"
    file.write_text(json.dumps({"numbers": {"load_queue": {"value": 0}}}))
    shown = schedgen("trace", "hopper_matmul_v4", "--latencies", file)
    assert "each waits 0 cycles for others" in shown.out
    assert shown.out != schedgen("trace", "hopper_matmul_v4").out


def test_cycles_of_loads_are_told_by_their_parts():
    timeline = sg.trace(made("hopper_matmul_v4", 3), k_tiles=6)
    load = next(hop for hop in timeline.cycle.hops if hop.latency)
    numbers, queued = sg.h200(), timeline.loads.queued
    assert (load.latency, load.queue) == (numbers.load_latency, queued)
    transfer = sum(ceil(2 * 64 * rows / numbers.load_rate) for rows in (64, 64, 256))
    told = f"= {numbers.load_latency} latency + {queued} queue + {transfer} transfer\n"
    assert told in gantt_text(timeline, width=80)


def test_waits_that_ptxas_adds_are_drawn_and_told():
    schedule = sg.apply(sg.load("hopper_matmul_v3"), "overlap-wgmma{in-flight=1}")
    assert serialised_roles(schedule) == ("consumer",)
    text = gantt_text(sg.trace(schedule, k_tiles=3), width=80)
    assert "ptxas lets consumer wait after each wgmma (C7520)" in text


# --- as measured
def test_order_of_stages_is_the_measured_one():
    """A tie is no order: 3 stages take V4 and V5 as long here, and 4 % apart on the card."""
    run = ladder()
    points = [
        (Fraction(trace_page.timeline(row).cycle.per_turn), run.cycles(row.label), row.label)
        for row in trace_page.ROWS
    ]
    for turn, cycles, label in points:
        for other, counted, than in points:
            assert not (turn < other and cycles > 1.005 * counted), (label, than)
    turns = {label: turn for turn, _, label in points}
    assert turns["V5"] == turns["V4, 4 stages"] < turns["V4"] == turns["V5, 3 stages"]
    assert turns["V5, 3 stages"] < turns["V4, 2 stages"] < turns["V5, 2 stages"]
    assert 1 - turns["V5"] / turns["V5, 2 stages"] == pytest.approx(
        1 - run.cycles("V5") / run.cycles("V5, 2 stages"), abs=0.05
    )
