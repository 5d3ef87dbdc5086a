"""The grid of pipelines: stages, groups in flight, lag of the releases, consumers.

The consumer loop keeps ``depth`` groups in flight and releases ``lag`` uses late.  It is right iff
``depth <= lag < stages``: a stage that is released before its mma retired may be overwritten; a lag
of all stages waits for a fill that waits for the release.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import schedgen as sg
from schedgen.ir.schedule import Schedule
from schedgen.machine import explore

TEXT = """schedule grid
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages {stages} empty {consumers} full 1 {{
  slot A : f16 64x64 = a rows 0
}}
acc acc : f32 64x64 = c rows 0
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes 8192
    load tma.A k
    advance tma
  }}
}}
role consumer[{consumers}] warpgroup {{
  for k in 0..K {{
    acquire tma.full
    fence
    mma acc, tma.A, tma.A, k
    commit
    wait {depth}
    if k >= {lag} {{ release tma.empty lag {lag} }}
    advance tma
  }}
  wait 0
  {last}
  store acc -> c
}}
"""


class Point(NamedTuple):
    """A pipeline of the grid, with one load per stage."""

    stages: int
    depth: int
    lag: int
    consumers: int

    @property
    def schedule(self) -> Schedule:
        last = [f"if K >= {d} {{ release tma.empty lag {d} }}" for d in range(self.lag, 0, -1)]
        return sg.parse(TEXT.format(**self._asdict(), last=" ".join(last)))

    @property
    def wrong(self) -> frozenset[str]:
        """The kinds of hazards that it shows, one of them at least: none if it is right."""
        early = {"overwrite"} if self.lag < self.depth else set[str]()
        late = {"deadlock"} if self.lag >= self.stages else set[str]()
        return frozenset(early | late)

    @property
    def first(self) -> int:
        """The K at which a wrong one first goes wrong: a stage is used twice."""
        return self.stages + 1

    def agrees(self, k_tiles: int, seen: frozenset[str]) -> bool:
        """Whether the kinds that somebody sees at a K are those of the grid."""
        wanted = self.wrong if k_tiles >= self.first else frozenset[str]()
        return bool(seen) == bool(wanted) and seen <= wanted


GRID = tuple(
    Point(stages, depth, lag, consumers)
    for stages, depth, lag, consumers in product(range(1, 7), range(4), range(5), range(1, 4))
)


class Explored(NamedTuple):
    """What the explorer says of a point: each K with the kinds that should not be there or lack,
    the K that it gave up, and the states that it visited."""

    wrong: tuple[tuple[int, frozenset[str]], ...]
    given_up: tuple[int, ...]
    states: int

    @property
    def finished(self) -> bool:
        return not self.given_up


def explored(point: Point, *, states: int) -> Explored:
    """The explorer at every K up to 2S + 1, with a budget of states for each."""
    wrong: list[tuple[int, frozenset[str]]] = []
    given_up: list[int] = []
    visited = 0
    for k_tiles in range(2 * point.stages + 2):
        found = explore(point.schedule, k_tiles=k_tiles, budget=states)
        seen: frozenset[str] = frozenset(found.reached)
        visited += found.states
        if not found.complete:
            given_up.append(k_tiles)
        elif not point.agrees(k_tiles, seen):
            wrong.append((k_tiles, seen))
    return Explored(tuple(wrong), tuple(given_up), visited)
