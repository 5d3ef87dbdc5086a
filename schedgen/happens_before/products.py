"""What is computed: which K tiles reach which output elements, in program order.

This looks at what ops *mean* (the tile that each mma names); that slots hold the tile that is meant
is the business of `races`.  `products` is also what passes promise to keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from schedgen.diagnostics.tensor import KCoverage, OutputCoverage
from schedgen.happens_before.case import Breach, Case, Violation, declared_row, row
from schedgen.happens_before.groups import executes
from schedgen.happens_before.unroll import Instance, StorageKey, unroll
from schedgen.ir.effects import BufferRef, Engine, OutRef, SlotRef
from schedgen.ir.schedule import Schedule


@dataclass(frozen=True)
class Box:
    """Rows and columns of the CTA's output tile, ends excluded."""

    row: int
    row_end: int
    col: int
    col_end: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.row_end - self.row, self.col_end - self.col

    def __str__(self) -> str:
        return f"rows {self.row}..{self.row_end}, columns {self.col}..{self.col_end}"

    def covers(self, r: int, c: int) -> bool:
        return self.row <= r < self.row_end and self.col <= c < self.col_end


@dataclass(frozen=True, eq=False)
class StoredBox:
    """An accumulator that is stored, with the (A rows, B rows, tile) of its products in order."""

    box: Box
    tiles: tuple[int, ...]
    acc: str
    store: Instance


def stored_boxes(schedule: Schedule, programs: list[list[Instance]]) -> Iterator[StoredBox]:
    """Every store of an accumulator to the output, directly or through a staging buffer.

    A TMA store takes to the output what its replica last stored into the buffer; where another
    replica does the storing, what all replicas stored into it.  One that names its box takes that
    box, by whichever replicas it was stored: more than once there is too often.
    """
    everywhere: dict[StorageKey, list[tuple[int, StoredBox]]] = {}
    shipped: list[tuple[int, StorageKey, Box | None]] = []
    for number, program in enumerate(programs):
        staged: dict[StorageKey, dict[Box, StoredBox]] = {}
        for i, stored in _accumulator_stores(schedule, program):
            for access in i.effects.accesses:
                if not isinstance(access.location, BufferRef):
                    continue
                key = i.storage(access.location, access.offset)
                if access.writes and stored is not None:
                    staged.setdefault(key, {})[stored.box] = stored
                    everywhere.setdefault(key, []).append((number, stored))
                elif _writes_output(i):
                    box, mine = shipped_box(schedule, i), staged.get(key, {})
                    yield from (s for s in mine.values() if box in (None, s.box))
                    if box is not None or not mine:
                        shipped.append((number, key, box))
            if stored is not None and _writes_output(i):
                yield stored
    for number, key, box in shipped:
        others = [s for n, s in everywhere.get(key, ()) if n != number]
        if box is None:
            others = {s.box: s for s in others}.values()
        yield from (s for s in others if box in (None, s.box))


def _accumulator_stores(
    schedule: Schedule, program: list[Instance]
) -> Iterator[tuple[Instance, StoredBox | None]]:
    """Ops that move results, with the box of the accumulator that they read, if any."""
    tiles: dict[str, list[int]] = {}
    for i in program:
        if not i.facts.moves_results or not executes(i, 0):
            continue
        accs = i.facts.accumulators
        if i.effects.engine is Engine.TENSOR:
            for name, access in accs:
                assert access.tile is not None
                tiles.setdefault(name, []).append(i.value(access.tile))
        elif accs and not accs[0][1].writes:
            if i.facts.elected and i.role.warps > 1:
                continue  # one warp's part alone: the box is not stored
            name = accs[0][0]
            box = accumulator_box(schedule, i, name)
            yield i, StoredBox(box, tuple(tiles.get(name, ())), name, i)
        elif _writes_output(i):
            yield i, None


def shipped_box(schedule: Schedule, i: Instance) -> Box | None:
    """The part of the output tile that a TMA store names, None if it names none."""
    places = [a.location for a in i.effects.accesses]
    corner = next((p.corner for p in places if isinstance(p, OutRef)), None)
    sources = [schedule.storage(p) for p in places if isinstance(p, SlotRef | BufferRef)]
    if corner is None or not sources:
        return None
    row, col = map(i.value, corner)
    return Box(row, row + sources[0].rows, col, col + sources[0].cols)


def _writes_output(i: Instance) -> bool:
    return any(a.writes and isinstance(a.location, OutRef) for a in i.effects.accesses)


def accumulator_box(schedule: Schedule, i: Instance, name: str) -> Box:
    acc = schedule.accumulator(name)
    r, c = acc.origin(i.replica)
    return Box(r, r + acc.rows, c, c + acc.cols)


def programs_of(schedule: Schedule, k_tiles: int, budget: int) -> list[list[Instance]]:
    """The unrolled program of every replica."""
    return [
        unroll(schedule, role, replica, k_tiles, budget)
        for role in schedule.roles
        for replica in range(role.replica_count)
    ]


def products(
    schedule: Schedule, programs: list[list[Instance]]
) -> dict[Box, list[tuple[int, ...]]]:
    """For each cell of the output (cut at every box edge): the K tiles of each store to it."""
    return _cells(schedule, list(stored_boxes(schedule, programs)))


def _cells(schedule: Schedule, stored: list[StoredBox]) -> dict[Box, list[tuple[int, ...]]]:
    boxes = [s.box for s in stored]
    rows = sorted({0, schedule.tile.m, *(b.row for b in boxes), *(b.row_end for b in boxes)})
    cols = sorted({0, schedule.tile.n, *(b.col for b in boxes), *(b.col_end for b in boxes)})
    cells: dict[Box, list[tuple[int, ...]]] = {}
    for r, r_end in pairwise(rows):
        for c, c_end in pairwise(cols):
            here = [s.tiles for s in stored if s.box.covers(r, c)]
            cells[Box(r, r_end, c, c_end)] = here
    return cells


def coverage_violations(case: Case) -> Iterator[Breach]:
    """Every K tile once per stored accumulator, every output element stored once."""
    leave = case.matching.exit
    if leave is None:
        return
    wanted = tuple(range(case.k_tiles))
    stores = list(stored_boxes(case.schedule, case.matching.replicas))
    for stored in stores:
        case.checked["SG209"] += max(case.k_tiles, 1)
        if tuple(sorted(stored.tiles)) != wanted:
            yield partial(_uncovered, case, stored, leave)
    for cell, tiles in _cells(case.schedule, stores).items():
        case.checked["SG215"] += 1
        tile = case.schedule.tile
        inside = cell.row < tile.m and cell.col < tile.n and cell.row >= 0 and cell.col >= 0
        if len(tiles) != (1 if inside else 0):
            yield partial(_stored_often, case, cell, stores, leave, inside)


def _uncovered(case: Case, stored: StoredBox, leave: int) -> Violation:
    wanted, found = Counter(range(case.k_tiles)), Counter(stored.tiles)
    wrong = next(t for t in sorted({*wanted, *found}) if wanted[t] != found[t])
    finding = KCoverage(
        acc=f"{stored.acc} of {stored.store.who}", tile=wrong, times=found[wrong],
        rows=(row("store", stored.store),), missing=None,
        fix="let the mma of loop and peeled steps cover 0..K once",
    )  # fmt: skip
    key = ("SG209", stored.store.role.name, stored.acc)
    return Violation(finding, (leave,), False, key, rank=1)


def _stored_often(
    case: Case, cell: Box, stores: list[StoredBox], leave: int, inside: bool
) -> Violation:
    """A cell that is not stored as often as it should be.

    Its rows are the tile's line and the stores.
    """
    tile = case.schedule.tile
    here = [s for s in stores if s.box.covers(cell.row, cell.col)]
    rows = [declared_row("tile", f"{tile.m} x {tile.n}", tile.place)]
    finding = OutputCoverage(
        rows_text=str(cell), times=len(here), inside=inside,
        rows=(*rows, *(row("store", s.store) for s in here)), missing=None,
        fix="let the stored accumulators tile the output tile exactly",
    )  # fmt: skip
    return Violation(finding, (leave,), False, ("SG215",), rank=2)
