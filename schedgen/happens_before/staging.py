"""Static fit: operands of each mma, and staging buffers, whatever K."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from schedgen.diagnostics.finding import Row
from schedgen.diagnostics.tensor import OperandMismatch, StagingMismatch
from schedgen.happens_before.case import declared_row, row
from schedgen.happens_before.facts import facts_of
from schedgen.happens_before.products import Box, accumulator_box
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import AccRef, BufferRef, Engine, Location, OutRef, SlotRef
from schedgen.ir.expr import Name, atoms
from schedgen.ir.schedule import Accumulator, Buffer, Role, Schedule, Slot, Tile, ops_of


def operand_violations(schedule: Schedule) -> Iterator[tuple[OperandMismatch, tuple[str, ...]]]:
    """Mma whose slots hold other rows or columns than their accumulator: whatever K."""
    for role in schedule.roles:
        for replica in range(role.replica_count):
            for op in ops_of(role.body):
                if op.effects().engine is not Engine.TENSOR:
                    continue
                facts = facts_of(op, schedule)
                i = Instance(
                    0, op, facts, role, replica, None, {"self": replica}, {}, schedule.stages
                )
                yield from _operands(schedule, i)


def _operands(s: Schedule, i: Instance) -> Iterator[tuple[OperandMismatch, tuple[str, ...]]]:
    accesses = i.effects.accesses
    slots = [a.location for a in accesses if isinstance(a.location, SlotRef)]
    acc_name = next(a.location.name for a in accesses if isinstance(a.location, AccRef))
    box = accumulator_box(s, i, acc_name)
    sides = (
        (s.problem.left.name, box.row, box.row_end, "rows"),
        (s.problem.right.name, box.col, box.col_end, "columns"),
    )
    for ref, (tensor, first, end, word) in zip(slots, sides, strict=True):
        slot = s.ring(ref.ring).slot(ref.slot)
        rows = [slot.row_of(slab) for slab in _possible_slabs(i, ref, slot)]
        at = next((r for r in rows if not _same_box(slot, tensor, r, first, end, s.tile.k)), None)
        if at is None:
            continue
        wanted = f"{tensor} of {word} {first}..{end} in steps of {s.tile.k}"
        found = f"{slot.tensor} of {at}..{at + slot.rows} in steps of {slot.cols}"
        acc = s.accumulator(acc_name)
        replica = None if i.role.replicas is None else i.replica
        share = _Share(replica, s.tile.m if word == "rows" else s.tile.n, first, end, word)
        declared, fix = _disagreement(slot, tensor, s.tile, acc, share)
        finding = OperandMismatch(
            mma=f"`{i.op.text}` of {i.who}", wanted=wanted, found=found, missing=None, fix=fix,
            rows=(row("mma", i), *((declared,) if declared is not None else ())),
        )  # fmt: skip
        yield finding, ("SG211", i.role.name, ref.ring, ref.slot)


class _Share(NamedTuple):
    """The rows or columns that the accumulator of a replica has, of so many of the tile."""

    replica: int | None
    tile: int
    first: int
    end: int
    word: str

    @property
    def size(self) -> int:
        return self.end - self.first


def _disagreement(
    slot: Slot, tensor: str, tile: Tile, acc: Accumulator, share: _Share
) -> tuple[Row | None, str]:
    """The declaration that does not fit the others, None where the mma names the wrong slab."""
    slot_row = declared_row("slot", f"slot {slot.name}", slot.place)
    acc_row = declared_row("acc", f"acc {acc.name}", acc.place)
    starts = [slot.row_of(slab) for slab in range(slot.slab_count)]
    if slot.tensor != tensor:
        return (
            None,
            f"the slots of an mma are the left operand, then the right: name one of {tensor}",
        )
    if slot.cols != tile.k:
        return slot_row, f"the K step of the tile line is {tile.k}: give the slot {tile.k} columns"
    if slot.rows != share.size:
        said = (
            f"the slot has {slot.rows} rows of {tensor}, the accumulator {share.size} {share.word}"
        )
        fills = share.tile == slot.rows * slot.slab_count
        return (
            acc_row if fills else slot_row
        ), f"{said} of the tile's {share.tile}: make them equal"
    if share.first in starts:
        at = "self" if starts.index(share.first) == share.replica else starts.index(share.first)
        index = f"[{at}]" if slot.slabs is not None else ""
        return None, f"name the slab that belongs to the accumulator's box, {slot.name}{index}"
    if starts == [slot.rows * slab for slab in range(slot.slab_count)]:
        return (
            acc_row,
            f"slabs begin at {share.word} {_words(starts)}: let the accumulator begin there",
        )
    size = slot.rows
    return slot_row, f"its slabs begin at rows {_words(starts)}: write `rows {size}*i`"


def _words(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _possible_slabs(i: Instance, ref: SlotRef, slot: Slot) -> Iterable[int]:
    """The slab that an mma names; all of them where that changes in a loop."""
    if ref.slab is None:
        return (0,)
    if any(isinstance(a, Name) and a.name != "self" for a in atoms(ref.slab)):
        return range(slot.slab_count)
    return (i.value(ref.slab),)


def _same_box(slot: Slot, tensor: str, at: int, first: int, end: int, step: int) -> bool:
    return (slot.tensor, at, at + slot.rows, slot.cols) == (tensor, first, end, step)


def staging_violations(s: Schedule) -> Iterator[tuple[StagingMismatch, tuple[str, ...]]]:
    """Buffers that accumulators are stored into: enough elements, of the output's type.

    Where TMA stores name their boxes, what is stored must fill a part: a smaller one would leave
    open where in the part it lies.
    """
    for buffer in s.buffers:
        stored = {each for role in s.roles for each in _stored_into(s, role, buffer.name)}
        wanted = _misfit(buffer, stored, named=_is_named_box(s, buffer.name))
        if stored and buffer.dtype != s.problem.out.dtype:
            wanted = f"{s.problem.out.dtype}"
        if wanted is not None:
            count = "" if buffer.parts is None else f"{buffer.parts} parts of "
            finding = StagingMismatch(
                buffer=buffer.name, holds=f"{count}{buffer.dtype} {buffer.rows}x{buffer.cols}",
                wanted=wanted, rows=(declared_row("buffer", buffer.name, buffer.place),),
                missing=None, fix="give the buffer the shape and type of what it stages",
            )  # fmt: skip
            yield finding, ("SG216", buffer.name)


_Stored = tuple[int | None, Box]
"""The part of the buffer, None where it changes from turn to turn, and the accumulator's box."""


def _misfit(buffer: Buffer, stored: set[_Stored], *, named: bool) -> str | None:
    """What is stored and has no room, or not the shape of a part where boxes are ``named``."""
    for _, box in sorted(stored, key=str) if named else ():
        if box.shape != (buffer.rows, buffer.cols):
            return f"a box of {box.shape[0]}x{box.shape[1]}"
    for part in {part for part, _ in stored} if not named else ():
        together = {box for other, box in stored if part in (None, other) or other is None}
        room = buffer.rows * buffer.cols * (buffer.part_count if part is None else 1)
        elements = sum(rows * cols for rows, cols in (box.shape for box in together))
        if elements > room:
            return f"{elements} elements"
    return None


def _is_named_box(s: Schedule, buffer: str) -> bool:
    """Whether some TMA store of the buffer names the part of the output that it ships."""

    def names(at: Location) -> bool:
        return isinstance(at, OutRef) and at.corner is not None

    places = [[a.location for a in op.effects().accesses] for r in s.roles for op in ops_of(r.body)]
    return any(
        any(map(names, of_op))
        and any(isinstance(at, BufferRef) and at.name == buffer for at in of_op)
        for of_op in places
    )


def _stored_into(s: Schedule, role: Role, buffer: str) -> Iterator[_Stored]:
    for op in ops_of(role.body):
        accesses = op.effects().accesses
        accs = [a.location.name for a in accesses if isinstance(a.location, AccRef)]
        into = [
            a.location for a in accesses
            if a.writes and isinstance(a.location, BufferRef) and a.location.name == buffer
        ]  # fmt: skip
        for replica in range(role.replica_count if accs and into else 0):
            names = {"self": replica}
            i = Instance(0, op, facts_of(op, s), role, replica, None, names, {}, s.stages)
            yield _part_of(i, into[0]), accumulator_box(s, i, accs[0])


def _part_of(i: Instance, ref: BufferRef) -> int | None:
    if ref.part is None:
        return 0
    fixed = all(a.name == "self" for a in atoms(ref.part) if isinstance(a, Name))
    return i.value(ref.part) if fixed else None
