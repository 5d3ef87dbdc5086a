"""Change the output tile of a CTA, with everything that is a share of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import AlreadyStaged, SizesDoNotFit
from schedgen.happens_before.kept import Keep
from schedgen.ir.ops import Expect, Op
from schedgen.ir.schedule import Accumulator, Schedule, Slot, ops_of
from schedgen.passes.rewriting import map_ops, refuse, scaled
from schedgen.pipeline import Pass

Box = TypeVar("Box", Slot, Accumulator)


@dataclass(frozen=True, kw_only=True)
class SetTile(Pass):
    """Let a CTA compute m x n elements: slots and accumulators keep their share of the tile.

    A tile may leave the limits of the target until a later pass divides it among more groups; only
    what a pipeline gives in the end is judged.

    args:
        m: rows of the tile.
        n: columns of the tile.
    rewrite:
        tile m 128, n 128 ...                  tile m 128, n 256 ...
        slot A : f16 128x64 = a rows 0    ->   slot A : f16 128x64 = a rows 0
        slot B : f16 128x64 = b rows 0         slot B : f16 256x64 = b rows 0
        acc acc : f32 128x128 = ...            acc acc : f32 128x256 = ...
        expect tma.full bytes 32768            expect tma.full bytes 49152
    """

    name: ClassVar[str] = "set-tile"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "handover", "numerics"})
    m: int
    n: int

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        for buffer in schedule.buffers:
            reason = f"the buffer {buffer.name} stages results of the old tile"
            yield refuse(AlreadyStaged, self, reason, "set the tile before `stage-epilogue`")
        if min(self.m, self.n) < 1:
            yield refuse(SizesDoNotFit, self, "a tile has at least one row and column", "m, n >= 1")
        boxes = [*(x for ring in schedule.rings for x in ring.slots), *schedule.accumulators]
        for box in boxes:
            if self._resized(schedule, box) is None:
                reason = f"the share of {box.name} in a tile of {self.m}x{self.n} is no whole box"
                fix = "a tile that the boxes of slots and accumulators divide"
                yield refuse(SizesDoNotFit, self, reason, fix)
        for role in schedule.roles:
            for op in ops_of(role.body):
                if isinstance(op, Expect) and op.bytes != _stage_bytes(schedule, op):
                    reason = f"`{op.text}` does not announce a whole stage"
                    fix = "one `expect` for all loads of a stage"
                    yield refuse(SizesDoNotFit, self, reason, fix, role=role, place=op.place)

    def _resized(self, schedule: Schedule, box: Box) -> Box | None:
        """The box in the new tile, None where its share is no whole number of rows or columns."""
        tile = schedule.tile
        down, across = Fraction(self.m, tile.m), Fraction(self.n, tile.n)
        if isinstance(box, Slot):
            factor = down if box.tensor == schedule.problem.left.name else across
            rows, first_row = factor * box.rows, scaled(box.first_row, factor)
            if rows.denominator > 1 or first_row is None:
                return None
            return replace(box, rows=int(rows), first_row=first_row)
        rows, cols = down * box.rows, across * box.cols
        first_row, first_col = scaled(box.first_row, down), scaled(box.first_col, across)
        if rows.denominator > 1 or cols.denominator > 1 or first_row is None or first_col is None:
            return None
        return replace(
            box, rows=int(rows), cols=int(cols), first_row=first_row, first_col=first_col
        )

    def _all(self, schedule: Schedule, boxes: tuple[Box, ...]) -> tuple[Box, ...]:
        made = (self._resized(schedule, box) for box in boxes)
        return tuple(box for box in made if box is not None)

    def rewrite(self, schedule: Schedule) -> Schedule:
        if (self.m, self.n) == (schedule.tile.m, schedule.tile.n):
            return schedule
        rings = tuple(replace(r, slots=self._all(schedule, r.slots)) for r in schedule.rings)
        accumulators = self._all(schedule, schedule.accumulators)
        tile = replace(schedule.tile, m=self.m, n=self.n)
        made = replace(schedule, tile=tile, rings=rings, accumulators=accumulators)

        def announce(op: Op) -> tuple[Op, ...]:
            return (replace(op, bytes=_stage_bytes(made, op)) if isinstance(op, Expect) else op,)

        return map_ops(made, announce)


def _stage_bytes(schedule: Schedule, op: Expect) -> int:
    return schedule.ring(op.barrier.ring).stage_bytes
