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
contributor of phase j is before x.  b.(-1) is before everything.

*The counting run* executes the schedule once, in an arbitrary but fixed order, with every landing
and retirement at once, and with barriers that compare parities as the hardware does.  The
*matching* is what it saw: the phase in which each contribution counted, and for each wait the
phase by which it returned (the current phase minus 1), or, where it is still blocked, the current
phase.  P1-P6 (module `counting`) are obligations on this matching.

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

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from schedgen.happens_before.groups import GroupTable, executes
from schedgen.happens_before.record import (
    Actor,
    BarrierLog,
    BarrierWaiting,
    Event,
    EventKind,
    actor_threads,
)
from schedgen.happens_before.unroll import BarrierKey, Instance, OverBudget, unroll
from schedgen.ir.effects import Engine, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.schedule import Schedule

if TYPE_CHECKING:
    import networkx as nx

EVENT_BUDGET = 20_000
"""Events of one K beyond which the checker says `budget`: its bitsets grow quadratically."""


class Matching:
    """The counting run of one K: events and what each comes directly after, phases and waits.

    Nodes are numbered in a topological order: ``predecessors[v]`` are all smaller than v.
    """

    def __init__(self, schedule: Schedule, k_tiles: int) -> None:
        self.schedule = schedule
        self.k_tiles = k_tiles
        self.events: list[Event] = []
        self.predecessors: list[tuple[int, ...]] = []
        self.barriers: dict[BarrierKey, BarrierLog] = {}
        self.waits: list[BarrierWaiting] = []
        self.negative: list[tuple[Event, str, int]] = []
        self.actors: list[Actor] = []
        self.replicas: list[list[Instance]] = []
        self.issues: dict[tuple[int, int], dict[int, int]] = {}
        self.lands: dict[tuple[int, int, int], int] = {}
        self.exit: int | None = None
        self._prepare()
        self.groups = GroupTable(self.replicas, [len(self._of(r)) for r in self._replica_ids()])
        self._run()

    def _replica_ids(self) -> range:
        return range(len(self.replicas))

    def _of(self, replica: int) -> list[Actor]:
        return [a for a in self.actors if a.replica == replica]

    def _prepare(self) -> None:
        left = EVENT_BUDGET
        for role in self.schedule.roles:
            threads = actor_threads(role)
            for replica in range(role.replica_count):
                program = unroll(self.schedule, role, replica, self.k_tiles, left)
                left -= len(program) * len(threads)
                number = len(self.replicas)
                self.replicas.append(program)
                self.actors += [Actor(number, i, t, program) for i, t in enumerate(threads)]
        if left < 0:
            raise OverBudget

    # --- the run
    def _run(self) -> None:
        moved = True
        while moved:
            moved = False
            for actor in self.actors:
                moved = self._step(actor) or moved
        if not self.blocked:
            self.exit = self._event(EventKind.EXIT, None, None, self._ends())

    def _ends(self) -> list[int]:
        return [a.last for a in self.actors if a.last is not None]

    @property
    def blocked(self) -> list[Actor]:
        """Actors that never come to the end of their program."""
        return [a for a in self.actors if next(a.rest(), None) is not None]

    def _step(self, actor: Actor) -> bool:
        """Execute the next instance of an actor, or try its wait again."""
        while actor.position < len(actor.program):
            instance = actor.program[actor.position]
            if not executes(instance, actor.index):
                actor.position += 1
                continue
            return self._execute(actor, instance)
        return False

    def _execute(self, actor: Actor, instance: Instance) -> bool:
        if actor.waiting is not None:
            return self._retry(actor, actor.waiting)
        e = instance.effects
        negative = self._negative(actor, instance) if actor.group_start is None else None
        if negative is not None:
            kind = EventKind.ISSUE if e.wait is None else EventKind.START
            node = self._own(actor, instance, kind, ())
            self.negative.append((self.events[node], *negative))
        elif e.wait is not None or e.sync is not None:
            self._begin_wait(actor, instance)
            return True
        elif e.group is not None and e.group.action == "wait":
            return self._group_wait(actor, instance)
        elif e.cursor is None:
            node = self._issue(actor, instance)
            self._signal(actor, instance, node)
            self._complete(actor, instance, node)
        actor.position += 1
        return True

    def _negative(self, actor: Actor, instance: Instance) -> tuple[str, int] | None:
        """What the op names before its first use: a ring and use, or a barrier and phase."""
        wait = instance.effects.wait
        if wait is not None and isinstance(wait.barrier, PlainBarrier) and wait.parity is None:
            phase = actor.awaits.get(instance.barrier(wait.barrier, 0), 0) + wait.offset
            return (wait.barrier.name, phase) if phase < 0 else None
        return instance.negative_use

    def _event(
        self, kind: EventKind, instance: Instance | None, actor: int | None, after: Iterable[int]
    ) -> int:
        node = len(self.events)
        if node > EVENT_BUDGET:
            raise OverBudget
        self.events.append(Event(node, kind, instance, actor))
        self.predecessors.append(tuple(dict.fromkeys(after)))
        return node

    def _own(self, actor: Actor, instance: Instance, kind: EventKind, after: Iterable[int]) -> int:
        previous = () if actor.last is None else (actor.last,)
        actor.last = self._event(kind, instance, actor.index, (*previous, *after))
        return actor.last

    def _issue(self, actor: Actor, instance: Instance) -> int:
        node = self._own(actor, instance, EventKind.ISSUE, ())
        self.issues.setdefault((actor.replica, instance.seq), {})[actor.index] = node
        return node

    def log(self, key: BarrierKey, count: int) -> BarrierLog:
        if key not in self.barriers:
            self.barriers[key] = BarrierLog(key, count)
        return self.barriers[key]

    def _count(self, ref: object) -> int:
        if isinstance(ref, RingBarrier):
            ring = self.schedule.ring(ref.ring)
            return ring.full if ref.side == "full" else ring.empty
        name = getattr(ref, "name", "")
        plain = {b.name: b.count for b in self.schedule.barriers}
        return plain.get(name) or next(n.threads for n in self.schedule.named if n.name == name)

    def _signal(self, actor: Actor, instance: Instance, node: int) -> None:
        signal = instance.effects.signal
        if signal is None:
            return
        key = instance.barrier(signal.barrier, signal.offset)
        log = self.log(key, self._count(signal.barrier))
        if signal.expected:
            log.expect(node, signal.expected)
        if signal.arrivals:
            log.arrive(node, signal.arrivals)
        if signal.delivered:
            landing = self._event(EventKind.LAND, instance, actor.index, (node,))
            self.lands[actor.replica, instance.seq, actor.index] = landing
            log.land(landing, self.delivered_bytes(instance))

    def delivered_bytes(self, instance: Instance) -> int:
        """Bytes that a load completes: the whole box, also where it sticks out of the tensor."""
        refs = [a.location for a in instance.effects.accesses if a.writes]
        slots = [r for r in refs if isinstance(r, SlotRef)]
        return sum(self.schedule.ring(r.ring).slot(r.slot).slab_bytes for r in slots)

    def _complete(self, actor: Actor, instance: Instance, node: int) -> None:
        """Let the groups that became complete retire (or their stores be done)."""
        for group in self.groups.issued(actor.replica, actor.index, instance.seq, node):
            after = list(group.issues)
            if group.previous is not None and group.previous.done is not None:
                after.append(group.previous.done)
            commit = self.replicas[actor.replica][group.commit]
            if group.queue == "wgmma":
                group.done = self._event(EventKind.RETIRE, commit, None, after)
                group.read = group.done
            else:
                group.read = self._event(EventKind.DRAIN, commit, actor.index, group.issues)
                group.done = self._event(EventKind.WRITTEN, commit, actor.index, (group.read,))

    # --- waits
    def _begin_wait(self, actor: Actor, instance: Instance) -> None:
        node = self._own(actor, instance, EventKind.START, ())
        e = instance.effects
        if e.sync is not None:
            key = instance.barrier(e.sync, 0)
            log = self.log(key, self._count(e.sync))
            declared, parity = log.current, None
            log.arrive(node, actor.threads)
        else:
            assert e.wait is not None
            key = instance.barrier(e.wait.barrier, e.wait.offset)
            log = self.log(key, self._count(e.wait.barrier))
            declared, parity = self._target(actor, instance, key)
        waiting = BarrierWaiting(log, instance, actor.index, node, declared, parity)
        actor.waiting = waiting
        self.waits.append(waiting)
        self._retry(actor, waiting)

    def _target(self, actor: Actor, inst: Instance, key: BarrierKey) -> tuple[int | None, int]:
        """The completion that a wait names, and the parity that it tests."""
        wait = inst.effects.wait
        assert wait is not None
        if isinstance(wait.barrier, RingBarrier):
            turn = inst.use(wait.barrier.ring, wait.offset) // inst.stages[wait.barrier.ring]
            declared = turn if wait.barrier.side == "full" else turn - 1
        else:
            declared = actor.awaits.get(key, 0) + wait.offset
            actor.awaits[key] = actor.awaits.get(key, 0) + 1
        if wait.parity is not None:
            return None, inst.value(wait.parity) % 2
        return declared, declared % 2

    def _retry(self, actor: Actor, waiting: BarrierWaiting) -> bool:
        log = waiting.log
        if waiting.parity is None:  # bar.sync: bound to the phase that it entered
            assert waiting.declared is not None
            passed = log.current > waiting.declared
            matched = waiting.declared
        else:
            passed = log.current % 2 != waiting.parity
            matched = log.current - 1
        if not passed:
            return False
        after = log.phases[matched].contributors if matched >= 0 else iter(())
        node = self._own(actor, waiting.instance, EventKind.RETURN, after)
        waiting.returned, waiting.matched = node, matched
        actor.waiting = None
        actor.position += 1
        return True

    def _group_wait(self, actor: Actor, instance: Instance) -> bool:
        moved = actor.group_start is None
        if actor.group_start is None:
            actor.group_start = self._own(actor, instance, EventKind.START, ())
        covered = self.groups.covered(actor.replica, actor.index, instance)
        effect = instance.effects.group
        assert effect is not None
        if effect.queue == "tma-store":  # those of an earlier wait are before this one already
            covered = covered[actor.store_groups_over.get(effect.reads_only, 0) :]
        ends = [g.read if effect.reads_only else g.done for g in covered]
        if any(end is None for end in ends):
            return moved
        self._own(actor, instance, EventKind.RETURN, [e for e in ends if e is not None])
        if effect.queue == "tma-store" and covered:
            actor.store_groups_over[effect.reads_only] = covered[-1].index + 1
        actor.group_start = None
        actor.position += 1
        return True

    # --- what the rules ask
    @cached_property
    def graph(self) -> nx.DiGraph[int]:
        """The event graph, for those who want to walk or draw it."""
        import networkx as nx

        made: nx.DiGraph[int] = nx.DiGraph()
        made.add_nodes_from(range(len(self.events)))
        made.add_edges_from((u, v) for v, after in enumerate(self.predecessors) for u in after)
        return made

    def end_of(self, replica: int, seq: int, actor: int) -> int | None:
        """The event that ends what an actor's issue began; None if nothing ever does."""
        instance = self.replicas[replica][seq]
        match instance.effects.engine:
            case Engine.WARP:
                return self.issues[replica, seq][actor]
            case Engine.TMA:
                return self.lands.get((replica, seq, actor))
            case Engine.TENSOR | Engine.TMA_STORE:
                group = self.groups.group_of(replica, actor, seq)
                return None if group is None else group.read


def reachability(predecessors: Sequence[tuple[int, ...]]) -> list[int]:
    """``result[v]`` has bit u set iff u is before v: one topological pass over Python ints."""
    before: list[int] = []
    for after in predecessors:  # nodes are numbered in a topological order
        mask = 0
        for u in after:
            mask |= before[u] | (1 << u)
        before.append(mask)
    return before


__all__ = ["BarrierLog", "BarrierWaiting", "Event", "EventKind", "Matching", "reachability"]
