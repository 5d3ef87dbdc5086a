"""The settled loop where loads wait for each other.

All SMs load through the same L2; the more of the time it is in use, the longer a load waits.  How
long that is depends on how fast the loop goes, and the loop goes no faster than its loads let it:
the wait is the least one at which both agree.  A wait of ``queue * u / (1 - u)`` for a share u in
use is that of a queue with random arrivals (Pollaczek and Khinchine), whose scale was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from schedgen.predict.card import Numbers
from schedgen.predict.costs import LOADS, Costs
from schedgen.predict.ratio import NO_CIRCLE, Circle, Delay, exceeding, greatest_ratio
from schedgen.predict.timeline import Timeline

MOST_QUEUED = 1 << 14
"""Cycles of waiting beyond which a loop is taken for one that loads can never hold up."""


@dataclass(frozen=True)
class Settled:
    """One loop: the circle that limits a CTA by itself, and that of the busiest resource.

    A turn occupies the way from the L2 for ``loads`` cycles; each load waits ``queued`` for others.
    """

    alone: Circle
    busiest: Circle
    loads: Fraction
    queued: int


def queue(use: Fraction, numbers: Numbers) -> Fraction:
    """How long a load waits for others while their way is in use for a share of the time."""
    return numbers.load_queue * use / (1 - use) if use < 1 else Fraction(MOST_QUEUED)


def turn_at(queued: int, loads: Fraction, numbers: Numbers) -> Fraction:
    """The turn, of ``loads`` cycles of loads, in which each waits so long: the inverse of
    `queue`."""
    return loads * (1 + Fraction(numbers.load_queue, queued))


def settle(timeline: Timeline, stretch: int, numbers: Numbers, *, ctas: int) -> Settled:
    """The loop of a stretch with ``ctas`` CTAs on each SM."""
    unhindered = timeline.folded(stretch, Costs(timeline.schedule, numbers, queued=0))
    by_resource = circles_of_resources(unhindered)
    busiest = max(by_resource.values(), key=lambda c: c.ratio, default=NO_CIRCLE)
    of_loads = by_resource.get(LOADS, NO_CIRCLE).ratio
    loads = of_loads * ctas

    def delays(queued: int) -> list[Delay]:
        return [
            d._replace(cycles=d.cycles + queued)
            if not d.resource and timeline.is_landing(stretch, d.target) else d
            for d in unhindered
        ]  # fmt: skip

    def is_enough(queued: int) -> bool:
        """Whether the loop is so slow by then that its loads wait no longer than that."""
        turn = turn_at(queued, loads, numbers)
        return busiest.ratio * ctas > turn or bool(exceeding(delays(queued), turn))

    low, high = 0, MOST_QUEUED if numbers.load_queue and loads else 0
    while low < high:
        middle = (low + high) // 2
        if middle and is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return Settled(greatest_ratio(delays(low)), busiest, of_loads, low)


def circles_of_resources(delays: Sequence[Delay]) -> dict[str, Circle]:
    """For each resource the circle of those that it serves in one turn."""
    rows: dict[str, list[Delay]] = {}
    for delay in delays:
        if delay.resource:
            rows.setdefault(delay.resource, []).append(delay)
    return {name: greatest_ratio(row) for name, row in rows.items()}
