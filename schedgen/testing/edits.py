"""Every small edit of a schedule: what a slip of the hand makes of a statement or a ring."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from schedgen.ir import ops
from schedgen.ir.effects import Executor, SlotRef
from schedgen.ir.expr import Int, plus
from schedgen.ir.schedule import If, Loop, Ring, Stmt

Body = tuple[Stmt, ...]
Become = Callable[[Stmt, Stmt | None], Body]

SLAB_BYTES = 64 * 64 * 2
"""Bytes of a slab of 64x64 elements of two bytes, the usual amount to forget."""


def count(body: Body) -> int:
    """Statements of a body, those inside blocks included."""
    return sum(1 + (count(s.body) if isinstance(s, Loop | If) else 0) for s in body)


def edited(body: Body, number: int, become: Become) -> Body:
    """The body with what ``become`` makes of (statement, the one after it) at a position."""
    out: list[Stmt] = []
    for index, stmt in enumerate(body):
        if number == 0:
            after = body[index + 1] if index + 1 < len(body) else None
            made = become(stmt, after)
            taken = 2 if len(made) > 1 and after is not None and made[0] is after else 1
            return (*body[:index], *made, *body[index + taken :])
        number -= 1
        if isinstance(stmt, Loop | If):
            inner = count(stmt.body)
            if number < inner:
                changed = dataclasses.replace(stmt, body=edited(stmt.body, number, become))
                return (*body[:index], changed, *body[index + 1 :])
            number -= inner
        out.append(stmt)
    raise IndexError(number)


def variants(stmt: Stmt, after: Stmt | None) -> list[Body]:
    """What one edit can make of a statement."""
    found: list[Body] = [(), (stmt, stmt)]
    if after is not None:
        found.append((after, stmt))
    if isinstance(stmt, Loop):
        found += [(dataclasses.replace(stmt, first=plus(stmt.first, 1)),), stmt.body]
        found += [(dataclasses.replace(stmt, end=plus(stmt.end, d)),) for d in (-1, 1)]
    elif isinstance(stmt, If):
        guards = [dataclasses.replace(stmt.guard, right=plus(stmt.guard.right, d)) for d in (-1, 1)]
        found += [(dataclasses.replace(stmt, guard=g),) for g in guards]
        found.append(stmt.body)
    else:
        found += [(op,) for op in _op_variants(stmt)]
    return [v for v in found if v != (stmt,)]


def _op_variants(op: ops.Op) -> Iterator[ops.Op]:
    if isinstance(op, ops.Wait):
        yield from (dataclasses.replace(op, depth=op.depth + d) for d in (1, 2))
        if op.depth:
            yield dataclasses.replace(op, depth=op.depth - 1)
    if isinstance(op, ops.Release | ops.Load | ops.Mma | ops.Acquire):
        yield from (dataclasses.replace(op, offset=op.offset + d) for d in (-1, 1))
    if isinstance(op, ops.Load | ops.Mma):
        yield from (dataclasses.replace(op, tile=plus(op.tile, d)) for d in (-1, 1))
    if isinstance(op, ops.Expect):
        yield from (dataclasses.replace(op, bytes=op.bytes + d) for d in (-SLAB_BYTES, 16))
    if isinstance(op, ops.Load):
        yield dataclasses.replace(op, into=SlotRef(op.into.ring, op.into.slot, Int(0)))
    if isinstance(op, ops.Release):
        yield dataclasses.replace(op, by=Executor.ALL)


def ring_variants(ring: Ring) -> Iterator[Ring]:
    """The ring with one of its numbers less or more by one."""
    for field in ("stages", "empty", "full"):
        for delta in (-1, 1):
            value = getattr(ring, field) + delta
            if value > 0:
                yield dataclasses.replace(ring, **{field: value})
