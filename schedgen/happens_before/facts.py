"""What the checker asks of an op at each of its instances, worked out once for each op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from schedgen.ir.effects import (
    Access,
    AccRef,
    BufferRef,
    Effects,
    Executor,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Expr, Name, atoms
from schedgen.ir.ops import Op
from schedgen.ir.schedule import Buffer, Schedule


class Course(Enum):
    """How an actor goes through an op."""

    ISSUE = auto()
    WAIT = auto()
    SYNC = auto()
    GROUP_WAIT = auto()
    MOVE = auto()  # of a cursor: no event


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is asked of an op at each of its instances, worked out once.

    ``rings`` are the rings whose uses it names, with the offsets; ``delivered`` the bytes that a
    load completes (the whole box, also where it sticks out of the tensor); ``accesses_memory``
    counts accumulators and the output in, ``moves_results`` is an mma, a store or a TMA store;
    ``aliases`` are the buffers it names that lie in a ring.
    """

    effects: Effects
    course: Course
    elected: bool
    collective: bool
    rings: tuple[tuple[str, int], ...]
    counts_awaits: bool
    mentions_k: bool
    delivered: int
    accesses_memory: bool
    accumulators: tuple[tuple[str, Access], ...]
    moves_results: bool
    aliases: Mapping[str, Buffer]


def facts_of(op: Op, schedule: Schedule) -> Facts:
    """The facts of an op of the schedule."""
    e = op.effects()
    writes = [a.location for a in e.accesses if a.writes]
    accumulators = tuple((a.location.name, a) for a in e.accesses if isinstance(a.location, AccRef))
    return Facts(
        effects=e, course=_course(e), elected=e.executor is Executor.ELECTED,
        collective=e.executor is Executor.COLLECTIVE, rings=tuple(_rings(e)),
        counts_awaits=e.wait is not None and isinstance(e.wait.barrier, PlainBarrier)
        and e.wait.parity is None,
        mentions_k=any(map(names_k, _expressions(e))),
        delivered=sum(
            schedule.ring(at.ring).slot(at.slot).slab_bytes
            for at in writes if isinstance(at, SlotRef)
        ),
        accesses_memory=bool(e.accesses), accumulators=accumulators,
        moves_results=bool(accumulators) or any(isinstance(at, OutRef) for at in writes),
        aliases={b.name: b for b in _buffers(e, schedule) if b.alias is not None},
    )  # fmt: skip


def _course(e: Effects) -> Course:
    if e.sync is not None:
        return Course.SYNC
    if e.wait is not None:
        return Course.WAIT
    if e.group is not None and e.group.action == "wait":
        return Course.GROUP_WAIT
    return Course.ISSUE if e.cursor is None else Course.MOVE


def _rings(e: Effects) -> Iterator[tuple[str, int]]:
    for named in (e.wait, e.signal):
        if named is not None and isinstance(named.barrier, RingBarrier):
            yield named.barrier.ring, named.offset
    for access in e.accesses:
        if isinstance(access.location, SlotRef):
            yield access.location.ring, access.offset


def _buffers(e: Effects, schedule: Schedule) -> Iterator[Buffer]:
    for access in e.accesses:
        if isinstance(access.location, BufferRef):
            yield schedule.buffer(access.location.name)


def _expressions(e: Effects) -> Iterator[Expr]:
    """Every expression of an op."""
    found = [a.tile for a in e.accesses]
    for at in (a.location for a in e.accesses):
        if isinstance(at, SlotRef):
            found.append(at.slab)
        elif isinstance(at, BufferRef):
            found.append(at.part)
        elif isinstance(at, OutRef):
            found += at.corner or ()
    for end in (e.wait, e.signal):
        if end is not None and isinstance(end.barrier, PlainBarrier):
            found.append(end.barrier.index)
    found.append(None if e.wait is None else e.wait.parity)
    found.append(None if e.sync is None else e.sync.index)
    found.append(None if e.cursor is None else e.cursor.to)
    yield from (x for x in found if x is not None)


def names_k(expr: Expr) -> bool:
    """Whether an expression mentions K."""
    return Name("K") in atoms(expr)
