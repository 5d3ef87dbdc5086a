"""Accesses to shared memory as intervals: from issue to landing, retirement or end of reading.

Two conflicting accesses are ordered iff the end of one is before *every* start of the other (a
collective op may begin at the issue of any of its warps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.unroll import Instance, StorageKey
from schedgen.ir.effects import (
    Access,
    BufferRef,
    Engine,
    Proxy,
    SlotRef,
)

if TYPE_CHECKING:
    from schedgen.happens_before.case import Case


@dataclass(slots=True, eq=False)
class Interval:
    """One access: ``starts`` are the issues that may begin it (``first`` the earliest), ``end`` the
    event after which it is over (None: never); ``ordinary`` are those of the generic proxy."""

    key: StorageKey
    instance: Instance
    replica: int
    actor: int
    writes: bool
    ordinary: bool
    tile: int | None
    use: int | None
    starts: tuple[int, ...]
    first: int
    end: int | None

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
    if end is None:
        return False
    for start in second.starts:  # noqa: SIM110 (a generator costs more than the test)
        if not case.before[start] >> end & 1:
            return False
    return True


def intervals(case: Case) -> dict[StorageKey, list[Interval]]:
    """The accesses to shared memory that are judged here, by storage, in the order of the run;
    before them the settled ones that still matter."""
    found: dict[StorageKey, list[Interval]] = {}
    for replica, instance, actors in case.issues:
        if instance.negative_use is not None:
            continue
        for access in instance.effects.accesses:
            if isinstance(access.location, SlotRef | BufferRef):
                for interval in _of(case.matching, instance, access, replica, actors):
                    found.setdefault(interval.key, []).append(interval)
    for key, group in found.items():
        group += case.past.accesses.get(key, ())
        group.sort(key=lambda i: i.first)
    return found


def still_relevant(accesses: list[Interval]) -> list[Interval]:
    """Of judged and settled accesses to one storage, those that later ones must be compared with.

    An asynchronous write is ordered after all accesses before it; who comes after it comes after
    those too.
    """
    for number in range(len(accesses) - 1, 0, -1):
        last = accesses[number]
        alone = all(i.instance is not last.instance for i in accesses if i is not last)
        if last.writes and not last.ordinary and alone:
            return accesses[number:]
    return accesses


def _of(
    run: CountingRun, instance: Instance, access: Access, replica: int, actors: dict[int, int]
) -> Iterator[Interval]:
    location = access.location
    assert isinstance(location, SlotRef | BufferRef)
    key = instance.storage(location, access.offset)
    is_slot = isinstance(location, SlotRef)
    use = instance.use(location.ring, access.offset) if is_slot else None
    tile = None if access.tile is None else instance.value(access.tile)
    issues = sorted(actors.items())  # the elected warp first
    groups = [issues] if instance.facts.collective else [[issue] for issue in issues]
    for group in groups:
        actor = group[0][0]
        end = run.end_of(replica, instance.seq, actor)
        starts = tuple(node for _, node in group)
        yield Interval(
            key, instance, replica, actor, access.writes, access.proxy is Proxy.GENERIC, tile, use,
            starts, min(starts), end,
        )  # fmt: skip
