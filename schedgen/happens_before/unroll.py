"""Unroll a schedule for one K: per role replica, the op instances in program order.

All actors of a replica run the same instances (guards and bounds depend on K alone), each at its
own pace; who executes an instance is the business of `matching`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedgen.ir.effects import (
    BarrierRef,
    BufferRef,
    Effects,
    NamedRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Expr, evaluate, holds
from schedgen.ir.ops import Op
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt


class OverBudget(Exception):
    """More op instances than the checker is willing to unroll."""


@dataclass(frozen=True)
class BarrierKey:
    """One mbarrier, or one hardware named barrier: name and index make it unique."""

    name: str
    index: int

    def __str__(self) -> str:
        return self.name if self.index < 0 else f"{self.name}[{self.index}]"


@dataclass(frozen=True)
class StorageKey:
    """A piece of shared memory: a slab of a slot at a stage, or a whole staging buffer."""

    name: str
    slab: int
    stage: int


@dataclass(frozen=True, eq=False)
class Instance:
    """One execution of an op by a replica.

    ``seq`` is its ordinal in the replica's unrolled program (cursor moves count).  ``uses`` are the
    replica's ring cursors when it runs, ``k`` the value of the innermost named loop variable.
    """

    seq: int
    op: Op
    effects: Effects
    role: Role
    replica: int
    k: int | None
    names: Mapping[str, int]
    uses: Mapping[str, int]
    stages: Mapping[str, int]

    def value(self, expr: Expr) -> int:
        return evaluate(expr, self.names, self.stages)

    def use(self, ring: str, offset: int) -> int:
        """The use that the op names: cursor plus offset; negative is an error at this K."""
        return self.uses[ring] + offset

    def barrier(self, ref: BarrierRef | NamedRef, offset: int) -> BarrierKey:
        match ref:
            case RingBarrier(ring, _):
                return BarrierKey(str(ref), self.use(ring, offset) % self.stages[ring])
            case PlainBarrier(name):
                return BarrierKey(name, -1)
            case NamedRef(name, index):
                return BarrierKey(name, -1 if index is None else self.value(index))

    def storage(self, ref: SlotRef | BufferRef, offset: int) -> StorageKey:
        if isinstance(ref, BufferRef):
            return StorageKey(ref.name, 0, 0)
        slab = 0 if ref.slab is None else self.value(ref.slab)
        stage = self.use(ref.ring, offset) % self.stages[ref.ring]
        return StorageKey(f"{ref.ring}.{ref.slot}", slab, stage)

    @property
    def who(self) -> str:
        return self.role.label(self.replica)

    @property
    def negative_use(self) -> tuple[str, int] | None:
        """Ring and use, where a lag reaches before the first use."""
        e = self.effects
        refs = [(w.barrier, w.offset) for w in (e.wait, e.signal) if w is not None]
        rings = [(r.ring, off) for r, off in refs if isinstance(r, RingBarrier)]
        rings += [
            (a.location.ring, a.offset) for a in e.accesses if isinstance(a.location, SlotRef)
        ]
        return next(((r, self.use(r, off)) for r, off in rings if self.use(r, off) < 0), None)


def unroll(
    schedule: Schedule, role: Role, replica: int, k_tiles: int, budget: int
) -> list[Instance]:
    """The instances of one replica for K = ``k_tiles``.

    Raises `OverBudget` beyond ``budget`` instances (or as many empty loop turns).
    """
    return list(_Walk(schedule, role, replica, budget).run(k_tiles))


class _Walk:
    def __init__(self, schedule: Schedule, role: Role, replica: int, budget: int) -> None:
        self.role = role
        self.replica = replica
        self.stages = schedule.stages
        self.cursors = dict.fromkeys(self.stages, 0)
        self.snapshot: Mapping[str, int] = dict(self.cursors)
        self.effects: dict[int, Effects] = {}
        self.seq = 0
        self.left = budget

    def run(self, k_tiles: int) -> Iterator[Instance]:
        yield from self._body(self.role.body, {"K": k_tiles, "self": self.replica}, None)

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OverBudget

    def _body(
        self, body: tuple[Stmt, ...], names: Mapping[str, int], k: int | None
    ) -> Iterator[Instance]:
        for stmt in body:
            self._spend()
            if isinstance(stmt, Loop):
                first = evaluate(stmt.first, names, self.stages)
                end = evaluate(stmt.end, names, self.stages)
                for value in range(first, end):
                    self._spend()
                    inner = k if stmt.var == "_" else value
                    yield from self._body(stmt.body, {**names, stmt.var: value}, inner)
            elif isinstance(stmt, If):
                if holds(stmt.guard, names, self.stages):
                    yield from self._body(stmt.body, names, k)
            else:
                yield self._instance(stmt, names, k)

    def _instance(self, op: Op, names: Mapping[str, int], k: int | None) -> Instance:
        effects = self.effects.get(id(op))
        if effects is None:
            effects = self.effects[id(op)] = op.effects()
        made = Instance(
            self.seq, op, effects, self.role, self.replica, k, names, self.snapshot, self.stages
        )
        self.seq += 1
        if effects.cursor is not None:
            self._move(effects, names)
        return made

    def _move(self, effects: Effects, names: Mapping[str, int]) -> None:
        cursor = effects.cursor
        assert cursor is not None
        if cursor.to is None:
            self.cursors[cursor.ring] += 1
        else:
            self.cursors[cursor.ring] = evaluate(cursor.to, names, self.stages)
        self.snapshot = dict(self.cursors)
