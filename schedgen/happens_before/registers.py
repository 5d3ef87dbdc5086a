"""Accumulators, wgmma groups and fences, and what may be in flight at exit."""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.diagnostics.tensor import (
    AccumulatorRead,
    InFlightAtExit,
    MissingWgmmaFence,
    UncommittedMma,
)
from schedgen.happens_before.case import Case, Violation, op_phrase, row
from schedgen.happens_before.record import Actor
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import AccRef, Engine


def register_violations(case: Case) -> Iterator[Violation]:
    """Uncommitted mma, missing fences, early accumulator accesses, and what outlives the CTA."""
    yield from _uncommitted(case)
    for actor in case.matching.actors:
        yield from _accumulators(case, actor)
    yield from _at_exit(case)


def accumulators_of(i: Instance, *, asynchronous: bool) -> list[str]:
    """Accumulators that an op uses through the tensor core, or by ordinary access."""
    wanted = i.effects.engine is Engine.TENSOR
    if wanted is not asynchronous:
        return []
    return [a.location.name for a in i.effects.accesses if isinstance(a.location, AccRef)]


def mma_phrase(i: Instance) -> str:
    tiles = [a.tile for a in i.effects.accesses if a.tile is not None]
    return f"the mma of tile {i.value(tiles[0])}" if tiles else f"`{i.op.text}`"


def _uncommitted(case: Case) -> Iterator[Violation]:
    for (replica, seq), actors in case.matching.issues.items():
        i = case.matching.replicas[replica][seq]
        if i.effects.engine is not Engine.TENSOR:
            continue
        case.checked["SG207"] += 1
        if case.matching.groups.group_of(replica, 0, seq) is not None:
            continue
        finding = UncommittedMma(
            mma=f"{mma_phrase(i)} of {i.who}", rows=(row("mma", i),),
            missing=f"commit after {op_phrase(i)}", fix="`commit` after the mma of each step",
        )  # fmt: skip
        yield Violation(finding, tuple(actors.values()), True, ("SG207", i.role.name), rank=-1)


def _accumulators(case: Case, actor: Actor) -> Iterator[Violation]:
    """One actor's program: fences before mma, retirement before ordinary accesses."""
    fenced: set[str] = set()
    issued: dict[str, list[Instance]] = {}
    for i in actor.program:
        node = case.matching.issues.get((actor.replica, i.seq), {}).get(actor.index)
        if node is None:
            continue
        if i.effects.fence == "wgmma":
            fenced = {a.name for a in case.schedule.accumulators}
        for acc in accumulators_of(i, asynchronous=True):
            issued.setdefault(acc, []).append(i)
            case.checked["SG208"] += 1
            if acc not in fenced:
                yield _unfenced(i, acc, node)
        for acc in accumulators_of(i, asynchronous=False):
            fenced.discard(acc)
            yield from _touched(case, actor, i, acc, node, issued.get(acc, []))


def _unfenced(i: Instance, acc: str, node: int) -> Violation:
    finding = MissingWgmmaFence(
        mma=f"{mma_phrase(i)} of {i.who}", acc=acc, rows=(row("mma", i),),
        missing=f"fence -> {op_phrase(i)}", fix="`fence` before the mma",
    )  # fmt: skip
    return Violation(finding, (node,), False, ("SG208", i.role.name, acc), rank=1)


def _touched(
    case: Case, actor: Actor, touch: Instance, acc: str, node: int, issued: list[Instance]
) -> Iterator[Violation]:
    for mma in issued:
        case.checked["SG206"] += 1
        end = case.matching.end_of(actor.replica, mma.seq, actor.index)
        if end is not None and case.is_before(end, node):
            continue
        finding = AccumulatorRead(
            toucher=op_phrase(touch), acc=acc, pending=mma_phrase(mma),
            rows=(row("mma", mma), row("touch", touch)),
            missing=f"retire {mma_phrase(mma)} -> {op_phrase(touch)}",
            fix=f"`wait 0` before `{touch.op.text}`",
        )  # fmt: skip
        yield Violation(finding, (node,), False, ("SG206", touch.role.name, acc))


def _at_exit(case: Case) -> Iterator[Violation]:
    """Landings, retirements and ends of reading come before the last role ends."""
    leave = case.matching.exit
    if leave is None:
        return
    for (replica, seq), actors in case.matching.issues.items():
        i = case.matching.replicas[replica][seq]
        if i.effects.engine is Engine.WARP:
            continue
        case.checked["SG214"] += 1
        for actor in actors:
            end = case.matching.end_of(replica, seq, actor)
            if end is not None and case.is_before(end, leave):
                continue
            finding = InFlightAtExit(
                what=op_phrase(i), rows=(row("issued", i),),
                missing=f"completion of {op_phrase(i)} -> end of the CTA",
                fix="wait for it before the end, or do not issue it",
            )  # fmt: skip
            yield Violation(finding, (leave,), False, ("SG214", i.role.name, i.op.keyword), rank=3)
