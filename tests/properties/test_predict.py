"""The settled time of a turn, by the circle of the folded graph and by laying events out in time.

The two share the costs of single events and nothing else: one looks for the greatest ratio of
cycles to turns, the other runs every event of long loops as soon as it can.
"""

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import assume, event, example, given
from hypothesis import strategies as st

import schedgen as sg
from schedgen.happens_before.proof.text import Obstacle
from schedgen.predict import Numbers, h200
from schedgen.predict.costs import Costs
from schedgen.predict.model import loop_of
from schedgen.predict.ratio import Delay, greatest_ratio
from schedgen.predict.timeline import Timeline

PIPELINES = [
    ("v1", ""), ("v1", "multi-buffer{n=2}"), ("v2", ""), ("v3", "set-stages{n=1}"), ("v3", ""),
    ("v3", "set-stages{n=2}"), ("v3", "overlap-wgmma{in-flight=1}"), ("v4", "set-stages{n=2}"),
    ("v4", ""), ("v5", "set-stages{n=2}"), ("v5", "set-stages{n=3}"), ("v5", ""),
    ("v4", "set-stages{n=4},overlap-wgmma{in-flight=2}"), ("v5_own", ""), ("v4_ring", ""),
    ("v3", "set-tile{m=64,n=128},set-stages{n=4},overlap-wgmma{in-flight=3}"),
]  # fmt: skip

NUMBERS = st.builds(
    Numbers,
    load_rate=st.sampled_from([16.0, 32.0, 64.0, 128.0]),
    load_latency=st.integers(0, 20).map(lambda n: 100 * n),
    load_queue=st.just(0),
    wakeup=st.sampled_from([0, 40, 200]), launch=st.just(0),
    store_rate=st.sampled_from([1.0, 8.0]), clock=st.just(1.0),
)  # fmt: skip

LAPS = 60
"""Turns after which every circle of these loops is where it began (a multiple of 1 to 6)."""


def made(pipeline):
    kernel, passes = pipeline
    schedule = sg.load(f"hopper_matmul_{kernel}")
    return sg.apply(schedule, passes) if passes else schedule


def exit_at(schedule, costs, k_tiles):
    return Timeline(schedule, k_tiles).ends(costs).exit


@given(st.sampled_from(PIPELINES), NUMBERS, st.sampled_from([0, 300]))
def test_ratio_is_the_slope_of_long_loops(pipeline, numbers, queued):
    schedule = made(pipeline)
    costs = Costs(schedule, numbers, queued=queued)
    timeline = Timeline(schedule, 24)
    ratio = greatest_ratio(timeline.folded(0, costs)).ratio
    event("a whole number" if ratio.denominator == 1 else "a fraction")
    for first in (20, 80, 160):  # until the longest beginning is over
        slope = Fraction(
            exit_at(schedule, costs, first + LAPS) - exit_at(schedule, costs, first), LAPS
        )
        assert slope <= ratio
        if slope == ratio:
            event(f"settled at {first}")
            return
    pytest.fail(f"the slope is {slope}, the ratio {ratio}")


DELAYS = st.lists(
    st.builds(
        Delay, st.integers(0, 5), st.integers(0, 5), st.integers(0, 9), st.integers(-1, 3),
        st.just(""),
    ),
    max_size=14,
)  # fmt: skip


@given(DELAYS)
@example([Delay(0, 0, 3, 2), Delay(0, 1, 9, 1), Delay(1, 0, 0, 6)])
@example([Delay(0, 1, 5, -1), Delay(1, 0, 5, 2), Delay(2, 2, 9, 1)])
def test_ratio_is_the_greatest_among_all_circles(delays):
    least = {}
    for d in delays:  # of parallel delays, all combinations are circles of their own
        least.setdefault((d.source, d.target), []).append(d)
    graph = nx.DiGraph(list(least))
    circles = [
        [least[u, v] for u, v in zip(nodes, [*nodes[1:], nodes[0]], strict=True)]
        for nodes in nx.simple_cycles(graph)
    ]
    ratios = []
    for parallel in circles:
        found = {(0, 0)}
        for choices in parallel:
            found = {(c + d.cycles, t + d.turns) for c, t in found for d in choices}
        ratios += found
    stuck = any(turns <= 0 and (cycles > 0 or turns < 0) for cycles, turns in ratios)
    if stuck:
        assume(any(cycles > 0 for cycles, turns in ratios if turns <= 0))
        with pytest.raises(Obstacle):
            greatest_ratio(delays)
        return
    assert greatest_ratio(delays).ratio == max(
        (Fraction(cycles, turns) for cycles, turns in ratios if turns > 0), default=0
    )


@given(st.sampled_from(PIPELINES), NUMBERS)
def test_names_and_the_order_of_roles_do_not_matter(pipeline, numbers):
    schedule = made(pipeline)
    text = sg.show(schedule)
    for old, new in (("tma", "zz"), ("producer", "p9"), ("consumer", "a0")):
        text = text.replace(f"{old}-store", "STORE").replace(old, new).replace("STORE", "tma-store")
    renamed = sg.parse(text)
    turned = replace(schedule, roles=schedule.roles[::-1])
    assert sg.check(turned).ok
    loop = loop_of(schedule, numbers)
    for other in (loop_of(renamed, numbers), loop_of(turned, numbers)):
        assert (other.alone, other.work, other.ends) == (loop.alone, loop.work, loop.ends)


@given(st.sampled_from([p for p in PIPELINES if p[0] in ("v3", "v4", "v5")]), NUMBERS)
def test_more_stages_are_never_slower(pipeline, numbers):
    """In the loop of one CTA, that is: they can leave room for fewer CTAs."""
    schedule = made(pipeline)
    stages = schedule.rings[0].stages
    deeper = sg.apply(schedule, f"set-stages{{n={stages + 1}}}")
    assert loop_of(deeper, numbers).alone <= loop_of(schedule, numbers).alone


@given(st.sampled_from(PIPELINES), st.sampled_from(["load_latency", "wakeup", "load_queue"]))
def test_slower_parts_never_make_a_faster_loop(pipeline, name):
    schedule, numbers = made(pipeline), h200()
    slower = replace(numbers, **{name: 2 * getattr(numbers, name)})
    assert loop_of(schedule, slower).alone >= loop_of(schedule, numbers).alone
