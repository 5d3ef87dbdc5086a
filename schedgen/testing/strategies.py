"""Schedules for property tests: right ones, and right ones with one slip of the hand.

Tiles are small (slabs of 64x64), so that the abstract machine is fast.  Everything prints in the
text form, so a failure is a schedule that can be pasted into a file.
"""

from __future__ import annotations

import dataclasses

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "schedgen.testing.strategies needs hypothesis: python3 -m pip install 'schedgen[testing]'"
    ) from error

from schedgen.api import apply
from schedgen.ir.schedule import Schedule, Stmt
from schedgen.testing.edits import Body, count, edited, ring_variants, variants
from schedgen.testing.serial import Serial

STAGES, RINGS, CONSUMERS, HALVES = (st.integers(1, n) for n in (4, 2, 3, 2))
DEPTHS = st.integers(0, 2)


@st.composite
def serials(
    draw: st.DrawFn, *, stages: st.SearchStrategy[int] = STAGES,
    rings: st.SearchStrategy[int] = RINGS, consumers: st.SearchStrategy[int] = CONSUMERS,
    halves: st.SearchStrategy[int] = HALVES,
) -> Serial:  # fmt: skip
    """The numbers of a serial ring schedule."""
    parts, ring_count = draw(halves), draw(rings)
    return Serial(
        stages=tuple(draw(st.lists(stages, min_size=ring_count, max_size=ring_count))),
        consumers=draw(consumers),
        halves=parts,
        commits=draw(st.integers(1, parts)),
        drain=draw(st.sampled_from([None, "stages", "min"])),
        guarded=draw(st.booleans()),
        b_first=draw(st.booleans()),
    )


@st.composite
def pipelines(
    draw: st.DrawFn, *, stages: st.SearchStrategy[int] = STAGES,
    rings: st.SearchStrategy[int] = RINGS, consumers: st.SearchStrategy[int] = CONSUMERS,
    halves: st.SearchStrategy[int] = HALVES, in_flight: st.SearchStrategy[int] = DEPTHS,
) -> Schedule:  # fmt: skip
    """Schedules that are right for every K: a producer, ``consumers`` warp groups, 1 or 2 rings.

    One ring (of ``stages``) holds both operands, two hold one each.  A consumer has ``halves``
    accumulators (1 or 2) and keeps the mma of at most ``in_flight`` steps in flight, as far as the
    stages allow.
    """
    serial = draw(serials(stages=stages, rings=rings, consumers=consumers, halves=halves))
    most = min(min(serial.stages) - 1, 7 // serial.commits)
    depth = min(draw(in_flight), most)
    schedule = serial.schedule()
    return apply(schedule, f"overlap-wgmma{{in-flight={depth}}}") if depth else schedule


@st.composite
def mutants(draw: st.DrawFn, base: Schedule) -> Schedule:
    """A schedule with one edit: an op, bound, guard, tile, lag, depth, count, bytes or stages."""
    sizes = [count(role.body) for role in base.roles]
    number = draw(st.integers(0, sum(sizes) - 1 + 2 * len(base.rings)))
    for index, (role, size) in enumerate(zip(base.roles, sizes, strict=True)):
        if number < size:
            made: list[Body] = []

            def become(stmt: Stmt, after: Stmt | None, made: list[Body] = made) -> Body:
                made.append(draw(st.sampled_from(variants(stmt, after))))
                return made[0]

            changed = dataclasses.replace(role, body=edited(role.body, number, become))
            roles = (*base.roles[:index], changed, *base.roles[index + 1 :])
            return dataclasses.replace(base, roles=roles)
        number -= size
    ring = base.rings[number // 2]
    changed_ring = draw(st.sampled_from(list(ring_variants(ring))))
    rings = tuple(changed_ring if r is ring else r for r in base.rings)
    return dataclasses.replace(base, rings=rings)
