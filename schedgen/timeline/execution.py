"""As soon as possible: when each event of the counting run happens.

An event happens when everything before it has and its latency is over.  The tensor core, the TMA
unit on its way in and that on its way out serve one after the other: who comes first is served
first, and of two that come at once the one with the smaller node.  So there is one such execution
for each K, and each time has a *cause*: the event without which it would be earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.record import EventKind
from schedgen.predict.costs import RESOURCES, Costs


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Times of all events in cycles from the start of the CTA.

    ``busy`` is how long each was served (0 for most), ``cause`` the node that made it so late: a
    predecessor, or whom its resource served before it (then ``behind``); -1 at the start.
    """

    run: CountingRun
    costs: Costs
    at: tuple[int, ...]
    busy: tuple[int, ...]
    cause: tuple[int, ...]
    behind: frozenset[int]

    @property
    def end(self) -> int:
        return max(self.at, default=0)

    def path(self, node: int) -> Iterator[int]:
        """The event and its causes, back to the start."""
        while node >= 0:
            yield node
            node = self.cause[node]


def execute(run: CountingRun, costs: Costs) -> Execution:
    """The execution of a counting run."""
    count = len(run.events)
    after: list[list[int]] = [[] for _ in range(count)]
    for v, before in enumerate(run.predecessors):
        for u in before:
            after[u].append(v)
    missing = [len(before) for before in run.predecessors]
    at, busy, cause = [0] * count, [0] * count, [-1] * count
    behind: set[int] = set()
    last: dict[EventKind, int] = {}
    heap = [(0, v) for v in range(count) if not missing[v]]
    while heap:
        now, v = heappop(heap)
        kind = run.events[v].kind
        if kind in RESOURCES:
            served = last.get(kind, -1)
            if served >= 0 and at[served] + busy[v] >= at[v]:
                at[v], cause[v] = at[served] + busy[v], served
                behind.add(v)
            last[kind] = v
        for w in after[v]:
            missing[w] -= 1
            if missing[w]:
                continue
            at[w], cause[w] = _ready(run, costs, at, w)
            if run.events[w].kind in RESOURCES:
                busy[w] = costs.busy(run, w)
            heappush(heap, (max(at[w] - busy[w], now), w))
    return Execution(
        run=run, costs=costs, at=tuple(at), busy=tuple(busy), cause=tuple(cause),
        behind=frozenset(behind),
    )  # fmt: skip


def _ready(run: CountingRun, costs: Costs, at: list[int], node: int) -> tuple[int, int]:
    """When an event could happen if its resource were free, and the event that decides it."""
    return max((at[u] + costs.between(run, u, node), u) for u in run.predecessors[node])
