"""What a program text says for every large K: constants, loops that grow with K, obstacles.

Bounds, guards and tiles are read as linear forms a*k + b*K + c.  *In the middle* of a loop over K
(k far from both of its ends) the sign of such a form is that of b*K + a*k for all k between 0 and
K; where it changes sign there, the text is not one text and the proof does not apply.  The largest
constant c that was met tells how near to an end, and how small a K, is "not in the middle".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from schedgen.ir.effects import BufferRef, Effects, NamedRef, OutRef, PlainBarrier, SlotRef
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages
from schedgen.ir.ops import Op
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt

MOST_STATEMENTS = 20_000
"""Statements of one role, loops of a constant count unrolled, beyond which the text is not read."""


class Obstacle(Exception):
    """Why the proof does not apply; the message completes "no proof for every K: ..."."""


class Linear(NamedTuple):
    """``turn * (turns of the loop so far) + trips * K + const``."""

    turn: int
    trips: int
    const: int

    def plus(self, other: Linear, factor: int) -> Linear:
        return Linear(*(a + factor * b for a, b in zip(self, other, strict=True)))

    @property
    def is_constant(self) -> bool:
        return not self.turn and not self.trips


TRIPS = Linear(0, 1, 0)


def constant(value: int) -> Linear:
    return Linear(0, 0, value)


@dataclass(eq=False)
class ProgramText:
    """What was read of one replica's program.

    ``growing`` are the loops (by ``id``) whose count grows with K, ``tiles`` the slopes (in turns,
    in K) of the tiles that are named in their middle, ``largest`` the largest constant: a guard is
    settled that many turns from either end of a loop, and for larger K.
    """

    stages: Mapping[str, int]
    growing: set[int] = field(default_factory=set[int])
    turns: int = 0
    tiles: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    largest: int = 0
    excess: int = 0  # the turns of the growing loop around, less K
    left: int = MOST_STATEMENTS

    # --- expressions
    def linear(self, expr: Expr, env: Mapping[str, Linear]) -> Linear:
        match expr:
            case Int(value):
                return constant(value)
            case Stages(ring):
                return constant(self.stages[ring])
            case Name(name):
                return env[name]
            case Binary(op, left, right):
                return self._binary(op, self.linear(left, env), self.linear(right, env), expr)

    def _binary(self, op: str, a: Linear, b: Linear, expr: Expr) -> Linear:
        if op in ("+", "-"):
            return a.plus(b, 1 if op == "+" else -1)
        if op in ("min", "max"):
            less = self.sign(a.plus(b, -1), str(expr)) < 0
            return a if less == (op == "min") else b
        if op == "*" and (a.is_constant or b.is_constant):
            factor, other = (a.const, b) if a.is_constant else (b.const, a)
            return constant(0).plus(other, factor)
        if a.is_constant and b.is_constant and b.const:
            return constant(a.const // b.const if op == "/" else a.const % b.const)
        raise Obstacle(f"`{expr}` is not of the form a*k + b*K + c")

    def sign(self, form: Linear, what: str) -> int:
        """The sign in the middle of a loop over K, for all large K."""
        if form.is_constant:
            return (form.const > 0) - (form.const < 0)
        at_left, at_right = form.trips, form.trips + form.turn
        from_end = form.const + (form.turn * self.excess if at_right == 0 else 0)
        self.largest = max(self.largest, abs(from_end))
        if min(at_left, at_right) < 0 < max(at_left, at_right):
            raise Obstacle(f"`{what}` changes somewhere in the middle of a loop over K")
        return 1 if max(at_left, at_right) > 0 else -1

    def holds(self, guard: Compare, env: Mapping[str, Linear]) -> bool:
        sign = self.sign(
            self.linear(guard.left, env).plus(self.linear(guard.right, env), -1), str(guard)
        )
        signs = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1), "==": (0,), "!=": (-1, 1)}
        return sign in signs[guard.op]

    # --- statements
    def read(
        self, body: tuple[Stmt, ...], env: Mapping[str, Linear], depth: int, *, live: bool
    ) -> None:
        """Read statements; ``depth`` counts the growing loops around, ``live``: in the middle."""
        for stmt in body:
            self.left -= 1
            if self.left < 0:
                raise Obstacle(f"the text unrolls to more than {MOST_STATEMENTS} statements")
            if isinstance(stmt, Loop):
                self._loop(stmt, env, depth, live=live)
            elif isinstance(stmt, If):
                taken = self.holds(stmt.guard, env)
                if taken or depth:
                    self.read(stmt.body, env, depth, live=live and taken)
            else:
                self._op(stmt, stmt.effects(), env, depth, live=live)

    def _loop(self, loop: Loop, env: Mapping[str, Linear], depth: int, *, live: bool) -> None:
        first, end = self.linear(loop.first, env), self.linear(loop.end, env)
        count = end.plus(first, -1)
        what = f"for {loop.var} in {loop.first}..{loop.end}"
        if count.is_constant:
            for turn in range(count.const):
                at = first.plus(constant(turn), 1)
                self.read(loop.body, {**env, loop.var: at}, depth, live=live)
        elif self.sign(count, what) < 0:
            self.read(loop.body, {**env, loop.var: first}, depth, live=False)
        elif depth:
            raise Obstacle(f"`{what}` grows with K inside a loop over K")
        elif count[:2] != (0, 1) or not first.is_constant:
            raise Obstacle(f"the turns of `{what}` are not K plus a constant")
        else:
            self.largest = max(self.largest, abs(first.const), abs(end.const))
            self.growing.add(id(loop))
            self.turns += 1
            self.excess = count.const
            at = Linear(1, 0, first.const)
            self.read(loop.body, {**env, loop.var: at}, depth + 1, live=live)

    def _op(self, op: Op, e: Effects, env: Mapping[str, Linear], depth: int, *, live: bool) -> None:
        for expr in indices_of(e):
            if not self.linear(expr, env).is_constant and live:
                raise Obstacle(f"`{op.text}` names another part or barrier at each K or k")
        for access in e.accesses:
            if access.tile is not None:
                form = self.linear(access.tile, env)
                if depth and live:
                    self.tiles.add(form[:2])
        if e.cursor is not None and e.cursor.to is not None and self.turns:
            raise Obstacle(f"`{op.text}` moves a cursor back after uses whose number depends on K")


def indices_of(e: Effects) -> Iterator[Expr]:
    """Slab, part and barrier indices of an op, and the corner that a TMA store names."""
    found: list[Expr | None] = []
    for at in (a.location for a in e.accesses):
        if isinstance(at, SlotRef):
            found.append(at.slab)
        elif isinstance(at, BufferRef):
            found.append(at.part)
        elif isinstance(at, OutRef):
            found += at.corner or ()
    for end in (e.wait, e.signal):
        if end is not None and isinstance(end.barrier, PlainBarrier):
            found.append(end.barrier.index)
    yield from (expr for expr in found if expr is not None)
    if isinstance(e.sync, NamedRef) and e.sync.index is not None:
        yield e.sync.index


STEADY_TILES = ({(1, 0)}, {(-1, 1)}, set[tuple[int, int]]())


def read_text(schedule: Schedule, role: Role, replica: int) -> ProgramText:
    """Read one replica's program.  Raises `Obstacle`."""
    text = ProgramText(schedule.stages)
    env = {"K": TRIPS, "self": constant(replica)}
    text.read(role.body, env, 0, live=True)
    if text.tiles not in STEADY_TILES:
        raise Obstacle(f"a loop over K of {role.name} names tiles by more than k plus a constant")
    return text
