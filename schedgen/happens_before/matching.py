"""Matching by counting, and the event graph of one K.

Definitions
-----------
A role replica of more than one warp is three *actors* (the elected thread's warp and two others;
two warps are two actors), each running the replica's program in order at its own pace.  Events:

- ``issue`` of an op by an actor; a blocking op has ``start`` and ``return`` instead;
- ``land`` of a TMA load, ``retire`` of a wgmma group, ``drain`` and ``written`` of a group of TMA
  stores (its sources are read; its writes are done); ``exit``, after the last event of every actor.

Edges: program order of an actor; issue -> land; every actor's issues of a group's mma and commit ->
retire (*assumption*: a wgmma retires only after all four warps issued it); retire -> retire of the
next group of the replica (PTX 9.7.15.7.3: groups complete in order); commit -> drain -> written;
retire / drain / written -> return of the group wait that covers it; every *contributor* of the
phase that a barrier wait is matched to -> its return.

A barrier's phase j collects contributors: arrivals, expects and landings.  It completes when its
pending arrivals and its pending bytes are both 0 (PTX 9.7.13.15), in the same instant as its last
contributor; that completion, written b.j, is a join and no event: *b.j before x* means that every
contributor of phase j is before x, and *x before b.j* that x is before one of them.  b.(-1) is
before everything.

*The counting run* executes the schedule once, in an arbitrary but fixed order, with every landing
and retirement at once, and with barriers that compare parities as the hardware does.  The
*matching* is what it saw: the phase in which each contribution counted, and for each wait the
phase by which it returned (the current phase minus 1), or, where it is still blocked, the current
phase.  The *obligations* on it (modules `counting` and, for what a phase lacks, `progress`):

P1  A phase gets as many arrivals as the barrier counts.
P2  It gets as many bytes as are expected of it; and each expect that is no arrival is before an
    arrival of its phase, or before all landings while other announced bytes keep the phase open.
    (A last phase that nobody waits for may get less of either.)
P3  Phases do not overtake: b.(j-1) before every contributor of b.j.
P4  Nobody waits too early: b.(j-1) before the start of a wait for b.j.
P5  Nobody is lapped: the return of a wait for b.j before b.(j+1), if that completes.
P6  Phases are observed: the return of some wait for b.j before each arrival on b.(j+1).

A `sync` enters the phase that it waits for, so P4-P6 do not concern named barriers.

Theorem
-------
*If P1-P6 hold for the matching of the counting run, every execution has that matching; what the
graph orders is ordered in every execution, and two events that it leaves unordered happen in both
orders.*

Proof.  By induction over an execution e, that is a sequence of events each enabled when it runs.
Claim: after every prefix of e, each contribution so far counted in its matched phase, and each wait
that returned did so by its matched phase.

Contribution x, matched to phase j of b.  By P3 every contributor of phase j-1 is before x in the
graph, hence (claim, and every graph edge is forced by the machine once the matching is) already in
the prefix, so phases 0..j-1 have all their contributors.  By P1 and P2 these are as many arrivals
as the count and as many bytes as expected, so those phases are complete; and phase j is not, since
x itself is missing: its arrivals are short of the count, or its bytes are not yet delivered.  (P2's
second half rules out that the phase closes while an expect is still to come: the arrival that it
precedes is missing too, or no byte has landed yet and others are announced.)  So x counts in j.

Return of a wait w with target j.  w returns when the parity of the current phase c differs from
that of j.  By P4 b.(j-1) is before the start of w, so c >= j when w starts; by P5 the return is
before b.(j+1) completes in every execution that has the matching so far, so c <= j+1 while w waits.
Parities of j and j+1 differ, so w returns exactly when c = j+1: by phase j.  For a wait still
blocked in the counting run the same argument gives c = j for ever: no contributor is left that
could complete the phase.

P6 adds what PTX demands of the program (a completed phase is observed before the next arrival).
For the second half: a linear extension of the graph that runs x before y exists whenever y is not
before x; it is an execution, since every event is enabled once its predecessors ran, by the same
claim.  If the counting run stops with a role blocked, every execution stops there.  QED
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from schedgen.happens_before.counting_run import (
    EVENT_BUDGET,
    CountingRun,
    unrolled_programs,
)
from schedgen.happens_before.record import BarrierLog, BarrierWaiting, Event, EventKind
from schedgen.happens_before.unroll import Unroller
from schedgen.ir.schedule import Schedule

if TYPE_CHECKING:
    import networkx as nx


class Matching(CountingRun):
    """The counting run of one K, from beginning to end."""

    def __init__(self, schedule: Schedule, k_tiles: int) -> None:
        super().__init__(schedule, k_tiles, unrolled_programs(Unroller(schedule), k_tiles))
        self.finish()

    @cached_property
    def graph(self) -> nx.DiGraph[int]:
        """The event graph, for those who want to walk or draw it."""
        import networkx as nx

        made: nx.DiGraph[int] = nx.DiGraph()
        made.add_nodes_from(range(len(self.events)))
        made.add_edges_from((u, v) for v, after in enumerate(self.predecessors) for u in after)
        return made


def reachability(predecessors: Sequence[tuple[int, ...]], known: Sequence[int] = ()) -> list[int]:
    """``result[v]`` has bit u set iff u is before v: one topological pass over Python ints.

    ``known`` is the result for a beginning of the same graph.
    """
    before = list(known)
    for after in predecessors[len(before) :]:  # nodes are numbered in a topological order
        mask = 0
        for u in after:
            mask |= before[u] | (1 << u)
        before.append(mask)
    return before


__all__ = [
    "EVENT_BUDGET", "BarrierLog", "BarrierWaiting", "Event", "EventKind", "Matching",
    "reachability",
]  # fmt: skip
