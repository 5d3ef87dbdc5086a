"""What is before what among a few columns, once everything on one side is taken into account."""

from __future__ import annotations

from collections.abc import Callable

from schedgen.happens_before.proof.columns import Columns

State = tuple[tuple[int, int], ...]


class Windows:
    """The relations of one stretch.

    ``left(n)`` is the order among the zones on the left and the last ``width`` of the first n
    columns, by paths that stay on the left of the cut behind column n; ``right(n)`` the same for
    the last n columns from the right.  Equal states are equal relations up to a shift.
    """

    def __init__(self, columns: Columns, stretch: int, width: int) -> None:
        self.columns = columns
        self.width = width
        self.here = 2 * stretch + 1
        self.length = columns.lengths[stretch]
        self.per_column = len(columns.labels[stretch])
        self.nodes = columns.nodes_in(stretch)
        self.zones = len(columns.zone_number)
        self._all = None if columns.goes_back else self._close(lambda key, column: True)

    def left(self, count: int) -> State:
        """State of the first ``count`` columns."""
        here = self.here
        before = self._all or self._close(
            lambda key, column: key < here or (key == here and column < count)
        )
        zone = [v for v in self.columns.zone_number if self.columns.key[v] < here]
        return self._state(before, zone, count - self.width)

    def right(self, count: int) -> State:
        """State of the last ``count`` columns."""
        here, first = self.here, self.length - count
        before = self._all or self._close(
            lambda key, column: key > here or (key == here and column >= first)
        )
        zone = [v for v in self.columns.zone_number if self.columns.key[v] > here]
        return self._state(before, zone, first)

    def _state(self, before: list[int], zone: list[int], first: int) -> State:
        zone_mask = sum(1 << self.columns.zone_number[v] for v in zone)
        shift = self.zones + first * self.per_column
        mask = (1 << self.width * self.per_column) - 1
        window = [v for nodes in self.nodes[first : first + self.width] for v in nodes]
        return tuple((before[v] & zone_mask, before[v] >> shift & mask) for v in (*zone, *window))

    def _close(self, is_inside: Callable[[int, int], bool]) -> list[int]:
        """``result[v]``: the events of zones and of this stretch that come before v inside."""
        c = self.columns
        before: list[int] = []
        own: list[int] = []
        for v, predecessors in enumerate(c.matching.predecessors):
            mask = bit = 0
            if is_inside(c.key[v], c.column[v]):
                for u in predecessors:
                    mask |= own[u]
                if c.key[v] == self.here:
                    bit = 1 << self.zones + c.column[v] * self.per_column + c.label[v]
                elif not c.key[v] % 2:
                    bit = 1 << c.zone_number[v]
            before.append(mask)
            own.append(mask | bit)
        return before
