"""Retime a loop: let some of its ops work for the step d iterations back.

The general rewrite behind `overlap-wgmma`.  The *late* ops of a loop body are shifted by d
iterations against the rest: the first d steps are peeled without them, the loop starts d later, and
after the loop the last d steps get theirs.  Guards make every part exact for short loops too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from schedgen.ir.effects import GroupEffect, RingBarrier
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages, plus, substitute
from schedgen.ir.ops import Op, Wait
from schedgen.ir.schedule import If, Loop, Schedule, Stmt


def wgmma_group(op: Op) -> GroupEffect | None:
    """The op's part in the wgmma queue, if it has one."""
    group = op.effects().group
    return group if group is not None and group.queue == "wgmma" else None


def is_wait(op: Op) -> bool:
    group = wgmma_group(op)
    return group is not None and group.action == "wait"


def is_release(op: Op) -> bool:
    """An arrival on the empty barrier of a ring."""
    signal = op.effects().signal
    return (
        signal is not None
        and signal.arrivals > 0
        and isinstance(signal.barrier, RingBarrier)
        and signal.barrier.side == "empty"
    )


def released_ring(op: Op) -> str:
    signal = op.effects().signal
    assert signal is not None
    assert isinstance(signal.barrier, RingBarrier)
    return signal.barrier.ring


def commits_in(loop: Loop) -> int:
    """Groups that one step commits."""
    groups = [wgmma_group(op) for op in loop.body if isinstance(op, Op)]
    return sum(1 for g in groups if g is not None and g.action == "commit")


def advances_in(body: tuple[Stmt, ...], ring: str) -> int:
    """Uses of a ring that the statements move on."""
    cursors = [op.effects().cursor for op in body if isinstance(op, Op)]
    return sum(1 for c in cursors if c is not None and c.ring == ring and c.to is None)


def late_ops(loop: Loop) -> tuple[Op, ...]:
    """The waits of the body, and the releases that stand after the first of them."""
    late: list[Op] = []
    for op in loop.body:
        if isinstance(op, Op) and (is_wait(op) or (late and is_release(op))):
            late.append(op)
    return tuple(late)


def retime(loop: Loop, *, steps: int) -> tuple[Stmt, ...]:
    """The statements that replace the loop when its late ops lag ``steps`` iterations."""
    late = set(map(id, late_ops(loop)))
    early = tuple(s for s in loop.body if id(s) not in late)
    commits = commits_in(loop)
    peeled = [
        If(guard=Compare(">", loop.end, plus(loop.first, j)), body=tuple(_at(early, loop, j)))
        for j in range(steps)
    ]
    body = tuple(
        _shifted(s, loop, steps, commits) if isinstance(s, Op) and id(s) in late else s
        for s in loop.body
    )
    steady = Loop(var=loop.var, first=plus(loop.first, steps), end=loop.end, body=body)
    return (*peeled, steady, Wait(depth=0), *_closing(loop, steps))


def _at(body: tuple[Stmt, ...], loop: Loop, step: int) -> Iterator[Stmt]:
    """The body with the loop variable fixed to its ``step``-th value."""
    value = plus(loop.first, step)
    for stmt in body:
        changes: dict[str, Expr] = {}
        for field in dataclasses.fields(stmt):
            held = getattr(stmt, field.name)
            if isinstance(held, Int | Name | Stages | Binary):
                changes[field.name] = substitute(held, loop.var, value)
        yield dataclasses.replace(stmt, **changes)


def _shifted(op: Op, loop: Loop, steps: int, commits: int) -> Op:
    if isinstance(op, Wait):
        return dataclasses.replace(op, depth=op.depth + commits * steps)
    moved = steps * advances_in(loop.body, released_ring(op))
    return dataclasses.replace(op, offset=op.offset - moved)


def uses_before(loop: Loop, op: Op, ring: str) -> int:
    """The use that an op of the body names, counted from the cursor at the step's begin."""
    at = next(n for n, s in enumerate(loop.body) if s is op)
    return advances_in(loop.body[:at], ring) + op.offset


def stages_needed(loop: Loop, ring: str, *, steps: int) -> int:
    """Stages that the role holds at most when its releases lag ``steps`` iterations.

    At each op that reaches for a use of the ring, the oldest use that no release has handed back:
    releases above the op have run for the step ``steps - 1`` back, those below for one step more.
    """
    per_step = advances_in(loop.body, ring)
    releases = [op for op in late_ops(loop) if is_release(op) and released_ring(op) == ring]
    position = {id(s): n for n, s in enumerate(loop.body)}
    most = 1
    for op in (s for s in loop.body if isinstance(s, Op)):
        if ring not in _acquired_rings(op):
            continue
        oldest = [
            uses_before(loop, r, ring)
            - per_step * (steps if position[id(r)] > position[id(op)] else steps - 1)
            for r in releases
        ]
        most = max([most, *(uses_before(loop, op, ring) - use + 1 for use in oldest)])
    return most


def _acquired_rings(op: Op) -> set[str]:
    wait = op.effects().wait
    if wait is None or not isinstance(wait.barrier, RingBarrier) or wait.barrier.side != "full":
        return set()
    return {wait.barrier.ring}


def _closing(loop: Loop, steps: int) -> Iterator[Stmt]:
    """The releases of the last steps, oldest first; the cursor stands one step past the loop."""
    releases = [op for op in late_ops(loop) if is_release(op)]
    for back in range(steps, 0, -1):
        body: list[Op] = []
        for op in releases:
            ring = released_ring(op)
            moved = uses_before(loop, op, ring) - back * advances_in(loop.body, ring)
            body.append(dataclasses.replace(op, offset=moved))
        if body:
            guard = Compare(">", loop.end, plus(loop.first, back - 1))
            yield If(guard=guard, body=tuple(body))


def map_loops(
    schedule: Schedule, wanted: Callable[[Loop], bool], rewrite: Callable[[Loop], tuple[Stmt, ...]]
) -> Schedule:
    """Replace each wanted loop of every role; the same object if there is none."""

    def body(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, Loop) and wanted(stmt):
                out += rewrite(stmt)
            elif isinstance(stmt, Loop | If):
                out.append(dataclasses.replace(stmt, body=body(stmt.body)))
            else:
                out.append(stmt)
        return tuple(out)

    roles = tuple(dataclasses.replace(r, body=body(r.body)) for r in schedule.roles)
    return schedule if roles == schedule.roles else dataclasses.replace(schedule, roles=roles)
