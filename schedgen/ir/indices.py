"""Indices of slabs, parts and barrier arrays: there where they are needed, and never outside.

An index may change in a loop.  So each is followed as a span, from its least to its greatest value
for any K; guards that compare a variable narrow the span of what stands under them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schedgen.ir.effects import BufferRef, PlainBarrier, SlotRef
from schedgen.ir.expr import Compare, Expr, Int, Name, Stages, evaluate
from schedgen.ir.ops import Op, Place
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt

MOST_TILES = 2**31 - 1
"""K beyond which nothing is asked: the sizes of a kernel are 32-bit integers."""


class Span(NamedTuple):
    """Integers from the first to the last, both included; none if the last is less."""

    first: int
    last: int


Spans = Mapping[str, Span]


class Indexed(NamedTuple):
    """What an op names that may have an index: how many there are, each of them a ``word``."""

    what: str
    word: str
    size: int | None
    at: Expr | None


def index_objections(s: Schedule) -> Iterator[tuple[str, Place | None]]:
    """Every index that is missing, too many, or outside at some K."""
    for role in s.roles:
        for replica in range(role.replica_count):
            names = {"K": Span(0, MOST_TILES), "self": Span(replica, replica)}
            for op, spans in _ops(role.body, names, s.stages):
                for it in _indexed(s, op):
                    if it.size is None and it.at is not None:
                        yield f"`{it.what}` is a single one and takes no index", op.place
                    elif it.size is not None and it.at is None:
                        has = f"`{it.what}` has {counted(it.size, it.word)}"
                        yield f"{has}: say which, as in `{it.what}[0]`", op.place
                    elif it.size is not None and it.at is not None:
                        outside = _outside(it, it.size, span(it.at, spans, s.stages))
                        if outside is not None and not any(map(_is_empty, spans.values())):
                            why = _why(it, it.size, role)
                            yield f"{outside} in {role.label(replica)}: {why}", op.place


def counted(number: int, word: str) -> str:
    """``3 slabs``, ``1 slab``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _outside(it: Indexed, size: int, values: Span) -> str | None:
    """What to say of values that are no index, or may be none."""
    if values.first >= 0 and values.last < size:
        return None
    at = values.first if values.first < 0 else max(values.first, size)
    verb = "is" if values.first == values.last else "may be"
    return f"`{it.what}[{it.at}]` {verb} {it.word} {at}"


def _why(it: Indexed, size: int, role: Role) -> str:
    """How many there are, beside the replicas where it is they who are too many."""
    has = f"`{it.what}` has {counted(size, it.word)}"
    if it.at != Name("self"):
        return has
    return f"{role.name} has {counted(role.replica_count, 'replica')}, {has}"


def _is_empty(values: Span) -> bool:
    return values.first > values.last


def _ops(
    body: tuple[Stmt, ...], spans: Spans, stages: Mapping[str, int]
) -> Iterator[tuple[Op, Spans]]:
    """Every op, with the spans of the names that it sees: one is empty where it never runs."""
    for stmt in body:
        if isinstance(stmt, Loop):
            first, end = (span(bound, spans, stages) for bound in (stmt.first, stmt.end))
            turns = {stmt.var: Span(first.first, end.last - 1)}
            yield from _ops(stmt.body, {**spans, **turns}, stages)
        elif isinstance(stmt, If):
            yield from _ops(stmt.body, _under(stmt.guard, spans, stages), stages)
        else:
            yield stmt, spans


def _under(guard: Compare, spans: Spans, stages: Mapping[str, int]) -> Spans:
    """What is left of the spans where the guard holds."""
    if not isinstance(guard.left, Name):
        return spans
    first, last = spans[guard.left.name]
    least, greatest = span(guard.right, spans, stages)
    match guard.op:
        case "<":
            last = min(last, greatest - 1)
        case "<=":
            last = min(last, greatest)
        case ">":
            first = max(first, least + 1)
        case ">=":
            first = max(first, least)
        case "==":
            first, last = max(first, least), min(last, greatest)
        case "!=":
            pass
    return {**spans, guard.left.name: Span(first, last)}


def span(expr: Expr, spans: Spans, stages: Mapping[str, int]) -> Span:
    """A span that has every value of an expression."""
    if isinstance(expr, Int | Stages):
        value = evaluate(expr, {}, stages)
        return Span(value, value)
    if isinstance(expr, Name):
        return spans[expr.name]
    a, b = span(expr.left, spans, stages), span(expr.right, spans, stages)
    match expr.op:
        case "+":
            return Span(a.first + b.first, a.last + b.last)
        case "-":
            return Span(a.first - b.last, a.last - b.first)
        case "*":
            products = [x * y for x in a for y in b]
            return Span(min(products), max(products))
        case "min":
            return Span(min(a.first, b.first), min(a.last, b.last))
        case "max":
            return Span(max(a.first, b.first), max(a.last, b.last))
        case "/":  # divisors are positive numbers
            return Span(a.first // b.first, a.last // b.first)
        case "%":
            is_one_period = a.first // b.first == a.last // b.first
            return (
                Span(a.first % b.first, a.last % b.first) if is_one_period else Span(0, b.last - 1)
            )


def _indexed(s: Schedule, op: Op) -> Iterator[Indexed]:
    """What an op names that may have an index."""
    effects = op.effects()
    for at in (access.location for access in effects.accesses):
        if isinstance(at, SlotRef):
            slot = s.ring(at.ring).slot(at.slot)
            yield Indexed(f"{at.ring}.{at.slot}", "slab", slot.slabs, at.slab)
        elif isinstance(at, BufferRef):
            yield Indexed(at.name, "part", s.buffer(at.name).parts, at.part)
    for end in (effects.wait, effects.signal):
        if end is not None and isinstance(end.barrier, PlainBarrier):
            ref = end.barrier
            yield Indexed(ref.name, "barrier", s.barrier(ref.name).size, ref.index)
    sync = effects.sync
    if sync is not None:
        size = next(n.size for n in s.named if n.name == sync.name)
        yield Indexed(sync.name, "barrier", size, sync.index)
