"""The one place where schedules are generated: valid ring schedules, mutants, and op soup.

Tiles are small (slabs of 64x64), so that the abstract machine is fast.  Everything prints in the
text form, so a failure is a schedule that can be pasted into a file.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hypothesis import strategies as st

from schedgen.api import apply
from schedgen.ir import ops
from schedgen.ir.effects import Executor, SlotRef
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages, plus
from schedgen.ir.parser import parse
from schedgen.ir.schedule import If, Loop, Ring, Schedule, Stmt
from tests.unit.test_ops import FRAME, SAMPLES

SLAB_BYTES = 64 * 64 * 2


@dataclass(frozen=True, kw_only=True)
class Serial:
    """A serial schedule: ``consumers`` warp groups, each with ``halves`` accumulators.

    One ring holds A and B, or each has its own.  ``commits`` is 1 or ``halves``.
    """

    stages: tuple[int, ...]
    consumers: int
    halves: int
    commits: int
    drain: str | None
    guarded: bool
    b_first: bool

    @property
    def rings(self) -> dict[str, tuple[str, ...]]:
        return {"tma": ("A", "B")} if len(self.stages) == 1 else {"left": ("A",), "right": ("B",)}

    def slab_count(self, slot: str) -> int:
        return self.consumers if slot == "A" else self.halves

    def schedule(self) -> Schedule:
        return parse("\n".join(self._lines()) + "\n", file="generated.sched")

    def _lines(self):
        yield "schedule generated"
        yield "problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16"
        yield f"tile m {64 * self.consumers}, n {64 * self.halves}, k 64, raster n 2"
        for (ring, slots), stages in zip(self.rings.items(), self.stages, strict=True):
            yield f"ring {ring} stages {stages} empty {self.consumers} full 1 {{"
            for slot in slots:
                slabs, tensor = self.slab_count(slot), slot.lower()
                yield f"slot {slot}[{slabs}] : f16 64x64 = {tensor} rows 64*i"
            yield "}"
        for half in range(self.halves):
            yield f"acc acc{half} : f32 64x64 = c rows 64*self cols {64 * half}"
        yield from ("role producer warp {", *self._producer(), "}")
        yield from (f"role consumer[{self.consumers}] warpgroup {{", *self._consumer(), "}")

    def _producer(self):
        yield "for k in 0..K {"
        for ring, slots in self.rings.items():
            loads = [f"load {ring}.{s}[{i}] k" for s in slots for i in range(self.slab_count(s))]
            yield f"acquire {ring}.empty"
            yield f"expect {ring}.full bytes {SLAB_BYTES * len(loads)}"
            yield from reversed(loads) if self.b_first else loads
            yield f"advance {ring}"
        yield "}"
        for ring in self.rings if self.drain else ():
            end = f"{ring}.stages" if self.drain == "stages" else f"min({ring}.stages, K)"
            yield f"for _ in 0..{end} {{ acquire {ring}.empty advance {ring} }}"

    def _consumer(self):
        of_slot = {slot: ring for ring, slots in self.rings.items() for slot in slots}
        if self.guarded:
            yield "if K > 0 {"
        yield "for k in 0..K {"
        yield from (f"acquire {ring}.full" for ring in self.rings)
        yield "fence"
        for half in range(self.halves):
            yield f"mma acc{half}, {of_slot['A']}.A[self], {of_slot['B']}.B[{half}], k"
            if half + self.commits >= self.halves:
                yield "commit"
        yield "wait 0"
        yield from (f"release {ring}.empty" for ring in self.rings)
        yield from (f"advance {ring}" for ring in self.rings)
        yield "}"
        if self.guarded:
            yield "}"
        yield from (f"store acc{half} -> c" for half in range(self.halves))


@st.composite
def serials(draw: st.DrawFn) -> Serial:
    """Everything a serial ring schedule of this family can be."""
    halves = draw(st.integers(1, 2))
    return Serial(
        stages=tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))),
        consumers=draw(st.integers(1, 3)),
        halves=halves,
        commits=draw(st.integers(1, halves)),
        drain=draw(st.sampled_from([None, "stages", "min"])),
        guarded=draw(st.booleans()),
        b_first=draw(st.booleans()),
    )


serial_schedules = serials().map(Serial.schedule)


@st.composite
def small_pipelines(draw: st.DrawFn) -> Schedule:
    """Serial or overlapped, as small as interesting: 1 or 2 rings of at most 3 stages, 2 loads."""
    halves = draw(st.integers(1, 2))
    serial = Serial(
        stages=tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3 - halves))),
        consumers=draw(st.integers(1, 3 - halves)),
        halves=halves,
        commits=draw(st.integers(1, halves)),
        drain=draw(st.sampled_from([None, "stages", "min"])),
        guarded=draw(st.booleans()),
        b_first=draw(st.booleans()),
    )
    schedule, depth = serial.schedule(), draw(st.integers(0, 2))
    if depth < min(serial.stages):
        schedule = apply(schedule, f"overlap-wgmma{{in-flight={depth}}}")
    return schedule


@st.composite
def trip_counts(draw: st.DrawFn, schedule: Schedule) -> int:
    """A K around the multiples of the stages, where pipelines go wrong."""
    stages = max((ring.stages for ring in schedule.rings), default=1)
    around = [0, 1, 2, stages - 1, stages, stages + 1, 2 * stages, 2 * stages + 1]
    return draw(st.sampled_from(sorted(set(around))))


@st.composite
def pipelines(draw: st.DrawFn) -> str:
    """A pipeline of the passes that exist, with options in and out of their range."""
    overlap = f"overlap-wgmma{{in-flight={draw(st.integers(0, 3))}}}"
    stages = f"set-stages{{n={draw(st.integers(1, 5))}}}"
    return draw(st.sampled_from([overlap, stages, f"{overlap},{stages}", f"{stages},{overlap}"]))


# --- mutants


def _count(body: tuple[Stmt, ...]) -> int:
    return sum(1 + (_count(s.body) if isinstance(s, Loop | If) else 0) for s in body)


def _flat(body: tuple[Stmt, ...]) -> list[Stmt]:
    out: list[Stmt] = []
    for stmt in body:
        out.append(stmt)
        out += _flat(stmt.body) if isinstance(stmt, Loop | If) else []
    return out


def _edited(body: tuple[Stmt, ...], number: int, become) -> tuple[Stmt, ...]:
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
            inner = _count(stmt.body)
            if number < inner:
                changed = dataclasses.replace(stmt, body=_edited(stmt.body, number, become))
                return (*body[:index], changed, *body[index + 1 :])
            number -= inner
        out.append(stmt)
    raise IndexError(number)


def _variants(stmt: Stmt, after: Stmt | None) -> list[tuple[Stmt, ...]]:
    """What one edit can make of a statement."""
    found: list[tuple[Stmt, ...]] = [(), (stmt, stmt)]
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


def _op_variants(op: ops.Op):
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


def _ring_variants(ring: Ring):
    for field in ("stages", "empty", "full"):
        for delta in (-1, 1):
            value = getattr(ring, field) + delta
            if value > 0:
                yield dataclasses.replace(ring, **{field: value})


@st.composite
def mutants(draw: st.DrawFn, base: Schedule) -> Schedule:
    """A schedule with one edit: an op, bound, guard, tile, lag, depth, count, bytes or stages."""
    sizes = [_count(role.body) for role in base.roles]
    number = draw(st.integers(0, sum(sizes) - 1 + 2 * len(base.rings)))
    for index, (role, size) in enumerate(zip(base.roles, sizes, strict=True)):
        if number < size:
            made: list[tuple[Stmt, ...]] = []

            def become(stmt: Stmt, after: Stmt | None, made=made) -> tuple[Stmt, ...]:
                made.append(draw(st.sampled_from(_variants(stmt, after))))
                return made[0]

            changed = dataclasses.replace(role, body=_edited(role.body, number, become))
            roles = (*base.roles[:index], changed, *base.roles[index + 1 :])
            return dataclasses.replace(base, roles=roles)
        number -= size
    ring = base.rings[number // 2]
    changed_ring = draw(st.sampled_from(list(_ring_variants(ring))))
    rings = tuple(changed_ring if r is ring else r for r in base.rings)
    return dataclasses.replace(base, rings=rings)


# --- op soup: well formed in syntax, any meaning


def expressions(names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    """Expressions of every operator over numbers, names and stages."""
    leaves = st.one_of(
        st.integers(-9, 99).map(Int), st.sampled_from(names).map(Name), st.just(Stages("tma"))
    )
    operators = st.sampled_from(["+", "-", "*", "/", "%", "min", "max"])
    return st.recursive(
        leaves, lambda inner: st.builds(Binary, operators, inner, inner), max_leaves=5
    )


bounds = expressions(("K",))
guards = st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), bounds, bounds)
variables = st.sampled_from(["k", "j", "_"])
blocks = st.recursive(
    st.lists(st.sampled_from(SAMPLES), max_size=5).map(tuple),
    lambda inner: st.lists(
        st.one_of(
            st.sampled_from(SAMPLES),
            st.builds(Loop, var=variables, first=bounds, end=bounds, body=inner),
            st.builds(If, guard=guards, body=inner),
        ),
        max_size=4,
    ).map(tuple),
    max_leaves=4,
)  # fmt: skip


@st.composite
def soups(draw: st.DrawFn) -> Schedule:
    """Any ops in any blocks: what the text form must carry, whatever it means."""
    frame = parse(FRAME.format(text=""), file="frame.sched")
    body: tuple[Stmt, ...] = draw(blocks)
    role = dataclasses.replace(frame.roles[0], body=body, replicas=draw(st.sampled_from([None, 2])))
    return dataclasses.replace(frame, roles=(role,))
