"""The builder: declarations first, then roles, then `Builder.build`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from schedgen.ir.builder.arguments import (
    RingRef,
    bad,
    calling_place,
    checked_name,
    expression,
    number,
)
from schedgen.ir.builder.body import Block, Body
from schedgen.ir.effects import AccRef, BufferRef, NamedRef, OutRef, PlainBarrier, SlotRef
from schedgen.ir.expr import Expr
from schedgen.ir.ops import Place
from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import (
    Accumulator,
    Alias,
    Barrier,
    Buffer,
    NamedBarrier,
    Problem,
    Ring,
    Role,
    Schedule,
    Slot,
    Tile,
)
from schedgen.ir.spec import verify

_Part = Ring | Barrier | NamedBarrier | Accumulator | Buffer | Role
_Kind = TypeVar("_Kind", bound=_Part)


class Builder:
    """A schedule in the making.

    ``problem`` is the line of the text form, ``c[m, n] f16 = a[m, k] f16 * b[n, k] f16``, or a
    `Problem`.  Every declaration gives back what ops take.  What the text form may leave out may be
    left out here; everything else has to be said.  Raises `IllFormed`, with the Python file and
    line, for arguments of another kind (SG116) and, in `build`, for all that a text is refused for.
    """

    def __init__(self, name: str, *, problem: str | Problem, tile: Tile) -> None:
        self._place = calling_place()
        self._name = checked_name("schedule", name, self._place)
        self._problem = _problem(problem, self._place)
        if not isinstance(tile, Tile):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise bad(
                f"`tile` is a Tile(m=..., n=..., k=..., raster=...), not {tile!r}", self._place
            )
        self._tile = replace(tile, place=self._place)
        self._parts: list[_Part] = []
        self._waiting: list[Block[object]] = []

    @property
    def out(self) -> OutRef:
        """The output, for stores; ``out.at(rows=..., cols=...)`` is a box of the CTA's tile."""
        return OutRef(self._problem.out.name)

    def ring(self, name: str, *, stages: int, empty: int, full: int) -> DeclaredRing:
        """Stages of slots; ``empty`` and ``full`` are the arrival counts of their mbarriers."""
        place = calling_place()
        ring = Ring(
            name=checked_name("ring", name, place), stages=number("`stages`", stages, place),
            empty=number("`empty`", empty, place), full=number("`full`", full, place), slots=(),
            place=place,
        )  # fmt: skip
        self._parts.append(ring)
        return DeclaredRing(ring.name, self, len(self._parts) - 1)

    def barrier(self, name: str, *, count: int, size: int | None = None) -> PlainBarrier:
        """A plain mbarrier of ``count`` arrivals, or an array of ``size`` of them."""
        place = calling_place()
        barrier = Barrier(
            name=checked_name("barrier", name, place), count=number("`count`", count, place),
            size=_optional("`size`", size, place), place=place,
        )  # fmt: skip
        self._parts.append(barrier)
        return PlainBarrier(barrier.name)

    def named(self, name: str, *, threads: int, size: int | None = None) -> NamedRef:
        """A hardware named barrier (bar.sync) of ``threads`` threads, or an array of ``size``."""
        place = calling_place()
        named = NamedBarrier(
            name=checked_name("named barrier", name, place),
            threads=number("`threads`", threads, place), size=_optional("`size`", size, place),
            place=place,
        )  # fmt: skip
        self._parts.append(named)
        return NamedRef(named.name, None)

    def acc(
        self, name: str, *, dtype: str, shape: tuple[int, int], tensor: str, rows: int | Expr,
        cols: int | Expr = 0,
    ) -> AccRef:  # fmt: skip
        """Registers of each replica: ``shape`` rows x columns of the output ``tensor``, from row
        ``rows`` and column ``cols`` of the CTA's tile on (in ``sg.SELF``)."""
        place = calling_place()
        height, width = _shape(shape, place)
        acc = Accumulator(
            name=checked_name("accumulator", name, place), dtype=_word("`dtype`", dtype, place),
            rows=height, cols=width, tensor=_word("`tensor`", tensor, place),
            first_row=expression("`rows`", rows, place), place=place,
            first_col=expression("`cols`", cols, place),
        )  # fmt: skip
        self._parts.append(acc)
        return AccRef(acc.name)

    def buffer(
        self, name: str, *, dtype: str, shape: tuple[int, int], parts: int | None = None,
        within: SlotRef | None = None, stage: int | Expr | None = None,
    ) -> BufferRef:  # fmt: skip
        """A staging buffer in shared memory, or ``parts`` of them.

        With ``within`` (a slot) and ``stage`` (in ``sg.I``) part i lies in that stage of a ring.
        """
        place = calling_place()
        height, width = _shape(shape, place)
        alias = None
        if within is not None and stage is not None:
            alias = Alias(within.ring, within.slot, expression("`stage`", stage, place))
        elif within is not None or stage is not None:
            raise bad("a buffer in a ring names both: `within`, a slot, and `stage`", place)
        buffer = Buffer(
            name=checked_name("buffer", name, place), dtype=_word("`dtype`", dtype, place),
            rows=height, cols=width, parts=_optional("`parts`", parts, place), alias=alias,
            place=place,
        )  # fmt: skip
        self._parts.append(buffer)
        return BufferRef(buffer.name)

    def role(self, name: str, *, warps: int, replicas: int | None = None) -> Block[Body]:
        """Warps that run one program: ``with s.role("producer", warps=1) as p:``.

        ``warps`` counts those of one replica (a warp group has four); with ``replicas`` there are
        that many equal roles, ``sg.SELF`` = 0 and up.
        """
        place = calling_place()
        role = Role(
            name=checked_name("role", name, place), warps=number("`warps`", warps, place),
            replicas=_optional("`replicas`", replicas, place), body=(), place=place,
        )  # fmt: skip
        body = Body(role.name)

        def end() -> None:
            self._parts.append(replace(role, body=body._closed()))  # pyright: ignore[reportPrivateUsage]

        begin = body._begin  # pyright: ignore[reportPrivateUsage]
        return Block(f"the role `{name}`", place, body, self._waiting, begin, end)

    def build(self) -> Schedule:
        """The schedule, well formed.  Raises `IllFormed` (SG1xx) with the place of the call."""
        if self._waiting:
            raise self._waiting[0].never_entered
        schedule = Schedule(
            name=self._name, problem=self._problem, tile=self._tile, rings=self._of(Ring),
            barriers=self._of(Barrier), named=self._of(NamedBarrier),
            accumulators=self._of(Accumulator), buffers=self._of(Buffer), roles=self._of(Role),
            source=self._place.file,
        )  # fmt: skip
        try:
            verify(schedule)
            parse(to_text(schedule), file=self._name)
        except IllFormed as error:
            mine = error.place is not None and error.place.file != self._name
            place = error.place if mine else self._place
            found = IllFormed(code=error.code, message=error.message, place=place)
        else:
            return schedule
        raise found

    def _of(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        return tuple(part for part in self._parts if isinstance(part, kind))

    def _add_slot(self, index: int, slot: Slot) -> None:
        ring = self._parts[index]
        assert isinstance(ring, Ring)
        self._parts[index] = replace(ring, slots=(*ring.slots, slot))


@dataclass(frozen=True)
class DeclaredRing(RingRef):
    """A ring of a builder: ``tma.full``, ``tma.empty``, ``tma.stages``, and its slots."""

    _builder: Builder = dataclasses.field(repr=False, compare=False)
    _index: int = dataclasses.field(repr=False, compare=False)

    def slot(
        self, name: str, *, dtype: str, shape: tuple[int, int], tensor: str, rows: int | Expr,
        slabs: int | None = None,
    ) -> SlotRef:  # fmt: skip
        """A buffer of each stage: ``slabs`` boxes of ``shape`` rows x columns of the operand
        ``tensor``; slab i begins at row ``rows`` (in ``sg.I``) of the CTA's tile."""
        place = calling_place()
        height, width = _shape(shape, place)
        slot = Slot(
            name=checked_name("slot", name, place), slabs=_optional("`slabs`", slabs, place),
            dtype=_word("`dtype`", dtype, place), rows=height, cols=width,
            tensor=_word("`tensor`", tensor, place),
            first_row=expression("`rows`", rows, place), place=place,
        )  # fmt: skip
        self._builder._add_slot(self._index, slot)  # pyright: ignore[reportPrivateUsage]
        return SlotRef(self.name, slot.name, None)


def _problem(problem: str | Problem, place: Place) -> Problem:
    if isinstance(problem, str):
        text = f"schedule s\nproblem {problem}\ntile m 1, n 1, k 1, raster m 1\n"
        try:
            problem = parse(text, file="<problem>").problem
        except IllFormed as error:
            message = f"`problem`, {error.message}"
            raise IllFormed(code=error.code, message=message, place=place) from None
    if not isinstance(problem, Problem):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise bad(f"`problem` is the line of the text form or a Problem, not {problem!r}", place)
    return replace(problem, place=place)


def _word(what: str, value: object, place: Place) -> str:
    return checked_name(what.strip("`"), value, place)


def _optional(what: str, value: int | None, place: Place) -> int | None:
    return None if value is None else number(what, value, place)


def _shape(value: Any, place: Place) -> tuple[int, int]:
    match value:
        case (rows, columns):
            return number("`shape`", rows, place), number("`shape`", columns, place)
        case _:
            raise bad(f"`shape` is (rows, columns), not {value!r}", place)
