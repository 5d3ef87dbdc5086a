"""The matching of one K is the one that the text declares, so it is known for every K.

A ring signal of use u is meant for phase u div S; that each counted there is checked here.  Phases
of plain and named barriers are declared by the waiter's own count of awaits; for what arrives on
them it is checked that every turn moves all of it on by equally many phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schedgen.happens_before.case import declared_use
from schedgen.happens_before.proof.columns import Columns
from schedgen.happens_before.proof.text import Obstacle
from schedgen.happens_before.record import BarrierLog, BarrierWaiting
from schedgen.ir.effects import RingBarrier, SlotRef


class _At(NamedTuple):
    """An event of a barrier, and the phase that it has to do with."""

    node: int
    phase: int


def require_declared(columns: Columns) -> None:
    """Raises `Obstacle` where a phase is not the one that the text declares for every K."""
    matching = columns.matching
    waits: dict[int, list[BarrierWaiting]] = {}
    for w in matching.waits:
        if w.declared is not None and w.declared != w.matched:
            raise Obstacle(f"a wait on {w.log.key} returns by another phase than it names")
        waits.setdefault(id(w.log), []).append(w)
    for log in matching.barriers.values():
        plain: list[_At] = []
        for phase, node in _contributors(log):
            instance = matching.events[node].instance
            use = None if instance is None else declared_use(instance)
            if use is None:
                plain.append(_At(node, phase))
            elif instance is not None and use[2] // instance.stages[use[0]] != phase:
                raise Obstacle(
                    f"{log.key} counts arrivals in other phases than the text's uses say"
                )
        if plain:
            _require_even(columns, log, plain, waits.get(id(log), []))


def _contributors(log: BarrierLog) -> Iterator[tuple[int, int]]:
    for phase, contents in enumerate(log.phases):
        for node in contents.contributors:
            yield phase, node


def _require_even(
    columns: Columns, log: BarrierLog, arrivals: list[_At], waits: list[BarrierWaiting]
) -> None:
    """Each turn moves all arrivals and waits of a barrier on by the same number of phases."""
    returned = [_At(w.start, w.matched) for w in waits if w.matched is not None]
    for stretch, length in enumerate(columns.lengths):
        here = 2 * stretch + 1
        slopes: set[int] = set()
        first: dict[int, _At] = {}
        for at in (*arrivals, *returned):
            if columns.key[at.node] != here:
                continue
            label, column = columns.label[at.node], columns.column[at.node]
            before = first.setdefault(label, at)
            distance = column - columns.column[before.node]
            if distance == 0:
                continue
            slope, rest = divmod(at.phase - before.phase, distance)
            slopes.add(slope)
            if rest or len(slopes) > 1:
                raise Obstacle(f"a turn of the loop does not move {log.key} on by whole phases")
        if slopes - {0} and length > 1:
            _require_own_count(columns, log, waits, here)


def _require_own_count(
    columns: Columns, log: BarrierLog, waits: list[BarrierWaiting], here: int
) -> None:
    """Who awaits the barrier after the loop counted its phases in the loop."""
    inside = {_who(w) for w in waits if columns.key[w.start] == here}
    for w in waits:
        if columns.key[w.start] > here and _who(w) not in inside and w.parity is not None:
            raise Obstacle(f"who awaits {log.key} after the loop did not count its phases")


def _who(w: BarrierWaiting) -> tuple[str, int, int]:
    return (w.instance.role.name, w.instance.replica, w.actor)


def require_moving_uses(columns: Columns) -> None:
    """Raises `Obstacle` where a role stands at one use of a ring that others move through, and
    touches it after they moved: which stage that is to them depends on K."""
    for event, key in zip(columns.matching.events, columns.key, strict=True):
        i = event.instance
        still = None if i is None else columns.still_rings(i.role.name, i.replica, key)
        if i is None or not still:
            continue
        places = [a.location for a in i.effects.accesses]
        rings = {place.ring for place in places if isinstance(place, SlotRef)}
        refs = [w.barrier for w in (i.effects.wait, i.effects.signal) if w is not None]
        rings |= {r.ring for r in refs if isinstance(r, RingBarrier)}
        if rings & still:
            ring = min(rings & still)
            raise Obstacle(f"`{i.op.text}` of {i.who} stands still at a use of {ring}")


def phase_reach(columns: Columns) -> int:
    """Over how many columns P3-P6 ask for an order: consecutive phases, and their waits."""
    matching = columns.matching
    nodes: dict[int, dict[int, list[int]]] = {}
    for log in matching.barriers.values():
        of_phase = nodes.setdefault(id(log), {})
        for phase, node in _contributors(log):
            of_phase.setdefault(phase, []).append(node)
    for w in matching.waits:
        if w.matched is not None:
            nodes[id(w.log)].setdefault(w.matched, []).append(w.start)
    reach = 0
    for of_phase in nodes.values():
        for phase, here in of_phase.items():
            reach = max(reach, _span(columns, [*here, *of_phase.get(phase + 1, ())]))
    return reach


def _span(columns: Columns, nodes: list[int]) -> int:
    spans = [0]
    for m in range(len(columns.lengths)):
        inside = [columns.column[n] for n in nodes if columns.key[n] == 2 * m + 1]
        if inside:
            spans.append(max(inside) - min(inside))
    return max(spans)
