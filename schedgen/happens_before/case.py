"""One K under judgement: the matching, who is before whom, and how to name things in a finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from schedgen.diagnostics.finding import Finding, Row, Step
from schedgen.happens_before.accesses import Interval, intervals
from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.matching import reachability
from schedgen.happens_before.record import BarrierLog, Event, Phase
from schedgen.happens_before.unroll import Instance, StorageKey
from schedgen.ir.effects import RingBarrier
from schedgen.ir.ops import Place
from schedgen.ir.schedule import Role, ops_of


@dataclass(frozen=True, eq=False)
class Violation:
    """A violated obligation and the events where it shows.

    ``at`` are the events from which on it makes things uncertain, ``shows`` those by which it
    becomes manifest (None: the same).  A violation that shows only after another one's ``at`` may
    be a mere consequence of it.  ``key`` names the cause: one finding is reported for each.
    ``rank`` decides between violations at the same events.  ``whole_run``: the counting run itself
    is the witness (somebody waits for ever); else it is what leads to ``leads_to`` (None: ``at``).
    """

    finding: Finding
    at: tuple[int, ...]
    counting: bool
    key: tuple[str, ...]
    rank: int = 0
    shows: tuple[int, ...] | None = None
    whole_run: bool = False
    leads_to: tuple[int, ...] | None = None


Breach = Callable[[], Violation]
"""A violated obligation that is told when asked: rules find, what they find is named later."""


def never_told() -> Violation:
    """The breach of a part that is not named: its K is judged again from the beginning."""
    raise AssertionError("only what is judged from the beginning can be named")


@dataclass(frozen=True)
class Registers:
    """What an actor did to accumulators: those fenced, and the mma that may be in flight."""

    fenced: frozenset[str]
    issued: Mapping[str, tuple[Instance, ...]]


NOTHING_ISSUED = Registers(frozenset(), {})


@dataclass(frozen=True)
class Past:
    """What the rules must know of the beginning of a run that was judged before.

    ``before`` is its reachability, ``accesses`` those that later ones must be compared with,
    ``registers`` what each actor did; ``ends`` has the bits of the events that ended
    ``asynchronous`` ops.
    """

    before: Sequence[int] = ()
    accesses: Mapping[StorageKey, list[Interval]] = field(
        default_factory=dict[StorageKey, list[Interval]]
    )
    registers: Mapping[int, Registers] = field(default_factory=dict[int, Registers])
    ends: int = 0
    asynchronous: int = 0


Phases = list[tuple[int, Phase]]


class Case:
    """The part of a run that is judged, with its reachability, and a count of what was checked.

    A run that was not forked is judged as a whole.  Else ``past`` says what its beginning comes to;
    what has not ended is left to the forks that go on from it.
    """

    def __init__(self, run: CountingRun, checked: Counter[str], past: Past) -> None:
        self.schedule = run.schedule
        self.k_tiles = run.k_tiles
        self.checked = checked
        self.matching = run
        self.past = past
        self.before = reachability(run.predecessors, past.before)
        self.registers = dict(past.registers)  # kept up to date by the rule

    @property
    def owners(self) -> list[tuple[Role, int]]:
        """Role and index of each replica number."""
        return [(role, i) for role in self.schedule.roles for i in range(role.replica_count)]

    @property
    def is_whole(self) -> bool:
        return self.matching.first == 0 and self.matching.ended

    # --- what is judged here
    @cached_property
    def issues(self) -> list[tuple[int, Instance, dict[int, int]]]:
        """Ops on memory, with their replica and the issues of their actors: those that are over;
        at the end of the run, all."""
        run = self.matching
        return [
            (replica, run.replicas[replica][seq], actors)
            for (replica, seq), actors in run.issues.items()
            if run.ended or run.is_over(replica, seq)
        ]

    @cached_property
    def intervals(self) -> dict[StorageKey, list[Interval]]:
        return intervals(self)

    def phases(self, log: BarrierLog) -> Phases:
        """Phases with their numbers: those that completed; at the end of the run, all."""
        end = len(log.phases) if self.matching.ended else log.current
        return list(enumerate(log.phases[log.first : end], log.first))

    # --- order
    def is_before(self, u: int, v: int) -> bool:
        return bool(self.before[v] >> u & 1)

    def event(self, node: int) -> Event:
        return self.matching.events[node]

    def instance_at(self, node: int) -> Instance:
        instance = self.event(node).instance
        assert instance is not None
        return instance

    # --- names
    def where(self, key: StorageKey) -> str:
        """``stage 0 of tma.B``, ``stage 1 of tma.A[1]``, or a buffer's name, ``out[1]``."""
        ring_name, _, slot_name = key.name.partition(".")
        if not slot_name:
            whole = self.schedule.buffer(key.name).parts is None
            return key.name if whole else f"{key.name}[{key.slab}]"
        slot = self.schedule.ring(ring_name).slot(slot_name)
        part = key.name if slot.slabs is None else f"{key.name}[{key.slab}]"
        return f"stage {key.stage} of {part}"

    def storage_row(self, key: StorageKey) -> Row:
        """The row that says where the storage was declared."""
        ring_name, _, slot_name = key.name.partition(".")
        if not slot_name:
            return declared_row("buffer", key.name, self.schedule.buffer(key.name).place)
        ring = self.schedule.ring(ring_name)
        text = f"{key.name}, {ring.stages} stage{'' if ring.stages == 1 else 's'}"
        return declared_row("ring", text, ring.slot(slot_name).place)

    def alias_rows(self, *instances: Instance) -> tuple[Row, ...]:
        """The rows that say which buffers that the ops name lie in a ring."""
        found = {name: b for i in instances for name, b in i.facts.aliases.items()}
        return tuple(
            declared_row("buffer", f"{name} in {b.alias.ring}.{b.alias.slot}", b.place)
            for name, b in found.items()
            if b.alias is not None
        )

    def witness(self, nodes: Iterable[int]) -> tuple[Step, ...]:
        """The ancestors of the nodes in an order that can happen, then the nodes themselves."""
        targets = set(nodes)
        mask = 0
        for node in targets:
            mask |= self.before[node]
        first = [n for n in range(len(self.before)) if mask >> n & 1]
        last = sorted(n for n in targets if not mask >> n & 1)
        steps = [self.step(self.event(n)) for n in (*first, *last)]
        return tuple(s for s in steps if s is not None)

    def step(self, event: Event) -> Step | None:
        i = event.instance
        if i is None:
            return None
        return Step(
            role=i.role.name, replica=i.replica, actor=event.actor, event=str(event.kind),
            seq=i.seq, op=i.op.text, k=i.k, place=i.op.place,
        )  # fmt: skip


def declared_row(label: str, text: str, place: Place | None) -> Row:
    """A row for a declaration, which no role executes."""
    return Row(label=label, text=text, place=place, role="", replica=None, k=None, tile=None)


def row(label: str, i: Instance, *, tile: int | None = None) -> Row:
    """The row of an op instance."""
    replica = None if i.role.replicas is None else i.replica
    return Row(
        label=label, text=i.op.text, place=i.op.place, role=i.role.name, replica=replica, k=i.k,
        tile=tile,
    )  # fmt: skip


def op_phrase(i: Instance) -> str:
    """``the `release tma.empty` of consumer[0]``."""
    at = "" if i.k is None else f" (k = {i.k})"
    return f"`{i.op.text}` of {i.who}{at}"


def signals_ring(role: Role, ref: RingBarrier) -> bool:
    """Whether the role's text arrives on that barrier of a ring anywhere."""
    for op in ops_of(role.body):
        signal = op.effects().signal
        if signal is not None and signal.arrivals and signal.barrier == ref:
            return True
    return False


def declared_use(i: Instance) -> tuple[str, str, int] | None:
    """Ring, side and use that a signal is meant for; None for a plain barrier."""
    signal = i.effects.signal
    if signal is None or not isinstance(signal.barrier, RingBarrier):
        return None
    ref = signal.barrier
    return ref.ring, ref.side, i.use(ref.ring, signal.offset)


def declared_use_number(i: Instance) -> int | None:
    """The use that a ring signal is meant for."""
    declared = declared_use(i)
    return None if declared is None else declared[2]
