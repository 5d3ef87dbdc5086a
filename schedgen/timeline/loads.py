"""How long loads wait for those of others: what `schedgen predict` says, where it says it.

Where the turns of a schedule do not fold, the wait is read off its own execution: the least one
that is as long as the use of TMA in the execution with that wait asks for (module
`schedgen.predict.queueing` has the formula, and a test that both ways agree where both can go).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.record import EventKind
from schedgen.ir.schedule import Schedule
from schedgen.predict.card import Numbers
from schedgen.predict.costs import Costs
from schedgen.predict.model import CannotPredict, loads_queued
from schedgen.predict.occupancy import occupancy
from schedgen.predict.queueing import MOST_QUEUED, queue
from schedgen.timeline.critical import critical_cycle, work
from schedgen.timeline.execution import execute


@dataclass(frozen=True, kw_only=True)
class Loads:
    """Each load waits ``queued`` cycles for those of others; ``ctas`` CTAs share the way into an
    SM.  ``unfolded`` says why that is not what `schedgen predict` says, empty where it is."""

    queued: int
    ctas: int
    unfolded: str


def loads_of(schedule: Schedule, settled: CountingRun, numbers: Numbers) -> Loads:
    """The wait of the loads of a schedule; ``settled`` is a run of many turns."""
    ctas = occupancy(schedule).ctas
    try:
        return Loads(queued=loads_queued(schedule, numbers), ctas=ctas, unfolded="")
    except CannotPredict as reason:
        queued = queued_by_use(schedule, settled, numbers, ctas)
        return Loads(queued=queued, ctas=ctas, unfolded=str(reason))


def queued_by_use(schedule: Schedule, run: CountingRun, numbers: Numbers, ctas: int) -> int:
    """The least wait at which the execution asks for no longer one."""

    def asked(queued: int) -> int:
        return _asked(run, Costs(schedule, numbers, queued=queued), ctas)

    low, high = 0, asked(0)
    while low < high:
        middle = (low + high) // 2
        if asked(middle) <= middle:
            high = middle
        else:
            low = middle + 1
    return low


def _asked(run: CountingRun, costs: Costs, ctas: int) -> int:
    """A little more than loads wait for each other by the use of TMA in the settled loop."""
    execution = execute(run, costs)
    cycle = critical_cycle(execution)
    loads, mmas = (
        ctas * work(execution, kind, cycle) for kind in (EventKind.LAND, EventKind.RETIRE)
    )
    turn = max(cycle.cycles if cycle else execution.end, mmas, loads)
    if not loads or not costs.numbers.load_queue:
        return 0
    return min(floor(queue(Fraction(loads, turn), costs.numbers)) + 1, MOST_QUEUED)
