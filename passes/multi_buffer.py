"""Give a loop that fills what it reads several stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import LagNeedsStages, LoopNotRetimable, NothingToRewrite
from schedgen.happens_before.kept import Keep
from schedgen.ir.expr import Name
from schedgen.ir.ops import Advance, Load, Op, Wait
from schedgen.ir.schedule import Loop, Schedule, ops_of
from schedgen.passes.rewriting import (
    Fill,
    filled_rings,
    is_fill,
    k_loop,
    multiplying_role,
    prologue,
    refill,
    refuse,
    touches_side,
    with_role,
)
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class MultiBuffer(Pass):
    """Fetch tile k + n as soon as step k is done, in a ring of n stages.

    args:
        n: the stages, and the tiles that are fetched before the loop.
    rewrite:
        for k in 0..K {              if K > 0 {
          expect tma.full bytes N      expect tma.full bytes N
          load tma.A k                 load tma.A 0
          ...                          ...
          wait 0                     }
          sync block           ->    ... and so for each tile below n, `ahead 1` and so on
          advance tma                for k in 0..K {
        }                              ...
                                       wait 0
                                       sync block
                                       if k + n < K {
                                         expect tma.full bytes N ahead n
                                         load tma.A k + n ahead n
                                       }
                                       advance tma
                                     }
    """

    name: ClassVar[str] = "multi-buffer"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover", "numerics"})
    n: int

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        role = multiplying_role(schedule)
        loop = None if role is None else k_loop(role)
        if role is None or loop is None or not _fill(loop):
            reason = "no loop over 0..K fills the stages that it multiplies"
            fix = "a loop of one role that loads, multiplies and waits, as in hopper_matmul_v1"
            yield refuse(NothingToRewrite, self, reason, fix, role=role)
            return
        if self.n < 1:
            reason, fix = "a ring needs a stage", "`multi-buffer{n=1}` or more"
            yield refuse(LagNeedsStages, self, reason, fix, role=role)
        for reason, op in _objections(schedule, loop):
            fix = "the serial loop: fill, multiply, `wait 0`, `advance`"
            place = loop.place if op is None else op.place
            yield refuse(LoopNotRetimable, self, reason, fix, role=role, place=place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        role = multiplying_role(schedule)
        loop = None if role is None else k_loop(role)
        assert role is not None
        assert loop is not None
        fill = _fill(loop)
        *rest, advance = (stmt for stmt in loop.body if not is_fill(stmt))
        steady = replace(loop, body=(*rest, refill(fill, loop.var, self.n), advance))
        at = role.body.index(loop)
        before, after = role.body[:at], role.body[at + 1 :]
        body = (*before, *prologue(fill, loop.var, self.n), steady, *after)
        filled = filled_rings(fill)
        rings = tuple(replace(r, stages=self.n) if r.name in filled else r for r in schedule.rings)
        return with_role(replace(schedule, rings=rings), role, replace(role, body=body))


def _fill(loop: Loop) -> Fill:
    return tuple(stmt for stmt in loop.body if is_fill(stmt))


def _objections(schedule: Schedule, loop: Loop) -> Iterator[tuple[str, Op | None]]:
    """What keeps the fills from moving n steps ahead, with the op that does."""
    fill, body = _fill(loop), loop.body
    rings = filled_rings(fill)
    last = body[-1]
    if body[: len(fill)] != fill or len(rings) != 1:
        yield "the loop does not begin with all fills of one ring", fill[0]
    if not isinstance(last, Advance) or last.ring not in rings:
        yield "the loop does not end with the `advance` of the ring that it fills", None
    for op in fill:
        if isinstance(op, Load) and op.tile != Name(loop.var):
            yield f"`{op.text}` does not load the tile of its step", op
    waits = [n for n, stmt in enumerate(body) if isinstance(stmt, Wait) and stmt.depth == 0]
    joins = [n for n, stmt in enumerate(body) if isinstance(stmt, Op) and _multiplies(stmt)]
    if not waits or not joins or max(waits) < max(joins):
        yield "a step ends with its mma in flight", None
    for stmt in body:
        if not isinstance(stmt, Op):
            yield "the loop holds another block", None
        elif stmt.offset:
            yield f"`{stmt.text}` steps away from the cursor", stmt
        elif _moves(stmt, rings) and stmt is not last:
            yield f"`{stmt.text}` moves the cursor inside a step", stmt
    for other in schedule.roles:
        for op in ops_of(other.body):
            if is_fill(op) and filled_rings((op,)) <= rings and not _within(op, loop):
                yield f"`{op.text}` fills the ring outside the loop, too", op
            elif any(touches_side(op, ring, "empty") for ring in rings):
                yield f"`{op.text}`: the stages are handed over already", op


def _multiplies(op: Op) -> bool:
    group = op.effects().group
    return group is not None and (group.queue, group.action) == ("wgmma", "join")


def _moves(op: Op, rings: set[str]) -> bool:
    cursor = op.effects().cursor
    return cursor is not None and cursor.ring in rings


def _within(op: Op, loop: Loop) -> bool:
    return any(stmt is op for stmt in loop.body)
