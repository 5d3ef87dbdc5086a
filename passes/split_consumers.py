"""Divide the rows of the tile among more consumer groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import AlreadyStaged, NothingToRewrite, SizesDoNotFit
from schedgen.happens_before.kept import Keep
from schedgen.happens_before.limits import MMA_ROWS
from schedgen.ir.expr import Binary, EvaluationError, Expr, Int, Name, evaluate
from schedgen.ir.ops import Load, Mma, Op
from schedgen.ir.schedule import Accumulator, Ring, Role, Schedule, Slot, ops_of
from schedgen.passes.retime import is_release, released_ring
from schedgen.passes.rewriting import map_ops, multiplying_role, refuse, with_role
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class SplitConsumers(Pass):
    """Let n groups multiply, each with its own rows of the tile and its own slab of the left slot.

    args:
        n: the groups afterwards.
    rewrite:
        ring tma ... empty 1 {                 ring tma ... empty 2 {
          slot A : f16 128x64 = a rows 0   ->    slot A[2] : f16 64x64 = a rows 64*i
        acc acc : f32 128x256 = c rows 0       acc acc : f32 64x256 = c rows 64*self
        load tma.A k                           load tma.A[0] k   load tma.A[1] k
        role consumer warpgroup                role consumer[2] warpgroup
          mma acc, tma.A, tma.B, k               mma acc, tma.A[self], tma.B, k
    """

    name: ClassVar[str] = "split-consumers"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "numerics"})
    n: int

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        role = multiplying_role(schedule)
        if role is None:
            reason = "there is not one role that multiplies"
            yield refuse(NothingToRewrite, self, reason, "one role that issues every mma")
            return
        if any(isinstance(op, Load) for op in ops_of(role.body)):
            reason = f"{role.name} loads what it multiplies"
            yield refuse(NothingToRewrite, self, reason, "`warp-specialize` first", role=role)
        for thing in (*schedule.buffers, *schedule.barriers, *schedule.named):
            reason = f"{thing.name} was made for {role.replica_count} groups"
            fix = "split the consumers before `stage-epilogue`"
            yield refuse(AlreadyStaged, self, reason, fix, role=role)
        if self.n < 1 or self.n % role.replica_count:
            reason = f"{self.n} is no multiple of the {role.replica_count} groups that there are"
            fix = f"a multiple of {role.replica_count}"
            yield refuse(SizesDoNotFit, self, reason, fix, role=role)
            return
        yield from self._box_refusals(schedule, role)
        yield from self._ring_refusals(schedule, role)

    def _box_refusals(self, schedule: Schedule, role: Role) -> Iterator[Finding]:
        """Every group has the next rows of the tile, of its accumulators and of the left slot."""
        parts = self.n // role.replica_count
        for acc in schedule.accumulators:
            firsts = [acc.origin(i)[0] for i in range(role.replica_count)]
            if acc.rows % (MMA_ROWS * parts) or firsts != _multiples(acc.rows, len(firsts)):
                reason = f"the {acc.rows} rows of {acc.name} are not {parts} times {MMA_ROWS} or"
                fix = f"a tile with {MMA_ROWS} rows for each group (`set-tile`)"
                yield refuse(SizesDoNotFit, self, f"{reason} a multiple", fix, role=role)
        for op in ops_of(role.body):
            if isinstance(op, Mma) and not _takes_its_own_slab(schedule, role, op):
                reason = f"`{op.text}` does not take the rows of its accumulator as its own slab"
                fix = "one slab of the left slot for each group"
                yield refuse(SizesDoNotFit, self, reason, fix, role=role, place=op.place)

    def _ring_refusals(self, schedule: Schedule, role: Role) -> Iterator[Finding]:
        """Loads of known slabs, and stages that the groups alone hand back."""
        left = _left_slots(role)
        for other in schedule.roles:
            for op in ops_of(other.body):
                fix = "one slab number for each load"
                if isinstance(op, Load) and (op.into.ring, op.into.slot) in left:
                    if _slab(op) is None:
                        reason = f"`{op.text}` loads a slab that is no number"
                        yield refuse(SizesDoNotFit, self, reason, fix, role=other, place=op.place)
                elif is_release(op) and other is not role and released_ring(op) in _rings(role):
                    reason = f"`{op.text}` of {other.name} counts beside those of {role.name}"
                    fix = "let the groups alone release the stages"
                    yield refuse(SizesDoNotFit, self, reason, fix, role=other, place=op.place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        role = multiplying_role(schedule)
        assert role is not None
        parts = self.n // role.replica_count
        if parts == 1:
            return schedule
        left, released = _left_slots(role), _rings(role)

        def slot(ring: Ring, old: Slot) -> Slot:
            if (ring.name, old.name) not in left:
                return old
            rows = old.rows // parts
            return replace(old, slabs=self.n, rows=rows, first_row=_times(rows, "i"))

        def divided(acc: Accumulator) -> Accumulator:
            rows = acc.rows // parts
            return replace(acc, rows=rows, first_row=_times(rows, "self"))

        def become(op: Op) -> tuple[Op, ...]:
            if isinstance(op, Mma):
                return (replace(op, a=replace(op.a, slab=Name("self"))),)
            if isinstance(op, Load) and (op.into.ring, op.into.slot) in left:
                first = (_slab(op) or 0) * parts
                slabs = range(first, first + parts)
                return tuple(replace(op, into=replace(op.into, slab=Int(i))) for i in slabs)
            return (op,)

        rings = tuple(
            replace(
                ring,
                slots=tuple(slot(ring, old) for old in ring.slots),
                empty=ring.empty * (parts if ring.name in released else 1),
            )
            for ring in schedule.rings
        )
        accumulators = tuple(map(divided, schedule.accumulators))
        made = with_role(schedule, role, replace(role, replicas=self.n))
        return map_ops(replace(made, rings=rings, accumulators=accumulators), become)


def _times(rows: int, name: str) -> Expr:
    return Binary("*", Int(rows), Name(name))


def _multiples(step: int, count: int) -> list[int]:
    return [i * step for i in range(count)]


def _left_slots(role: Role) -> set[tuple[str, str]]:
    return {(op.a.ring, op.a.slot) for op in ops_of(role.body) if isinstance(op, Mma)}


def _rings(role: Role) -> set[str]:
    """The rings whose stages the role hands back."""
    return {released_ring(op) for op in ops_of(role.body) if is_release(op)}


def _takes_its_own_slab(schedule: Schedule, role: Role, op: Mma) -> bool:
    slot, acc = schedule.ring(op.a.ring).slot(op.a.slot), schedule.accumulator(op.acc)
    if slot.tensor != schedule.problem.left.name or slot.rows != acc.rows:
        return False
    own = op.a.slab == (None if slot.slabs is None else Name("self")) or slot.slab_count == 1
    firsts = [slot.row_of(i) for i in range(slot.slab_count)]
    return own and firsts == _multiples(slot.rows, role.replica_count)


def _slab(op: Load) -> int | None:
    """The slab that is loaded, None where it is no number."""
    if op.into.slab is None:
        return 0
    try:
        return evaluate(op.into.slab, {}, {})
    except EvaluationError:
        return None
