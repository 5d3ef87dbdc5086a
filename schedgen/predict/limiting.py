"""The circle that limits the loop, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from schedgen.happens_before.record import Event, EventKind
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import RingBarrier
from schedgen.ir.ops import Acquire, Advance, Commit, Expect, ExpectTx, Fence, Load
from schedgen.ir.schedule import Schedule
from schedgen.predict.costs import LOADS, TENSOR
from schedgen.predict.ratio import Circle

QUIET = (Advance, Commit, Expect, ExpectTx, Fence)
"""Ops that a circle goes through without anything to say about them."""


@dataclass(frozen=True, kw_only=True)
class Limiting:
    """What limits the loop: ``cycles`` over ``steps`` turns; ``text`` names it.

    ``resource`` is empty for a circle of waits; ``events`` are (role, event, op) along it.
    """

    cycles: int
    steps: int
    resource: str
    text: str
    events: tuple[tuple[str, str, str], ...]

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.cycles, max(self.steps, 1))


def limiting(schedule: Schedule, circle: Circle, events: Sequence[Event], ctas: int) -> Limiting:
    """The circle in words; ``events[i]`` is the source of its i-th delay.

    ``ctas`` is how many CTAs of an SM take turns at the resource.
    """
    resources = {d.resource for d in circle.delays}
    resource = resources.pop() if len(resources) == 1 else ""
    cycles = sum(d.cycles for d in circle.delays) * ctas
    steps = sum(d.turns for d in circle.delays)
    if resource:
        text = _resource_text(schedule, resource, events)
        text += f", of {ctas} CTAs" if ctas > 1 else ""
    else:
        events = _rotated(events)
        text = _waits_text(schedule, events)
    told = tuple(
        (e.instance.who, str(e.kind), e.instance.op.text) for e in events if e.instance is not None
    )
    return Limiting(cycles=cycles, steps=steps, resource=resource, text=text, events=told)


def _resource_text(schedule: Schedule, resource: str, events: Sequence[Event]) -> str:
    instances = [e.instance for e in events if e.instance is not None]
    who = _owners(schedule, instances)
    if resource == TENSOR:
        return f"{resource}: the mma of {who}"
    if resource == LOADS:
        size = sum(i.facts.delivered for i in instances)
        return f"{resource}: {size} bytes for each step, by {who}"
    return f"{resource}: by {who}"


def _owners(schedule: Schedule, instances: Sequence[Instance]) -> str:
    """``producer``, ``both consumers``, ``all 4 consumers``."""
    words: list[str] = []
    for role in schedule.roles:
        replicas = {i.replica for i in instances if i.role.name == role.name}
        if role.replicas is None or len(replicas) < role.replica_count:
            words += [role.label(r) for r in sorted(replicas)]
        elif replicas:
            count = role.replica_count
            every = {1: f"{role.name}", 2: f"both {role.name}s"}
            words.append(every.get(count, f"all {count} {role.name}s"))
    return ", ".join(words)


def _rotated(events: Sequence[Event]) -> list[Event]:
    """The circle from its acquire of an empty stage on, else from its first load or its first op:
    the order of a reader's eye, and the same every time."""

    def key(number: int) -> tuple[int, str, int]:
        event = events[number]
        i = event.instance
        if i is None:
            return 3, "", 0
        is_acquire = isinstance(i.op, Acquire) and i.op.barrier.side == "empty"
        if is_acquire and event.kind is EventKind.RETURN:
            return 0, i.who, i.seq
        is_load = isinstance(i.op, Load) and event.kind is EventKind.ISSUE
        return (1 if is_load else 2), i.who, i.seq

    first = min(range(len(events)), key=key)
    return [*events[first:], *events[:first]]


def _waits_text(schedule: Schedule, events: Sequence[Event]) -> str:
    words: list[str] = []
    rings: dict[str, None] = {}
    for event in events:
        word = _word(event)
        if word is not None and word not in words[-1:]:
            words.append(word)
        if event.instance is not None:
            rings |= dict.fromkeys(_rings(event.instance))
    if words[1:] and words[0] == words[-1]:
        words.pop()
    roles = list(dict.fromkeys(e.instance.role.name for e in events if e.instance is not None))
    round_trip = " -> ".join([*words, *words[:1]])
    if len(roles) > 1 and rings:
        names = ", ".join(rings)
        held = ", ".join(str(schedule.ring(r).stages) for r in rings)
        plural = "" if held == "1" else "s"
        return f"ring {names}: {round_trip} over {held} stage{plural}"
    return f"{', '.join(roles)}: {round_trip}"


def _rings(instance: Instance) -> list[str]:
    return [ring for ring, _ in instance.facts.rings]


def _word(event: Event) -> str | None:
    """What a circle says of an event; None for those that go without saying."""
    if event.instance is None:
        return None
    op = event.instance.op
    if isinstance(op, Acquire) and event.kind is EventKind.RETURN:
        ring = isinstance(op.barrier, RingBarrier)
        return "full" if ring and op.barrier.side == "full" else "acquire"
    if event.kind is EventKind.RETIRE or isinstance(op, QUIET):
        return None
    if event.kind is EventKind.LAND or event.kind is EventKind.START:
        return None
    if op.offset < 0:
        return f"{op.keyword} lag {-op.offset}"
    return op.keyword
