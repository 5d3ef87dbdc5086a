"""Ops that may be missing from a role: what an edit can add."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from schedgen.fixes.edits import loaded_bytes, rings_of
from schedgen.ir import ops
from schedgen.ir.effects import NamedRef, PlainBarrier, Proxy, RingBarrier, SlotRef
from schedgen.ir.expr import Int
from schedgen.ir.ops import Op
from schedgen.ir.schedule import Role, Schedule, ops_of


def addable(schedule: Schedule, role: Role, keyword: str) -> Iterator[Op]:
    """The ops of that keyword that could be missing from the role, each once, likely ones first."""
    seen: set[str] = set()
    for op in _MAKERS[keyword](schedule, role):
        if op.text not in seen:
            seen.add(op.text)
            yield op


def _acquires(schedule: Schedule, role: Role) -> Iterator[Op]:
    for ring in _rings(schedule, role):
        loads = any(isinstance(op, ops.Load) and op.into.ring == ring for op in ops_of(role.body))
        yield ops.Acquire(barrier=RingBarrier(ring, "empty" if loads else "full"))


def _releases(schedule: Schedule, role: Role) -> Iterator[Op]:
    """At the offsets that the role names on the ring, this and the last use among them."""
    for ring in _rings(schedule, role):
        offsets = [op.offset for op in ops_of(role.body) if ring in rings_of(op) and op.offset <= 0]
        for offset in sorted({0, -1, *offsets}, reverse=True):
            yield ops.Release(barrier=RingBarrier(ring, "empty"), offset=offset)


def _waits(_: Schedule, role: Role) -> Iterator[Op]:
    """As deep as the role's waits and lags, the deepest first: they cost least."""
    if not any(isinstance(op, ops.Mma) for op in ops_of(role.body)):
        return
    depths = {op.depth for op in ops_of(role.body) if isinstance(op, ops.Wait)}
    lags = {-op.offset for op in ops_of(role.body) if isinstance(op, ops.Release)}
    for depth in sorted({0, *depths, *(lag for lag in lags if lag > 0)}, reverse=True):
        yield ops.Wait(depth=depth)


def _commits(_: Schedule, role: Role) -> Iterator[Op]:
    if any(isinstance(op, ops.Mma) for op in ops_of(role.body)):
        yield ops.Commit()


def _fences(_: Schedule, role: Role) -> Iterator[Op]:
    if any(isinstance(op, ops.Mma) for op in ops_of(role.body)):
        yield ops.Fence()


def _proxy_fences(_: Schedule, role: Role) -> Iterator[Op]:
    accesses = (a for op in ops_of(role.body) for a in op.effects().accesses)
    if any(a.writes and a.proxy is Proxy.GENERIC for a in accesses):
        yield ops.FenceProxy()


def _syncs(schedule: Schedule, role: Role) -> Iterator[Op]:
    used = {op.barrier for r in schedule.roles for op in ops_of(r.body) if isinstance(op, ops.Sync)}
    used |= {NamedRef(n.name, None) for n in schedule.named if n.size is None}
    for ref in sorted(used, key=str):
        if role.warps > 1:
            yield ops.Sync(barrier=ref)


def _store_commits(_: Schedule, role: Role) -> Iterator[Op]:
    if any(isinstance(op, ops.TmaStore) for op in ops_of(role.body)):
        yield ops.StoreCommit()


def _store_waits(_: Schedule, role: Role) -> Iterator[Op]:
    if any(isinstance(op, ops.TmaStore) for op in ops_of(role.body)):
        yield ops.StoreWait(depth=0, reads_only=True)
        yield ops.StoreWait(depth=0, reads_only=False)


def _advances(schedule: Schedule, role: Role) -> Iterator[Op]:
    for ring in _rings(schedule, role):
        yield ops.Advance(ring=ring)


def _expects(schedule: Schedule, role: Role) -> Iterator[Op]:
    """For what the role loads, at the offsets of its loads."""
    for load in ops_of(role.body):
        if isinstance(load, ops.Load):
            ring = load.into.ring
            size = loaded_bytes(schedule.ring(ring), role)
            yield ops.Expect(barrier=RingBarrier(ring, "full"), bytes=size, offset=load.offset)


def _loads(schedule: Schedule, role: Role) -> Iterator[Op]:
    """Slabs that the role does not load, with tile and offset of one that it does."""
    models = [op for op in ops_of(role.body) if isinstance(op, ops.Load)]
    for model in models:
        ring = schedule.ring(model.into.ring)
        for slot in ring.slots:
            for slab in (None,) if slot.slabs is None else map(Int, range(slot.slabs)):
                into = SlotRef(ring.name, slot.name, slab)
                if all(load.into != into for load in models):
                    yield dataclasses.replace(model, into=into, place=None)


def _awaits(schedule: Schedule, role: Role) -> Iterator[Op]:
    """For what others arrive at."""
    for barrier in schedule.barriers:
        ref = PlainBarrier(barrier.name)
        if all(op.barrier != ref for op in _arriving(role)):
            yield ops.Await(barrier=ref)


def _arrivals(schedule: Schedule, role: Role) -> Iterator[Op]:
    """At what others wait for."""
    awaited = {op.barrier for op in ops_of(role.body) if isinstance(op, ops.Await)}
    for barrier in schedule.barriers:
        ref = PlainBarrier(barrier.name)
        if ref not in awaited:
            yield ops.Arrive(barrier=ref)


def _arriving(role: Role) -> Iterator[ops.Arrive]:
    return (op for op in ops_of(role.body) if isinstance(op, ops.Arrive))


def _rings(schedule: Schedule, role: Role) -> list[str]:
    """The rings whose cursor the role has."""
    used = {ring for op in ops_of(role.body) for ring in rings_of(op)}
    return [ring.name for ring in schedule.rings if ring.name in used]


_MAKERS: Mapping[str, Callable[[Schedule, Role], Iterator[Op]]] = {
    "acquire": _acquires, "release": _releases, "wait": _waits, "commit": _commits,
    "fence": _fences, "fence proxy": _proxy_fences, "sync": _syncs,
    "store-commit": _store_commits, "store-wait": _store_waits, "advance": _advances,
    "expect": _expects, "load": _loads, "await": _awaits, "arrive": _arrivals,
}  # fmt: skip
"""By keyword; ops that compute (mma, store, touch) are never added."""
