"""The numbers: operand tiles, slot contents, accumulators and the output of one CTA.

Element types are rounded to where they are stored, and held in float32 (which holds f16 and bf16
exactly).  A slot refers to an immutable tile, so that landing and reading cost no copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from schedgen.ir.effects import Access, AccRef, BufferRef, SlotRef
from schedgen.ir.schedule import Accumulator
from schedgen.machine.program import Actor, Instruction, Program, Team, Touch

Matrix: TypeAlias = npt.NDArray[np.float32]


class UnfitOperands(ValueError):
    """Operands or tiles have shapes that cannot be multiplied."""


@dataclass(frozen=True, kw_only=True)
class Operands:
    """What a CTA reads: rows of the left operand x k, rows of the right operand x k.

    Rows beyond the CTA's tile may follow and are there for boxes that reach over; fewer rows
    than the tile has are a ragged edge, which TMA fills with zeros and stores clip.
    """

    left: npt.NDArray[np.floating]
    right: npt.NDArray[np.floating]


def rounded(values: npt.NDArray[np.floating], dtype: str) -> Matrix:
    """Values as an element type of the language holds them (bf16: to nearest, ties to even)."""
    if dtype == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float32)
    single = np.ascontiguousarray(values, dtype=np.float32)
    if dtype == "f32":
        return single
    bits = single.view(np.uint32)
    upper = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(
        0xFFFF0000
    )
    return np.where(np.isnan(single), single, upper.view(np.float32)).astype(np.float32)


class Tensors:
    """The data of one execution; places are numbered as in the program."""

    def __init__(self, program: Program, operands: Operands, *, read_at_issue: bool) -> None:
        schedule = program.schedule
        problem, tile = schedule.problem, schedule.tile
        left, right = operands.left, operands.right
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
            raise UnfitOperands(f"operands of shapes {left.shape} and {right.shape} do not fit")
        if -(-left.shape[1] // tile.k) != program.k_tiles:
            message = f"k = {left.shape[1]} is not {program.k_tiles} tiles of {tile.k}"
            raise UnfitOperands(message)
        self._program = program
        self._read_at_issue = read_at_issue
        self._sources: dict[str, Matrix] = {
            problem.left.name: rounded(left, problem.left.dtype),
            problem.right.name: rounded(right, problem.right.dtype),
        }
        shape = min(left.shape[0], tile.m), min(right.shape[0], tile.n)
        self.output: Matrix = np.full(shape, np.nan, np.float32)  # poison: stores must cover it
        self._held: list[Matrix | None] = [None] * len(program.places)
        self._corner: dict[int, tuple[int, int]] = {}  # of a buffer in the CTA's tile
        self._accumulators: dict[tuple[int, str], Matrix] = {}
        self._captured: dict[tuple[int, int], list[Matrix]] = {}

    def land(self, touch: Touch) -> None:
        """A load writes its box; what lies outside the tensor is zero."""
        assert touch.tile is not None
        place = self._program.places[touch.place]
        slot = place.slot
        assert slot is not None
        source = self._sources[slot.tensor]
        row, col = slot.row_of(place.slab), touch.tile * self._program.schedule.tile.k
        self._held[touch.place] = _box(source, row, col, slot.rows, slot.cols)

    def issue(self, key: tuple[int, int], instruction: Instruction) -> None:
        """An asynchronous reader that is eager reads now; the first actor to issue decides."""
        if self._read_at_issue and key not in self._captured:
            self._captured[key] = self._read(instruction)

    def multiply(self, team: int, key: tuple[int, int], instruction: Instruction) -> None:
        """An mma retires: its two slots, in the order of its accesses, into its accumulator."""
        tiles = self._captured.pop(key, None) or self._read(instruction)
        for access in instruction.effects.accesses:
            if isinstance(access.location, AccRef) and len(tiles) == 2:
                declared = self._declared(access.location.name)
                acc = self._accumulator(team, declared)
                left, right = tiles
                fits = left.shape[1] == right.shape[1]
                if not fits or (left.shape[0], right.shape[0]) != acc.shape:
                    text = f"{left.shape} times {right.shape} transposed into {acc.shape}"
                    raise UnfitOperands(f"`{instruction.op.text}`: {text}")
                _accumulate(acc, left, right, declared.dtype)

    def drain(self, key: tuple[int, int], instruction: Instruction) -> None:
        """A TMA store has read its source, and writes it to the output."""
        tiles = self._captured.pop(key, None) or self._read(instruction)
        for touch, values in zip(instruction.touches, tiles, strict=True):
            row, col = touch.box[:2] if touch.box else self._corner.get(touch.place, (0, 0))
            self._store(values, row, col)

    def copy(self, team: Team, actor: Actor, instruction: Instruction) -> None:
        """An ordinary op with a source and a target: this actor's rows go from one to the other.

        An ordinary write without a source names no values, and leaves the place as it was.
        """
        accesses = instruction.effects.accesses
        source = next((a for a in accesses if not a.writes), None)
        target = next((a for a in accesses if a.writes), None)
        if source is None or target is None or not isinstance(source.location, AccRef):
            return
        declared = self._declared(source.location.name)
        acc = self._accumulator(actor.team, declared)
        rows = _rows_of(actor, team, declared.rows)
        row, col = declared.origin(team.replica)
        part = acc[rows.start : rows.stop]
        if isinstance(target.location, BufferRef | SlotRef):
            self._stage(target, instruction.touches[-1].place, part, (row, col), rows, declared)
        else:
            self._store(part, row + rows.start, col)

    def _stage(
        self,
        target: Access,
        place: int,
        part: Matrix,
        corner: tuple[int, int],
        rows: range,
        acc: Accumulator,
    ) -> None:
        """Into a buffer: at the part's own corner if the buffer spans the tile that far."""
        assert isinstance(target.location, BufferRef | SlotRef)
        box = self._program.schedule.storage(target.location)
        held = self._content(place, (box.rows, box.cols)).copy()  # others may refer to the old
        self._held[place] = held
        row, col = corner
        self._corner[place] = (0, 0)
        if row + acc.rows > box.rows or col + acc.cols > box.cols:
            self._corner[place] = corner
            row, col = 0, 0
        _paste(held, rounded(part, box.dtype), row + rows.start, col)

    def _store(self, values: Matrix, row: int, col: int) -> None:
        dtype = self._program.schedule.problem.out.dtype
        _paste(self.output, rounded(values, dtype), row, col)

    def _read(self, instruction: Instruction) -> list[Matrix]:
        refs = [a.location for a in instruction.effects.accesses]
        boxes = [
            self._program.schedule.storage(r) for r in refs if isinstance(r, BufferRef | SlotRef)
        ]
        return [
            self._content(touch.place, (box.rows, box.cols))
            for box, touch in zip(boxes, instruction.touches, strict=True)
            if not touch.writes
        ]

    def _content(self, place: int, shape: tuple[int, int]) -> Matrix:
        """What is there; seen in another shape than it was written in, it is no number."""
        held = self._held[place]
        if held is not None and held.shape == shape:
            return held
        return np.full(shape, np.nan, np.float32)

    def _declared(self, name: str) -> Accumulator:
        return self._program.schedule.accumulator(name)

    def _accumulator(self, team: int, declared: Accumulator) -> Matrix:
        found = self._accumulators.get((team, declared.name))
        if found is None:
            found = np.zeros((declared.rows, declared.cols), np.float32)
            self._accumulators[team, declared.name] = found
        return found


MMA_COLUMNS = 16
"""Columns of K that one wgmma instruction multiplies (f16 and bf16)."""


def _accumulate(acc: Matrix, left: Matrix, right: Matrix, dtype: str) -> None:
    """acc += left * right^T; a 16-bit accumulator is rounded after every instruction."""
    if dtype == "f32":
        _add_product(acc, left, right)
        return
    for col in range(0, left.shape[1], MMA_COLUMNS):
        end = col + MMA_COLUMNS
        _add_product(acc, left[:, col:end], right[:, col:end])
        acc[...] = rounded(acc, dtype)


def _add_product(acc: Matrix, left: Matrix, right: Matrix) -> None:
    """acc += left * right^T in strips that a BLAS computes in one thread.

    Its threads gain little on tiles of this size, and on a busy machine they wait for each other
    a thousand times longer than the product takes (OpenBLAS starts them above 2^18 products).
    """
    strip = max(1, (1 << 18) // max(right.size, 1))
    transposed = right.T
    for row in range(0, left.shape[0], strip):
        acc[row : row + strip] += left[row : row + strip] @ transposed


def _rows_of(actor: Actor, team: Team, rows: int) -> range:
    """The rows of an accumulator in the registers of an actor: warps hold equal shares."""
    warps = team.role.warps
    return range(rows * actor.warps.start // warps, rows * actor.warps.stop // warps)


def _box(source: Matrix, row: int, col: int, rows: int, cols: int) -> Matrix:
    """A box of a matrix, with zeros where it sticks out; a view where it does not."""
    top, left = max(row, 0), max(col, 0)
    inside = source[top : max(row + rows, 0), left : max(col + cols, 0)]
    if inside.shape == (rows, cols):
        return inside
    box = np.zeros((rows, cols), np.float32)
    box[top - row : top - row + inside.shape[0], left - col : left - col + inside.shape[1]] = inside
    return box


def _paste(target: Matrix, values: Matrix, row: int, col: int) -> None:
    """Write a box into a matrix, clipped at its edges."""
    top, left = max(-row, 0), max(-col, 0)
    height = max(min(values.shape[0], target.shape[0] - row), 0)
    width = max(min(values.shape[1], target.shape[1] - col), 0)
    inside = values[top:height, left:width]
    target[row + top : row + top + inside.shape[0], col + left : col + left + inside.shape[1]] = (
        inside
    )
