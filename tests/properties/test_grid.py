"""The grid of pipelines: right iff depth <= lag < stages, wrong first at K = stages + 1.

360 points for the checker, at every K up to S + 2; the explorer, which follows every
interleaving, takes those of at most 4 stages and 2 consumers at every K up to 2S + 1.  All 360 by
the explorer: `python -m tests.benchmarks.grid`.
"""

import pytest

import schedgen as sg
from tests.grid import GRID, explored

SHOWS = {"SG203": "overwrite", "SG307": "deadlock"}
STATIC = {"SG211", "SG215"}
"""One load per stage: both operands are the same slot, and all consumers have the same rows."""

STATES = 20_000


@pytest.mark.parametrize("stages", range(1, 7))
def test_checker(stages):
    for point in (p for p in GRID if p.stages == stages):
        found = sg.check(point.schedule, (0, point.first + 1)).findings
        told = [f for f in found if f.code not in STATIC]
        kinds = {SHOWS[f.code] for f in told}
        assert point.agrees(point.first, frozenset(kinds)), (point, kinds)
        assert {f.k for f in told} == ({point.first} if point.wrong else set()), point


@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize("stages", range(1, 5))
def test_explorer(stages, consumers):
    for point in (p for p in GRID if (p.stages, p.consumers) == (stages, consumers)):
        found = explored(point, states=STATES)
        assert found.finished, point
        assert not found.wrong, (point, found.wrong)
