"""Change how many stages the rings have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import LagNeedsStages, NothingToRewrite
from schedgen.happens_before.kept import Keep
from schedgen.ir.schedule import Schedule, ops_of
from schedgen.passes.retime import is_release, released_ring
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class SetStages(Pass):
    """Give every ring (or the one named) ``n`` stages.

    Uses keep their numbers: only where a use lies changes.

    args:
        n: the new number of stages.
        ring: the one ring to change; without it, all of them.
    rewrite:
        ring tma stages 3 ...  ->  ring tma stages 4 ...
    """

    name: ClassVar[str] = "set-stages"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover", "numerics"})
    n: int
    ring: str | None = None

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        rings = {r.name for r in schedule.rings if self.ring in (None, r.name)}
        if not rings:
            reason = f"there is no ring `{self.ring}`" if self.ring else "there is no ring"
            yield NothingToRewrite(
                pass_name=self.text, reason=reason, rows=(), missing=None, fix="name a ring"
            )
        least = self._least(schedule, rings)
        if self.n < least:
            lag = least - 1
            why = f"a release lags by {lag}" if lag else "a ring needs a stage"
            yield LagNeedsStages(
                pass_name=self.text, rows=(), missing=None, fix=f"`set-stages{{n={least}}}`",
                reason=f"{why}, which needs at least {least} stage{'s' if lag else ''}",
            )  # fmt: skip

    @staticmethod
    def _least(schedule: Schedule, rings: set[str]) -> int:
        lags = [
            -op.offset
            for role in schedule.roles
            for op in ops_of(role.body)
            if is_release(op) and released_ring(op) in rings
        ]
        return max([0, *lags]) + 1

    def rewrite(self, schedule: Schedule) -> Schedule:
        rings = tuple(
            dataclasses.replace(r, stages=self.n) if self.ring in (None, r.name) else r
            for r in schedule.rings
        )
        return schedule if rings == schedule.rings else dataclasses.replace(schedule, rings=rings)
