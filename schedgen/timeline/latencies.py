"""How long things take on the card: a small table, and what it makes of the events of a schedule.

The defaults are of the right order and no more: documented rates where there are any, and round
numbers between those that microbenchmarks of Hopper report.  A measured table takes their place,
``--latencies FILE``; it is a JSON object ``{"numbers": {"load_rate": {"value": 50.0}, ...}}`` with
the field names of `Latencies`.  Whoever has a better model passes his own `Costs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, cast

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.record import Event, EventKind
from schedgen.ir.effects import OutRef
from schedgen.ir.ops import Mma, Store
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Role, Schedule
from schedgen.predict import costs as predict
from schedgen.predict.card import Numbers


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


class TableCosts(predict.Costs):
    """The costs of a schedule's events by a table: those of `predict`, for one CTA alone.

    Loads do not queue, ptxas leaves groups in flight as written, results go into shared memory in
    no time; the issue of an mma holds its warps.
    """

    def __init__(self, schedule: Schedule, latencies: Latencies) -> None:
        numbers = Numbers(
            load_rate=latencies.load_rate, load_latency=latencies.load_latency, load_queue=0,
            wakeup=latencies.wakeup, launch=0, store_rate=latencies.store_rate, clock=1.0,
        )  # fmt: skip
        super().__init__(schedule, numbers, queued=0)
        self.latencies = latencies

    def is_serial(self, role: Role) -> bool:
        return False

    def held(self, event: Event) -> int:
        """How long an op keeps the warp that executes it from the next one."""
        op = event.instance.op if event.instance is not None else None
        if event.kind is EventKind.ISSUE and isinstance(op, Mma):
            return min(self.latencies.mma_issue, self.tensor_cycles(op))
        if isinstance(op, Store) and not isinstance(op.to, OutRef):
            return 0
        return super().held(event)
