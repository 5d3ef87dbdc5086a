"""What the counting run records: events, phases of barriers, waits, actors.

A run can be forked (module `counting_run`), so what a phase, a log or an actor goes on changing is
copied by its ``fork``; what is past is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from schedgen.happens_before.groups import executes
from schedgen.happens_before.unroll import BarrierKey, Instance
from schedgen.ir.schedule import WARP_THREADS, Role


class EventKind(StrEnum):
    ISSUE = "issue"
    START = "start"
    RETURN = "return"
    LAND = "land"
    RETIRE = "retire"
    DRAIN = "drain"
    WRITTEN = "written"
    EXIT = "exit"


@dataclass(slots=True, eq=False)
class Event:
    """A node of the graph; nodes are numbered in the order of the counting run."""

    node: int
    kind: EventKind
    instance: Instance | None
    actor: int | None


@dataclass(slots=True, eq=False)
class Phase:
    """The contributors that counted in one phase: (node, amount).

    ``mask`` has the bits of all contributors; ``observers`` those of the returns by which waits for
    the phase before this one ended, all of them while this one was current.
    """

    arrivals: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    expects: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    landings: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    mask: int = 0
    observers: int = 0

    @property
    def contributors(self) -> Iterator[int]:
        for group in (self.arrivals, self.expects, self.landings):
            for node, _ in group:
                yield node

    def fork(self) -> Phase:
        return Phase(
            self.arrivals.copy(), self.expects.copy(), self.landings.copy(), self.mask,
            self.observers,
        )  # fmt: skip


@dataclass(slots=True, eq=False)
class BarrierLog:
    """A barrier as the counting run sees it: the machine's counters, and what each phase got.

    ``by_threads``: it is a hardware named barrier, on which waits are entries.  ``first`` is the
    phase that was current when the run was forked.
    """

    key: BarrierKey
    count: int
    by_threads: bool
    pending: int = 0
    tx: int = 0
    phases: list[Phase] = field(default_factory=lambda: [Phase()])
    first: int = 0

    def __post_init__(self) -> None:
        self.pending = self.count

    @property
    def current(self) -> int:
        return len(self.phases) - 1

    def arrive(self, node: int, amount: int) -> None:
        phase = self.phases[-1]
        phase.arrivals.append((node, amount))
        phase.mask |= 1 << node
        self.pending -= amount
        self._flip()

    def expect(self, node: int, amount: int) -> None:
        phase = self.phases[-1]
        phase.expects.append((node, amount))
        phase.mask |= 1 << node
        self.tx += amount
        self._flip()

    def land(self, node: int, amount: int) -> None:
        phase = self.phases[-1]
        phase.landings.append((node, amount))
        phase.mask |= 1 << node
        self.tx -= amount
        self._flip()

    def _flip(self) -> None:
        if self.pending <= 0 and self.tx == 0:
            self.phases.append(Phase())
            self.pending = self.count

    def fork(self) -> BarrierLog:
        made = BarrierLog(self.key, self.count, self.by_threads)
        made.pending, made.tx = self.pending, self.tx
        made.phases = [*self.phases[:-1], self.phases[-1].fork()]
        made.first = self.current
        return made


@dataclass(slots=True, eq=False)
class BarrierWaiting:
    """A wait and what it was matched to.

    ``declared`` is the completion that the text names (by cursor or own count), None for a raw
    parity; ``matched`` the phase by which it returned, None while blocked.
    """

    log: BarrierLog
    instance: Instance
    actor: int
    start: int
    declared: int | None
    parity: int | None
    returned: int | None = None
    matched: int | None = None

    def fork(self, log: BarrierLog) -> BarrierWaiting:
        """The same wait, still blocked, in a forked run whose log of the barrier is ``log``."""
        return BarrierWaiting(
            log, self.instance, self.actor, self.start, self.declared, self.parity
        )


@dataclass(slots=True, eq=False)
class Actor:
    """One of the warps (or groups of warps) that run a replica's program.

    ``registers`` are the ops on accumulators that it issued, with their nodes, since the run was
    forked; ``awaits`` its own count of awaits of plain barriers; ``store_groups_over`` how many of
    its groups of stores it has waited for, by whether for their reading only.
    """

    replica: int
    index: int
    threads: int
    program: list[Instance]
    position: int = 0
    last: int | None = None
    waiting: BarrierWaiting | None = None
    group_start: int | None = None
    registers: list[tuple[int, Instance]] = field(default_factory=list[tuple[int, Instance]])
    awaits: dict[BarrierKey, int] = field(default_factory=dict[BarrierKey, int])
    store_groups_over: dict[bool, int] = field(default_factory=dict[bool, int])

    def rest(self) -> Iterator[Instance]:
        """What it has not executed, where it stopped included."""
        return (i for i in self.program[self.position :] if executes(i, self.index))

    def fork(self, program: list[Instance], waiting: BarrierWaiting | None) -> Actor:
        """The actor with a program that begins alike; ``waiting`` is its wait in the forked run."""
        return Actor(
            self.replica, self.index, self.threads, program, self.position, self.last, waiting,
            self.group_start, [], self.awaits.copy(), self.store_groups_over.copy(),
        )  # fmt: skip


def actor_threads(role: Role) -> list[int]:
    """Threads that each actor of a replica stands for: the elected warp, and up to two others."""
    rest = role.warps - 1
    shares = [1] + [share for share in ((rest + 1) // 2, rest // 2) if share]
    return [WARP_THREADS * share for share in shares]
