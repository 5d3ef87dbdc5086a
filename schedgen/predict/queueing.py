"""The settled loop where loads wait for each other.

All SMs load through the same L2; the more of the time it is in use, the longer a load waits.  How
long that is depends on how fast the loop goes, and the loop goes no faster than its loads let it:
the wait is the least one at which both agree.  A wait of ``queue * u / (1 - u)`` for a share u in
use is that of a queue with random arrivals (Pollaczek and Khinchine), whose scale was fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from schedgen.predict.card import Numbers
from schedgen.predict.costs import LOADS, Costs
from schedgen.predict.ratio import Circle, greatest_ratio
from schedgen.predict.timeline import Timeline

MOST_QUEUED = 1 << 14
"""Cycles of waiting beyond which a loop is taken for one that loads can never hold up."""


@dataclass(frozen=True)
class Settled:
    """One loop: the circle that limits a CTA by itself, that of the busiest resource, and the
    cycles that a load waits for others."""

    alone: Circle
    busiest: Circle
    queued: int


def settle(timeline: Timeline, stretch: int, numbers: Numbers, *, ctas: int) -> Settled:
    """The loop of a stretch with ``ctas`` CTAs on each SM."""
    schedule = timeline.schedule

    def circle(queued: int) -> Circle:
        costs = Costs(schedule, numbers, queued=queued)
        return greatest_ratio(timeline.folded(stretch, costs))

    by_resource = timeline.resources(stretch, Costs(schedule, numbers, queued=0))
    busiest = max(by_resource.values(), key=lambda c: c.ratio, default=Circle((), Fraction(0)))
    loads = by_resource[LOADS].ratio * ctas if LOADS in by_resource else Fraction(0)

    def is_enough(queued: int) -> bool:
        """Whether the loop is so slow by then that its loads wait no longer than that."""
        turn = max(circle(queued).ratio, busiest.ratio * ctas)
        return numbers.load_queue * loads <= queued * (turn - loads)

    low, high = 0, MOST_QUEUED
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return Settled(circle(low), busiest, low)
