"""Measure the limits of a proved schedule: change one thing, judge for every K, compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from schedgen.happens_before.every_k import judge_every_k
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.happens_before.limits import MAX_WAIT_DEPTH
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.effects import RingBarrier
from schedgen.ir.ops import Place, Wait
from schedgen.ir.schedule import Ring, Schedule
from schedgen.margins.edits import Path, k_loops, loop_around, replaced, walk
from schedgen.margins.redundant import Progress, redundancy
from schedgen.margins.slack import Middle, can_be_delayed, delayed
from schedgen.margins.values import (
    Basis,
    Beyond,
    DepthLimit,
    Limits,
    Slack,
    StageLimit,
    beyond,
)


def measured(schedule: Schedule, verdict: Verdict, *, progress: Progress | None = None) -> Limits:
    """The limits of a schedule whose verdict for every K is ``verdict``: proved.

    ``progress`` is told what is judged next.  Raises `ValueError` for any other verdict.
    """
    if verdict.outcome is not Outcome.PROVED or verdict.certificate is None:
        raise ValueError(f"limits are those of a proved schedule, not of one {verdict.outcome}")
    say = progress or (lambda text: None)
    try:
        slack = _SlackOf(schedule, Middle(schedule, verdict.certificate), say)
    except OverBudget:
        slack = _SlackOf(schedule, None, say)
    return Limits(
        verdict=verdict,
        stages=tuple(_least_stages(schedule, ring, say) for ring in schedule.rings),
        in_flight=tuple(_depths(schedule, say)),
        slack=tuple(slack.of_all()),
        redundant=redundancy(schedule, verdict, say),
    )


def _least_stages(schedule: Schedule, ring: Ring, say: Progress) -> StageLimit:
    below: Beyond | None = None
    least = ring.stages
    for stages in range(1, ring.stages):
        say(f"ring {ring.name} with {stages} stage{'' if stages == 1 else 's'}")
        verdict = judge_every_k(with_stages(schedule, ring, stages))
        if verdict.outcome is Outcome.PROVED:
            least = stages
            break
        below = beyond(stages, verdict)
    return StageLimit(
        ring=ring.name, stages=ring.stages, least=least, below=below, place=ring.place
    )


def with_stages(schedule: Schedule, ring: Ring, stages: int) -> Schedule:
    """The schedule with another number of stages in one ring."""
    rings = tuple(
        dataclasses.replace(r, stages=stages) if r.name == ring.name else r for r in schedule.rings
    )
    return dataclasses.replace(schedule, rings=rings)


Waits = list[tuple[Path, Wait]]


def waits_in_k_loops(schedule: Schedule) -> Iterator[Waits]:
    """The wgmma waits of each loop over K that are changed together."""
    loops = k_loops(schedule)
    of_loop: dict[Path, Waits] = {loop: [] for loop in loops}
    for path, stmt in walk(schedule):
        around = loop_around(path, loops)
        if isinstance(stmt, Wait) and around is not None:
            of_loop[around].append((path, stmt))
    for waits in of_loop.values():
        if len({op.depth for _, op in waits}) > 1:
            yield from ([one] for one in waits)
        elif waits:
            yield waits


def with_depth(schedule: Schedule, waits: Waits, depth: int) -> Schedule:
    """The schedule with another depth of some waits."""
    return replaced(schedule, {path: dataclasses.replace(op, depth=depth) for path, op in waits})


def _depths(schedule: Schedule, say: Progress) -> Iterator[DepthLimit]:
    for waits in waits_in_k_loops(schedule):
        role = schedule.roles[waits[0][0][0]].name
        greatest = depth = waits[0][1].depth
        above: Beyond | None = None
        while above is None and greatest < MAX_WAIT_DEPTH:
            say(f"`wait {greatest + 1}` in {role}")
            verdict = judge_every_k(with_depth(schedule, waits, greatest + 1))
            if verdict.outcome is Outcome.PROVED:
                greatest += 1
            else:
                above = beyond(greatest + 1, verdict)
        places = tuple(op.place for _, op in waits)
        yield DepthLimit(role=role, depth=depth, greatest=greatest, above=above, places=places)


@dataclasses.dataclass(frozen=True)
class _SlackOf:
    schedule: Schedule
    middle: Middle | None
    say: Progress

    def of_all(self) -> Iterator[Slack]:
        for ring in self.schedule.rings:
            for side in ("full", "empty"):
                yield self._of_ring(ring, RingBarrier(ring.name, side))
        for barrier in (*self.schedule.barriers, *self.schedule.named):
            yield self._of_middle(barrier.name, barrier.place)

    def _of_middle(self, barrier: str, place: Place | None) -> Slack:
        slack: int | None = None
        basis: Basis = "unknown"
        if self.middle is not None and not self.middle.waits_for(barrier):
            basis = "no wait"
        elif self.middle is not None:
            slack = self.middle.slack(barrier)
            basis = "no cycle" if slack is None else "folded graph"
        return Slack(
            barrier=barrier, turns=slack, middle=slack, basis=basis, above=None, place=place
        )

    def _of_ring(self, ring: Ring, barrier: RingBarrier) -> Slack:
        known = self._of_middle(str(barrier), ring.place)
        if known.middle is None or not can_be_delayed(self.schedule):
            return known
        above = self._judged(barrier, known.middle + 1)
        if above.outcome is Outcome.PROVED:  # not what the graph says: report no more than it does
            return known
        turns, over = known.middle, above
        while turns and (verdict := self._judged(barrier, turns)).outcome is not Outcome.PROVED:
            turns, over = turns - 1, verdict
        return dataclasses.replace(
            known, turns=turns, basis="judged", above=beyond(turns + 1, over)
        )

    def _judged(self, barrier: RingBarrier, turns: int) -> Verdict:
        assert self.middle is not None
        self.say(f"{barrier} {turns} turn{'' if turns == 1 else 's'} later")
        return judge_every_k(delayed(self.schedule, barrier, turns, self.middle.rates))
