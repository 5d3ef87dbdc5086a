"""Pictures of what no execution shows: sizes against limits, and who covers which part of c.

Every number comes from the functions that the checker uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from schedgen.diagnostics.finding import Finding
from schedgen.happens_before import limits
from schedgen.happens_before.matching import EVENT_BUDGET
from schedgen.happens_before.products import (
    Box,
    StoredBox,
    accumulator_box,
    products,
    programs_of,
    stored_boxes,
)
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Engine, SlotRef
from schedgen.ir.schedule import ELEMENT_BYTES, WARP_THREADS, Schedule, ops_of

BAR = 40
"""Columns from nothing to the limit."""

OVER = 4
"""Columns beyond it."""

SHOWN_TILES = 3
"""K tiles of a picture, where the finding needs no more."""


def _bar(start: int, end: int, limit: int) -> str:
    """``  ####  |  ``: from start to end on a scale that has its ``|`` at the limit."""
    first = min(start * BAR // limit, BAR + OVER - 1)
    last = min(max(-(-end * BAR // limit), first + (end > start)), BAR + OVER)
    cells = ["#" if first <= column < last else " " for column in range(BAR + OVER)]
    return "".join([*cells[:BAR], "|", *cells[BAR:]]).rstrip()


def _heap(parts: Sequence[tuple[str, int]], limit: int) -> Iterator[str]:
    """Parts one on top of the other: what each adds, and how far it then is."""
    width, total = max(len(name) for name, _ in parts), 0
    for name, size in parts:
        bar = _bar(total, total + size, limit)
        total += size
        yield f"{name:<{width}}  {bar:<{BAR + OVER + 1}}  {total:>9,}"
    excess = f"{total - limit:,} too many" if total > limit else "fits"
    yield f"{'':<{width}}  {'limit ':>{BAR}}|{'':{OVER}}  {limit:>9,}  {excess}"


def shared_memory(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG501: the stages of the rings, the buffers and the barriers, summed up."""
    parts = [(f"{r.name}, stage {n}", r.stage_bytes) for r in s.rings for n in range(r.stages)]
    parts += [(b.name, b.bytes) for b in s.buffers if b.bytes]
    yield from _heap([*parts, ("barriers", limits.barrier_bytes(s))], limits.SHARED_BYTES)


def registers(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG503: of each role that multiplies, its accumulators and what comes with them."""
    for role in s.roles:
        needed = limits.accumulator_registers(s, role)
        if needed:
            parts = [("accumulators", needed), ("the rest, about", limits.REGISTERS_BESIDE)]
            yield f"registers of a thread of {role.name}"
            yield from _heap(parts, limits.register_cap(s))


def encodings(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG502: the greatest number of each kind beside its limit."""
    for name, number, limit in _numbers(s):
        over = "  <- does not fit" if number > limit else ""
        yield f"{name:<22}{_bar(0, number, limit):<{BAR + OVER + 1}}{number:>7,} of {limit:,}{over}"


def _numbers(s: Schedule) -> Iterator[tuple[str, int, int]]:
    effects = [op.effects() for role in s.roles for op in ops_of(role.body)]
    slots = [slot for ring in s.rings for slot in ring.slots]
    depths = [e.group.depth for e in effects if e.group is not None]
    sent = [e.signal.expected for e in effects if e.signal is not None]
    counts = [n for r in s.rings for n in (r.full, r.empty)] + [b.count for b in s.barriers]
    inner = [slot.cols * ELEMENT_BYTES[slot.dtype] for slot in slots]
    named = sum(1 if n.size is None else n.size for n in s.named)
    yield "wait depth", max(depths, default=0), limits.MAX_WAIT_DEPTH
    yield "mbarrier count", max(counts, default=0), limits.MAX_COUNT - 1
    yield "bytes of a phase", max(sent, default=0), limits.MAX_COUNT - 1
    yield "rows of a TMA box", max((slot.rows for slot in slots), default=0), limits.MAX_BOX
    yield "bytes of its rows", max(inner, default=0), limits.MAX_INNER_BYTES
    yield "threads of the CTA", s.warps * WARP_THREADS, limits.MAX_THREADS
    yield "named barriers", named, limits.NAMED_BARRIERS - 1


def sums(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG209: how often each K tile is in each accumulator when it is stored."""
    k_tiles = max(finding.k or 0, SHOWN_TILES)
    stores = list(stored_boxes(s, programs_of(s, k_tiles, EVENT_BUDGET)))
    last = max([k_tiles - 1, *(t for stored in stores for t in stored.tiles)])
    names = [f"{stored.acc} of {stored.store.who}" for stored in stores]
    title = f"K tile, of {k_tiles}"
    width = max(map(len, [title, *names]))
    yield f"{title:<{width}}  {''.join(f'{t:>4}' for t in range(last + 1))}"
    for name, stored in zip(names, stores, strict=True):
        times = [stored.tiles.count(tile) for tile in range(last + 1)]
        wrong = [n != (tile < k_tiles) for tile, n in enumerate(times)]
        cells = "".join(f"{n:>3}{'!' if bad else ' '}" for n, bad in zip(times, wrong, strict=True))
        yield f"{name:<{width}}  {cells}".rstrip()


def stores(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG215: the tile of c, cut where stored boxes begin and end, and how often each is stored."""
    programs = programs_of(s, finding.k or 0, EVENT_BUDGET)
    boxes = list(stored_boxes(s, programs))
    cells = {cell: _stored_by(cell, boxes) for cell in products(s, programs)}
    width = max(map(len, cells.values())) + 2
    columns = sorted({cell.col for cell in cells} | {cell.col_end for cell in cells})
    edge = "+" + f"{'-' * width}+" * (len(columns) - 1)
    yield (
        "rows   "
        + "".join(f"{f'column {c}':<{width + 1}}" for c in columns[:-1])
        + (f"column {columns[-1]}")
    )
    for row in sorted({cell.row for cell in cells}):
        here = sorted((c for c in cells if c.row == row), key=lambda c: c.col)
        yield f"{row:>5}  {edge}"
        yield f"{'':7}|" + "".join(f" {cells[c]:<{width - 1}}|" for c in here)
    yield f"{max(c.row_end for c in cells):>5}  {edge}"


def _stored_by(cell: Box, boxes: Sequence[StoredBox]) -> str:
    who = [stored.store.who for stored in boxes if stored.box.covers(cell.row, cell.col)]
    return f"{len(who)} time{'' if len(who) == 1 else 's'}: {', '.join(who) or 'nobody'}"


def operands(s: Schedule, finding: Finding) -> Iterator[str]:
    """SG211: of the mma of each replica, the box that it sums and the operands that it reads."""
    seen: set[tuple[str, str]] = set()
    for program in programs_of(s, 1, EVENT_BUDGET):
        for i in program:
            if i.effects.engine is Engine.TENSOR and (i.who, i.op.text) not in seen:
                seen.add((i.who, i.op.text))
                yield f"`{i.op.text}` of {i.who}"
                yield from _spans(s, i)


def _spans(s: Schedule, i: Instance) -> Iterator[str]:
    box = accumulator_box(s, i, i.facts.accumulators[0][0])
    slots = [a.location for a in i.effects.accesses if isinstance(a.location, SlotRef)]
    wanted = ((box.row, box.row_end, s.tile.m), (box.col, box.col_end, s.tile.n))
    for ref, word, (first, end, extent) in zip(slots, ("rows", "columns"), wanted, strict=True):
        slot = s.ring(ref.ring).slot(ref.slot)
        at = slot.row_of(0 if ref.slab is None else i.value(ref.slab))
        off = "" if (at, at + slot.rows) == (first, end) else "  <- not those of c"
        for name, low, high, mark in (
            (f"{word} of c", first, end, ""), (f"rows of {slot.tensor}", at, at + slot.rows, off)
        ):  # fmt: skip
            yield f"  {name:<12}|{_span(low, high, extent)}|  {low}..{high}{mark}"


def _span(low: int, high: int, extent: int) -> str:
    cells = ("#" if low <= column * extent // BAR < high else " " for column in range(BAR))
    return "".join(cells)


Drawing = Callable[[Schedule, Finding], Iterator[str]]

DRAWINGS: dict[str, tuple[str, Drawing]] = {
    "SG209": ("How often each K tile is summed", sums),
    "SG211": ("What each mma sums, and what it reads", operands),
    "SG215": ("How often each part of the tile is stored", stores),
    "SG501": ("Shared memory, summed up, in bytes", shared_memory),
    "SG502": ("The greatest number of each kind, and its limit", encodings),
    "SG503": ("Registers, summed up", registers),
}
"""Headings and pictures, by code; elsewhere the witness or the place is the picture."""
