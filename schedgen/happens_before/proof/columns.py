"""The event graph of one K laid out: every event in a column of a stretch, or in a zone.

``key`` puts zones and stretches in a row: zone m is 2m, stretch m is 2m + 1.  Two edges of a
stretch are the same if their ends have the same labels and lie equally far apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from schedgen.happens_before.matching import Matching
from schedgen.happens_before.proof.text import Obstacle
from schedgen.happens_before.proof.turns import Stretch

Label = tuple[int, int, int, str]
"""Replica, ordinal in the turn, actor (-1: the whole replica), kind of event."""

Edge = tuple[int, int, int]
"""Two ends and a distance: label and label in columns; zone event and label in edges to zones,
where the distance tells the direction."""


ZONE_EDGE = 1 << 20
"""The distance that stands for an edge to a zone (from it: positive)."""


class Shape(NamedTuple):
    """Edges of the middle of a stretch, and how many columns at either end differ from it."""

    edges: frozenset[Edge]
    left: int
    right: int

    @property
    def inner(self) -> list[Edge]:
        """The edges between columns."""
        return [edge for edge in self.edges if abs(edge[2]) != ZONE_EDGE]


class Columns:
    """Places of all events of a matching, and the edges by place."""

    def __init__(self, matching: Matching, stretches: Sequence[Stretch]) -> None:
        self.matching = matching
        self.stretches = stretches
        self.lengths = [stretch.length for stretch in stretches]
        self.labels: list[dict[Label, int]] = [{} for _ in stretches]
        self._still: dict[tuple[int, int], set[str]] = {}
        self.key: list[int] = []
        self.column: list[int] = []
        self.label: list[int] = []
        self._owner = {
            (role.name, i): number
            for number, (role, i) in enumerate(
                (role, i) for role in matching.schedule.roles for i in range(role.replica_count)
            )
        }
        self._where = [self._places(r, len(p)) for r, p in enumerate(matching.replicas)]
        self._place_events()
        self.zone_number: dict[int, int] = {}
        for node, key in enumerate(self.key):
            if not key % 2:
                self.zone_number[node] = len(self.zone_number)
        self.goes_back = any(
            (self.key[u], self.column[u]) > (self.key[v], self.column[v])
            for v, before in enumerate(matching.predecessors)
            for u in before
        )

    def _places(self, replica: int, size: int) -> list[tuple[int, int, int]] | None:
        """Key, column and ordinal of each instance; None for a replica without a stretch."""
        if not any(replica in stretch.blocks for stretch in self.stretches):
            return None
        places: list[tuple[int, int, int]] = []
        for m, stretch in enumerate(self.stretches):
            block = stretch.blocks[replica]
            places += [(2 * m, 0, 0)] * (block.start - len(places))
            places += [
                (2 * m + 1, column, ordinal)
                for column in range(block.count)
                for ordinal in range(block.step)
            ]
        return places + [(2 * len(self.stretches), 0, 0)] * (size - len(places))

    def _place_events(self) -> None:
        last = 2 * len(self.stretches)
        for node, event in enumerate(self.matching.events):
            key, column, label = last, 0, 0
            if event.instance is not None:
                replica = self._owner[event.instance.role.name, event.instance.replica]
                places = self._where[replica]
                if places is None:  # no loop over K: as early as its predecessors allow
                    before = self.matching.predecessors[node]
                    key = max((self.key[u] + self.key[u] % 2 for u in before), default=0)
                else:
                    key, column, ordinal = places[event.instance.seq]
                    if key % 2:
                        actor = -1 if event.actor is None else event.actor
                        table = self.labels[key // 2]
                        label = table.setdefault(
                            (replica, ordinal, actor, str(event.kind)), len(table)
                        )
            self.key.append(key)
            self.column.append(column)
            self.label.append(label)

    def is_last_turn(self, role: str, replica: int, seq: int) -> bool:
        """Whether an instance is of the last turns of a loop over K, which are no columns."""
        blocks = [s.blocks.get(self._owner[role, replica]) for s in self.stretches]
        return any(b is not None and b.start + b.step * b.count <= seq < b.end for b in blocks)

    def still_rings(self, role: str, replica: int, key: int) -> set[str]:
        """Rings that others, but not the replica, have moved through by zone or stretch ``key``."""
        number = self._owner[role, replica]
        if (number, key) not in self._still:
            self._still[number, key] = {
                ring
                for stretch in self.stretches[: (key + 1) // 2]
                for ring in stretch.rates
                if ring not in stretch.moving.get(number, ())
            }
        return self._still[number, key]

    def nodes_in(self, stretch: int) -> list[list[int]]:
        """The events of each column, by label.  Raises `Obstacle` where columns differ."""
        found = [[-1] * len(self.labels[stretch]) for _ in range(self.lengths[stretch])]
        for node, key in enumerate(self.key):
            if key == 2 * stretch + 1:
                found[self.column[node]][self.label[node]] = node
        if any(-1 in nodes for nodes in found):
            raise Obstacle("the turns of a loop over K do not have the same events")
        return found

    def shape(self, stretch: int) -> Shape:
        """What the middle of a stretch looks like.

        Raises `Obstacle` where an edge goes over a whole stretch from one that repeats.
        """
        length = self.lengths[stretch]
        up_to: list[set[Edge]] = [set() for _ in range(length)]
        from_on: list[set[Edge]] = [set() for _ in range(length)]
        here = 2 * stretch + 1
        for v, before in enumerate(self.matching.predecessors):
            for u in before:
                at_u, at_v = self.key[u] == here, self.key[v] == here
                if at_u and at_v:
                    edge = (self.label[u], self.label[v], self.column[v] - self.column[u])
                    up_to[max(self.column[u], self.column[v])].add(edge)
                    from_on[min(self.column[u], self.column[v])].add(edge)
                elif at_u or at_v:
                    inner, outer, way = (u, v, -ZONE_EDGE) if at_u else (v, u, ZONE_EDGE)
                    if abs(self.key[outer] - here) > 2:
                        raise Obstacle("something waits for an event of another loop over K")
                    edge = (outer, self.label[inner], way)
                    side = up_to if self.key[outer] < here else from_on
                    side[self.column[inner]].add(edge)
        left = _ragged(up_to)
        right = _ragged(from_on[::-1])
        middle = length // 2
        return Shape(frozenset(up_to[middle] | from_on[middle]), left, right)


def _ragged(sides: list[set[Edge]]) -> int:
    """How many columns at the beginning differ from the middle one; all later ones must not."""
    middle = sides[len(sides) // 2]
    different = [c for c, edges in enumerate(sides) if edges != middle]
    if different and different[-1] >= len(sides) // 2:
        raise Obstacle("the order of events does not repeat from turn to turn")
    return different[-1] + 1 if different else 0
