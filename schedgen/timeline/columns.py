"""Time in columns of characters, and how much of it fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from schedgen.timeline.model import Bar, Kind, Timeline

ENGINES = (Kind.LOAD, Kind.MMA)
COLUMNS_A_TURN = 4
"""With fewer columns for a turn of the loop its waits and hand-overs are not told apart."""


class Columns:
    """``count`` columns of ``scale`` units of time each, from end to end of the picture."""

    def __init__(self, timeline: Timeline, room: int) -> None:
        self.first = timeline.first
        length = max(timeline.stop - timeline.first, 1)
        self.scale = ceil(length / max(room, 1))
        self.wide = 1
        if timeline.unit == "steps" and self.scale == 1:
            self.wide = min(max(room // length, 1), 4)
        self.count = ceil(length / self.scale) * self.wide

    def of(self, time: int) -> int:
        """The column in which a time lies; an end one for those beyond it."""
        return max(min((time - self.first) * self.wide // self.scale, self.count - 1), 0)

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
        while (time - self.first) * self.wide < self.count * self.scale:
            text = f"|{time:,}"
            column = self.of(time)
            if column + len(text) <= self.count:
                cells[column : column + len(text)] = text
            time += step
        return "".join(cells)


def rounded(value: float) -> int:
    """1, 2 or 5 times a power of ten, not less than ``value``."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= value:
                return digit * power
        power *= 10


def fitting(timeline: Timeline, room: int) -> Timeline:
    """The timeline, or as much of it as is told apart in so many columns: the first cycles of an
    execution, of a witness the last steps."""
    length = timeline.stop - timeline.first
    if timeline.unit == "steps":
        return timeline if length <= room else timeline.between(timeline.stop - room, timeline.stop)
    most = _coarsest(timeline, room) * room
    return timeline if length <= most else timeline.between(timeline.first, timeline.first + most)


def _coarsest(timeline: Timeline, room: int) -> int:
    """The most cycles of a column at which the bars of engines are told apart.

    Very short ones share columns, so that half of the columns lead beyond the first mma.
    """
    bars = [b for lane in timeline.lanes for b in lane.bars if b.kind in ENGINES]
    stretches = [
        end - begin for lane in timeline.lanes if lane.serial
        for begin, end, bars in runs(lane.bars) if bars[0].kind in ENGINES
    ]  # fmt: skip
    if not stretches:
        return max(timeline.end, 1)
    most = min(stretches)
    if timeline.cycle is not None:
        most = min(most, int(timeline.cycle.per_turn) // COLUMNS_A_TURN)
    mmas = [b.end for b in bars if b.kind is Kind.MMA]
    return max(most, ceil(2 * min(mmas, default=0) / room), 1)


def runs(bars: Iterable[Bar]) -> Iterator[tuple[int, int, list[Bar]]]:
    """Bars of an engine, those together that follow each other without a gap and look the same."""
    run: list[Bar] = []
    for bar in bars:
        if run and (run[-1].end < bar.begin or _look(run[-1]) != _look(bar)):
            yield run[0].begin, run[-1].end, run
            run = []
        run.append(bar)
    if run:
        yield run[0].begin, run[-1].end, run


def _look(bar: Bar) -> tuple[str, int]:
    return bar.letter, bar.replica % 2 if bar.kind is Kind.MMA else 0
