"""Change the order in which the CTAs take the output tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import SizesDoNotFit
from schedgen.happens_before.kept import Keep
from schedgen.ir.schedule import Schedule
from schedgen.passes.rewriting import refuse
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class Rasterize(Pass):
    """Walk the output tiles in bands of ``group`` tiles, so that neighbours share operands in L2.

    args:
        along: m or n, the dimension along which a band has ``group`` tiles.
        group: tiles of a band; 1 is one column (or row) of tiles after the other.
    rewrite:
        tile ... raster n 4  ->  tile ... raster n 8
    """

    name: ClassVar[str] = "rasterize"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover", "numerics"})
    along: Literal["m", "n"]
    group: int

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        if self.group < 1:
            yield refuse(SizesDoNotFit, self, "a band holds at least one tile", "group=1 or more")

    def rewrite(self, schedule: Schedule) -> Schedule:
        raster = (self.along, self.group)
        if raster == schedule.tile.raster:
            return schedule
        return replace(schedule, tile=replace(schedule.tile, raster=raster))
