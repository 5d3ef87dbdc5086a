"""P1-P6 on phases that were followed or waited for: what a barrier counted is what was meant.

The obligations are stated over the matching; a finding is *named* by what the text declares: a
release of use u is meant for phase u div S of empty[u mod S], so an arrival that counts in another
phase is an arrival too many, and a phase that lacks it misses a release.  Blocked waits are in
`progress`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from schedgen.diagnostics.progress import (
    ByteCount,
    EarlyWait,
    LappedWait,
    NegativeUse,
    PhaseOvertaken,
    UnobservedPhase,
)
from schedgen.diagnostics.target import EncodingLimit
from schedgen.happens_before.blame import (
    acquired_before,
    acquired_earlier,
    plain_count,
    surplus_arrivals,
    surplus_bytes,
    without_acquire,
)
from schedgen.happens_before.case import (
    Breach,
    Case,
    Phases,
    Violation,
    declared_use,
    never_told,
    op_phrase,
    row,
)
from schedgen.happens_before.limits import MAX_COUNT
from schedgen.happens_before.record import BarrierLog, BarrierWaiting, Phase
from schedgen.ir.effects import RingBarrier


def counting_violations(case: Case) -> Iterator[Breach]:
    """Every violation of P2-P6 on waits that returned, and negative uses."""
    yield from _negative_uses(case)
    for log in case.matching.barriers.values():
        phases = case.phases(log)
        if phases:
            yield from _too_many(case, log, phases)
            yield from _late_expects(case, log, phases)
            yield from _bytes_left_over(case, log)
            yield from _overtaken(case, log, phases)
            yield from _unobserved(case, log, phases)
    for waiting in case.matching.open_waits:
        if waiting.parity is not None and (waiting.matched is not None or case.matching.ended):
            yield from _early(case, waiting, target_of(waiting))
    yield from _lapped(case)


def _negative_uses(case: Case) -> Iterator[Breach]:
    case.checked["SG309"] += len(case.matching.events) - case.matching.first
    for event, ring, use in case.matching.negative:
        yield partial(_negative_use, case, event.node, ring, use)


def _negative_use(case: Case, node: int, ring: str, use: int) -> Violation:
    i = case.instance_at(node)
    finding = NegativeUse(
        op=i.op.text, ring=ring, use=use, rows=(row("op", i),), missing=None,
        fix="peel the first steps, or guard the op until the use exists",
    )  # fmt: skip
    return Violation(finding, (node,), True, ("SG309", ring, i.role.name))


def _too_many(case: Case, log: BarrierLog, phases: Phases) -> Iterator[Breach]:
    """P1: no phase has more arrivals than the count; and its bytes stay below 2^20."""
    case.checked["SG301"] += len(phases)
    for number, phase in phases:
        total = sum(amount for _, amount in phase.arrivals)
        if total > log.count:
            yield partial(_surplus, case, log, number, total)
        announced = sum(amount for _, amount in phase.expects)
        if announced >= MAX_COUNT:
            yield partial(_too_many_bytes, case, log, number, announced)


def _surplus(case: Case, log: BarrierLog, number: int, total: int) -> Violation:
    node = log.phases[number].arrivals[-1][0]
    i = case.instance_at(node)
    if declared_use(i) is not None:
        return surplus_arrivals(case, log, i, node)
    finding = plain_count(log, number, total, i)
    return Violation(finding, (node,), True, ("SG301", log.key.name), rank=-1)


def _too_many_bytes(case: Case, log: BarrierLog, number: int, announced: int) -> Violation:
    node = log.phases[number].expects[-1][0]
    finding = EncodingLimit(
        what=f"phase {number} of {log.key} counts {announced} bytes",
        limit="a phase counts fewer than 2^20 bytes",
        rows=(row("expect", case.instance_at(node)),), missing=None,
        fix="fewer bytes per stage, or one more barrier",
    )  # fmt: skip
    return Violation(finding, (node,), False, ("SG502", log.key.name))


def _late_expects(case: Case, log: BarrierLog, phases: Phases) -> Iterator[Breach]:
    """P2, second half: a phase cannot complete while an expect of it is still to come.

    An expect that is no arrival precedes some arrival of its phase; or it precedes every landing,
    and bytes announced with an arrival keep the phase open until then.
    """
    for number, phase in phases:
        if not phase.expects or not (number < log.current or log.pending <= 0):
            continue
        arrivals = [n for n, _ in phase.arrivals]
        for node, amount in phase.expects:
            if node in arrivals:
                continue
            case.checked["SG302"] += 1
            if any(case.is_before(node, a) for a in arrivals) or _held_open(case, phase, node):
                continue
            yield partial(_late_expect, case, log, number, node, amount)


def _late_expect(case: Case, log: BarrierLog, number: int, node: int, amount: int) -> Violation:
    i, arrival = case.instance_at(node), case.instance_at(log.phases[number].arrivals[0][0])
    finding = ByteCount(
        barrier=str(log.key), what=f"phase {number}", expected=amount, delivered=0,
        loads=(), late=True, rows=(row("expect", i), row("arrival", arrival)),
        missing=f"{op_phrase(i)} -> an arrival of the phase",
        fix="`expect` announces bytes and arrives at once",
    )  # fmt: skip
    return Violation(finding, (node,), True, ("SG302", str(log.key.name)))


def _held_open(case: Case, phase: Phase, node: int) -> bool:
    """Whether other bytes are announced by then, and none of them can have landed."""
    arrivals = [n for n, _ in phase.arrivals]
    others = [n for n, amount in phase.expects if n != node and amount]
    announced = any(n in arrivals or any(case.is_before(n, a) for a in arrivals) for n in others)
    return announced and all(case.is_before(node, n) for n, _ in phase.landings)


def _bytes_left_over(case: Case, log: BarrierLog) -> Iterator[Breach]:
    """P2, first half, of a last phase that nobody waits for: more bytes land than it expects.

    It completes, or does not, by when they land.  Of a phase that is waited for `progress` tells.
    """
    if not case.matching.ended or log.pending > 0 or log.tx >= 0:
        return
    case.checked["SG302"] += 1
    node = log.phases[-1].landings[0][0]
    i = case.instance_at(node)
    if declared_use(i) is not None:
        yield partial(surplus_bytes, case, log, i, node)


def _overtaken(case: Case, log: BarrierLog, phases: Phases) -> Iterator[Breach]:
    """P3: b.(j-1) before every contributor of b.j."""
    before = case.before
    for number, phase in phases:
        if number:
            previous = log.phases[number - 1].mask
            nodes = list(phase.contributors)
            case.checked["SG303"] += len(nodes)
            for node in nodes:
                if previous & ~before[node]:
                    yield partial(_overtaking, case, log, number, node)


def _overtaking(case: Case, log: BarrierLog, number: int, node: int) -> Violation:
    """Name the cause of a P3 violation: a wrong count, wrong bytes, a missing acquire, or P3."""
    i = case.instance_at(node)
    declared = declared_use(i)
    signal = i.effects.signal
    if i.effects.sync is not None:  # bar.sync counts threads: too many for one phase
        entered = sum(a for phase in log.phases for _, a in phase.arrivals)
        finding = plain_count(log, number - 1, entered, i)
        return Violation(finding, (node,), True, ("SG301", log.key.name), rank=-1)
    if declared is not None and signal is not None:
        ring, side, use = declared
        if use // i.stages[ring] < number:
            make = surplus_bytes if signal.delivered or not signal.arrivals else surplus_arrivals
            return make(case, log, i, node)
        if side == "full" and not acquired_before(case, i, node, ring, use):
            return without_acquire(case, i, node, ring, use)
    finding = PhaseOvertaken(
        barrier=str(log.key), phase=number, contributor=op_phrase(i), rows=(row("arrival", i),),
        missing=f"phase {number - 1} of {log.key} -> {op_phrase(i)}",
        fix="wait for the previous phase of the barrier before this op",
    )  # fmt: skip
    return Violation(finding, (node,), True, ("SG303", log.key.name))


def _unobserved(case: Case, log: BarrierLog, phases: Phases) -> Iterator[Breach]:
    """P6: no arrival on b.(j+1) comes before some wait for b.j has returned.

    Each arrival has such a wait before it; it need not be the same for all of them.
    """
    if log.by_threads:
        return  # bar.sync waits by itself
    for number, phase in phases:
        if number:
            case.checked["SG306"] += len(phase.arrivals)
            for node, _ in phase.arrivals:
                if not phase.observers & case.before[node]:
                    yield partial(_unseen, case, log, number - 1, node)


def _unseen(case: Case, log: BarrierLog, number: int, node: int) -> Violation:
    i = case.instance_at(node)
    finding = UnobservedPhase(
        barrier=str(log.key), phase=number, contributor=op_phrase(i),
        rows=(row("arrival", i),), missing=f"wait for phase {number} -> {op_phrase(i)}",
        fix=f"wait for every phase of {log.key.name} before the next arrival on it",
    )  # fmt: skip
    return Violation(finding, (node,), True, ("SG306", log.key.name), rank=2)


def target_of(w: BarrierWaiting) -> int:
    """The phase that a wait returned by, or is blocked on."""
    return w.log.current if w.matched is None else w.matched


def is_early(case: Case, w: BarrierWaiting) -> bool:
    """Whether the wait may begin before the phase ahead of its own is over (P4)."""
    target = target_of(w)
    return target >= 1 and bool(w.log.phases[target - 1].mask & ~case.before[w.start])


def _early(case: Case, w: BarrierWaiting, matched: int) -> Iterator[Breach]:
    """P4: b.(j-1) before the start of the wait for b.j."""
    case.checked["SG304"] += 1
    if is_early(case, w):
        yield partial(early_wait, w, matched)


def early_wait(w: BarrierWaiting, matched: int) -> Violation:
    """A wait that a phase of the other parity lets through at once."""
    finding = EarlyWait(
        barrier=str(w.log.key), phase=matched, waiter=op_phrase(w.instance),
        rows=(row("wait", w.instance),),
        missing=f"phase {matched - 1} of {w.log.key} -> start of {op_phrase(w.instance)}",
        fix="let the same warp wait for every phase in turn",
    )  # fmt: skip
    return Violation(finding, (w.start,), True, ("SG304", w.log.key.name), rank=1)


def _lapped(case: Case) -> Iterator[Breach]:
    """P5: the return of each wait for b.j before b.(j+1), if that completes."""
    late = 0
    for log in case.matching.barriers.values():
        for number, phase in case.phases(log):
            if number == log.current or log.by_threads:
                break
            case.checked["SG305"] += phase.observers.bit_count()
            late |= _without(phase.observers, (case.before[n] for n in phase.contributors))
    if late and not case.is_whole:
        yield never_told
    elif late:
        for w in case.matching.waits:
            if w.returned is not None and late >> w.returned & 1:
                yield partial(_late_return, case, w)


def _without(mask: int, others: Iterable[int]) -> int:
    for other in others:
        if not mask:
            break
        mask &= ~other
    return mask


def _late_return(case: Case, w: BarrierWaiting) -> Violation:
    assert w.matched is not None
    assert w.returned is not None
    lapped, filled = lapped_violation(w, w.matched), _filled_before_acquire(case, w)
    stuck = _without_return(case, w.returned)
    return replace(lapped if filled is None else filled, leads_to=stuck)


def _without_return(case: Case, returned: int) -> tuple[int, ...]:
    """All that can happen while a lapped wait does not return."""
    nodes = range(len(case.before))
    return tuple(n for n in nodes if n != returned and not case.is_before(returned, n))


def _filled_before_acquire(case: Case, w: BarrierWaiting) -> Violation | None:
    """The acquire may be lapped because its own replica filled the use before acquiring it."""
    wait, i = w.instance.effects.wait, w.instance
    if wait is None or not isinstance(wait.barrier, RingBarrier) or wait.barrier.side != "empty":
        return None
    ring, use = wait.barrier.ring, i.use(wait.barrier.ring, wait.offset)
    for log in case.matching.barriers.values():
        for node in (n for phase in log.phases for n in phase.contributors):
            filler = case.instance_at(node)
            same = filler.role is i.role and filler.replica == i.replica and filler.seq < i.seq
            meant = same and declared_use(filler) == (ring, "full", use)
            if meant and not acquired_earlier(case, filler, ring, use):
                return without_acquire(case, filler, node, ring, use)
    return None


def lapped_violation(w: BarrierWaiting, phase: int) -> Violation:
    """A waiter that may find its phase gone."""
    i = w.instance
    warp = "the elected warp" if w.actor == 0 else "a sister warp"
    finding = LappedWait(
        barrier=str(w.log.key), phase=phase, waiter=f"{warp} of {i.who} in `{i.op.text}`",
        rows=(row("wait", i),),
        missing=f"return of {op_phrase(i)} -> the arrivals of phase {phase + 1} of {w.log.key}",
        fix="`sync` the warps before the arrival, or let each warp arrive and raise the count",
    )  # fmt: skip
    shows = tuple(w.log.phases[phase + 1].contributors) if len(w.log.phases) > phase + 1 else None
    return Violation(finding, (w.start,), True, ("SG305", w.log.key.name), rank=1, shows=shows)
