"""How long things take: cycles for each edge of the event graph, and what events occupy.

Three *resources* serve one event at a time: the tensor core (an mma group until it retires), the
way from L2 into shared memory (a TMA load until it lands), and the way back (a group of TMA stores
until its sources are read).  Everything else is a latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.record import Event, EventKind
from schedgen.ir.effects import OutRef
from schedgen.ir.ops import Acquire, Await, Mma, Op, Store, Sync, TmaStore, Wait
from schedgen.ir.schedule import ELEMENT_BYTES, Role, Schedule, ops_of
from schedgen.predict.card import (
    FLOP_PER_CYCLE,
    MMA_K_BYTES,
    MMA_ROWS,
    STAGING_BYTES_PER_CYCLE,
    Numbers,
)

TENSOR = "tensor core"
LOADS = "TMA loads"
STORES = "TMA stores"
RESOURCES = {EventKind.LAND: LOADS, EventKind.RETIRE: TENSOR, EventKind.DRAIN: STORES}


def serialised(schedule: Schedule, role: Role) -> bool:
    """Whether ptxas lets the role wait after each wgmma.

    nvcc 13.0.88 does so (advisory C7520) where a group stays in flight across turns and an mma is
    several wgmmas for the sake of its rows: a 128-row accumulator with `wait 1`, while one of 64
    rows with `wait 1` and one of 128 rows with `wait 0` are built as written.
    """
    ops = list(ops_of(role.body))
    in_flight = any(isinstance(op, Wait) and op.depth > 0 for op in ops)
    rows = [schedule.accumulator(op.acc).rows for op in ops if isinstance(op, Mma)]
    return in_flight and any(r > MMA_ROWS for r in rows)


def serialised_roles(schedule: Schedule) -> tuple[str, ...]:
    return tuple(role.name for role in schedule.roles if serialised(schedule, role))


class Costs:
    """Cycles of the events of one schedule; each load waits ``queued`` cycles for the others."""

    def __init__(self, schedule: Schedule, numbers: Numbers, *, queued: int) -> None:
        self.queued = queued
        self.schedule = schedule
        self.numbers = numbers
        self._serial = {role.name: serialised(schedule, role) for role in schedule.roles}

    def is_serial(self, role: Role) -> bool:
        """Whether each wgmma of the role is waited for."""
        return self._serial[role.name]

    # --- what events occupy
    def busy(self, matching: CountingRun, node: int) -> int:
        """Cycles for which an event that ends the use of a resource occupied it."""
        event = matching.events[node]
        assert event.instance is not None
        if event.kind is EventKind.LAND:
            return ceil(event.instance.facts.delivered / self.numbers.load_rate)
        if event.kind is EventKind.RETIRE:
            return sum(self.tensor_cycles(op) for op in self._group(matching, node))
        stored = sum(self._source_bytes(op) for op in self._group(matching, node))
        return ceil(stored / self.numbers.load_rate)

    def _group(self, matching: CountingRun, node: int) -> Iterator[Op]:
        """The ops that a retirement or drain ends, as one actor issued them."""
        for u in matching.predecessors[node]:
            event = matching.events[u]
            if event.kind is EventKind.ISSUE and not event.actor and event.instance is not None:
                yield event.instance.op

    def tensor_cycles(self, op: Op) -> int:
        """What an mma takes of the tensor core; 0 for other ops."""
        if not isinstance(op, Mma):
            return 0
        acc = self.schedule.accumulator(op.acc)
        depth = self.schedule.ring(op.a.ring).slot(op.a.slot).cols
        return ceil(2 * acc.rows * acc.cols * depth / FLOP_PER_CYCLE)

    def _mma_cycles(self, op: Op, role: Role) -> int:
        """From the issue of an mma to its end, while the tensor core is free."""
        cycles = self.tensor_cycles(op)
        if not isinstance(op, Mma) or not self.is_serial(role):
            return cycles
        slot = self.schedule.ring(op.a.ring).slot(op.a.slot)
        steps = ceil(slot.cols * ELEMENT_BYTES[slot.dtype] / MMA_K_BYTES)
        count = ceil(self.schedule.accumulator(op.acc).rows / MMA_ROWS) * steps
        return cycles + count * self.numbers.wakeup

    def _source_bytes(self, op: Op) -> int:
        if not isinstance(op, TmaStore):
            return 0
        source = self.schedule.storage(op.source)
        return source.rows * source.cols * ELEMENT_BYTES[source.dtype]

    # --- how long one event comes after another
    def between(self, matching: CountingRun, u: int, v: int) -> int:
        """The least cycles from event u to event v, where the graph has an edge."""
        before, after = matching.events[u], matching.events[v]
        match after.kind:
            case EventKind.LAND:
                return self.numbers.load_latency + self.queued + self.busy(matching, v)
            case EventKind.RETIRE:
                return self._to_retirement(matching, before, v)
            case EventKind.DRAIN:
                return self.busy(matching, v)
            case EventKind.WRITTEN:
                return self.numbers.load_latency
            case EventKind.RETURN:
                return self._to_return(before, after)
            case _:
                return self.held(before)

    def _to_retirement(self, matching: CountingRun, before: Event, node: int) -> int:
        if before.kind is EventKind.RETIRE:
            return self.busy(matching, node)
        assert before.instance is not None
        if not isinstance(before.instance.op, Mma):
            return 0
        role = before.instance.role
        whole = [
            (event.instance.seq, self._mma_cycles(event.instance.op, role))
            for event in (matching.events[w] for w in matching.predecessors[node])
            if event.kind is EventKind.ISSUE and event.instance is not None
            and event.actor == before.actor
        ]  # fmt: skip
        return sum(cycles for seq, cycles in whole if seq >= before.instance.seq)

    def _to_return(self, before: Event, after: Event) -> int:
        assert after.instance is not None
        on_barrier = isinstance(after.instance.op, Acquire | Await | Sync)
        ended = before.kind is EventKind.RETIRE
        return self.numbers.wakeup if on_barrier or ended else 0

    def held(self, event: Event) -> int:
        """How long an op keeps the warp that executes it from the next one."""
        if event.instance is None or event.kind is not EventKind.ISSUE:
            return 0
        op, role = event.instance.op, event.instance.role
        if isinstance(op, Mma):
            return self._mma_cycles(op, role) if self.is_serial(role) else 0
        if isinstance(op, Store):
            return self._store_cycles(op, role)
        return 0

    def _store_cycles(self, op: Store, role: Role) -> int:
        """All replicas that may store at the same time share the way out."""
        acc = self.schedule.accumulator(op.acc)
        size = acc.rows * acc.cols * ELEMENT_BYTES[self.schedule.problem.out.dtype]
        if isinstance(op.to, OutRef):
            return ceil(size * role.replica_count / self.numbers.store_rate)
        together = min(role.replica_count, self.schedule.buffer(op.to.name).part_count)
        return ceil(size * together / STAGING_BYTES_PER_CYCLE)
