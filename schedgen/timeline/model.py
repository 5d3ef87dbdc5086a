"""A timeline: lanes of bars, what was handed over between them, how busy they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from schedgen.ir.problems import IllFormed
from schedgen.machine.hazard import Site
from schedgen.markup import Shown
from schedgen.timeline.critical import Cycle
from schedgen.timeline.loads import Loads

if TYPE_CHECKING:
    from rich.text import Text


class Kind(StrEnum):
    """What a bar stands for."""

    OP = "op"  # a warp executes an op
    BARRIER = "barrier"  # a warp waits for a barrier
    GROUP = "group"  # a warp waits for async groups
    STORE = "store"  # a warp stores results
    LOAD = "load"  # TMA brings a tile in
    MMA = "mma"  # the tensor core multiplies
    SHIP = "ship"  # TMA stores read their source


@dataclass(frozen=True, kw_only=True)
class Bar:
    """``begin`` to ``end`` of one op; ``issued`` is when an engine was told, before its ``begin``.

    ``letter`` names the stage (A is the first), empty for ops without one.  ``who`` executes or
    issued it, ``replica`` is its number.  ``critical``: it is on the cycle that limits the loop;
    ``clash``: it is one of the two accesses that collide.
    """

    kind: Kind
    begin: int
    end: int
    op: str
    who: str
    replica: int
    issued: int
    letter: str = ""
    tile: int | None = None
    k: int | None = None
    place: str = ""
    critical: bool = False
    clash: bool = False

    @property
    def length(self) -> int:
        return self.end - self.begin

    def matches(self, site: Site) -> bool:
        """Whether it is the op instance of a site."""
        return (self.who, self.op, self.k) == (site.role, site.op, site.k)


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Bars of one role replica, or of one engine that serves one at a time (``serial``)."""

    name: str
    serial: bool
    bars: tuple[Bar, ...]

    @property
    def gaps(self) -> Iterator[tuple[int, int]]:
        """When an engine that had begun stood idle, up to its last bar."""
        for before, after in pairwise(self.bars):
            if after.begin > before.end:
                yield before.end, after.begin


@dataclass(frozen=True, kw_only=True)
class Handover:
    """The last arrival of a barrier's phase, and the wait that it ended.

    ``op`` of lane ``source`` arrives at ``sent``; lane ``target`` goes on at ``received``.
    ``critical``: it is on the cycle that limits the settled loop.
    """

    barrier: str
    op: str
    source: int
    sent: int
    target: int
    received: int
    critical: bool


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Cycles that an engine was at work, ``busy`` of ``window``; ``settled`` is its share of the
    time once the loop has settled, None where that is not known."""

    lane: str
    busy: int
    window: int
    settled: Fraction | None

    @property
    def share(self) -> float:
        return self.busy / self.window if self.window else 0.0


@dataclass(frozen=True, kw_only=True)
class Step:
    """A piece of the path that made the last mma so late: ``begin`` to ``end``, and why.

    ``settled``: the event is also on the cycle that limits the settled loop.
    """

    begin: int
    end: int
    why: str
    settled: bool


@dataclass(frozen=True, kw_only=True)
class Timeline(Shown):
    """An execution, or a refusal's witness.

    ``unit`` is `cycles`, or `steps` where time is the number of a step.  ``end`` is where all of
    it ends, ``shown`` where the last mma does.  Pictures go from ``first`` to ``last``, or to
    ``shown`` where that is None; the numbers are those of the whole.
    ``loads`` is how long those wait for others, ``serialised`` names roles that ptxas lets wait
    after each wgmma.  ``rings`` tells their stages, ``refusal`` the finding, ``sentences`` what is
    to be seen.
    """

    schedule: str
    k_tiles: int
    unit: str
    shown: int
    end: int
    lanes: tuple[Lane, ...]
    rings: str
    handovers: tuple[Handover, ...] = ()
    usages: tuple[Usage, ...] = ()
    path: tuple[Step, ...] = ()
    cycle: Cycle | None = None
    loads: Loads | None = None
    serialised: tuple[str, ...] = ()
    refusal: str = ""
    sentences: tuple[str, ...] = ()
    first: int = 0
    last: int | None = None

    @property
    def title(self) -> str:
        """``hopper_matmul_v5 with 4 stages at K = 6 tiles``."""
        k = self.k_tiles
        rings = f" with {self.rings}" if self.rings else ""
        return f"{self.schedule}{rings} at K = {k} tile{'' if k == 1 else 's'}"

    @property
    def until(self) -> str:
        """What ``shown`` is the time of."""
        tensor = self.lane("tensor core")
        return "exit" if tensor is None or not tensor.bars else "last mma"

    @property
    def stop(self) -> int:
        """Where pictures end."""
        return self.shown if self.last is None else self.last

    def between(self, begin: int, end: int) -> Timeline:
        """The same to be drawn from ``begin`` to ``end``, which may lie beyond its own end.

        Pictures of as many cycles have one scale.  Raises `IllFormed` (SG116) for none at all.
        """
        first = max(begin, self.first)
        if not first < min(end, self.end):
            there = f"they go from {self.first:,} to {self.end:,}"
            message = f"there are no {self.unit} to draw from {begin:,} to {end:,}: {there}"
            raise IllFormed(code="SG116", message=message, place=None)
        return replace(self, first=first, last=end)

    def sees(self, bar: Bar) -> bool:
        """Whether some of a bar lies in the picture."""
        if bar.begin == bar.end:
            return self.first <= bar.begin < self.stop
        return bar.begin < self.stop and bar.end > self.first

    def lane(self, name: str) -> Lane | None:
        return next((lane for lane in self.lanes if lane.name == name), None)

    @property
    def clash(self) -> tuple[int, int] | None:
        """From when to when the two accesses that collide are both open."""
        bars = [bar for lane in self.lanes for bar in lane.bars if bar.clash]
        begin, end = max((b.begin for b in bars), default=0), min((b.end for b in bars), default=0)
        return (begin, end) if len(bars) > 1 and begin < end else None

    @property
    def bubbles(self) -> tuple[tuple[int, int], ...]:
        """When the tensor core stood idle between two groups."""
        tensor = self.lane("tensor core")
        return () if tensor is None or self.unit != "cycles" else tuple(tensor.gaps)

    def _styled(self, *, width: int) -> Text:
        from schedgen.timeline.gantt import rich_text

        return rich_text(self, width=width)

    def _repr_html_(self) -> str:
        from schedgen.timeline.html import fragment

        return fragment(self)
