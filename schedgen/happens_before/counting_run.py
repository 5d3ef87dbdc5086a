"""The counting run: execute a schedule once, and note what counted where.

It can be stopped at given places of the programs and *forked*: the copy goes on by itself, with
other programs that begin with what was executed (module `forking` says what for).  What a run noted
before it was forked is shared and not changed again; ``first`` and its siblings say where a
forked run begins.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from schedgen.happens_before.facts import Course
from schedgen.happens_before.groups import GroupTable
from schedgen.happens_before.record import (
    Actor,
    BarrierLog,
    BarrierWaiting,
    Event,
    EventKind,
    actor_threads,
)
from schedgen.happens_before.unroll import (
    BarrierKey,
    Instance,
    OverBudget,
    Unroller,
)
from schedgen.ir.effects import Engine, GroupEffect, RingBarrier
from schedgen.ir.schedule import WARP_THREADS, Schedule

EVENT_BUDGET = 20_000
"""Events of one K beyond which the checker says `budget`: its bitsets grow quadratically."""

Programs = list[list[Instance]]


def unrolled_programs(unroller: Unroller, k_tiles: int) -> Programs:
    """The program of every replica.  Raises `OverBudget` for more events than are executed."""
    left = EVENT_BUDGET
    programs: Programs = []
    for role in unroller.schedule.roles:
        actors = len(actor_threads(role))
        for replica in range(role.replica_count):
            programs.append(unroller.unroll(role, replica, k_tiles, left))
            left -= len(programs[-1]) * actors
    if left < 0:
        raise OverBudget
    return programs


class CountingRun:
    """The events of one K so far, and what each comes directly after; phases and waits.

    Nodes are numbered in a topological order: ``predecessors[v]`` are all smaller than v.  Of a
    forked run, ``issues``, ``open_waits`` and ``negative`` hold what happened since, and what was
    not over then: ops that some actor has yet to issue or that did not end, waits that blocked.
    """

    def __init__(self, schedule: Schedule, k_tiles: int, replicas: Programs) -> None:
        self.schedule = schedule
        self.k_tiles = k_tiles
        self.replicas = replicas
        self.first = 0
        self.ended = False
        self.events: list[Event] = []
        self.predecessors: list[tuple[int, ...]] = []
        self.barriers: dict[BarrierKey, BarrierLog] = {}
        self.waits: list[BarrierWaiting] = []
        self.open_waits: list[BarrierWaiting] = []
        self.negative: list[tuple[Event, str, int]] = []
        self.issues: dict[tuple[int, int], dict[int, int]] = {}
        self.lands: dict[tuple[int, int, int], int] = {}
        self.proxy_fences: dict[tuple[int, int], list[int]] = {}
        self.exit: int | None = None
        owners = [(role, i) for role in schedule.roles for i in range(role.replica_count)]
        threads = [actor_threads(role) for role, _ in owners]
        self.actors = [
            Actor(replica, index, count, replicas[replica])
            for replica, counts in enumerate(threads)
            for index, count in enumerate(counts)
        ]
        self.actor_counts = [len(counts) for counts in threads]
        self.groups = GroupTable(self.actor_counts)

    def fork(self, k_tiles: int, replicas: Programs) -> CountingRun:
        """A run that goes on from here with other programs, which begin with what was executed."""
        made = copy.copy(self)
        made.k_tiles, made.replicas, made.first = k_tiles, replicas, len(self.events)
        made.events, made.predecessors = self.events.copy(), self.predecessors.copy()
        made.barriers = {key: log.fork() for key, log in self.barriers.items()}
        made.waits, made.open_waits, made.negative = self.waits.copy(), [], []
        made.issues = {k: v.copy() for k, v in self.issues.items() if not self.is_over(*k)}
        made.lands = self.lands.copy()
        made.proxy_fences = {who: nodes.copy() for who, nodes in self.proxy_fences.items()}
        made.groups = self.groups.fork()
        made.actors = list[Actor]()
        for actor in self.actors:
            waiting = None
            if actor.waiting is not None:
                waiting = actor.waiting.fork(made.barriers[actor.waiting.log.key])
                made.waits[made.waits.index(actor.waiting)] = waiting
                made.open_waits.append(waiting)
            made.actors.append(actor.fork(replicas[actor.replica], waiting))
        return made

    # --- the run
    def go(self, limits: Sequence[int]) -> None:
        """Until every actor is blocked or stands at the limit of its replica's program."""
        moved = True
        while moved:
            moved = False
            for actor in self.actors:
                if self._step(actor, limits[actor.replica]):
                    moved = True

    def finish(self) -> None:
        """Until every actor is blocked or at its end."""
        self.go([len(program) for program in self.replicas])
        self.ended = True
        if not self.blocked:
            ends = [a.last for a in self.actors if a.last is not None]
            self.exit = self._event(EventKind.EXIT, None, None, ends)

    @property
    def blocked(self) -> list[Actor]:
        """Actors that never come to the end of their program."""
        return [a for a in self.actors if next(a.rest(), None) is not None]

    def _step(self, actor: Actor, limit: int) -> bool:
        """Execute the next instance of an actor, or try its wait again."""
        while actor.position < limit:
            instance = actor.program[actor.position]
            if actor.index and instance.facts.elected:
                actor.position += 1
                continue
            if actor.waiting is not None:
                return self._retry(actor, actor.waiting)
            return self._execute(actor, instance)
        return False

    def _execute(self, actor: Actor, instance: Instance) -> bool:
        facts = instance.facts
        course = facts.course
        negative = None
        if facts.rings or facts.counts_awaits:
            negative = self._negative(actor, instance)
        if negative is not None:
            self._refuse(actor, instance, negative)
        elif course is Course.ISSUE:
            self._issue(actor, instance)
        elif course is Course.WAIT or course is Course.SYNC:
            self._begin_wait(actor, instance)
            return True
        elif course is Course.GROUP_WAIT:
            return self._group_wait(actor, instance)
        actor.position += 1
        return True

    def _negative(self, actor: Actor, instance: Instance) -> tuple[str, int] | None:
        """What the op names before its first use: a ring and use, or a barrier and phase."""
        if instance.facts.counts_awaits:
            wait = instance.effects.wait
            assert wait is not None
            key = instance.barrier(wait.barrier, 0)
            phase = actor.awaits.get(key, 0) + wait.offset
            return (key.name, phase) if phase < 0 else None
        return instance.negative_use

    def _refuse(self, actor: Actor, instance: Instance, negative: tuple[str, int]) -> None:
        """An op that names what never was counts as issued, and does nothing."""
        e = instance.effects
        kind = EventKind.ISSUE if e.wait is None else EventKind.START
        node = self._own(actor, instance, kind, ())
        self.negative.append((self.events[node], *negative))
        if e.group is not None and e.group.action == "join":
            self.groups.lose(actor.replica, actor.index, e.group.queue, instance.seq)

    def _event(
        self, kind: EventKind, instance: Instance | None, actor: int | None, after: Iterable[int]
    ) -> int:
        node = len(self.events)
        if node > EVENT_BUDGET:
            raise OverBudget
        self.events.append(Event(node, kind, instance, actor))
        self.predecessors.append(tuple(after))
        return node

    def _own(self, actor: Actor, instance: Instance, kind: EventKind, after: Iterable[int]) -> int:
        """An event of an actor comes after its last one, too."""
        own = () if actor.last is None else (actor.last,)
        before = dict.fromkeys((*own, *after)) if after else own
        actor.last = self._event(kind, instance, actor.index, before)
        return actor.last

    def _issue(self, actor: Actor, instance: Instance) -> None:
        node = self._own(actor, instance, EventKind.ISSUE, ())
        facts = instance.facts
        e = facts.effects
        if facts.accesses_memory:
            self.issues.setdefault((actor.replica, instance.seq), {})[actor.index] = node
        if facts.accumulators or e.fence == "wgmma":
            actor.registers.append((node, instance))
        elif e.fence == "proxy":
            self.proxy_fences.setdefault((actor.replica, actor.index), []).append(node)
        if e.signal is not None:
            self._signal(actor, instance, node)
        if e.group is not None:
            self._join(actor, instance, e.group, node)

    def log(self, key: BarrierKey) -> BarrierLog:
        log = self.barriers.get(key)
        if log is None:
            count = _count(self.schedule, key.name)
            threads = next((n.threads for n in self.schedule.named if n.name == key.name), None)
            log = BarrierLog(key, count if threads is None else threads, threads is not None)
            self.barriers[key] = log
        return log

    def _signal(self, actor: Actor, instance: Instance, node: int) -> None:
        signal = instance.facts.effects.signal
        assert signal is not None
        log = self.log(instance.barrier(signal.barrier, signal.offset))
        warps = actor.threads // WARP_THREADS  # each warp that the actor stands for signals
        if signal.expected:
            log.expect(node, signal.expected * warps)
        if signal.arrivals:
            log.arrive(node, signal.arrivals * warps)
        if signal.delivered:
            landing = self._event(EventKind.LAND, instance, actor.index, (node,))
            self.lands[actor.replica, instance.seq, actor.index] = landing
            log.land(landing, instance.facts.delivered)

    def _join(self, actor: Actor, instance: Instance, effect: GroupEffect, node: int) -> None:
        """Put an op into its group; let the group that became complete retire, or be stored."""
        at = (actor.replica, actor.index, effect.queue, instance.seq, node)
        if effect.action == "join":
            self.groups.join(*at)
            return
        complete = self.groups.commit(*at)
        if complete is None:
            return
        group, previous = complete
        if effect.queue == "wgmma":
            after = list(group.issues)
            if previous is not None and previous.done is not None:
                after.append(previous.done)
            group.read = group.done = self._event(EventKind.RETIRE, instance, None, after)
        else:
            group.read = self._event(EventKind.DRAIN, instance, actor.index, group.issues)
            group.done = self._event(EventKind.WRITTEN, instance, actor.index, (group.read,))

    # --- waits
    def _begin_wait(self, actor: Actor, instance: Instance) -> None:
        node = self._own(actor, instance, EventKind.START, ())
        e = instance.facts.effects
        if e.sync is not None:
            log = self.log(instance.barrier(e.sync, 0))
            declared, parity = log.current, None
            log.arrive(node, actor.threads)
        else:
            assert e.wait is not None
            log = self.log(instance.barrier(e.wait.barrier, e.wait.offset))
            declared, parity = self._target(actor, instance, log.key)
        waiting = BarrierWaiting(log, instance, actor.index, node, declared, parity)
        actor.waiting = waiting
        self.waits.append(waiting)
        self.open_waits.append(waiting)
        self._retry(actor, waiting)

    def _target(self, actor: Actor, inst: Instance, key: BarrierKey) -> tuple[int | None, int]:
        """The completion that a wait names, and the parity that it tests."""
        wait = inst.facts.effects.wait
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
        current = log.current
        if waiting.parity is None:  # bar.sync: bound to the phase that it entered
            assert waiting.declared is not None
            passed = current > waiting.declared
            matched = waiting.declared
        else:
            passed = current % 2 != waiting.parity
            matched = current - 1
        if not passed:
            return False
        after = log.phases[matched].contributors if matched >= 0 else ()
        node = self._own(actor, waiting.instance, EventKind.RETURN, after)
        waiting.returned, waiting.matched = node, matched
        log.phases[-1].observers |= 1 << node
        actor.waiting = None
        actor.position += 1
        return True

    def _group_wait(self, actor: Actor, instance: Instance) -> bool:
        moved = actor.group_start is None
        if actor.group_start is None:
            actor.group_start = self._own(actor, instance, EventKind.START, ())
        covered = self.groups.covered(actor.replica, actor.index, instance)
        effect = instance.facts.effects.group
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
    def is_over(self, replica: int, seq: int) -> bool:
        """Whether every actor that executes an op has issued it and it ended for all of them."""
        actors = self.issues[replica, seq]
        elected = self.replicas[replica][seq].facts.elected
        return len(actors) == (1 if elected else self.actor_counts[replica]) and all(
            self.end_of(replica, seq, actor) is not None for actor in actors
        )

    def end_of(self, replica: int, seq: int, actor: int) -> int | None:
        """The event that ends what an actor's issue began; None if nothing ever does."""
        engine = self.replicas[replica][seq].facts.effects.engine
        if engine is Engine.WARP:
            return self.issues[replica, seq][actor]
        if engine is Engine.TMA:
            return self.lands.get((replica, seq, actor))
        queue = "wgmma" if engine is Engine.TENSOR else "tma-store"
        return self.groups.end_of_reading(replica, actor, queue, seq)


def _count(schedule: Schedule, name: str) -> int:
    """How many arrivals complete a phase of an mbarrier."""
    ring, _, side = name.partition(".")
    if side:
        return schedule.ring(ring).full if side == "full" else schedule.ring(ring).empty
    return next((b.count for b in schedule.barriers if b.name == name), 0)
