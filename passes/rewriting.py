"""What several passes share: refusals, the role that multiplies, the fills of a ring, sizes.

A *fill* is what makes a stage full: an `expect` and the `load`s of one K tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from schedgen.diagnostics.finding import Row
from schedgen.diagnostics.target import Refusal
from schedgen.ir.effects import RingBarrier
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, plus, substitute
from schedgen.ir.ops import Expect, Load, Mma, Op, Place
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt, ops_of
from schedgen.pipeline import Pass

Fill = tuple[Expect | Load, ...]


def refuse(
    cls: type[Refusal],
    step: Pass,
    reason: str,
    fix: str,
    *,
    role: Role | None = None,
    place: Place | None = None,
) -> Refusal:
    """A refusal that shows the role and where in it the reason stands."""
    rows: tuple[Row, ...] = ()
    if role is not None:
        rows = (
            Row(
                label="role", text=role.name, place=place, role=role.name, replica=None, k=None,
                tile=None,
            ),
        )  # fmt: skip
    return cls(pass_name=step.text, reason=reason, rows=rows, missing=None, fix=fix)


# --- Roles and their loops


def in_flight_already(op: Op) -> str:
    """The reason of `AlreadyInFlight`: the wait or late release that shows it."""
    return f"the loop already keeps mma groups in flight, by `{op.text}`"


def multiplying_role(schedule: Schedule) -> Role | None:
    """The one role that issues mma, None if there is none or more than one."""
    found = [r for r in schedule.roles if any(isinstance(op, Mma) for op in ops_of(r.body))]
    return found[0] if len(found) == 1 else None


def k_loop(role: Role) -> Loop | None:
    """The role's one loop that multiplies, if it stands at top level and counts 0..K."""
    found = [
        stmt
        for stmt in role.body
        if not isinstance(stmt, Op) and any(isinstance(op, Mma) for op in ops_of((stmt,)))
    ]
    if len(found) != 1 or not isinstance(found[0], Loop):
        return None
    loop = found[0]
    return loop if (loop.first, loop.end) == (Int(0), Name("K")) else None


def with_role(schedule: Schedule, old: Role, new: Role) -> Schedule:
    return replace(schedule, roles=tuple(new if r is old else r for r in schedule.roles))


def map_ops(schedule: Schedule, become: Callable[[Op], tuple[Stmt, ...]]) -> Schedule:
    """The schedule with every op replaced by what ``become`` gives."""

    def through(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
        for stmt in body:
            if isinstance(stmt, Op):
                yield from become(stmt)
            else:
                yield replace(stmt, body=tuple(through(stmt.body)))

    roles = tuple(replace(r, body=tuple(through(r.body))) for r in schedule.roles)
    return replace(schedule, roles=roles)


# --- Fills


def is_fill(stmt: Stmt) -> TypeGuard[Expect | Load]:
    return isinstance(stmt, Expect | Load)


def filled_rings(fill: Fill) -> set[str]:
    return {op.into.ring if isinstance(op, Load) else op.barrier.ring for op in fill}


def at_tile(fill: Fill, var: str, tile: Expr, ahead: int) -> Fill:
    """The fill of tile k (``var``) as that of ``tile``, for the use ``ahead`` of the cursor."""
    return tuple(
        replace(op, offset=ahead, tile=substitute(op.tile, var, tile))
        if isinstance(op, Load)
        else replace(op, offset=ahead)
        for op in fill
    )


def prologue(fill: Fill, var: str, stages: int) -> tuple[If, ...]:
    """The fills of the first tiles, each under the guard that there is such a tile."""
    return tuple(
        If(guard=Compare(">", Name("K"), Int(j)), body=at_tile(fill, var, Int(j), j))
        for j in range(stages)
    )


def refill(fill: Fill, var: str, stages: int) -> If:
    """In the step of tile k: the fill of tile k + stages, if there is one."""
    later = plus(Name(var), stages)
    return If(guard=Compare("<", later, Name("K")), body=at_tile(fill, var, later, stages))


def touches_side(op: Op, ring: str, side: str) -> bool:
    """Whether the op waits for or arrives on that barrier of a ring."""
    effects = op.effects()
    ends = [end.barrier for end in (effects.wait, effects.signal) if end is not None]
    return any(isinstance(b, RingBarrier) and (b.ring, b.side) == (ring, side) for b in ends)


# --- Sizes


def scaled(expr: Expr, factor: Fraction) -> Expr | None:
    """``expr`` times the factor, in its own form; None where a number would not stay whole."""
    if factor == 1:
        return expr
    match expr:
        case Int(value):
            return _whole(value * factor)
        case Binary("*", Int(value), other):
            number = _whole(value * factor)
            return None if number is None else Binary("*", number, other)
        case Binary(("+" | "-") as op, left, right):
            first, second = scaled(left, factor), scaled(right, factor)
            return None if first is None or second is None else Binary(op, first, second)
        case _:
            number = _whole(factor)
            return None if number is None else Binary("*", number, expr)


def _whole(value: Fraction) -> Int | None:
    return Int(int(value)) if value.denominator == 1 else None


def fresh(schedule: Schedule, wanted: str) -> str:
    """``wanted``, or with a number behind it where the schedule has that name already."""
    s = schedule
    things = [*s.rings, *s.barriers, *s.named, *s.accumulators, *s.buffers]
    tensors = (s.problem.out, s.problem.left, s.problem.right)
    taken = {thing.name for thing in things} | {tensor.name for tensor in tensors}
    names = (wanted, *(f"{wanted}{n}" for n in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)
