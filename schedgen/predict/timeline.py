"""The event graph with cycles on its edges: as soon as possible, and folded.

The events are those of the checker (module `happens_before.matching`), laid out in columns as its
proof lays them out.  A resource serves its events column by column, in the order in which they
stand in the middle column; so the unrolled graph and the folded one say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from schedgen.happens_before.matching import Matching
from schedgen.happens_before.proof.certificate import prove
from schedgen.happens_before.proof.columns import Columns
from schedgen.happens_before.proof.text import Obstacle, read_text
from schedgen.happens_before.proof.turns import stretch_of, turn_starts
from schedgen.happens_before.record import EventKind
from schedgen.ir.ops import Mma
from schedgen.ir.schedule import Schedule
from schedgen.predict.costs import RESOURCES, Costs
from schedgen.predict.ratio import Delay


def settled(schedule: Schedule) -> int:
    """A K, in tiles, whose middle shows what every longer loop does.

    Raises `Obstacle` where the proof for every K does not apply.
    """
    proof = prove(schedule)
    return proof.explicit + 4 * (proof.window + 2)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Cycles of one CTA: until the first mma is issued, until the last group retires, until the
    exit."""

    first_mma: int
    last_retire: int
    exit: int


class Timeline:
    """The events of one K with cycles.  Raises `Obstacle` where the loops do not fold."""

    def __init__(self, schedule: Schedule, k_tiles: int) -> None:
        self.schedule = schedule
        self.k_tiles = k_tiles
        self.matching = Matching(schedule, k_tiles)
        if self.matching.blocked:
            raise Obstacle(f"it does not come to its end at K = {k_tiles}")
        owners = [(r, i) for r in schedule.roles for i in range(r.replica_count)]
        texts = [read_text(schedule, role, i) for role, i in owners]
        starts = [
            turn_starts(schedule, role, i, k_tiles, text.growing)
            for (role, i), text in zip(owners, texts, strict=True)
        ]
        count = max(map(len, starts), default=0)
        stretches = [stretch_of(self.matching.replicas, starts, m) for m in range(count)]
        self.columns = Columns(self.matching, stretches)
        self.middles = [length // 2 for length in self.columns.lengths]
        self.nodes = [self.columns.nodes_in(m) for m in range(count)]
        self._inner = [sorted(self.columns.shape(m).inner) for m in range(count)]
        self._rows = list(self._served())
        self._order: list[int] = []

    # --- resources
    def _rank(self, node: int) -> tuple[int, int, int]:
        """Where an event stands in the row of its resource."""
        key, column = self.columns.key[node], self.columns.column[node]
        if not key % 2:
            return key, 0, node
        m = key // 2
        return key, column, self.nodes[m][self.middles[m]][self.columns.label[node]]

    def _served(self) -> Iterator[tuple[str, list[int]]]:
        """Each resource with its events, in the order in which it serves them."""
        for kind, resource in RESOURCES.items():
            served = (e.node for e in self.matching.events if e.kind is kind)
            yield resource, sorted(served, key=self._rank)

    # --- unrolled
    def _delays(self, costs: Costs) -> Iterator[tuple[int, int, int]]:
        for v, before in enumerate(self.matching.predecessors):
            for u in before:
                yield u, v, costs.between(self.matching, u, v)
        for _, row in self._rows:
            for u, v in pairwise(row):
                yield u, v, costs.busy(self.matching, v)

    def times(self, costs: Costs) -> list[int]:
        """When each event happens at the soonest, in cycles from the start of the CTA.

        Raises `Obstacle` where a resource would have to serve in another order.
        """
        before: list[list[tuple[int, int]]] = [[] for _ in self.matching.events]
        for u, v, cycles in self._delays(costs):
            before[v].append((u, cycles))
        if not self._order:
            self._order = _topological(before)
        at = [0] * len(before)
        for v in self._order:
            at[v] = max((at[u] + cycles for u, cycles in before[v]), default=0)
        return at

    def ends(self, costs: Costs) -> Ends:
        """What the two ends of a CTA take."""
        at = self.times(costs)
        events = self.matching.events
        first = [
            at[e.node] for e in events
            if e.kind is EventKind.ISSUE and e.instance and isinstance(e.instance.op, Mma)
        ]  # fmt: skip
        retired = [at[e.node] for e in events if e.kind is EventKind.RETIRE]
        exit_at = max(at, default=0)
        return Ends(
            first_mma=min(first, default=0), last_retire=max(retired, default=0), exit=exit_at
        )

    # --- folded
    def folded(self, stretch: int, costs: Costs) -> list[Delay]:
        """The delays of the middle of a stretch, by label."""
        middle = self.middles[stretch]
        nodes = self.nodes[stretch]
        found = [
            Delay(
                u, v,
                costs.between(self.matching, nodes[middle][u], nodes[middle + turns][v]),
                turns,
            )
            for u, v, turns in self._inner[stretch]
        ]  # fmt: skip
        for resource, row in self._rows:
            labels = [
                self.columns.label[node] for node in row
                if self.columns.key[node] == 2 * stretch + 1
                and self.columns.column[node] == middle
            ]  # fmt: skip
            following = [*labels[1:], *labels[:1]]
            for number, (u, v) in enumerate(zip(labels, following, strict=True)):
                busy = costs.busy(self.matching, nodes[middle][v])
                found.append(Delay(u, v, busy, int(number == len(labels) - 1), resource))
        return found

    def is_landing(self, stretch: int, label: int) -> bool:
        """Whether the events of a label are landings of TMA loads."""
        node = self.nodes[stretch][self.middles[stretch]][label]
        return self.matching.events[node].kind is EventKind.LAND


def _topological(before: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """An order of all events; raises `Obstacle` where there is none."""
    sorter = TopologicalSorter({v: [u for u, _ in found] for v, found in enumerate(before)})
    try:
        return list(sorter.static_order())
    except CycleError:
        raise Obstacle("the roles do not take turns at the tensor core or at TMA") from None
