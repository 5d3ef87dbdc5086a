"""How long things take on the card: a small table, and what it makes of the events of a schedule.

The defaults are of the right order and no more: documented rates where there are any, and round
numbers between those that microbenchmarks of Hopper report.  A measured table takes their place,
``--latencies FILE``; it is a JSON object ``{"numbers": {"load_rate": {"value": 50.0}, ...}}`` with
the field names of `Latencies`.  Whoever has a better model passes his own `Costs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import ceil
from typing import Any, Protocol, cast

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.record import Event, EventKind
from schedgen.ir.effects import Engine, OutRef, SlotRef
from schedgen.ir.ops import Acquire, Await, Mma, Op, Store, Sync, TmaStore
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import ELEMENT_BYTES, Schedule

FLOP_PER_CYCLE = 4096
"""Dense fp16 or bf16 FLOP of one SM's tensor cores per cycle (NVIDIA H100 whitepaper: 989 TFLOPS =
132 SMs x 4096 x 1.83 GHz)."""


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Cycles of the SM's clock, and bytes per cycle and SM.

    ``load_latency``: from the issue of a TMA load to its landing, beyond the time of its bytes
    (microbenchmarks: 600 to 1,000, the latter with all SMs at work).
    ``load_rate``: bytes per cycle that arrive in shared memory (L2 to SM: at most 64).
    ``wakeup``: from the last arrival on a barrier, or the end of an mma group, until a warp that
    waits goes on; looking at a barrier that is complete takes as long (40 to 100).
    ``mma_issue``: for how long the issue of an mma holds its warps.
    ``store_rate``: bytes per cycle of stores to global memory (4.8 TB/s of an H200 are 20 per cycle
    and SM).
    """

    load_latency: int = 1000
    load_rate: float = 50.0
    wakeup: int = 70
    mma_issue: int = 32
    store_rate: float = 20.0

    def __post_init__(self) -> None:
        for name in ("load_rate", "store_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0 bytes per cycle")
        for name in ("load_latency", "wakeup", "mma_issue"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 cycles or more")


DEFAULT = Latencies()


def read_latencies(text: str, *, name: str) -> Latencies:
    """The latencies of a data file; other numbers in it are left alone, missing ones default.

    Raises `IllFormed` (SG115) for a text that is no such table; ``name`` names it in the message.
    """
    try:
        table = cast("Mapping[str, Any]", json.loads(text)["numbers"])
        known = {f.name for f in fields(Latencies)}
        values = {key: row["value"] for key, row in table.items() if key in known}
        if not all(isinstance(v, int | float) and v == v for v in values.values()):
            raise TypeError("a value is no number")
        return Latencies(**values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        known = ", ".join(f.name for f in fields(Latencies))
        message = (
            f'`{name}` is no table {{"numbers": {{NAME: {{"value": N}}}}}} of {known}: {error}'
        )
        raise IllFormed(code="SG115", message=message, place=None) from None


class Costs(Protocol):
    """What an execution asks: for how long an event was served, and how far apart events are."""

    def busy(self, matching: CountingRun, node: int) -> int:
        """Cycles for which a landing, retirement or drain occupied its resource."""
        ...

    def between(self, matching: CountingRun, u: int, v: int) -> int:
        """The least cycles from event u to event v, where the graph has an edge; the time that v
        is served is part of it."""
        ...


class TableCosts:
    """The costs of a schedule's events by a table."""

    def __init__(self, schedule: Schedule, latencies: Latencies) -> None:
        self.schedule = schedule
        self.latencies = latencies

    def busy(self, matching: CountingRun, node: int) -> int:
        event = matching.events[node]
        assert event.instance is not None
        if event.kind is EventKind.LAND:
            return ceil(event.instance.facts.delivered / self.latencies.load_rate)
        members = [op for op, _ in self._group(matching, node)]
        if event.kind is EventKind.RETIRE:
            return sum(map(self.mma_cycles, members))
        return ceil(sum(map(self._shipped, members)) / self.latencies.load_rate)

    def _group(self, matching: CountingRun, node: int) -> Iterator[tuple[Op, int]]:
        """The ops that a retirement or drain ends, as one actor issued them, with their seq."""
        for u in matching.predecessors[node]:
            event = matching.events[u]
            if event.kind is EventKind.ISSUE and not event.actor and event.instance is not None:
                yield event.instance.op, event.instance.seq

    def mma_cycles(self, op: Op) -> int:
        """What an mma takes of the tensor core: 2 * rows * columns * depth FLOP."""
        if not isinstance(op, Mma):
            return 0
        acc = self.schedule.accumulator(op.acc)
        depth = self.schedule.ring(op.a.ring).slot(op.a.slot).cols
        return ceil(2 * acc.rows * acc.cols * depth / FLOP_PER_CYCLE)

    def _shipped(self, op: Op) -> int:
        """Bytes of a TMA store."""
        if not isinstance(op, TmaStore):
            return 0
        if isinstance(op.source, SlotRef):
            return self.schedule.ring(op.source.ring).slot(op.source.slot).slab_bytes
        name = op.source.name
        return next(b.bytes for b in self.schedule.buffers if b.name == name)

    def between(self, matching: CountingRun, u: int, v: int) -> int:
        before, after = matching.events[u], matching.events[v]
        match after.kind:
            case EventKind.LAND:
                return self.latencies.load_latency + self.busy(matching, v)
            case EventKind.RETIRE:
                return self._to_retirement(matching, before, v)
            case EventKind.DRAIN:
                return self.busy(matching, v)
            case EventKind.WRITTEN:
                return self.latencies.load_latency
            case EventKind.RETURN:
                return self._to_return(before, after)
            case _:
                return self._held(before)

    def _to_retirement(self, matching: CountingRun, before: Event, node: int) -> int:
        """From the issue of an mma: it and all later ones of its group."""
        if before.kind is EventKind.RETIRE:
            return self.busy(matching, node)
        assert before.instance is not None
        if before.instance.effects.engine is not Engine.TENSOR:
            return 0
        seq = before.instance.seq
        return sum(self.mma_cycles(op) for op, at in self._group(matching, node) if at >= seq)

    def _to_return(self, before: Event, after: Event) -> int:
        assert after.instance is not None
        on_barrier = isinstance(after.instance.op, Acquire | Await | Sync)
        return self.latencies.wakeup if on_barrier or before.kind is EventKind.RETIRE else 0

    def _held(self, event: Event) -> int:
        """How long an op keeps the warp that executes it from the next one."""
        if event.instance is None or event.kind is not EventKind.ISSUE:
            return 0
        op = event.instance.op
        if isinstance(op, Mma):
            return min(self.latencies.mma_issue, self.mma_cycles(op))
        if not isinstance(op, Store) or not isinstance(op.to, OutRef):
            return 0
        acc = self.schedule.accumulator(op.acc)
        size = acc.rows * acc.cols * ELEMENT_BYTES[self.schedule.problem.out.dtype]
        together = size * event.instance.role.replica_count  # they share the way out
        return ceil(together / self.latencies.store_rate)
