"""One K under judgement: the matching, who is before whom, and how to name things in a finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from schedgen.diagnostics.finding import Finding, Row, Step
from schedgen.happens_before.matching import Matching, reachability
from schedgen.happens_before.record import Event
from schedgen.happens_before.unroll import Instance, StorageKey
from schedgen.ir.effects import RingBarrier
from schedgen.ir.ops import Place
from schedgen.ir.schedule import Role, Schedule, ops_of


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


class Case:
    """The event graph of one K with its reachability, and a count of what was checked."""

    def __init__(self, schedule: Schedule, k_tiles: int, checked: Counter[str]) -> None:
        self.schedule = schedule
        self.k_tiles = k_tiles
        self.checked = checked
        self.matching = Matching(schedule, k_tiles)
        self.before = reachability(self.matching.predecessors)
        self.owners = [
            (role, i) for role in schedule.roles for i in range(role.replica_count)
        ]  # replica number -> role and index

    # --- order
    def is_before(self, u: int, v: int) -> bool:
        return bool(self.before[v] >> u & 1)

    def all_before(self, nodes: Iterable[int], v: int) -> bool:
        mask = 0
        for u in nodes:
            mask |= 1 << u
        return not mask & ~self.before[v]

    def event(self, node: int) -> Event:
        return self.matching.events[node]

    def instance_at(self, node: int) -> Instance:
        instance = self.event(node).instance
        assert instance is not None
        return instance

    # --- names
    def where(self, key: StorageKey) -> str:
        """``stage 0 of tma.B``, ``stage 1 of tma.A[1]``, or a buffer's name."""
        ring_name, _, slot_name = key.name.partition(".")
        if not slot_name:
            return key.name
        slot = self.schedule.ring(ring_name).slot(slot_name)
        part = key.name if slot.slabs is None else f"{key.name}[{key.slab}]"
        return f"stage {key.stage} of {part}"

    def storage_row(self, key: StorageKey) -> Row:
        """The row that says where the storage was declared."""
        ring_name, _, slot_name = key.name.partition(".")
        if not slot_name:
            buffer = next(b for b in self.schedule.buffers if b.name == key.name)
            return declared_row("buffer", key.name, buffer.place)
        ring = self.schedule.ring(ring_name)
        text = f"{key.name}, {ring.stages} stage{'' if ring.stages == 1 else 's'}"
        return declared_row("ring", text, ring.slot(slot_name).place)

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
