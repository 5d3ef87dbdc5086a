"""What a pass may promise to keep, compared between two schedules for one K.

Each comparison reads schedules only and says the first difference in words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from schedgen.happens_before.groups import executes
from schedgen.happens_before.matching import EVENT_BUDGET
from schedgen.happens_before.products import products, programs_of
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Engine, RingBarrier, SlotRef
from schedgen.ir.schedule import Schedule

Keep = Literal["products", "traffic", "handover", "numerics"]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A schedule with the programs of its replicas for one K."""

    schedule: Schedule
    programs: list[list[Instance]]

    @property
    def size(self) -> int:
        return sum(map(len, self.programs))


def unrolled(schedule: Schedule, k_tiles: int) -> Unrolled:
    """Raises `OverBudget` where the programs are too long to compare."""
    return Unrolled(schedule, programs_of(schedule, k_tiles, EVENT_BUDGET))


@dataclass(frozen=True)
class Property:
    """One thing that a pass can keep; ``difference`` is None where it is kept at this K."""

    name: Keep
    meaning: str
    difference: Callable[[Unrolled, Unrolled], str | None]


def _products(before: Unrolled, after: Unrolled) -> str | None:
    old = products(before.schedule, before.programs)
    new = products(after.schedule, after.programs)
    for cell, wanted in old.items():
        for other, found in new.items():
            overlap = cell.row < other.row_end and other.row < cell.row_end
            overlap = overlap and cell.col < other.col_end and other.col < cell.col_end
            if overlap and wanted != found:
                rows = f"rows {max(cell.row, other.row)}..{min(cell.row_end, other.row_end)}"
                return f"{rows} get the K tiles {_tiles(found)} instead of {_tiles(wanted)}"
    return None


def _tiles(stores: list[tuple[int, ...]]) -> str:
    return " and ".join(f"[{', '.join(map(str, tiles))}]" for tiles in stores) or "nothing"


def _traffic(before: Unrolled, after: Unrolled) -> str | None:
    """Compared between the rows at which any box of either side begins or ends."""
    old, new = _loads(before), _loads(after)
    for tile in sorted({*old, *new}):
        boxes = old[tile], new[tile]
        cuts = sorted({row for side in boxes for box in side for row in box})
        for first, end in pairwise(cuts):
            was, now = (sum(n for box, n in side.items() if box[0] <= first < box[1])
                        for side in boxes)  # fmt: skip
            if was != now:
                where = f"{tile[0]} rows {first}..{end} of tile {tile[1]}"
                return f"{where} is loaded {now} times instead of {was}"
    return None


def _loads(u: Unrolled) -> defaultdict[tuple[str, int], Counter[tuple[int, int]]]:
    """For each operand and K tile: how often each range of rows is loaded."""
    found: defaultdict[tuple[str, int], Counter[tuple[int, int]]] = defaultdict(Counter)
    for program in u.programs:
        for i in program:
            for access in i.effects.accesses:
                if i.effects.engine is Engine.TMA and isinstance(access.location, SlotRef):
                    slot = u.schedule.ring(access.location.ring).slot(access.location.slot)
                    slab = 0 if access.location.slab is None else i.value(access.location.slab)
                    tile = 0 if access.tile is None else i.value(access.tile)
                    row = slot.row_of(slab)
                    found[slot.tensor, tile][row, row + slot.rows] += 1
    return found


def _handover(before: Unrolled, after: Unrolled) -> str | None:
    old, new = _releases(before), _releases(after)
    return _first_difference(old, new, "released")


def _releases(u: Unrolled) -> Counter[str]:
    found: Counter[str] = Counter()
    for program in u.programs:
        for i in program:
            use = _released_use(i)
            if use is not None and executes(i, 0):
                found[f"use {use[1]} of {use[0]} by {i.who}"] += 1
    return found


def _released_use(i: Instance) -> tuple[str, int] | None:
    signal = i.effects.signal
    if signal is None or not signal.arrivals or not isinstance(signal.barrier, RingBarrier):
        return None
    ref = signal.barrier
    return (ref.ring, i.use(ref.ring, signal.offset)) if ref.side == "empty" else None


def _first_difference(old: Counter[str], new: Counter[str], verb: str) -> str | None:
    for what in sorted({*old, *new}):
        if old[what] != new[what]:
            return f"{what} is {verb} {new[what]} times instead of {old[what]}"
    return None


def _numerics(before: Unrolled, after: Unrolled) -> str | None:
    schedules = (before.schedule, after.schedule)
    old, new = (sorted({a.dtype for a in s.accumulators}) for s in schedules)
    if old != new:
        return f"accumulators are {', '.join(new)} instead of {', '.join(old)}"
    types = [(p.out.dtype, p.left.dtype, p.right.dtype) for p in (s.problem for s in schedules)]
    return None if types[0] == types[1] else "the element types of the problem changed"


KEEPS: tuple[Property, ...] = (
    Property("products", "each output element: the same K products in the same order", _products),
    Property("traffic", "each row of each K tile is loaded equally often", _traffic),
    Property("handover", "each use is released equally often by each role", _handover),
    Property("numerics", "accumulator and element types are the same", _numerics),
)  # fmt: skip
