"""The greatest cycle ratio: cycles of latency for each turn of the loop.

In the folded graph an edge u -> v says that the v of turn i + ``turns`` comes ``cycles`` or more
after the u of turn i.  Once the loop has settled, a turn takes as long as the greatest ratio of
cycles to turns among the circles of that graph (Reiter 1968; Baccelli et al. 1992, chapter 3).

Newton's method in exact arithmetic: from a ratio that is reached, look for a circle that exceeds
it; its ratio is the next one.  There are finitely many circles, and each step is to a greater one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from schedgen.happens_before.proof.text import Obstacle


class Delay(NamedTuple):
    """``target`` comes ``cycles`` or more after ``source`` of ``turns`` turns before.

    ``resource`` names what both occupy one after the other, empty for an order of the schedule.
    """

    source: int
    target: int
    cycles: int
    turns: int
    resource: str = ""


class Circle(NamedTuple):
    """A circle of delays, and its ratio."""

    delays: tuple[Delay, ...]
    ratio: Fraction


NO_CIRCLE = Circle((), Fraction(0))


def greatest_ratio(delays: Iterable[Delay]) -> Circle:
    """The circle with the greatest ratio; `NO_CIRCLE` where nothing takes time.

    Raises `Obstacle` where a circle takes time and no turn: the loop makes no progress.
    """
    kept = sorted(delays)
    best = NO_CIRCLE
    while True:
        found = exceeding(kept, best.ratio)
        if not found:
            return best
        turns = sum(d.turns for d in found)
        if turns <= 0:
            raise Obstacle("the turns of the loop wait for each other in a circle")
        best = Circle(tuple(found), Fraction(sum(d.cycles for d in found), turns))


def exceeding(delays: Sequence[Delay], ratio: Fraction) -> list[Delay]:
    """A circle of more cycles than ``ratio`` for each turn, in its order; empty if there is none.

    Bellman-Ford from all nodes at once, on longest paths: after as many rounds as there are nodes,
    whatever still grows lies behind such a circle.
    """
    gain = {d: d.cycles * ratio.denominator - d.turns * ratio.numerator for d in delays}
    length = {node: 0 for d in delays for node in (d.source, d.target)}
    by: dict[int, Delay] = {}
    grown = -1
    for _ in range(len(length) + 1):
        grown = -1
        for d in delays:
            if length[d.source] + gain[d] > length[d.target]:
                length[d.target] = length[d.source] + gain[d]
                by[d.target] = d
                grown = d.target
        if grown < 0:
            return []
    for _ in range(len(length)):  # walk back into the circle
        grown = by[grown].source
    circle = [by[grown]]
    while circle[-1].source != grown:
        circle.append(by[circle[-1].source])
    return circle[::-1]
