"""Time in columns of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from schedgen.timeline.model import Bar, Timeline


class Columns:
    """``count`` columns of ``scale`` units of time each, from 0 to where the picture ends."""

    def __init__(self, timeline: Timeline, room: int) -> None:
        self.first = timeline.first
        length = max(timeline.shown - timeline.first, 1)
        self.scale = ceil(length / max(room, 1))
        self.wide = 1
        if timeline.unit == "steps" and self.scale == 1:
            self.wide = min(max(room // length, 1), 4)
        self.count = ceil(length / self.scale) * self.wide

    def of(self, time: int) -> int:
        """The column in which a time lies; the last one for those beyond it."""
        return min((time - self.first) * self.wide // self.scale, self.count - 1)

    def covered(self, begin: int, end: int) -> range:
        """The columns of which a stretch covers half or more."""
        first, last = (
            (2 * (time - self.first) * self.wide + self.scale - 1) // (2 * self.scale)
            for time in (begin, end)
        )
        return range(max(first, 0), min(max(last, first), self.count))

    def mostly(self, bars: Iterable[Bar]) -> Iterator[int]:
        for bar in bars:
            yield from self.covered(bar.begin, bar.end)

    def mostly_within(self, stretches: Iterable[tuple[int, int]]) -> Iterator[int]:
        for begin, end in stretches:
            yield from self.covered(begin, end)

    def free(self, time: int, taken: set[int]) -> int | None:
        """The column of a moment, or the next one, if another moment has it; then it is taken."""
        if time < self.first or not self._is_within(time):
            return None
        for column in (self.of(time), self.of(time) + 1):
            if column not in taken and column < self.count:
                taken.add(column)
                return column
        return None

    def axis(self) -> str:
        """Times above the columns where they stand, every ten columns or so."""
        cells = [" "] * self.count
        step = rounded(max(10 * self.scale // self.wide, 1))
        time = -(-self.first // step) * step
        while self._is_within(time):
            text = f"|{time:,}"
            column = self.of(time)
            if column + len(text) <= self.count:
                cells[column : column + len(text)] = text
            time += step
        return "".join(cells)

    def _is_within(self, time: int) -> bool:
        return (time - self.first) * self.wide < self.count * self.scale


def rounded(value: float) -> int:
    """1, 2 or 5 times a power of ten, not less than ``value``."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= value:
                return digit * power
        power *= 10
