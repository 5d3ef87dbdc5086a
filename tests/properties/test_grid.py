"""The grid of pipelines: right iff depth <= lag < stages, wrong first at K = stages + 1.

360 points for the checker; the explorer, which follows every interleaving, takes those whose search
ends soon, at every K up to 2S + 1.
"""

import pytest

import schedgen as sg
from schedgen.machine import explore
from tests.grid import GRID

SHOWS = {"SG203": "overwrite", "SG307": "deadlock"}
STATIC = {"SG211", "SG215"}
"""One load per stage: both operands are the same slot, and all consumers have the same rows."""

SMALL = [p for p in GRID if p.consumers == 1 and p.stages <= 2]
STATES = 40_000


@pytest.mark.parametrize("stages", range(1, 7))
def test_checker(stages):
    for point in (p for p in GRID if p.stages == stages):
        verdict = sg.check(point.schedule)
        codes = {f.code for f in verdict.findings}
        if point.wrong:
            first = {f.k for f in verdict.findings if f.code in SHOWS}
            seen = {SHOWS[code] for code in codes if code in SHOWS}
            assert (min(first), bool(seen & point.wrong)) == (point.first, True), point
        else:
            assert codes <= STATIC, (point, codes)
            assert verdict.scope[1] >= point.first + 2, point


@pytest.mark.parametrize("point", SMALL, ids=str)
def test_explorer(point):
    for k_tiles in range(2 * point.stages + 2):
        found = explore(point.schedule, k_tiles=k_tiles, budget=STATES)
        assert found.complete
        assert point.agrees(k_tiles, frozenset(found.reached)), (k_tiles, sorted(found.reached))
