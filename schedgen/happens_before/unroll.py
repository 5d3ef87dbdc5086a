"""Unroll a schedule for one K: per role replica, the op instances in program order.

All actors of a replica run the same instances (guards and bounds depend on K alone), each at its
own pace; who executes an instance is the business of `matching`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schedgen.happens_before.facts import Facts, facts_of, names_k
from schedgen.ir.effects import (
    BarrierRef,
    BufferRef,
    Effects,
    NamedRef,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Expr, evaluate, holds
from schedgen.ir.ops import Op
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt


class OverBudget(Exception):
    """More op instances than the checker is willing to unroll."""


class BarrierKey(NamedTuple):
    """One mbarrier, or one hardware named barrier: name and number make it unique."""

    name: str
    number: int

    def __str__(self) -> str:
        return self.name if self.number < 0 else f"{self.name}[{self.number}]"


class StorageKey(NamedTuple):
    """A piece of shared memory: a slab of a slot at a stage, or a part of a staging buffer.

    A part that lies in a ring has the key of the slot that it lies in.
    """

    name: str
    slab: int
    stage: int


@dataclass(slots=True, eq=False)
class Instance:
    """One execution of an op by a replica.  Not frozen, since there are thousands; never changed.

    ``seq`` is its ordinal in the replica's unrolled program (cursor moves count).  ``uses`` are the
    replica's ring cursors when it runs, ``k`` the value of the innermost named loop variable.
    """

    seq: int
    op: Op
    facts: Facts
    role: Role
    replica: int
    k: int | None
    names: Mapping[str, int]
    uses: Mapping[str, int]
    stages: Mapping[str, int]

    @property
    def effects(self) -> Effects:
        return self.facts.effects

    def value(self, expr: Expr) -> int:
        return evaluate(expr, self.names, self.stages)

    def use(self, ring: str, offset: int) -> int:
        """The use that the op names: cursor plus offset; negative is an error at this K."""
        return self.uses[ring] + offset

    def barrier(self, ref: BarrierRef | NamedRef, offset: int) -> BarrierKey:
        if isinstance(ref, RingBarrier):
            ring = ref.ring
            return BarrierKey(str(ref), (self.uses[ring] + offset) % self.stages[ring])
        return BarrierKey(ref.name, -1 if ref.index is None else self.value(ref.index))

    def storage(self, ref: SlotRef | BufferRef, offset: int) -> StorageKey:
        if isinstance(ref, BufferRef):
            part = 0 if ref.part is None else self.value(ref.part)
            buffer = self.facts.aliases.get(ref.name)
            if buffer is None or buffer.alias is None:
                return StorageKey(ref.name, part, 0)
            name = f"{buffer.alias.ring}.{buffer.alias.slot}"
            return StorageKey(name, 0, buffer.stage_of(part, self.stages))
        slab = 0 if ref.slab is None else self.value(ref.slab)
        stage = (self.uses[ref.ring] + offset) % self.stages[ref.ring]
        return StorageKey(f"{ref.ring}.{ref.slot}", slab, stage)

    @property
    def who(self) -> str:
        return self.role.label(self.replica)

    @property
    def negative_use(self) -> tuple[str, int] | None:
        """Ring and use, where a lag reaches before the first use."""
        for ring, offset in self.facts.rings:
            use = self.uses[ring] + offset
            if use < 0:
                return ring, use
        return None


def unroll(
    schedule: Schedule, role: Role, replica: int, k_tiles: int, budget: int
) -> list[Instance]:
    """The instances of one replica for K = ``k_tiles``.

    Raises `OverBudget` beyond ``budget`` instances (or as many empty loop turns).
    """
    return Unroller(schedule).unroll(role, replica, k_tiles, budget)


@dataclass(slots=True, eq=False)
class _Turns:
    """What the turns ``first..end`` of a loop came to whose body does not mention K."""

    seq: int
    uses: Mapping[str, int]
    first: int
    end: int
    made: list[Instance]
    uses_after: Mapping[str, int]
    spent: int

    def begins(self, turns: range, seq: int, uses: Mapping[str, int]) -> bool:
        """Whether these are the first of other turns of the same loop."""
        here = self.first == turns.start and self.end <= turns.stop
        return here and self.seq == seq and self.uses == uses


class Unroller:
    """Unrolls for one K after another: turns that come to the same again are taken as they are."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.facts: dict[int, Facts] = {}
        self.turns: dict[tuple[int, ...], _Turns] = {}
        self._mentioning: dict[int, bool] = {}

    def unroll(self, role: Role, replica: int, k_tiles: int, budget: int) -> list[Instance]:
        walk = _Walk(self, role, replica, budget)
        walk.body(role.body, {"K": k_tiles, "self": replica}, None, (replica,))
        return walk.made

    def facts_of(self, op: Op) -> Facts:
        facts = self.facts.get(id(op))
        if facts is None:
            facts = self.facts[id(op)] = facts_of(op, self.schedule)
        return facts

    def body_mentions_k(self, block: Loop | If) -> bool:
        """Whether K plays a part inside the block."""
        known = self._mentioning.get(id(block))
        if known is None:
            known = self._mentioning[id(block)] = any(map(self._mentions_k, block.body))
        return known

    def _mentions_k(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Loop):
            bounds = (stmt.first, stmt.end)
        elif isinstance(stmt, If):
            bounds = (stmt.guard.left, stmt.guard.right)
        else:
            return self.facts_of(stmt).mentions_k
        return any(map(names_k, bounds)) or self.body_mentions_k(stmt)


class _Walk:
    """The walk through one program; ``at`` are the replica and the turns of the loops around."""

    def __init__(self, unroller: Unroller, role: Role, replica: int, budget: int) -> None:
        self.unroller = unroller
        self.role = role
        self.replica = replica
        self.stages = unroller.schedule.stages
        self.uses: Mapping[str, int] = dict.fromkeys(self.stages, 0)
        self.made: list[Instance] = []
        self.left = budget

    def _spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise OverBudget

    def body(
        self, body: tuple[Stmt, ...], names: Mapping[str, int], k: int | None, at: tuple[int, ...]
    ) -> None:
        for stmt in body:
            self._spend(1)
            if isinstance(stmt, Loop):
                first = evaluate(stmt.first, names, self.stages)
                end = evaluate(stmt.end, names, self.stages)
                self._run(stmt, range(first, max(first, end)), names, k, at)
            elif isinstance(stmt, If):
                if holds(stmt.guard, names, self.stages):
                    self._run(stmt, range(1), names, k, at)
            else:
                self._instance(stmt, names, k)

    def _run(
        self, block: Loop | If, turns: range, names: Mapping[str, int], k: int | None,
        at: tuple[int, ...],
    ) -> None:  # fmt: skip
        """The turns of a loop (a guard is a loop of one turn): the first ones from another K, if
        they begin as they did there."""
        seq, uses, left, value = len(self.made), self.uses, self.left, turns.start
        key = (id(block), *at)
        known = self.unroller.turns.get(key)
        if known is not None and known.begins(turns, seq, uses):
            self._spend(known.spent)
            self.made += known.made
            self.uses, value = known.uses_after, known.end
        for turn in range(value, turns.stop):
            if isinstance(block, If):
                self.body(block.body, names, k, at)
            else:
                self._spend(1)
                inner = k if block.var == "_" else turn
                self.body(block.body, {**names, block.var: turn}, inner, (*at, turn))
        if not self.unroller.body_mentions_k(block):
            made, spent = self.made[seq:], left - self.left
            self.unroller.turns[key] = _Turns(
                seq, uses, turns.start, turns.stop, made, self.uses, spent
            )

    def _instance(self, op: Op, names: Mapping[str, int], k: int | None) -> None:
        facts = self.unroller.facts_of(op)
        made, uses = self.made, self.uses
        made.append(
            Instance(len(made), op, facts, self.role, self.replica, k, names, uses, self.stages)
        )
        cursor = facts.effects.cursor
        if cursor is not None:
            to = cursor.to
            use = uses[cursor.ring] + 1 if to is None else evaluate(to, names, self.stages)
            self.uses = {**uses, cursor.ring: use}


STRIDE = 32


def common_beginning(first: list[Instance], second: list[Instance]) -> int:
    """How many instances two programs of one replica, for two K, begin with alike.

    Alike are the same op with the same uses and loop variables, so with the same values wherever
    it does not mention K itself.
    """
    number, end = 0, min(len(first), len(second))
    while number < end:
        stop = min(number + STRIDE, end)
        if first[number:stop] == second[number:stop]:  # the very same instances
            number = stop
            continue
        while number < stop:
            a, b = first[number], second[number]
            if a is not b and not _alike(a, b):
                return number
            number += 1
    return end


def _alike(a: Instance, b: Instance) -> bool:
    if a.op is not b.op or a.facts.mentions_k or a.k != b.k or a.uses != b.uses:
        return False
    return all(b.names.get(name) == value for name, value in a.names.items() if name != "K")
