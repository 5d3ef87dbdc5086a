"""Accesses to shared memory as intervals: from issue to landing, retirement or end of reading.

Two conflicting accesses are ordered iff the end of one is before *every* start of the other (a
collective op may begin at the issue of any of its warps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedgen.happens_before.case import Case
from schedgen.happens_before.unroll import Instance, StorageKey
from schedgen.ir.effects import (
    Access,
    BufferRef,
    Engine,
    Executor,
    Proxy,
    SlotRef,
)


@dataclass(frozen=True, eq=False)
class Interval:
    """One access: ``starts`` are the issues that may begin it, ``end`` the event after which it is
    over (None: never)."""

    key: StorageKey
    instance: Instance
    replica: int
    actor: int
    writes: bool
    proxy: Proxy
    tile: int | None
    use: int | None
    starts: tuple[int, ...]
    end: int | None

    @property
    def ordinary(self) -> bool:
        return self.proxy is Proxy.GENERIC

    @property
    def phrase(self) -> str:
        """How a finding speaks of it."""
        i = self.instance
        match i.effects.engine:
            case Engine.TMA:
                return f"tile {self.tile}"
            case Engine.TENSOR:
                return f"the mma of tile {self.tile}"
            case Engine.TMA_STORE:
                return f"the TMA store of {i.who}"
            case Engine.WARP:
                return f"`{i.op.text}` of {i.who}"


def is_ordered(case: Case, first: Interval, second: Interval) -> bool:
    """Whether ``first`` is over before ``second`` can begin."""
    end = first.end
    return end is not None and all(case.is_before(end, s) for s in second.starts)


def intervals(case: Case) -> dict[StorageKey, list[Interval]]:
    """Every access to shared memory, by storage, in the order of the counting run."""
    found: dict[StorageKey, list[Interval]] = {}
    for (replica, seq), actors in case.matching.issues.items():
        instance = case.matching.replicas[replica][seq]
        if instance.negative_use is not None:
            continue
        for access in instance.effects.accesses:
            if isinstance(access.location, SlotRef | BufferRef):
                for interval in _of(case, instance, access, replica, actors):
                    found.setdefault(interval.key, []).append(interval)
    for group in found.values():
        group.sort(key=lambda i: min(i.starts))
    return found


def _of(
    case: Case, instance: Instance, access: Access, replica: int, actors: dict[int, int]
) -> Iterator[Interval]:
    location = access.location
    assert isinstance(location, SlotRef | BufferRef)
    key = instance.storage(location, access.offset)
    is_slot = isinstance(location, SlotRef)
    use = instance.use(location.ring, access.offset) if is_slot else None
    tile = None if access.tile is None else instance.value(access.tile)
    collective = instance.effects.executor is Executor.COLLECTIVE
    issues = tuple(sorted(actors.items()))  # the elected warp first
    groups = [issues] if collective else [(issue,) for issue in issues]
    for group in groups:
        actor = group[0][0]
        end = case.matching.end_of(replica, instance.seq, actor)
        starts = tuple(node for _, node in group)
        yield Interval(
            key, instance, replica, actor, access.writes, access.proxy, tile, use, starts, end
        )
