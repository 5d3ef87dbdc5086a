"""Blocked waits: who waits for ever, and whose fault it is.

If the counting run stops with an actor blocked, every execution stops there (theorem in
`matching`).  A blocked wait lacks arrivals or bytes.  Where some op still to come (behind another
blocked wait) would supply them, the fault lies further on; a wait that nothing could ever supply is
the root; if there is no root, the blocked waits form a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from schedgen.diagnostics.finding import Finding, Row
from schedgen.diagnostics.progress import (
    FillMissing,
    ReleaseMissing,
    WaitCycle,
)
from schedgen.happens_before.blame import (
    arrival_count,
    byte_count,
    declared_contributions,
    plain_count,
    ring_byte_count,
)
from schedgen.happens_before.case import (
    Breach,
    Case,
    Violation,
    declared_use,
    declared_use_number,
    never_told,
    op_phrase,
    row,
    signals_ring,
)
from schedgen.happens_before.counting import early_wait, is_early, lapped_violation, target_of
from schedgen.happens_before.record import Actor, BarrierLog, BarrierWaiting
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import RingBarrier
from schedgen.ir.schedule import ops_of


def progress_violations(case: Case) -> Iterator[Breach]:
    """Roots of a deadlock, or its cycle."""
    case.checked["SG307"] += len(case.matching.actors)
    blocked = case.matching.blocked
    if not case.is_whole:
        yield from (never_told for _ in blocked)
    elif blocked:
        yield from (partial(replace, v, whole_run=True) for v in _deadlock(case, blocked))


def _deadlock(case: Case, blocked: list[Actor]) -> list[Violation]:
    roots: list[Violation] = []
    waits_for: list[tuple[int, int]] = []
    for number, actor in enumerate(blocked):
        waiting = actor.waiting
        suppliers = _suppliers(case, blocked, actor)
        if waiting is not None and _was_lapped(waiting):
            roots.append(lapped_violation(waiting, waiting.declared or 0))
        elif waiting is not None and waiting.declared is None and is_early(case, waiting):
            roots.append(early_wait(waiting, target_of(waiting)))
        elif waiting is not None and not suppliers:
            roots.append(_root(case, waiting))
        waits_for += [(number, s) for s in suppliers]
    return roots or [_cycle(case, blocked, waits_for)]


def _was_lapped(w: BarrierWaiting) -> bool:
    return w.declared is not None and w.parity is not None and w.log.current > w.declared


def _suppliers(case: Case, blocked: list[Actor], actor: Actor) -> list[int]:
    """Blocked actors with an op still to come that would help this one."""
    return [n for n, other in enumerate(blocked) if any(_helps(case, actor, other))]


def _helps(case: Case, actor: Actor, other: Actor) -> Iterator[bool]:
    w = actor.waiting
    for position, i in enumerate(other.rest()):
        if w is None:  # a group wait: sister warps have not issued what it covers
            yield (
                other.replica == actor.replica
                and other is not actor
                and (i.effects.group is not None and i.effects.group.queue == "wgmma")
            )
            continue
        if other is actor and position == 0:
            continue
        sync = i.effects.sync
        if sync is not None:
            entered = position == 0 and other.waiting is not None
            yield not entered and i.barrier(sync, 0) == w.log.key
        signal = i.effects.signal
        if signal is None or i.negative_use is not None:
            continue
        relevant = signal.arrivals if w.log.pending > 0 else signal.expected or signal.delivered
        yield (
            bool(relevant)
            and i.barrier(signal.barrier, signal.offset) == w.log.key
            and (_meant_for(w.log, i))
        )


def _meant_for(log: BarrierLog, i: Instance) -> bool:
    """Whether a ring signal is meant for the phase that is current (plain barriers: any)."""
    declared = declared_use(i)
    if declared is None:
        return True
    ring, _, use = declared
    return use // i.stages[ring] == log.current


def _root(case: Case, w: BarrierWaiting) -> Violation:
    log = w.log
    ref = w.instance.effects.wait.barrier if w.instance.effects.wait is not None else None
    if isinstance(ref, RingBarrier):
        stages = w.instance.stages[ref.ring]
        use = log.current * stages + log.key.number
        finding, key = _ring_root(case, w, ref, use)
    else:
        finding, key = _plain_root(case, w), "SG301"
    return Violation(finding, (w.start,), True, (key, log.key.name))


def _plain_root(case: Case, w: BarrierWaiting) -> Finding:
    log, i = w.log, w.instance
    phase = log.phases[-1]
    if log.pending <= 0:
        expected = sum(a for _, a in phase.expects)
        delivered = sum(a for _, a in phase.landings)
        return byte_count(str(log.key), f"phase {log.current}", expected, delivered, i)
    return plain_count(log, log.current, sum(a for _, a in phase.arrivals), i)


def _ring_root(case: Case, w: BarrierWaiting, ref: RingBarrier, use: int) -> tuple[Finding, str]:
    log, i = w.log, w.instance
    arrivals, expected, delivered = declared_contributions(case, log, use)
    if log.pending <= 0:
        signal = next(iter(log.phases[-1].contributors), None)
        at = i if signal is None else case.instance_at(signal)
        return ring_byte_count(case, log, ref.ring, use, at), "SG302"
    silent = _silent_releasers(case, log, ref, use)
    if ref.side == "empty" and (silent or not arrivals):
        by = ", ".join(silent) or "any role"
        finding = ReleaseMissing(
            ring=ref.ring, use=use, by=by, waiter=op_phrase(i),
            rows=(row("wait", i), *_release_rows(case, ref)),
            missing=f"release use {use} -> {op_phrase(i)}",
            fix=_handed_back(case, silent, ref, use) + _release_fix(case, ref.ring, use),
        )  # fmt: skip
        return finding, "SG308"
    if ref.side == "full" and not (arrivals or expected or delivered):
        finding = FillMissing(
            ring=ref.ring, use=use, waiter=op_phrase(i), rows=(row("wait", i),),
            missing=f"expect and load of use {use} -> {op_phrase(i)}",
            fix="guard the wait so that it runs only if the tile exists, or fill the use",
        )  # fmt: skip
        return finding, "SG310"
    signal = next((n for n, _ in log.phases[-1].arrivals), None)
    at = i if signal is None else case.instance_at(signal)
    return arrival_count(case, ref.ring, ref.side, use, arrivals, log.count, at), "SG301"


def _release_rows(case: Case, ref: RingBarrier) -> Iterator[Row]:
    """The releases of the ring that the text has."""
    for role in case.schedule.roles:
        for op in ops_of(role.body):
            signal = op.effects().signal
            if signal is not None and signal.arrivals and signal.barrier == ref:
                yield Row(
                    label="release", text=op.text, place=op.place, role=role.name, replica=None,
                    k=None, tile=None,
                )  # fmt: skip


def _handed_back(case: Case, silent: list[str], ref: RingBarrier, use: int) -> str:
    """What the last release without an offset does hand back, where that is not the use."""
    uses: dict[str, set[int]] = {}
    for i in (i for program in case.matching.replicas for i in program if i.who in silent[:1]):
        signal = i.effects.signal
        if signal is not None and signal.barrier == ref and not signal.offset:
            line = f"`{i.op.text}`" + (f" in line {i.op.place.line}" if i.op.place else "")
            uses.setdefault(line, set()).add(i.use(ref.ring, 0))
    for line, given in reversed(uses.items()):
        if use not in given:
            some = f"use {min(given)}" if len(given) == 1 else f"uses {min(given)}..{max(given)}"
            return f"{line} releases {some} at K = {case.k_tiles}; "
    return ""


def _release_fix(case: Case, ring: str, use: int) -> str:
    acquires = (
        i.effects.wait is not None
        and i.effects.wait.barrier == RingBarrier(ring, "full")
        and i.use(ring, i.effects.wait.offset) == use
        for program in case.matching.replicas
        for i in program
    )
    if not any(acquires):
        return f"use {use} is filled but nobody acquires it: fill only what is consumed"
    return (
        f"release every use of {ring} once; after an `advance`, use u is `lag 1` (and so on), "
        f"and the last uses are released after the loop"
    )


def _silent_releasers(case: Case, log: BarrierLog, ref: RingBarrier, use: int) -> list[str]:
    """Replicas that release this ring somewhere in their text, but not this use."""
    heard = {
        case.instance_at(n).who
        for phase in log.phases
        for n, _ in phase.arrivals
        if declared_use_number(case.instance_at(n)) == use
    }
    owners = [r.label(i) for r, i in case.owners if signals_ring(r, ref)]
    return [who for who in owners if who not in heard]


def _cycle(case: Case, blocked: list[Actor], waits_for: list[tuple[int, int]]) -> Violation:
    members = [blocked[number] for number in _members_of_a_cycle(waits_for)] or blocked
    at = [actor.last for actor in members if actor.last is not None]
    rows: dict[str, Row] = {}
    for actor in members:
        i = next(actor.rest())
        rows.setdefault(f"{op_phrase(i)} waits for {_wanted(actor)}", row("wait", i))
    finding = WaitCycle(
        chain="; ".join(rows), rows=tuple(rows.values()), missing=None,
        fix="release earlier (a smaller lag), signal before waiting, or add stages",
    )  # fmt: skip
    return Violation(finding, tuple(at), True, ("SG307",))


def _members_of_a_cycle(edges: list[tuple[int, int]]) -> list[int]:
    """None where a group wait of a lone warp ends the chain: it waits for nobody's op."""
    if not edges:
        return []
    import networkx as nx

    try:
        cycle = cast(list[tuple[int, int]], cast(Any, nx).find_cycle(nx.DiGraph(edges)))
    except nx.NetworkXNoCycle:
        return []
    return [first for first, _ in cycle]


def _wanted(actor: Actor) -> str:
    w = actor.waiting
    if w is None:
        return "its sister warps"
    wait = w.instance.effects.wait
    if wait is not None and isinstance(wait.barrier, RingBarrier):
        use = w.log.current * w.instance.stages[wait.barrier.ring] + w.log.key.number
        what = "release" if wait.barrier.side == "empty" else "fill"
        return f"the {what} of use {use}"
    return f"phase {w.log.current} of {w.log.key}"
