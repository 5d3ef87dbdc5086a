"""Change how many stages the rings have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import LagNeedsStages, SizesDoNotFit
from schedgen.happens_before.kept import Keep
from schedgen.ir.ops import Load
from schedgen.ir.problems import did_you_mean
from schedgen.ir.schedule import Schedule, ops_of
from schedgen.passes.retime import is_release, released_ring
from schedgen.passes.rewriting import refuse, touches_side
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
            near = did_you_mean(self.ring or "", [r.name for r in schedule.rings])
            yield self.nothing_to_rewrite(reason, fix=near or "name a ring")
        lag, ahead = _greatest_lag(schedule, rings), _greatest_ahead(schedule, rings)
        least = max(lag + 1, ahead)
        if self.n < least:
            why = f"a release lags by {lag}" if lag else "a ring needs a stage"
            if ahead > lag + 1:
                why = f"tiles are fetched {ahead} uses ahead"
            yield LagNeedsStages(
                pass_name=self.text, rows=(), missing=None, fix=f"`set-stages{{n={least}}}`",
                reason=f"{why}, which needs at least {least} stage{'s' if least > 1 else ''}",
            )  # fmt: skip
            return
        yield from self._buffer_refusals(schedule, rings)

    def _buffer_refusals(self, schedule: Schedule, rings: set[str]) -> Iterator[Finding]:
        """Parts of buffers that lie in a stage which would be gone."""
        stages = {**schedule.stages, **dict.fromkeys(rings, self.n)}
        for buffer in schedule.buffers:
            if buffer.alias is None or buffer.alias.ring not in rings:
                continue
            last = max(buffer.stage_of(part, stages) for part in range(buffer.part_count))
            if last >= self.n:
                reason = f"a part of {buffer.name} lies in stage {last} of {buffer.alias.ring}"
                fix = f"`set-stages{{n={last + 1}}}`"
                yield refuse(SizesDoNotFit, self, reason, fix, place=buffer.place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        rings = tuple(
            dataclasses.replace(r, stages=self.n) if self.ring in (None, r.name) else r
            for r in schedule.rings
        )
        return schedule if rings == schedule.rings else dataclasses.replace(schedule, rings=rings)


def _greatest_lag(schedule: Schedule, rings: set[str]) -> int:
    ops = (op for role in schedule.roles for op in ops_of(role.body))
    lags = (-op.offset for op in ops if is_release(op) and released_ring(op) in rings)
    return max([0, *lags])


def _greatest_ahead(schedule: Schedule, rings: set[str]) -> int:
    """How far roles that read what they fill load ahead, where no stage is handed back."""
    ops = [op for role in schedule.roles for op in ops_of(role.body)]
    alone = {r for r in rings if not any(touches_side(op, r, "empty") for op in ops)}
    aheads = (op.offset for op in ops if isinstance(op, Load) and op.into.ring in alone)
    return max([0, *aheads])
