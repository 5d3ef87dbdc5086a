"""Edits of schedules by named operators: what a slip, a bad pass or a careless rewrite does.

Each operator lists the schedules that one edit of its kind can make; `mutants` draws one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from hypothesis import assume
from hypothesis import strategies as st

from schedgen.ir import ops
from schedgen.ir.effects import (
    BufferRef,
    Executor,
    NamedRef,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages, plus
from schedgen.ir.schedule import Alias, If, Loop, Role, Schedule, Stmt
from tests.sites import Body, Site, count, edited, replaced, sites, with_body

SLAB_BYTES = 64 * 64 * 2
MOST_STAGES = 5
FARTHEST_MOVE = 6


def _each(variants: Callable[[Schedule, Site], Iterator[Body]]) -> Callable[[Schedule], Edits]:
    """An operator on single statements."""

    def listed(schedule: Schedule) -> Edits:
        for site in sites(schedule):
            for by in variants(schedule, site):
                if by != (site.stmt,):
                    yield lambda site=site, by=by: replaced(schedule, site, by)

    return listed


def _change(stmt: Stmt, **fields: object) -> Body:
    return (dataclasses.replace(stmt, **fields),)  # pyright: ignore


Edits = Iterator[Callable[[], Schedule]]


# --- where ops stand
def _drop(_: Schedule, site: Site) -> Iterator[Body]:
    yield ()


def _duplicate(_: Schedule, site: Site) -> Iterator[Body]:
    yield (site.stmt, site.stmt)


def _move(schedule: Schedule) -> Edits:
    """An op goes elsewhere in its role, into or out of blocks too."""
    for site in sites(schedule):
        if isinstance(site.stmt, Loop | If):
            continue
        left = edited(schedule.roles[site.role].body, site.number, lambda _: ())
        for target in range(count(left)):
            if target != site.number and abs(target - site.number) <= FARTHEST_MOVE:
                yield lambda site=site, left=left, target=target: with_body(
                    schedule, site.role, edited(left, target, lambda s: (site.stmt, s))
                )


def _insert(schedule: Schedule, site: Site) -> Iterator[Body]:
    """An op that the role lacks, escapes among them."""
    for op in _palette(schedule, schedule.roles[site.role]):
        yield (op, site.stmt)


def _palette(schedule: Schedule, role: Role) -> Iterator[ops.Op]:
    yield ops.FenceProxy()
    for ring in schedule.rings:
        full, empty = RingBarrier(ring.name, "full"), RingBarrier(ring.name, "empty")
        yield ops.Advance(ring=ring.name)
        yield ops.SetCursor(ring=ring.name, to=Int(0))
        yield ops.Acquire(barrier=full)
        yield ops.Acquire(barrier=empty)
        yield ops.Arrive(barrier=full)
        yield ops.ExpectTx(barrier=full, bytes=SLAB_BYTES)
        slot = ring.slots[0]
        yield ops.Read(source=SlotRef(ring.name, slot.name, None if slot.slabs is None else Int(0)))
        yield ops.Write(to=SlotRef(ring.name, slot.name, None if slot.slabs is None else Int(0)))
    for barrier in schedule.barriers:
        first = PlainBarrier(barrier.name, None if barrier.size is None else Int(0))
        yield ops.Arrive(barrier=first)
        yield ops.Await(barrier=first)
    for buffer in schedule.buffers:
        part = BufferRef(buffer.name, None if buffer.parts is None else Int(0))
        yield ops.Write(to=part)
        yield ops.Read(source=part)
    if role.warps == 4:
        yield ops.Fence()
        yield ops.Commit()
        yield ops.Wait(depth=0)
        for acc in schedule.accumulators:
            yield ops.Touch(acc=acc.name)
    for named in schedule.named:
        yield ops.Sync(barrier=NamedRef(named.name, None if named.size is None else Int(0)))


# --- what ops name
def _retarget(schedule: Schedule, site: Site) -> Iterator[Body]:
    """Another barrier, slot, slab, buffer, accumulator or ring."""
    op = site.stmt
    if isinstance(op, ops.Acquire | ops.Arrive | ops.ExpectTx | ops.Await):
        for barrier in _barriers(schedule, op):
            yield _change(op, barrier=barrier)
    elif isinstance(op, ops.Load):
        for slot in _slots(schedule):
            yield _change(op, into=slot)
    elif isinstance(op, ops.Mma):
        for slot in _slots(schedule):
            yield _change(op, a=slot)
            yield _change(op, b=slot)
        for acc in schedule.accumulators:
            yield _change(op, acc=acc.name)
    elif isinstance(op, ops.Advance | ops.SetCursor):
        for ring in schedule.rings:
            yield _change(op, ring=ring.name)
    elif isinstance(op, ops.Store):
        for place in (OutRef(schedule.problem.out.name), *_parts(schedule)):
            yield _change(op, to=place)
        for acc in schedule.accumulators:
            yield _change(op, acc=acc.name)
    elif isinstance(op, ops.Write):
        for place in (*_slots(schedule), *_parts(schedule)):
            yield _change(op, to=place)
    elif isinstance(op, ops.Read | ops.TmaStore):
        for place in (*_slots(schedule), *_parts(schedule)):
            yield _change(op, source=place)
        if isinstance(op, ops.TmaStore):
            for box in _boxes(schedule):
                yield _change(op, to=box)
    elif isinstance(op, ops.Sync):
        for named in schedule.named:
            for index in _indices(named.size):
                yield _change(op, barrier=NamedRef(named.name, index))


def _barriers(schedule: Schedule, op: ops.Op) -> Iterator[RingBarrier | PlainBarrier]:
    """Barriers that an op may name as well."""
    for ring in schedule.rings:
        if not isinstance(op, ops.Release) and not isinstance(op, ops.Await):
            yield RingBarrier(ring.name, "full")
        if not isinstance(op, ops.Expect) and not isinstance(op, ops.Await):
            yield RingBarrier(ring.name, "empty")
    if not isinstance(op, ops.Acquire | ops.Release | ops.Expect):
        for barrier in schedule.barriers:
            yield from (PlainBarrier(barrier.name, index) for index in _indices(barrier.size))


def _slots(schedule: Schedule) -> Iterator[SlotRef]:
    for ring in schedule.rings:
        for slot in ring.slots:
            yield from (SlotRef(ring.name, slot.name, index) for index in _indices(slot.slabs))


def _parts(schedule: Schedule) -> Iterator[BufferRef]:
    for buffer in schedule.buffers:
        yield from (BufferRef(buffer.name, index) for index in _indices(buffer.parts))


def _indices(size: int | None) -> list[Expr | None]:
    """What may stand in brackets behind a name, if anything may."""
    return [None] if size is None else [*map(Int, range(size)), Name("self")]


def _boxes(schedule: Schedule) -> Iterator[OutRef]:
    """Parts of the output that a TMA store may name, or none at all."""
    out = schedule.problem.out.name
    yield OutRef(out)
    for acc in schedule.accumulators:
        yield OutRef(out, acc.first_row)
        yield from (OutRef(out, plus(acc.first_row, d)) for d in (-acc.rows, acc.rows))
        yield OutRef(out, acc.first_row, plus(acc.first_col, acc.cols))


def _tile(_: Schedule, site: Site) -> Iterator[Body]:
    op = site.stmt
    if isinstance(op, ops.Load | ops.Mma):
        yield from (_change(op, tile=plus(op.tile, d)) for d in (-1, 1))


def _lag(schedule: Schedule, site: Site) -> Iterator[Body]:
    op = site.stmt
    if not isinstance(op, Loop | If) and _names_use(op):
        yield from (_change(op, offset=op.offset + d) for d in (-1, 1, -2, 2))


def _names_use(op: ops.Op) -> bool:
    named = [getattr(op, field, None) for field in ("barrier", "into", "a", "to", "source")]
    return any(isinstance(at, RingBarrier | SlotRef) for at in named)


# --- numbers
def _depth(_: Schedule, site: Site) -> Iterator[Body]:
    op = site.stmt
    if isinstance(op, ops.Wait | ops.StoreWait):
        yield from (_change(op, depth=op.depth + d) for d in (-1, 1, 2) if op.depth + d >= 0)


def _bytes(_: Schedule, site: Site) -> Iterator[Body]:
    op = site.stmt
    if isinstance(op, ops.ExpectTx):
        for amount in (op.bytes - SLAB_BYTES, op.bytes + SLAB_BYTES, op.bytes + 16, 0):
            if amount >= 0:
                yield _change(op, bytes=amount)
    if isinstance(op, ops.Expect):  # in two steps, either first
        two = (ops.ExpectTx(barrier=op.barrier, bytes=op.bytes), ops.Arrive(barrier=op.barrier))
        yield two
        yield two[::-1]


def _counts(schedule: Schedule) -> Edits:
    """Arrivals that a barrier counts, threads of a named one."""
    for index, ring in enumerate(schedule.rings):
        for field in ("empty", "full"):
            for value in (getattr(ring, field) - 1, getattr(ring, field) + 1):
                if value > 0:
                    changed = dataclasses.replace(ring, **{field: value})
                    yield lambda index=index, new=changed: _declared(schedule, "rings", index, new)
    for index, barrier in enumerate(schedule.barriers):
        for value in (barrier.count - 1, barrier.count + 1):
            if value > 0:
                new = dataclasses.replace(barrier, count=value)
                yield lambda index=index, new=new: _declared(schedule, "barriers", index, new)
    for index, named in enumerate(schedule.named):
        for value in (named.threads - 32, named.threads + 32):
            if value > 0:
                new = dataclasses.replace(named, threads=value)
                yield lambda index=index, new=new: _declared(schedule, "named", index, new)


def _stages(schedule: Schedule) -> Edits:
    for index, ring in enumerate(schedule.rings):
        for value in (ring.stages - 1, ring.stages + 1):
            if 0 < value <= MOST_STAGES:
                new = dataclasses.replace(ring, stages=value)
                yield lambda index=index, new=new: _declared(schedule, "rings", index, new)


def _memory(schedule: Schedule) -> Edits:
    """A buffer lies in other stages of a ring, in a ring at all, or in memory of its own."""
    for index, buffer in enumerate(schedule.buffers):
        places: list[Alias | None] = [None]
        for ring in schedule.rings:
            last = Binary("-", Int(ring.stages - 1), Name("i"))
            for slot in ring.slots:
                places += [Alias(ring.name, slot.name, at) for at in (Int(0), Name("i"), last)]
        for alias in places:
            if alias != buffer.alias:
                new = dataclasses.replace(buffer, alias=alias)
                yield lambda index=index, new=new: _declared(schedule, "buffers", index, new)


def _declared(schedule: Schedule, field: str, index: int, new: object) -> Schedule:
    old = getattr(schedule, field)
    return dataclasses.replace(schedule, **{field: (*old[:index], new, *old[index + 1 :])})


# --- when ops run
def _parity(schedule: Schedule, site: Site) -> Iterator[Body]:
    """A raw parity instead of the cursor's phase, right or wrong."""
    op = site.stmt
    if not isinstance(op, ops.Acquire | ops.Await):
        return
    turns: list[Expr] = [Int(0), Int(1), *(Name(n) for n in site.names[-1:])]
    if isinstance(op, ops.Acquire):
        stages = Stages(op.barrier.ring)
        turns += [Binary("/", Name(n), stages) for n in site.names[-1:]]
        turns += [plus(Binary("/", Name(n), stages), 1) for n in site.names[-1:]]
    for turn in turns:
        yield _change(op, parity=turn if isinstance(turn, Int) else Binary("%", turn, Int(2)))


def _bounds(schedule: Schedule, site: Site) -> Iterator[Body]:
    loop = site.stmt
    if isinstance(loop, Loop):
        yield from (_change(loop, first=plus(loop.first, d)) for d in (-1, 1))
        yield from (_change(loop, end=plus(loop.end, d)) for d in (-1, 1))
        for ring in schedule.rings:
            yield _change(loop, end=Stages(ring.name))
            yield _change(loop, end=Binary("min", Stages(ring.name), Name("K")))
        yield loop.body


def _guards(schedule: Schedule, site: Site) -> Iterator[Body]:
    """A guard that is off by one, turned round, gone, or new."""
    stmt = site.stmt
    if isinstance(stmt, If):
        guard = stmt.guard
        for d in (-1, 1):
            yield _change(stmt, guard=dataclasses.replace(guard, right=plus(guard.right, d)))
        for op in ("<=", ">=", "==", "!="):
            yield _change(stmt, guard=dataclasses.replace(guard, op=op))
        yield stmt.body
    else:
        wanted = [Compare(">", Name("K"), Int(0)), Compare(">", Name("K"), Int(1))]
        for name in site.names[-1:]:
            wanted += [
                Compare(">", Name(name), Int(0)),
                Compare("<", Name(name), plus(Name("K"), -1)),
                Compare("==", Binary("%", Name(name), Int(2)), Int(0)),
            ]
        yield from ((If(guard=guard, body=(stmt,)),) for guard in wanted)


def _executor(_: Schedule, site: Site) -> Iterator[Body]:
    """Somebody else of the role executes the op."""
    op = site.stmt
    fixed = Loop | If | ops.Mma | ops.Commit | ops.Sync | ops.Advance | ops.SetCursor
    if not isinstance(op, fixed):
        other = Executor.ALL if op.executor is Executor.ELECTED else Executor.ELECTED
        yield _change(op, by=other)


MUTATIONS: dict[str, Callable[[Schedule], Edits]] = {
    "drop": _each(_drop),
    "duplicate": _each(_duplicate),
    "move": _move,
    "retarget": _each(_retarget),
    "tile": _each(_tile),
    "lag": _each(_lag),
    "depth": _each(_depth),
    "counts": _counts,
    "bytes": _each(_bytes),
    "parity": _each(_parity),
    "stages": _stages,
    "memory": _memory,
    "bounds": _each(_bounds),
    "guards": _each(_guards),
    "executor": _each(_executor),
    "insert": _each(_insert),
}
"""Operators by name: what one edit of the kind can make of a schedule."""


@st.composite
def mutants(draw: st.DrawFn, base: Schedule, name: str | None = None) -> Schedule:
    """A schedule with one edit, of a named operator or of any."""
    edits = list(MUTATIONS[name or draw(st.sampled_from(list(MUTATIONS)))](base))
    assume(edits)
    return draw(st.sampled_from(edits))()
