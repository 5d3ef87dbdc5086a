"""Accumulators, wgmma groups and fences, and what may be in flight at exit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from schedgen.diagnostics.tensor import (
    AccumulatorRead,
    InFlightAtExit,
    MissingWgmmaFence,
    UncommittedMma,
)
from schedgen.happens_before.case import (
    NOTHING_ISSUED,
    Breach,
    Case,
    Registers,
    Violation,
    never_told,
    op_phrase,
    row,
)
from schedgen.happens_before.record import Actor
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Engine


def register_violations(case: Case) -> Iterator[Breach]:
    """Uncommitted mma, missing fences, early accumulator accesses, and what outlives the CTA."""
    yield from _uncommitted(case)
    for number, actor in enumerate(case.matching.actors):
        if actor.registers:
            yield from _accumulators(case, number, actor)
    yield from _at_exit(case)


def mma_phrase(i: Instance) -> str:
    tiles = [a.tile for a in i.effects.accesses if a.tile is not None]
    return f"the mma of tile {i.value(tiles[0])}" if tiles else f"`{i.op.text}`"


def _uncommitted(case: Case) -> Iterator[Breach]:
    last_commits: dict[int, int] = {}
    for replica, i, actors in case.issues:
        if i.effects.engine is not Engine.TENSOR:
            continue
        case.checked["SG207"] += 1
        if replica not in last_commits:
            last_commits[replica] = _last_commit(case.matching.replicas[replica])
        if i.seq > last_commits[replica]:
            yield partial(_never_committed, i, tuple(actors.values()))


def _last_commit(program: list[Instance]) -> int:
    """The ordinal of a program's last commit of a wgmma group, -1 if it has none."""
    for i in reversed(program):
        group = i.effects.group
        if group is not None and group.queue == "wgmma" and group.action == "commit":
            return i.seq
    return -1


def _never_committed(i: Instance, nodes: tuple[int, ...]) -> Violation:
    finding = UncommittedMma(
        mma=f"{mma_phrase(i)} of {i.who}", rows=(row("mma", i),),
        missing=f"commit after {op_phrase(i)}", fix="`commit` after the mma of each step",
    )  # fmt: skip
    return Violation(finding, nodes, True, ("SG207", i.role.name), rank=-1)


def _accumulators(case: Case, number: int, actor: Actor) -> Iterator[Breach]:
    """One actor's ops: fences before mma, retirement before ordinary accesses."""
    past = case.past.registers.get(number, NOTHING_ISSUED)
    fenced, issued = set(past.fenced), {acc: list(mma) for acc, mma in past.issued.items()}
    for node, i in actor.registers:
        asynchronous = i.effects.engine is Engine.TENSOR
        if i.effects.fence == "wgmma":
            fenced = {a.name for a in case.schedule.accumulators}
        for acc, _ in i.facts.accumulators:
            if asynchronous:
                issued.setdefault(acc, []).append(i)
                case.checked["SG208"] += 1
                if acc not in fenced:
                    yield partial(_unfenced, i, acc, node)
            else:
                fenced.discard(acc)
                yield from _touched(case, actor, i, acc, node, issued.get(acc, []))
    if not case.matching.ended:
        in_flight = {
            acc: tuple(i for i in mma if not _is_past(case, actor, i))
            for acc, mma in issued.items()
        }
        case.registers[number] = Registers(frozenset(fenced), in_flight)


def _is_past(case: Case, actor: Actor, mma: Instance) -> bool:
    """Whether the mma retired before whatever the actor may do next."""
    end = case.matching.end_of(actor.replica, mma.seq, actor.index)
    return end is not None and actor.last is not None and case.is_before(end, actor.last)


def _unfenced(i: Instance, acc: str, node: int) -> Violation:
    finding = MissingWgmmaFence(
        mma=f"{mma_phrase(i)} of {i.who}", acc=acc, rows=(row("mma", i),),
        missing=f"fence -> {op_phrase(i)}", fix="`fence` before the mma",
    )  # fmt: skip
    return Violation(finding, (node,), False, ("SG208", i.role.name, acc), rank=1)


def _touched(
    case: Case, actor: Actor, touch: Instance, acc: str, node: int, issued: list[Instance]
) -> Iterator[Breach]:
    case.checked["SG206"] += 1
    for mma in issued:
        end = case.matching.end_of(actor.replica, mma.seq, actor.index)
        if end is None or not case.is_before(end, node):
            yield partial(_early_touch, touch, acc, node, mma)


def _early_touch(touch: Instance, acc: str, node: int, mma: Instance) -> Violation:
    finding = AccumulatorRead(
        toucher=op_phrase(touch), acc=acc, pending=mma_phrase(mma),
        rows=(row("mma", mma), row("touch", touch)),
        missing=f"retire {mma_phrase(mma)} -> {op_phrase(touch)}",
        fix=f"`wait 0` before `{touch.op.text}`",
    )  # fmt: skip
    return Violation(finding, (node,), False, ("SG206", touch.role.name, acc))


def asynchronous_ends(case: Case) -> tuple[int, int]:
    """The bits of the events that ended the asynchronous ops judged so far, and how many ops."""
    mask, count = case.past.ends, case.past.asynchronous
    for replica, i, actors in case.issues:
        if i.effects.engine is not Engine.WARP:
            count += 1
            for actor in actors:
                end = case.matching.end_of(replica, i.seq, actor)
                mask |= 0 if end is None else 1 << end
    return mask, count


def _at_exit(case: Case) -> Iterator[Breach]:
    """Landings, retirements and ends of reading come before the last role ends."""
    leave = case.matching.exit
    if leave is None:
        return
    case.checked["SG214"] += case.past.asynchronous
    if case.past.ends & ~case.before[leave]:
        yield never_told
    for replica, i, actors in case.issues:
        if i.effects.engine is Engine.WARP:
            continue
        case.checked["SG214"] += 1
        for actor in actors:
            end = case.matching.end_of(replica, i.seq, actor)
            if end is None or not case.is_before(end, leave):
                yield partial(_in_flight, i, leave)


def _in_flight(i: Instance, leave: int) -> Violation:
    finding = InFlightAtExit(
        what=op_phrase(i), rows=(row("issued", i),),
        missing=f"completion of {op_phrase(i)} -> end of the CTA",
        fix="wait for it before the end, or do not issue it",
    )  # fmt: skip
    return Violation(finding, (leave,), False, ("SG214", i.role.name, i.op.keyword), rank=3)
