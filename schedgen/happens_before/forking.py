"""Many K at once: what the programs of two K begin with is executed and judged once.

The programs of K and of the next K begin alike: the same ops, with the same uses and loop
variables, none of which mentions K itself (`common_beginning`).  Let P be these beginnings, one for
each replica, and let a counting run execute what it can within P: the *stem*.  What it did depends
on P alone, so it is a beginning of a counting run of either K, and the order in which a counting
run executes is free (theorem in `matching`).  A *fork* of the stem with the programs of K finishes
K; the stem goes on with the programs of the next K.

The graph of K is that of the stem and the fork's events after it: later events have no edges back,
so the ancestors of an event of the stem are the same in every fork.  Hence an obligation that names
only events of the stem holds in all forks or in none, and is looked at once; a part (`Case`) looks
at those that name an event of its own, or an op or wait that was not over when it began.  What it
must know of the beginning for that is its `Past`.

Nothing is reported from here.  A K is clean if all its parts are; once a part shows any violation,
that K and all after it are judged from their own beginning, where findings get their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from schedgen.happens_before.accesses import still_relevant
from schedgen.happens_before.case import Breach, Case, Past
from schedgen.happens_before.counting_run import CountingRun, Programs, unrolled_programs
from schedgen.happens_before.registers import asynchronous_ends
from schedgen.happens_before.unroll import OverBudget, Unroller, common_beginning
from schedgen.ir.schedule import Schedule

Rules = Callable[[Case], Iterator[Breach]]


class Stem:
    """What the K from here on have in common, executed and judged as far as it goes."""

    def __init__(self, schedule: Schedule, rules: Rules) -> None:
        self.schedule = schedule
        self.rules = rules
        self.unroller = Unroller(schedule)
        self.run: CountingRun | None = None
        self.past = Past()

    def judge(self, k_tiles: int, following: int | None) -> tuple[int, Counter[str]] | None:
        """How many events were new at this K, and what was checked; None if it is not clean.

        ``following`` is the K that will be asked for next.
        """
        try:
            return self._judge(k_tiles, following)
        except OverBudget:
            return None

    def _judge(self, k_tiles: int, following: int | None) -> tuple[int, Counter[str]] | None:
        run, past = self.run, self.past
        if run is None:
            programs = unrolled_programs(self.unroller, k_tiles)
            run, past = CountingRun(self.schedule, k_tiles, programs), Past()
        first, checked = run.first, Counter[str]()
        self.run = None
        ahead = None if following is None else self._ahead(run, following)
        if ahead is not None:
            run.go(ahead.limits)
            case = Case(run, checked, past)
            if not self._is_clean(case):
                return None
            past = self.past = past_after(case)
            self.run = run.fork(ahead.k_tiles, ahead.programs)
            run = run.fork(k_tiles, run.replicas)
        run.finish()
        if not self._is_clean(Case(run, checked, past)):
            return None
        return len(run.events) - first, checked

    def _ahead(self, run: CountingRun, following: int) -> _Ahead | None:
        """The next K, unless it has too many events or the run is beyond what they share."""
        try:
            programs = unrolled_programs(self.unroller, following)
        except OverBudget:
            return None
        limits = [common_beginning(a, b) for a, b in zip(run.replicas, programs, strict=True)]
        if any(actor.position > limits[actor.replica] for actor in run.actors):
            return None
        return _Ahead(following, programs, limits)

    def _is_clean(self, case: Case) -> bool:
        return next(self.rules(case), None) is None


@dataclass(frozen=True)
class _Ahead:
    """The K that is asked for next, and up to where its programs are like the present ones."""

    k_tiles: int
    programs: Programs
    limits: list[int]


def past_after(case: Case) -> Past:
    """What the forks of a part that was judged must know of it."""
    accesses = {key: still_relevant(found) for key, found in case.intervals.items()}
    ends, asynchronous = asynchronous_ends(case)
    return Past(
        before=case.before, accesses={**case.past.accesses, **accesses}, registers=case.registers,
        ends=ends, asynchronous=asynchronous,
    )  # fmt: skip
