"""Name the cause of a counting violation by what the text declares, and propose one repair.

A release of use u is meant for phase u div S of empty[u mod S]; so what a use gets can be summed
without any order, and compared with the count, the bytes, and who else signals.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from schedgen.diagnostics.order import OverwriteWithoutAcquire
from schedgen.diagnostics.progress import ArrivalCount, ByteCount
from schedgen.happens_before.case import (
    Case,
    Violation,
    declared_row,
    declared_use,
    declared_use_number,
    op_phrase,
    row,
)
from schedgen.happens_before.record import BarrierLog
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import RingBarrier, SlotRef
from schedgen.ir.schedule import ops_of


def plain_count(log: BarrierLog, phase: int, arrivals: int, i: Instance) -> ArrivalCount:
    """A plain or named barrier whose phase gets another number of arrivals than it counts."""
    return ArrivalCount(
        barrier=str(log.key), what=f"phase {phase}", arrivals=arrivals, count=log.count,
        rows=(row("arrival", i),), missing=None,
        fix=f"make {log.count} arrivals on {log.key.name} for each phase, or change its count",
    )  # fmt: skip


def declared_contributions(case: Case, log: BarrierLog, use: int) -> tuple[int, int, int]:
    """Arrivals, expected and delivered bytes that the text means for a use of a ring barrier."""

    def total(pairs: list[tuple[int, int]]) -> int:
        return sum(a for n, a in pairs if declared_use_number(case.instance_at(n)) == use)

    arrivals = sum(total(p.arrivals) for p in log.phases)
    expected = sum(total(p.expects) for p in log.phases)
    return arrivals, expected, sum(total(p.landings) for p in log.phases)


def surplus_arrivals(case: Case, log: BarrierLog, i: Instance, node: int) -> Violation:
    """More arrivals are meant for the phase than the barrier counts."""
    declared = declared_use(i)
    assert declared is not None
    ring, side, use = declared
    arrivals = declared_contributions(case, log, use)[0]
    finding = arrival_count(case, ring, side, use, arrivals, log.count, i)
    return Violation(finding, (node,), True, ("SG301", log.key.name), rank=-1)


def arrival_count(
    case: Case, ring: str, side: str, use: int, arrivals: int, count: int, i: Instance
) -> ArrivalCount:
    """The arrivals meant for a use are not the barrier's count; ``i`` is one of them, or a wait."""
    place = case.schedule.ring(ring).place
    label = "arrival" if i.effects.signal is not None else "wait"
    rows = (declared_row("ring", f"{ring}, {side} {count}", place), row(label, i))
    return ArrivalCount(
        barrier=f"{ring}.{side}", what=f"use {use}", arrivals=arrivals, count=count, rows=rows,
        missing=None, fix=_arrival_fix(case, ring, side, use, arrivals),
    )  # fmt: skip


def _arrival_fix(case: Case, ring: str, side: str, use: int, arrivals: int) -> str:
    """Who is at fault: somebody who arrives twice, nobody who arrives, or the declared count."""
    if not arrivals:
        return f"`expect {ring}.full bytes {case.schedule.ring(ring).stage_bytes}` before the loads"
    by_whom: Counter[str] = Counter()
    for log in case.matching.barriers.values():
        for phase in log.phases:
            for node, _ in phase.arrivals:
                i = case.instance_at(node)
                if declared_use(i) == (ring, side, use):
                    by_whom[i.who] += 1
    who, times = by_whom.most_common(1)[0] if by_whom else ("", 0)
    if times > 1:
        return (
            f"{who} arrives {times} times for use {use}: is an `advance {ring}` or a `lag` missing?"
        )
    return f"`{side} {arrivals}` in the ring's line, or change who arrives"


def surplus_bytes(case: Case, log: BarrierLog, i: Instance, node: int) -> Violation:
    """The bytes meant for the phase are not the bytes expected of it."""
    declared = declared_use(i)
    assert declared is not None
    finding = ring_byte_count(case, log, declared[0], declared[2], i)
    return Violation(finding, (node,), True, ("SG302", log.key.name), rank=-1)


def ring_byte_count(case: Case, log: BarrierLog, ring: str, use: int, i: Instance) -> ByteCount:
    """The bytes of a use; where the loads of it leave a slab out, that is the likely fault."""
    _, expected, delivered = declared_contributions(case, log, use)
    finding = byte_count(log.key.name, f"use {use}", expected, delivered, i)
    loads = _loads(case, ring, use)
    finding = replace(finding, loads=tuple(loads))
    left_out = sorted(_all_slabs(case, ring) - {name for name, _ in loads})
    if expected == case.schedule.ring(ring).stage_bytes and left_out:
        fix = f"load {' and '.join(left_out)} too, or expect {delivered} bytes"
        return replace(finding, fix=fix)
    return finding


def _all_slabs(case: Case, ring: str) -> set[str]:
    return {
        f"{ring}.{slot.name}" + ("" if slot.slabs is None else f"[{slab}]")
        for slot in case.schedule.ring(ring).slots
        for slab in range(slot.slab_count)
    }


def _loads(case: Case, ring: str, use: int) -> list[tuple[str, int]]:
    """The slab and the bytes of each load of the use, in text order."""
    found: list[tuple[str, int]] = []
    for i in (i for program in case.matching.replicas for i in program):
        if i.effects.signal is None or not i.effects.signal.delivered:
            continue
        for access in i.effects.accesses:
            at = access.location
            if isinstance(at, SlotRef) and at.ring == ring and i.use(ring, access.offset) == use:
                slab = "" if at.slab is None else f"[{i.value(at.slab)}]"
                size = case.schedule.ring(ring).slot(at.slot).slab_bytes
                found.append((f"{ring}.{at.slot}{slab}", size))
    return found


def byte_count(name: str, what: str, expected: int, delivered: int, i: Instance) -> ByteCount:
    """Another number than is delivered; or the right one, announced after the arrival."""
    late = expected == delivered
    fix = (
        "`expect` announces bytes and arrives at once"
        if late
        else (f"`expect {name} bytes {delivered}`")
    )
    return ByteCount(
        barrier=name, what=what, expected=expected, delivered=delivered, loads=(), late=late,
        rows=(row("signal", i),), missing=None, fix=fix,
    )  # fmt: skip


def acquired_before(case: Case, i: Instance, node: int, ring: str, use: int) -> bool:
    """Whether the actor waited for the empty barrier of this use before the op."""
    if use < i.stages[ring]:
        return True
    program_before = [
        w for w in case.matching.waits
        if w.returned is not None and w.instance.role is i.role
        and w.instance.replica == i.replica and case.is_before(w.returned, node)
    ]  # fmt: skip
    return any(_acquires(w.instance, ring, use) for w in program_before)


def acquired_earlier(case: Case, filler: Instance, ring: str, use: int) -> bool:
    """Whether the replica's program acquires the use above the op, first turn or not."""
    return any(
        _acquires(i, ring, use)
        for program in case.matching.replicas
        for i in program
        if i.role is filler.role and i.replica == filler.replica and i.seq < filler.seq
    )


def _acquires(i: Instance, ring: str, use: int) -> bool:
    """Whether it waits for the use, or by a parity, which names none."""
    wait = i.effects.wait
    if wait is not None and wait.parity is not None:
        return wait.barrier == RingBarrier(ring, "empty")
    return waits_for(i, ring, use)


def waits_for(i: Instance, ring: str, use: int) -> bool:
    """Whether it waits until that use may be filled, which it names by its cursor."""
    wait = i.effects.wait
    if wait is None or wait.parity is not None or wait.barrier != RingBarrier(ring, "empty"):
        return False
    return i.use(ring, wait.offset) == use


def is_handed_back(case: Case, ring: str) -> bool:
    """Whether anybody releases stages of the ring, or waits for that; a role that fills what it
    reads itself need not."""
    empty = RingBarrier(ring, "empty")
    for role in case.schedule.roles:
        for op in ops_of(role.body):
            e = op.effects()
            if any(x is not None and x.barrier == empty for x in (e.wait, e.signal)):
                return True
    return False


def without_acquire(case: Case, i: Instance, node: int, ring: str, use: int) -> Violation:
    """A stage is filled again by an actor that did not acquire the use."""
    later = any(
        _acquires(other, ring, use)
        for program in case.matching.replicas
        for other in program
        if other.role is i.role and other.replica == i.replica
    )
    writer = f"`{i.op.text}`" if i.k is None else f"`{i.op.text}` (k = {i.k})"
    fix = f"`acquire {ring}.empty` before the first load of each use"
    if not is_handed_back(case, ring):
        fix = f"fill it later or not so far ahead: nobody hands stages of {ring} back"
    finding = OverwriteWithoutAcquire(
        writer=writer, where=f"stage {use % i.stages[ring]} of {ring}", use=use, ring=ring,
        acquired_later=later,
        rows=(row("write", i),), missing=f"acquire use {use} -> {op_phrase(i)}", fix=fix,
    )  # fmt: skip
    return Violation(finding, (node,), True, ("SG205", ring))
