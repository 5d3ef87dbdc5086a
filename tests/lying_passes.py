"""Passes that promise to keep everything and do not: each must be caught (SG901).

`LIES` gives for each the property that is lost and the smallest K where it shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.happens_before.kept import KEEPS, Keep
from schedgen.ir.expr import Binary, Expr, Int, Name, atoms, plus
from schedgen.ir.ops import Load, Mma, Op, Release, TmaStore
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt
from schedgen.pipeline import Pass

ODD = Binary("%", Name("k"), Int(2))
Rewrite = Callable[[Stmt], tuple[Stmt, ...]]


def statements_through(
    schedule: Schedule, rewrite: Rewrite, *, role: str | None = None
) -> Schedule:
    """The schedule with each statement of the role (None: of all) replaced, inner ones first."""

    def body(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, Loop | If):
                stmt = dataclasses.replace(stmt, body=body(stmt.body))
            out += rewrite(stmt)
        return tuple(out)

    def changed(r: Role) -> Role:
        return dataclasses.replace(r, body=body(r.body)) if role in (None, r.name) else r

    return dataclasses.replace(schedule, roles=tuple(changed(r) for r in schedule.roles))


def each_op(kind: type[Op], become: Callable[[Op], tuple[Stmt, ...]]) -> Rewrite:
    return lambda stmt: become(stmt) if isinstance(stmt, kind) else (stmt,)


def loops_end(end: int) -> Rewrite:
    return lambda s: (
        (dataclasses.replace(s, end=plus(s.end, end)),)
        if isinstance(s, Loop) and s.end == Name("K")
        else (s,)
    )


def in_loops(tile: Callable[[Mma], Expr]) -> Rewrite:
    def rewrite(stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop):
            return (stmt,)
        ops = (dataclasses.replace(s, tile=tile(s)) if isinstance(s, Mma) else s for s in stmt.body)
        return (dataclasses.replace(stmt, body=tuple(ops)),)

    return rewrite


@dataclass(frozen=True, kw_only=True)
class Lie(Pass):
    """A pass that does something else than it says.

    args:
        (none)
    rewrite:
        anything -> something else
    """

    name: ClassVar[str] = "lie"
    keeps: ClassVar[frozenset[Keep]] = frozenset(k.name for k in KEEPS)
    act: Callable[[Schedule], Schedule]

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        return iter(())

    def rewrite(self, schedule: Schedule) -> Schedule:
        return self.act(schedule)


def drop_last_tile(s: Schedule) -> Schedule:
    return statements_through(s, loops_end(-1))


def swap_two_tiles(s: Schedule) -> Schedule:
    """The mma name tiles 1, 0, 3, 2, ..."""
    swapped = Binary("-", Binary("+", Name("k"), Int(1)), Binary("*", Int(2), ODD))
    return statements_through(s, in_loops(lambda _: swapped))


def reverse_tiles(s: Schedule) -> Schedule:
    last_first = Binary("-", Binary("-", Name("K"), Name("k")), Int(1))
    return statements_through(s, in_loops(lambda _: last_first))


def load_b_twice(s: Schedule) -> Schedule:
    def become(op: Op) -> tuple[Stmt, ...]:
        assert isinstance(op, Load)
        return (op, op) if op.into.slot == "B" else (op,)

    return statements_through(s, each_op(Load, become))


def load_another_slab(s: Schedule) -> Schedule:
    def become(op: Op) -> tuple[Stmt, ...]:
        assert isinstance(op, Load)
        slab = None if op.into.slab is None else Int(0)
        return (dataclasses.replace(op, into=dataclasses.replace(op.into, slab=slab)),)

    return statements_through(s, each_op(Load, become))


def load_past_the_end(s: Schedule) -> Schedule:
    return statements_through(s, loops_end(1), role="producer")


def release_twice(s: Schedule) -> Schedule:
    return statements_through(s, each_op(Release, lambda op: (op, op)))


def release_another_use(s: Schedule) -> Schedule:
    def become(op: Op) -> tuple[Stmt, ...]:
        return (dataclasses.replace(op, offset=op.offset + 1),)

    return statements_through(s, each_op(Release, become))


def drop_releases(s: Schedule) -> Schedule:
    return statements_through(s, each_op(Release, lambda _: ()))


def skip_mma(s: Schedule) -> Schedule:
    return statements_through(s, each_op(Mma, lambda _: ()))


def multiply_twice(s: Schedule) -> Schedule:
    return statements_through(s, each_op(Mma, lambda op: (op, op)))


def other_accumulator_type(s: Schedule) -> Schedule:
    accs = tuple(dataclasses.replace(a, dtype="f16") for a in s.accumulators)
    return dataclasses.replace(s, accumulators=accs)


def other_output_type(s: Schedule) -> Schedule:
    out = dataclasses.replace(s.problem.out, dtype="f32")
    return dataclasses.replace(s, problem=dataclasses.replace(s.problem, out=out))


def other_accumulator(s: Schedule) -> Schedule:
    """All mma go to a new accumulator, which nobody stores."""
    other = dataclasses.replace(s.accumulators[0], name="other")
    s = dataclasses.replace(s, accumulators=(*s.accumulators, other))
    return statements_through(s, each_op(Mma, lambda op: (dataclasses.replace(op, acc="other"),)))


def one_consumer_less(s: Schedule) -> Schedule:
    roles = tuple(
        r if r.replicas is None else dataclasses.replace(r, replicas=r.replicas - 1)
        for r in s.roles
    )
    return dataclasses.replace(s, roles=roles)


def is_refill(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and "k" in {str(atom) for atom in atoms(stmt.guard.left)}


def refill_without_guard(s: Schedule) -> Schedule:
    return statements_through(s, lambda stmt: stmt.body if is_refill(stmt) else (stmt,))


def refill_of_another_tile(s: Schedule) -> Schedule:
    """The same tile is fetched twice, from the first refill on."""

    def become(op: Op) -> tuple[Stmt, ...]:
        assert isinstance(op, Load)
        return (dataclasses.replace(op, tile=plus(op.tile, -1)) if op.offset == 3 else op,)

    return statements_through(s, each_op(Load, become))


def forget_a_first_fill(s: Schedule) -> Schedule:
    return statements_through(
        s,
        lambda stmt: () if isinstance(stmt, If) and stmt.guard.right == Int(1) else (stmt,),
    )


def half_of_the_rows(s: Schedule) -> Schedule:
    accs = tuple(dataclasses.replace(a, rows=a.rows // 2) for a in s.accumulators)
    return dataclasses.replace(s, accumulators=accs)


def larger_boxes(s: Schedule) -> Schedule:
    """Each load brings twice the rows: the common ones as often as before, others for nothing."""
    rings = tuple(
        dataclasses.replace(
            r, slots=tuple(dataclasses.replace(slot, rows=2 * slot.rows) for slot in r.slots)
        )
        for r in s.rings
    )
    return dataclasses.replace(s, rings=rings)


def ship_to_one_place(s: Schedule) -> Schedule:
    def become(op: Op) -> tuple[Stmt, ...]:
        assert isinstance(op, TmaStore)
        return (dataclasses.replace(op, to=dataclasses.replace(op.to, first_row=Int(0))),)

    return statements_through(s, each_op(TmaStore, become))


def forget_to_ship(s: Schedule) -> Schedule:
    return statements_through(s, each_op(TmaStore, lambda _: ()))


def stage_in_one_part(s: Schedule) -> Schedule:
    """The groups share a part in turns, and the last one's results are shipped for all."""

    def become(op: Op) -> tuple[Stmt, ...]:
        assert isinstance(op, TmaStore)
        last = dataclasses.replace(op.to, first_row=Int(192))
        return (dataclasses.replace(op, to=last),)

    return statements_through(s, each_op(TmaStore, become))


LIES: dict[Callable[[Schedule], Schedule], tuple[str, str, int]] = {
    drop_last_tile: ("hopper_matmul_v4", "products", 1),
    swap_two_tiles: ("hopper_matmul_v4", "products", 1),
    reverse_tiles: ("hopper_matmul_v4", "products", 2),
    load_b_twice: ("hopper_matmul_v4", "traffic", 1),
    load_another_slab: ("hopper_matmul_v4", "traffic", 1),
    load_past_the_end: ("hopper_matmul_v4", "traffic", 0),
    release_twice: ("hopper_matmul_v4", "handover", 1),
    release_another_use: ("hopper_matmul_v4", "handover", 1),
    drop_releases: ("hopper_matmul_v5", "handover", 1),
    skip_mma: ("hopper_matmul_v4", "products", 1),
    multiply_twice: ("hopper_matmul_v5", "products", 1),
    other_accumulator_type: ("hopper_matmul_v4", "numerics", 0),
    other_output_type: ("hopper_matmul_v4", "numerics", 0),
    other_accumulator: ("hopper_matmul_v5", "products", 1),
    one_consumer_less: ("hopper_matmul_v4", "products", 0),
    refill_without_guard: ("hopper_matmul_v2", "traffic", 1),
    refill_of_another_tile: ("hopper_matmul_v2", "traffic", 4),
    forget_a_first_fill: ("hopper_matmul_v2", "traffic", 2),
    half_of_the_rows: ("hopper_matmul_v4", "products", 0),
    ship_to_one_place: ("hopper_matmul_v5_ring", "products", 0),
    forget_to_ship: ("hopper_matmul_v5_own", "products", 0),
    stage_in_one_part: ("hopper_matmul_v6", "products", 0),
    larger_boxes: ("hopper_matmul_v3", "traffic", 1),
}
"""Each lie: the kernel that it is told about, the property that is lost, the smallest K."""
