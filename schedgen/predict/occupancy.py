"""How many CTAs live on one SM, and how many tiles each SM gets."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.happens_before.limits import (
    REGISTERS_BESIDE,
    REGISTERS_PER_SM,
    SCHEDULERS,
    shared_bytes,
)
from schedgen.ir.effects import AccRef
from schedgen.ir.schedule import ELEMENT_BYTES, WARP_THREADS, Role, Schedule, ops_of
from schedgen.predict.card import (
    CTA_RESERVED_BYTES,
    REGISTER_UNIT,
    SM_CTAS,
    SM_SHARED_BYTES,
    SM_THREADS,
    SMS,
)


@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """CTAs that live on one SM at a time, and the first thing that allows no more."""

    ctas: int
    limit: str


def occupancy(schedule: Schedule) -> Occupancy:
    """By shared memory, registers and threads; registers as nvcc 13.0 gives them to such kernels.

    Registers lie in four partitions, a warp's all in one; a CTA's warps go where there is room.
    """
    shared = shared_bytes(schedule) + CTA_RESERVED_BYTES
    per_thread = _registers(schedule)
    warps_of_partition = REGISTERS_PER_SM // SCHEDULERS // (per_thread * WARP_THREADS)
    limits = {
        "shared memory": SM_SHARED_BYTES // shared,
        "registers": SCHEDULERS * warps_of_partition // schedule.warps,
        "threads": SM_THREADS // (schedule.warps * WARP_THREADS),
        "CTAs": SM_CTAS,
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(ctas=max(limits[limit], 1), limit=limit)


def _registers(schedule: Schedule) -> int:
    """Registers per thread: the largest role's accumulators and what is beside them."""
    words = max((_accumulator_words(schedule, role) for role in schedule.roles), default=0)
    return -(-(words + REGISTERS_BESIDE) // REGISTER_UNIT) * REGISTER_UNIT


def _accumulator_words(schedule: Schedule, role: Role) -> int:
    names = {
        a.location.name for op in ops_of(role.body) for a in op.effects().accesses
        if isinstance(a.location, AccRef)
    }  # fmt: skip
    used = [a for a in schedule.accumulators if a.name in names]
    total = sum(a.rows * a.cols * ELEMENT_BYTES[a.dtype] // 4 for a in used)
    return -(-total // (role.warps * WARP_THREADS))


@dataclass(frozen=True, kw_only=True)
class Waves:
    """How a grid of ``tiles`` fills the SMs: ``rounds`` full rounds of ``ctas`` CTAs on the busiest
    SM, and ``rest`` CTAs in a last one (0: there is none)."""

    tiles: int
    ctas: int
    rounds: int
    rest: int

    @property
    def count(self) -> int:
        return self.rounds + (self.rest > 0)


def waves(tiles: int, ctas: int) -> Waves:
    """The waves of a grid of ``tiles`` CTAs, ``ctas`` of them on an SM at a time."""
    busiest = -(-tiles // SMS)
    return Waves(tiles=tiles, ctas=ctas, rounds=busiest // ctas, rest=busiest % ctas)
