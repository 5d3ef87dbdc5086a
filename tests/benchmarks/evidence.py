"""What the abstract machine says of a mutant: whether the checker's verdict on it is right.

The machine shares the language with the checker and nothing else.  A refusal is *shown* by a run
that goes wrong or computes another product; an acceptance by the explorer, which follows every
interleaving, and by products under adversarial schedulers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import schedgen as sg
from schedgen.api import Trips
from schedgen.happens_before.unroll import Instance, unroll
from schedgen.ir.schedule import Schedule
from schedgen.machine import (
    Operands,
    Policy,
    UnfitOperands,
    adversaries,
    execute,
    explore,
    seeded,
)
from tests.benchmarks.mutations import LEFT_OUT, Mutant

STATES = 10_000
"""States that the explorer visits for one mutant, all K together, before it gives up."""

STATIC = {"SG211", "SG216", "SG501", "SG502", "SG503"}
"""Codes of what no interleaving shows: operands and buffers that do not fit, and the target."""

COVERAGE = {"SG209", "SG215"}
"""Codes of what is computed: another product, or work and stores done twice."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A mutant, the checker's verdict and what the machine makes of it.

    ``result`` is one of ``ill-formed``, ``killed``, ``equivalent``, ``missed``, ``false alarm``,
    ``unsupported``.  ``how`` says what shows it.  ``explored`` is the largest K up to which every
    interleaving was followed (-1: none).  ``milliseconds`` of processor time went into the check.
    """

    operator: str
    label: str
    result: str
    codes: tuple[str, ...]
    how: str
    explored: int
    milliseconds: float


def judged(base: Schedule, mutant: Mutant, *, explored: bool = True, k: Trips = "all") -> Judged:
    """Check one mutant and find out who is right.  Without ``explored``, by single runs alone."""
    start = time.process_time()
    try:
        schedule = sg.parse(sg.show(mutant.schedule), name="mutant.sched")
        verdict = sg.check(schedule, k)
    except sg.IllFormed as error:
        return _told(mutant, "ill-formed", (error.code,), error.code, -1, 0.0)
    spent = 1000 * (time.process_time() - start)
    codes = tuple(sorted({f.code for f in verdict.findings}))
    if codes:
        result, how = _refusal(schedule, verdict.findings, explored=explored)
        return _told(mutant, result, codes, how, -1, spent)
    if not verdict.ok:
        return _told(mutant, "unsupported", (), str(verdict.reason), -1, spent)
    result, how, upto = _acceptance(base, schedule, explored=explored)
    return _told(mutant, result, (), how, upto, spent)


def _told(
    mutant: Mutant, result: str, codes: tuple[str, ...], how: str, explored: int, spent: float
) -> Judged:
    return Judged(
        operator=mutant.operator, label=mutant.label, result=result, codes=codes, how=how,
        explored=explored, milliseconds=spent,
    )  # fmt: skip


# --- refused
def _refusal(schedule: Schedule, findings: tuple[sg.Finding, ...], *, explored: bool):
    """Whether something goes wrong at the K of a finding."""
    codes = {f.code for f in findings}
    complete = explored
    for k_tiles in sorted({f.k for f in findings if f.k is not None}):
        for policy in adversaries(schedule):
            run = execute(
                schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
            )  # fmt: skip
            if run.hazards:
                return "killed", f"machine, K = {k_tiles}"
        if explored:
            found = explore(schedule, k_tiles=k_tiles, budget=STATES)
            if found.reached:
                return "killed", f"explorer, K = {k_tiles}"
            complete = complete and found.complete
        if _product_is_wrong(schedule, k_tiles):
            return "killed", f"product, K = {k_tiles}"
    if codes & STATIC:
        return "killed", "static"
    if codes <= COVERAGE:
        return "killed", "work done twice"
    return ("false alarm", "nothing goes wrong") if complete else ("killed", "not shown")


# --- accepted
def _acceptance(base: Schedule, schedule: Schedule, *, explored: bool) -> tuple[str, str, int]:
    """Whether nothing goes wrong for K = 0..2S+2, and beyond the K at which an op is left out."""
    most = max(2 * max(ring.stages for ring in schedule.rings) + 2, LEFT_OUT + 2)
    if all(programs(schedule, k) == programs(base, k) for k in (*range(most), 2 * most)):
        return "equivalent", "the same ops", most
    upto, left = -1, STATES if explored else 0
    stages = max(ring.stages for ring in schedule.rings)
    tried = {0, 1, 2, stages, stages + 1, most}
    for k_tiles in range(most + 1):
        if k_tiles in tried and _product_is_wrong(schedule, k_tiles):
            return "missed", f"product, K = {k_tiles}", upto
        if left > 0:
            found = explore(schedule, k_tiles=k_tiles, budget=left)
            if found.reached:
                return "missed", f"explorer, K = {k_tiles}: {', '.join(found.reached)}", upto
            left -= found.states
            upto = k_tiles if found.complete else upto
        if upto < k_tiles and k_tiles in (stages + 1, most):
            for policy in adversaries(schedule):
                run = execute(
                    schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
                )  # fmt: skip
                if not run.is_clean:
                    return "missed", f"machine, K = {k_tiles}: {run.hazards[0].kind}", upto
    return "equivalent", "clean", upto


def programs(schedule: Schedule, k_tiles: int) -> list[tuple[object, ...]]:
    """What every replica executes: declarations aside, ops with the uses and tiles they name."""
    declared = (schedule.rings, schedule.barriers, schedule.named, schedule.accumulators)
    found: list[tuple[object, ...]] = [declared]
    for role in schedule.roles:
        for replica in range(role.replica_count):
            program = unroll(schedule, role, replica, k_tiles, 50_000)
            found.append((role.name, role.warps, *(_resolved(i) for i in program)))
    return found


def _resolved(i: Instance) -> tuple[object, ...]:
    """An op instance without the text that led to it."""
    e = i.effects
    if e.cursor is not None:
        return ()
    wait = e.wait and (e.wait.barrier, _use(i, e.wait.barrier, e.wait.offset))
    if e.wait is not None and e.wait.parity is not None:
        wait = (e.wait.barrier, "parity", i.value(e.wait.parity) % 2)
    signal = e.signal and (
        e.signal.barrier, _use(i, e.signal.barrier, e.signal.offset), e.signal.arrivals,
        e.signal.expected, e.signal.delivered,
    )  # fmt: skip
    touched = [
        (a.location, _use(i, a.location, a.offset), a.writes, a.tile and i.value(a.tile))
        for a in e.accesses
    ]
    return e.executor, e.engine, wait, signal, e.sync, tuple(touched), e.group, e.fence


def _use(i: Instance, at: object, offset: int) -> int | None:
    ring = getattr(at, "ring", None)
    return None if ring is None else i.use(ring, offset)


# --- products
def whole_numbers(schedule: Schedule, k_tiles: int) -> tuple[Operands, NDArray[np.float16]]:
    """Operands of one tile, and their product: of small whole numbers float32 sums are exact."""
    tile, source = schedule.tile, np.random.default_rng(k_tiles)
    left = source.integers(-4, 5, (tile.m, tile.k * k_tiles)).astype(np.float32)
    right = source.integers(-4, 5, (tile.n, tile.k * k_tiles)).astype(np.float32)
    return Operands(left=left, right=right), (left @ right.T).astype(np.float16)


def _product_is_wrong(schedule: Schedule, k_tiles: int) -> bool:
    operands, exact = whole_numbers(schedule, k_tiles)
    for policy in _some(schedule):
        try:
            run = execute(
                schedule, k_tiles=k_tiles, policy=policy,
                operands=operands, stop_at_first=False,
            )  # fmt: skip
        except UnfitOperands:
            return True
        if run.finished and not np.array_equal(run.product, exact):
            return True
    return False


def _some(schedule: Schedule) -> Iterator[Policy]:
    """One late and one early adversary, and one seed."""
    known = adversaries(schedule)
    yield next(p for p in known if p.manner == "late")
    yield next(p for p in known if p.manner == "early")
    yield seeded(1)
