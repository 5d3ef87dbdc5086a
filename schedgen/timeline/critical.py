"""What limits the loop once it has settled.

Going back from the last retirement by causes, the path comes to repeat itself: the same ops, a few
turns earlier.  One such round is a *critical cycle*: it takes as long as its turns take, so nothing
but a shorter one makes the loop faster.  It is read off an execution of many turns, in their
middle, so that neither end plays a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from schedgen.happens_before.record import Event, EventKind
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Engine
from schedgen.predict.costs import RESOURCES
from schedgen.timeline.execution import Execution

Label = tuple[str, int, int, int, str]
"""Role, replica, op, actor, kind of event: the same at every turn."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One event of a cycle: ``cycles`` after the event before it, and why so late.

    ``why``: `in turn` after others at its engine, `transfer` of a load, `mma`, `hand-over` by a
    barrier, `wake-up` after a group, `program` order.  Of a load ``latency`` and ``queue`` are
    parts of its cycles, the latter its wait for loads of others.
    """

    who: str
    event: str
    op: str
    why: str
    cycles: int
    latency: int = 0
    queue: int = 0


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """``cycles`` in ``turns`` of the loop, by ``hops``; ``resource`` is what it never leaves.

    ``begin`` is when it was seen in the long execution that it was read off.
    """

    hops: tuple[Hop, ...]
    cycles: int
    turns: int
    begin: int
    resource: str | None
    labels: frozenset[Label]

    @property
    def per_turn(self) -> Fraction:
        return Fraction(self.cycles, self.turns)


def label_of(event: Event) -> Label:
    i = event.instance
    assert i is not None
    return i.role.name, i.replica, id(i.op), event.actor or 0, str(event.kind)


def turn_of(event: Event) -> int | None:
    return None if event.instance is None else event.instance.k


def critical_cycle(execution: Execution) -> Cycle | None:
    """The cycle in the middle of an execution; None where its path does not come round."""
    events = execution.run.events
    retired = [e.node for e in events if e.kind is EventKind.RETIRE]
    last = max(retired, key=lambda node: (execution.at[node], node), default=-1)
    middle = execution.run.k_tiles // 2
    seen: dict[Label, int] = {}
    path: list[int] = []
    for node in execution.path(last):
        event = events[node]
        turn = turn_of(event)
        if event.instance is None or (not path and (turn is None or turn > middle)):
            continue
        label = label_of(event)
        path.append(node)
        before = seen.setdefault(label, len(path) - 1)
        if before < len(path) - 1 and turn is not None:
            return _cycle(execution, path[before:][::-1], turn)
    return None


def _cycle(execution: Execution, path: Sequence[int], first: int) -> Cycle | None:
    """The cycle of a path from an event to the same event of a later turn."""
    events, at = execution.run.events, execution.at
    last = turn_of(events[path[-1]])
    if last is None or last <= first:
        return None
    hops = [_hop(execution, before, node) for before, node in pairwise(path)]
    queues = {events[n].kind for n in path[1:] if n in execution.behind}
    whole = all(n in execution.behind for n in path[1:]) and len(queues) == 1
    return Cycle(
        hops=tuple(hops), cycles=at[path[-1]] - at[path[0]], turns=last - first,
        begin=at[path[0]],
        resource=RESOURCES[queues.pop()] if whole else None,
        labels=frozenset(label_of(events[n]) for n in path),
    )  # fmt: skip


def _hop(execution: Execution, before: int, node: int) -> Hop:
    """The hop to an event; where a warp was busy with the op before, it is that op's."""
    reason = why(execution, node)
    event = execution.run.events[before if reason == "program" else node]
    assert event.instance is not None
    hop = Hop(
        who=event.instance.who, event=str(event.kind), op=ended_text(execution, event),
        cycles=execution.at[node] - execution.at[before], why=reason,
    )  # fmt: skip
    if event.kind is not EventKind.LAND or reason != "transfer":
        return hop
    costs = execution.costs
    return replace(hop, latency=costs.numbers.load_latency, queue=costs.queued)


def work(execution: Execution, kind: EventKind, cycle: Cycle | None) -> int:
    """For how long an engine was at work while the cycle went round once; without one, in all."""
    begin, end = (cycle.begin, cycle.begin + cycle.cycles) if cycle else (0, execution.end)
    found = 0
    for event in execution.run.events:
        if event.kind is kind:
            over = execution.at[event.node]
            found += max(min(over, end) - max(over - execution.busy[event.node], begin), 0)
    return found


def ended_text(execution: Execution, event: Event) -> str:
    """The op of an event; of a retirement the mma, not the commit that closed its group."""
    assert event.instance is not None
    members = [
        op.op.text for op in members_of(execution, event.node)
        if op.effects.engine in (Engine.TENSOR, Engine.TMA_STORE)
    ]  # fmt: skip
    return members[0] if members else event.instance.op.text


def members_of(execution: Execution, node: int) -> list[Instance]:
    """The ops that a retirement or drain ends, as one actor issued them."""
    run = execution.run
    if run.events[node].kind not in (EventKind.RETIRE, EventKind.DRAIN):
        return []
    before = (run.events[u] for u in run.predecessors[node])
    return [e.instance for e in before
            if e.kind is EventKind.ISSUE and not e.actor and e.instance is not None]  # fmt: skip


def why(execution: Execution, node: int) -> str:
    """Why an event comes as late after its cause as it does."""
    run = execution.run
    event = run.events[node]
    if node in execution.behind:
        return "in turn"
    match event.kind:
        case EventKind.LAND | EventKind.DRAIN | EventKind.WRITTEN:
            return "transfer"
        case EventKind.RETIRE:
            return "mma"
        case EventKind.RETURN:
            cause = execution.cause[node]
            if cause >= 0 and run.events[cause].kind is EventKind.RETIRE:
                return "wake-up"
            return "program" if _is_group_wait(event) else "hand-over"
        case _:
            return "program"


def _is_group_wait(event: Event) -> bool:
    group = None if event.instance is None else event.instance.effects.group
    return group is not None and group.action == "wait"
