"""What the counting run records: events, phases of barriers, waits, actors."""

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


@dataclass(frozen=True, eq=False)
class Event:
    """A node of the graph; nodes are numbered in the order of the counting run."""

    node: int
    kind: EventKind
    instance: Instance | None
    actor: int | None


@dataclass(eq=False)
class Phase:
    """The contributors that counted in one phase: (node, amount)."""

    arrivals: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    expects: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    landings: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def contributors(self) -> Iterator[int]:
        for group in (self.arrivals, self.expects, self.landings):
            for node, _ in group:
                yield node


@dataclass(eq=False)
class BarrierLog:
    """A barrier as the counting run sees it: the machine's counters, and what each phase got."""

    key: BarrierKey
    count: int
    pending: int = 0
    tx: int = 0
    phases: list[Phase] = field(default_factory=lambda: [Phase()])

    def __post_init__(self) -> None:
        self.pending = self.count

    @property
    def current(self) -> int:
        return len(self.phases) - 1

    def arrive(self, node: int, amount: int) -> None:
        self.phases[-1].arrivals.append((node, amount))
        self.pending -= amount
        self._flip()

    def expect(self, node: int, amount: int) -> None:
        self.phases[-1].expects.append((node, amount))
        self.tx += amount

    def land(self, node: int, amount: int) -> None:
        self.phases[-1].landings.append((node, amount))
        self.tx -= amount
        self._flip()

    def _flip(self) -> None:
        if self.pending <= 0 and self.tx == 0:
            self.phases.append(Phase())
            self.pending = self.count


@dataclass(eq=False)
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


@dataclass(eq=False)
class Actor:
    """One of the warps (or groups of warps) that run a replica's program."""

    replica: int
    index: int
    threads: int
    program: list[Instance]
    position: int = 0
    last: int | None = None
    waiting: BarrierWaiting | None = None
    group_start: int | None = None
    awaits: dict[BarrierKey, int] = field(default_factory=dict[BarrierKey, int])
    store_groups_over: dict[bool, int] = field(default_factory=dict[bool, int])

    def rest(self) -> Iterator[Instance]:
        """What it has not executed, where it stopped included."""
        return (i for i in self.program[self.position :] if executes(i, self.index))


def actor_threads(role: Role) -> list[int]:
    """Threads that each actor of a replica stands for: the elected warp, and up to two others."""
    rest = role.warps - 1
    shares = [1] + [share for share in ((rest + 1) // 2, rest // 2) if share]
    return [WARP_THREADS * share for share in shares]
