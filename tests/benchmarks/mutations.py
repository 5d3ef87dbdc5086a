"""Single edits of schedules: named operators, each enumerated to the last mutant.

An operator yields every schedule that it makes of one, with a label that says where and what.
`mutants` runs them all and keeps the first of equal results; what is not well formed is kept too,
for the caller to count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from schedgen.ir import ops
from schedgen.ir.effects import AccRef, Executor, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.expr import Compare, Expr, Int, Name, plus
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import If, Loop, Role, Schedule, Slot, Stmt

Body = tuple[Stmt, ...]
Made = tuple[str, Body, int]
"""What an edit is called, what it puts, and how many statements that replaces."""

Edit = Callable[[Schedule, Body, int], Iterator[Made]]
Operator = Callable[[Schedule], Iterator[tuple[str, Schedule]]]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A schedule with one edit."""

    operator: str
    label: str
    schedule: Schedule


def mutants(base: Schedule) -> Iterator[Mutant]:
    """Every mutant of every operator that differs from the schedule and from those before it."""
    seen = {to_text(base)}
    for name, operator in OPERATORS.items():
        for label, schedule in operator(base):
            text = to_text(schedule)
            if text not in seen:
                seen.add(text)
                yield Mutant(operator=name, label=label, schedule=schedule)


# --- where statements stand
def everywhere(edit: Edit) -> Operator:
    """The operator that applies an edit at every statement of every role, outer before inner."""

    def operator(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
        for index, role in enumerate(schedule.roles):
            for label, body in _edited(schedule, role.body, edit):
                changed = replace(role, body=body)
                roles = (*schedule.roles[:index], changed, *schedule.roles[index + 1 :])
                yield f"{role.name}: {label}", replace(schedule, roles=roles)

    return operator


def _edited(schedule: Schedule, body: Body, edit: Edit) -> Iterator[tuple[str, Body]]:
    for index, stmt in enumerate(body):
        for label, made, taken in edit(schedule, body, index):
            where = "" if stmt.place is None else f"line {stmt.place.line}, "
            yield f"{where}{label}", (*body[:index], *made, *body[index + taken :])
        if isinstance(stmt, Loop | If):
            for label, inner in _edited(schedule, stmt.body, edit):
                yield label, (*body[:index], replace(stmt, body=inner), *body[index + 1 :])


def on_ops(variants: Callable[[Schedule, ops.Op], Iterator[ops.Op]]) -> Operator:
    """The operator that puts each variant of an op in its place."""

    def edit(schedule: Schedule, body: Body, index: int) -> Iterator[Made]:
        op = body[index]
        if isinstance(op, ops.Op):
            for changed in variants(schedule, op):
                yield f"`{op.text}` becomes `{changed.text}`", (changed,), 1

    return everywhere(edit)


# --- statements
ALONE = ops.Advance | ops.Fence | ops.FenceProxy | ops.Commit
"""Ops whose loss has a row of its own."""


def _drop(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    op = body[index]
    if isinstance(op, ops.Op) and not isinstance(op, ALONE):
        yield f"without `{op.text}`", (), 1


def _double(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    op = body[index]
    if isinstance(op, ops.Op) and not isinstance(op, ops.Advance):
        yield f"`{op.text}` twice", (op, op), 1


def _cursor(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    op = body[index]
    if isinstance(op, ops.Advance):
        yield f"without `{op.text}`", (), 1
        yield f"`{op.text}` twice", (op, op), 1
        yield f"`reset {op.ring}` for it", (ops.SetCursor(ring=op.ring, to=Int(0)),), 1


def _fence(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    op = body[index]
    if isinstance(op, ops.Fence | ops.FenceProxy):
        other = ops.FenceProxy() if isinstance(op, ops.Fence) else ops.Fence()
        yield f"without `{op.text}`", (), 1
        yield f"`{other.text}` for `{op.text}`", (other,), 1


def _commit(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    """Dropped, or anywhere else in its block."""
    op = body[index]
    if not isinstance(op, ops.Commit):
        return
    yield "without `commit`", (), 1
    for after in range(index + 2, len(body)):
        yield (
            f"`commit` {after - index} later",
            (*body[index + 1 : after + 1], op),
            after + 1 - index,
        )


def _commit_earlier(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    for at in range(index + 2, len(body)):
        op = body[at]
        if isinstance(op, ops.Commit):
            yield f"`commit` {at - index} earlier", (op, *body[index:at]), at + 1 - index


def _swap(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    if index + 1 < len(body):
        yield "exchanged with the next", (body[index + 1], body[index]), 2


def _across(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    """The op beside a block into it, the first and last op of a block out of it."""
    stmt, after = body[index], body[index + 1] if index + 1 < len(body) else None
    if isinstance(after, Loop | If) and isinstance(stmt, ops.Op):
        inner = replace(after, body=(stmt, *after.body))
        yield f"`{stmt.text}` into the block below", (inner,), 2
    if not isinstance(stmt, Loop | If):
        return
    if isinstance(after, ops.Op):
        inner = replace(stmt, body=(*stmt.body, after))
        yield f"`{after.text}` into the block above", (inner,), 2
    if stmt.body and isinstance(stmt.body[0], ops.Op):
        first, rest = stmt.body[0], replace(stmt, body=stmt.body[1:])
        yield f"`{first.text}` out of the block, above it", (first, rest), 1
    if stmt.body and isinstance(stmt.body[-1], ops.Op):
        last, rest = stmt.body[-1], replace(stmt, body=stmt.body[:-1])
        yield f"`{last.text}` out of the block, below it", (rest, last), 1


def _insert(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    """What costs time and breaks nothing."""
    for op in (ops.Fence(), ops.FenceProxy(), ops.Wait(depth=0)):
        yield f"`{op.text}` put before it", (op, body[index]), 1


def _loop(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    stmt = body[index]
    if isinstance(stmt, Loop):
        yield "loop dropped", (), 1
        yield "loop run once", stmt.body, 1
        for delta in (-1, 1):
            yield f"first {delta:+d}", (replace(stmt, first=plus(stmt.first, delta)),), 1
            yield f"end {delta:+d}", (replace(stmt, end=plus(stmt.end, delta)),), 1


LEFT_OUT = 7
"""The turn, or the K, at which an op is left out: beyond what the eye tries."""


def _left_out(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    stmt = body[index]
    if isinstance(stmt, ops.Op):
        guard = Compare("!=", Name("K"), Int(LEFT_OUT))
        yield f"`{stmt.text}` but for K = {LEFT_OUT}", (If(guard=guard, body=(stmt,)),), 1
    if not isinstance(stmt, Loop) or stmt.var == "_":
        return
    guard = Compare("!=", Name(stmt.var), Int(LEFT_OUT))
    for at, op in enumerate(stmt.body):
        if isinstance(op, ops.Op):
            inner = (*stmt.body[:at], If(guard=guard, body=(op,)), *stmt.body[at + 1 :])
            label = f"`{op.text}` but for {stmt.var} = {LEFT_OUT}"
            yield label, (replace(stmt, body=inner),), 1


def _guard(_: Schedule, body: Body, index: int) -> Iterator[Made]:
    stmt = body[index]
    if not isinstance(stmt, If):
        return
    guard = stmt.guard
    yield "guarded block dropped", (), 1
    yield "guard dropped", stmt.body, 1
    for op in ("<", "<=", ">", ">=", "==", "!="):
        other = Compare(op, guard.left, guard.right)
        yield f"guard {other}", (replace(stmt, guard=other),), 1
    for delta in (-1, 1):
        other = replace(guard, right=plus(guard.right, delta))
        yield f"guard {other}", (replace(stmt, guard=other),), 1


# --- fields of ops
def _offset(_: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    effects = op.effects()
    refs = [w.barrier for w in (effects.wait, effects.signal) if w is not None]
    names_use = any(isinstance(r, RingBarrier) for r in refs) or effects.wait is not None
    if names_use or any(isinstance(a.location, SlotRef) for a in effects.accesses):
        yield from (replace(op, offset=op.offset + d) for d in (-1, 1))


def _depth(_: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if isinstance(op, ops.Wait | ops.StoreWait):
        yield from (replace(op, depth=op.depth + d) for d in (-1, 1, 2) if op.depth + d >= 0)
    if isinstance(op, ops.StoreWait):
        yield replace(op, reads_only=not op.reads_only)


def _bytes(schedule: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if isinstance(op, ops.ExpectTx):
        slabs = {slot.slab_bytes for ring in schedule.rings for slot in ring.slots}
        for delta in sorted({d * size for d in (-1, 1) for size in {16, *slabs}}):
            if op.bytes + delta >= 0:
                yield replace(op, bytes=op.bytes + delta)
    if isinstance(op, ops.Expect):
        yield ops.ExpectTx(barrier=op.barrier, bytes=op.bytes, offset=op.offset)
        yield ops.Arrive(barrier=op.barrier, offset=op.offset)


def _tile(_: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if isinstance(op, ops.Load | ops.Mma):
        yield from (replace(op, tile=plus(op.tile, d)) for d in (-1, 1))


def _executor(_: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if op.executed_by is not Executor.COLLECTIVE and op.effects().cursor is None:
        other = Executor.ALL if op.executor is Executor.ELECTED else Executor.ELECTED
        yield replace(op, by=other)


def _barrier(schedule: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    """Another ring, the other side, another plain barrier."""
    ref = getattr(op, "barrier", None)
    if isinstance(ref, RingBarrier):
        sides = ("full", "empty") if isinstance(op, ops.Acquire) else (ref.side,)
        for other in (RingBarrier(r.name, side) for r in schedule.rings for side in sides):
            if other != ref:
                yield dataclasses.replace(op, barrier=other)  # pyright: ignore[reportCallIssue]
    if isinstance(ref, PlainBarrier):
        for barrier in schedule.barriers:
            if barrier.name != ref.name:
                other = replace(ref, name=barrier.name)
                yield dataclasses.replace(op, barrier=other)  # pyright: ignore[reportCallIssue]
    if isinstance(op, ops.Advance):
        yield from (replace(op, ring=r.name) for r in schedule.rings if r.name != op.ring)


def _slot(schedule: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    """Another slab or slot, one operand at a time, and the operands of an mma exchanged."""
    for field in ("into", "a", "b", "to", "source"):
        ref = getattr(op, field, None)
        if isinstance(ref, SlotRef):
            for other in _slabs(schedule):
                if other != ref:
                    yield replace(op, **{field: other})
    if isinstance(op, ops.Mma):
        yield replace(op, a=op.b, b=op.a)


def _slabs(schedule: Schedule) -> Iterator[SlotRef]:
    def indices(slot: Slot) -> list[Expr | None]:
        return [None] if slot.slabs is None else [Int(i) for i in range(slot.slabs)]

    for ring in schedule.rings:
        for slot in ring.slots:
            yield from (SlotRef(ring.name, slot.name, index) for index in indices(slot))


def _accumulator(schedule: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if any(isinstance(a.location, AccRef) for a in op.effects().accesses):
        for acc in schedule.accumulators:
            if acc.name != getattr(op, "acc", acc.name):
                yield replace(op, acc=acc.name)  # pyright: ignore[reportCallIssue]


def _parity(_: Schedule, op: ops.Op) -> Iterator[ops.Op]:
    if isinstance(op, ops.Acquire | ops.Await):
        yield from (replace(op, parity=Int(p)) for p in (0, 1))


# --- declarations
def _counts(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    for ring in schedule.rings:
        for field in ("empty", "full"):
            for delta in (-1, 1):
                changed = replace(ring, **{field: getattr(ring, field) + delta})
                yield f"{ring.name} {field} {delta:+d}", _with(schedule, "rings", ring, changed)
    for barrier in schedule.barriers:
        for delta in (-1, 1):
            changed = replace(barrier, count=barrier.count + delta)
            yield f"{barrier.name} {delta:+d}", _with(schedule, "barriers", barrier, changed)
    for named in schedule.named:
        for delta in (-32, 32):
            changed = replace(named, threads=named.threads + delta)
            yield f"{named.name} {delta:+d}", _with(schedule, "named", named, changed)


def _stages(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    for ring in schedule.rings:
        for delta in (-2, -1, 1):
            changed = replace(ring, stages=ring.stages + delta)
            yield f"{ring.name} stages {delta:+d}", _with(schedule, "rings", ring, changed)


def _roles(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    for role in schedule.roles:
        rest = tuple(r for r in schedule.roles if r is not role)
        yield f"without {role.name}", replace(schedule, roles=rest)
        for changed in _sizes(role):
            label = f"{role.name}[{changed.replica_count}] of {changed.warps} warps"
            yield label, _with(schedule, "roles", role, changed)


def _sizes(role: Role) -> Iterator[Role]:
    for delta in (-1, 1):
        yield replace(role, replicas=role.replica_count + delta)
    yield replace(role, warps=1 if role.warps > 1 else 4)


def _with(schedule: Schedule, field: str, old: object, new: object) -> Schedule:
    items = tuple(new if item is old else item for item in getattr(schedule, field))
    return replace(schedule, **{field: items})


def _either(*operators: Operator) -> Operator:
    def operator(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
        for each in operators:
            yield from each(schedule)

    return operator


OPERATORS: dict[str, Operator] = {
    "drop an op": everywhere(_drop),
    "double an op": everywhere(_double),
    "exchange neighbours": everywhere(_swap),
    "move across a block's edge": everywhere(_across),
    "drop, double, reset a cursor": everywhere(_cursor),
    "drop or change a fence": everywhere(_fence),
    "drop or move a commit": _either(everywhere(_commit), everywhere(_commit_earlier)),
    "another barrier": on_ops(_barrier),
    "another slot or slab": on_ops(_slot),
    "another accumulator": on_ops(_accumulator),
    "lag or ahead ±1": on_ops(_offset),
    "wait depth": on_ops(_depth),
    "raw parity": on_ops(_parity),
    "bytes and arrival": on_ops(_bytes),
    "K tile ±1": on_ops(_tile),
    "elected or all": on_ops(_executor),
    "loop and its bounds": everywhere(_loop),
    "guard": everywhere(_guard),
    "left out in one turn": everywhere(_left_out),
    "counts ±1": _counts,
    "stages": _stages,
    "roles": _roles,
    "a fence or wait more": everywhere(_insert),
}
