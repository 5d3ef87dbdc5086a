"""Change the element type of the accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import NoSuchMma, NothingToRewrite
from schedgen.happens_before.kept import Keep
from schedgen.happens_before.limits import MMA_TYPES
from schedgen.ir.schedule import Schedule
from schedgen.passes.rewriting import refuse
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class Accumulate(Pass):
    """Sum the products in another type: f16 takes half the registers and loses digits.

    args:
        type: f16 or f32, the element type of every accumulator.
    rewrite:
        acc acc : f32 64x256 = ...  ->  acc acc : f16 64x256 = ...
    """

    name: ClassVar[str] = "accumulate"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover"})
    type: Literal["f16", "f32"]

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        if not schedule.accumulators:
            reason = "there is no accumulator"
            yield refuse(NothingToRewrite, self, reason, "a schedule that multiplies")
        operands = (schedule.problem.left.dtype, schedule.problem.right.dtype)
        allowed = MMA_TYPES.get(operands, ())
        if self.type not in allowed:
            reason = f"no wgmma multiplies {operands[0]} by {operands[1]} and sums in {self.type}"
            fix = f"accumulate in {' or '.join(allowed)}" if allowed else "other operands"
            yield refuse(NoSuchMma, self, reason, fix)

    def rewrite(self, schedule: Schedule) -> Schedule:
        accumulators = tuple(replace(a, dtype=self.type) for a in schedule.accumulators)
        if accumulators == schedule.accumulators:
            return schedule
        return replace(schedule, accumulators=accumulators)
