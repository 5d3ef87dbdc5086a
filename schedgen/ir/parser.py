"""Text form to schedule: the lark grammar and the builder of values.

The rule of an op is named like its keyword and yields the op's own fields in their order, so one
generic builder makes every op.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import Any, TypeVar, cast

import lark
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, VisitError
from lark.tree import Meta

from schedgen.ir.effects import (
    BufferRef,
    Executor,
    NamedRef,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Binary, BinaryOp, Compare, Int, Name, Stages
from schedgen.ir.ops import OPS, Op, Place, SetCursor, StoreWait
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import (
    WARPGROUP_WARPS,
    Accumulator,
    Alias,
    Barrier,
    Buffer,
    If,
    Loop,
    NamedBarrier,
    Problem,
    Ring,
    Role,
    Schedule,
    Slot,
    Tensor,
    Tile,
)
from schedgen.ir.syntax import glued, syntax_error

_Item = TypeVar("_Item")
_OWN_FIELDS = {"offset", "by", "place"}


@cache
def _grammar() -> Lark:
    text = resources.files("schedgen.ir").joinpath("schedule.lark").read_text(encoding="utf-8")
    return Lark(
        text, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True
    )


def parse(text: str, *, file: str) -> Schedule:
    """The schedule that ``text`` describes; ``file`` names it in places.

    Raises `IllFormed` (SG101 for syntax) with line, column and what was expected.
    """
    try:
        tree: Any = cast(Any, _grammar()).parse(text)
    except UnexpectedInput as error:
        raise syntax_error(error, _grammar(), text, file) from None
    slip = glued(text, file)
    if slip is not None:
        raise slip
    try:
        return cast(Schedule, _Builder(file, _output_name(tree)).transform(tree))
    except RecursionError:
        raise _too_deep(text, file) from None
    except VisitError as error:
        if isinstance(error.orig_exc, IllFormed):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, RecursionError):
            raise _too_deep(text, file) from None
        raise


MOST_NESTING = 64
"""Levels of blocks, brackets or operators that a text may nest."""


def _too_deep(text: str, file: str) -> IllFormed:
    """At the line that nests blocks too deep, else at the longest, wherever the stack gave out."""
    lines = text.splitlines()
    depths = list(accumulate(line.count("{") - line.count("}") for line in lines))
    deep = next((n for n, depth in enumerate(depths) if depth > MOST_NESTING), None)
    where = max(range(len(lines)), key=lambda n: len(lines[n])) if deep is None else deep
    message = f"blocks, brackets or operators are nested more than {MOST_NESTING} deep"
    return IllFormed(code="SG101", message=message, place=Place(file, where + 1, 1))


def _output_name(tree: Any) -> str | None:
    tensors = [t for p in tree.find_data("problem") for t in p.children]
    return str(tensors[0].children[0]) if tensors else None


_with_meta: Callable[[Any], Any] = cast(Any, lark).v_args(meta=True)


class _Builder(Transformer[Token, Any]):
    """Bottom-up: every method gets the values of its children."""

    def __init__(self, file: str, output: str | None) -> None:
        super().__init__()
        self.file = file
        self.output = output
        self.levels: dict[int, tuple[int, object]] = {}

    def _place(self, meta: Meta) -> Place | None:
        return None if meta.empty else Place(self.file, meta.line, meta.column)

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        """An op: the fields are the children in their order."""
        cls = _op_classes()[str(data)]
        own = [f.name for f in dataclasses.fields(cls) if f.name not in _OWN_FIELDS]
        return cls(**dict(zip(own, children, strict=True)), place=self._place(meta))

    # --- tokens
    def NAME(self, token: Token) -> str:
        return str(token)

    SIDE = RASTER_DIM = COMPARE = NAME

    def SIGNED(self, token: Token) -> int:
        digits = str(token)
        if len(digits) > 18:
            raise IllFormed(
                code="SG110",
                message=f"the number {digits[:12]}... is too large",
                place=Place(self.file, token.line or 1, token.column or 1),
            )
        return int(digits)

    INT = SIGNED

    def EXECUTOR(self, token: Token) -> Executor:
        return Executor(str(token))

    def SHAPE(self, token: Token) -> tuple[int, int]:
        rows, cols = str(token).split("x")
        return int(rows[:18]), int(cols[:18])

    def READ_SUFFIX(self, _: Token) -> bool:
        return True

    # --- expressions
    def int(self, c: list[Any]) -> Int:
        return Int(c[0])

    def negative(self, c: list[Any]) -> Int:
        return Int(-c[0])

    def name(self, c: list[Any]) -> Name:
        return Name(c[0])

    def stages(self, c: list[Any]) -> Stages:
        return Stages(c[0])

    def _binary(self, op: BinaryOp, c: list[Any]) -> Binary:
        return self._deeper(Binary(op, c[0], c[1]), c)

    def _deeper(self, made: _Item, parts: Iterable[Any]) -> _Item:
        """The value, one level deeper than its parts; `RecursionError` beyond the limit.

        Levels are kept by identity, with the values, so that an identity is never reused.
        """
        levels = (self.levels[id(p)][0] for p in parts if id(p) in self.levels)
        level = 1 + max(levels, default=0)
        if level > MOST_NESTING:
            raise RecursionError
        self.levels[id(made)] = (level, made)
        return made

    def plus(self, c: list[Any]) -> Binary:
        return self._binary("+", c)

    def minus(self, c: list[Any]) -> Binary:
        return self._binary("-", c)

    def times(self, c: list[Any]) -> Binary:
        return self._binary("*", c)

    def over(self, c: list[Any]) -> Binary:
        return self._binary("/", c)

    def modulo(self, c: list[Any]) -> Binary:
        return self._binary("%", c)

    def min(self, c: list[Any]) -> Binary:
        return self._binary("min", c)

    def max(self, c: list[Any]) -> Binary:
        return self._binary("max", c)

    # --- references
    def ring_barrier(self, c: list[Any]) -> RingBarrier:
        return RingBarrier(c[0], c[1])

    def plain_barrier(self, c: list[Any]) -> PlainBarrier:
        return PlainBarrier(c[0], c[1])

    def slot_ref(self, c: list[Any]) -> SlotRef:
        return SlotRef(c[0], c[1], c[2])

    @_with_meta
    def place_ref(self, meta: Meta, c: list[Any]) -> BufferRef | OutRef:
        if c[0] != self.output:
            return BufferRef(c[0], c[1])
        if c[1] is not None:
            message = f"`{c[0]}` is the output and takes no index"
            raise IllFormed(code="SG106", message=message, place=self._place(meta))
        return OutRef(c[0])

    def out_ref(self, c: list[Any]) -> OutRef:
        return OutRef(c[0], c[1], c[2])

    def named_ref(self, c: list[Any]) -> NamedRef:
        return NamedRef(c[0], c[1])

    def parity(self, c: list[Any]) -> Any:
        return c[0]

    # --- statements
    @_with_meta
    def op(self, meta: Meta, c: list[Any]) -> Op:
        op, shift, by = c
        return dataclasses.replace(op, offset=shift or 0, by=by, place=self._place(meta))

    def _shift(self, word: str, c: list[Any], meta: Meta) -> int:
        if c[0] < 0:
            message = f"`{word} {c[0]}` is negative; a lag or ahead is 0 or more"
            raise IllFormed(code="SG110", message=message, place=self._place(meta))
        return c[0]

    @_with_meta
    def lag(self, meta: Meta, c: list[Any]) -> int:
        return -self._shift("lag", c, meta)

    @_with_meta
    def ahead(self, meta: Meta, c: list[Any]) -> int:
        return self._shift("ahead", c, meta)

    def by(self, c: list[Any]) -> Executor:
        return c[0]

    def reset(self, c: list[Any]) -> SetCursor:
        return SetCursor(ring=c[0], to=Int(0))

    def store_wait(self, c: list[Any]) -> StoreWait:
        return StoreWait(depth=c[0], reads_only=bool(c[1]))

    def block(self, c: list[Any]) -> tuple[Any, ...]:
        return tuple(c)

    @_with_meta
    def loop(self, meta: Meta, c: list[Any]) -> Loop:
        made = Loop(var=c[0], first=c[1], end=c[2], body=c[3], place=self._place(meta))
        return self._deeper(made, c[3])

    @_with_meta
    def guarded(self, meta: Meta, c: list[Any]) -> If:
        made = If(guard=Compare(c[1], c[0], c[2]), body=c[3], place=self._place(meta))
        return self._deeper(made, c[3])

    # --- declarations
    def tensor(self, c: list[Any]) -> Tensor:
        return Tensor(c[0], (c[1], c[2]), c[3])

    @_with_meta
    def problem(self, meta: Meta, c: list[Any]) -> Problem:
        return Problem(out=c[0], left=c[1], right=c[2], place=self._place(meta))

    @_with_meta
    def tile(self, meta: Meta, c: list[Any]) -> Tile:
        return Tile(m=c[0], n=c[1], k=c[2], raster=(c[3], c[4]), place=self._place(meta))

    def slabs(self, c: list[Any]) -> int:
        return c[0]

    @_with_meta
    def slot(self, meta: Meta, c: list[Any]) -> Slot:
        (rows, cols), place = c[3], self._place(meta)
        return Slot(
            name=c[0], slabs=c[1], dtype=c[2], rows=rows, cols=cols, tensor=c[4], first_row=c[5],
            place=place,
        )  # fmt: skip

    @_with_meta
    def ring(self, meta: Meta, c: list[Any]) -> Ring:
        place = self._place(meta)
        return Ring(name=c[0], stages=c[1], empty=c[2], full=c[3], slots=tuple(c[4:]), place=place)

    @_with_meta
    def barrier(self, meta: Meta, c: list[Any]) -> Barrier:
        return Barrier(name=c[0], size=c[1], count=c[2], place=self._place(meta))

    @_with_meta
    def named(self, meta: Meta, c: list[Any]) -> NamedBarrier:
        return NamedBarrier(name=c[0], size=c[1], threads=c[2], place=self._place(meta))

    @_with_meta
    def acc(self, meta: Meta, c: list[Any]) -> Accumulator:
        rows, cols = c[2]
        return Accumulator(
            name=c[0], dtype=c[1], rows=rows, cols=cols, tensor=c[3], first_row=c[4],
            first_col=c[5] if c[5] is not None else Int(0), place=self._place(meta),
        )  # fmt: skip

    @_with_meta
    def buffer(self, meta: Meta, c: list[Any]) -> Buffer:
        rows, cols = c[3]
        alias = None if c[4] is None else Alias(c[4], c[5], c[6])
        return Buffer(
            name=c[0], parts=c[1], dtype=c[2], rows=rows, cols=cols, alias=alias,
            place=self._place(meta),
        )  # fmt: skip

    def one_warp(self, _: list[Any]) -> int:
        return 1

    def one_warpgroup(self, _: list[Any]) -> int:
        return WARPGROUP_WARPS

    def many_warps(self, c: list[Any]) -> int:
        return c[0]

    @_with_meta
    def role(self, meta: Meta, c: list[Any]) -> Role:
        return Role(name=c[0], replicas=c[1], warps=c[2], body=c[3], place=self._place(meta))

    def start(self, c: list[Any]) -> Schedule:
        name, items = c[0], c[1:]

        def of(kind: type[_Item]) -> tuple[_Item, ...]:
            return tuple(i for i in items if isinstance(i, kind))

        problems, tiles = of(Problem), of(Tile)
        for word, found in (("problem", problems), ("tile", tiles)):
            if len(found) != 1:
                message = f"a schedule has one `{word}` line, this one has {len(found)}"
                place = found[1].place if found else Place(self.file, 1, 1)
                raise IllFormed(code="SG102", message=message, place=place)
        return Schedule(
            name=name, problem=problems[0], tile=tiles[0], rings=of(Ring), barriers=of(Barrier),
            named=of(NamedBarrier), accumulators=of(Accumulator), buffers=of(Buffer),
            roles=of(Role), source=self.file,
        )  # fmt: skip


@cache
def _op_classes() -> dict[str, type[Op]]:
    return {cls.keyword.replace("-", "_").replace(" ", "_"): cls for cls in OPS}
