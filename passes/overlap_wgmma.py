"""Keep wgmma groups in flight across steps of the K-loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import (
    AlreadyInFlight,
    DepthNotEncodable,
    LagNeedsStages,
    LoopNotRetimable,
    NothingToRewrite,
)
from schedgen.happens_before.kept import Keep
from schedgen.happens_before.limits import MAX_WAIT_DEPTH
from schedgen.ir.effects import Engine, Proxy, RingBarrier
from schedgen.ir.ops import Op
from schedgen.ir.schedule import Loop, Role, Schedule, statements
from schedgen.passes.retime import (
    commits_in,
    is_release,
    is_wait,
    late_ops,
    map_loops,
    released_ring,
    retime,
    stages_needed,
    uses_before,
)
from schedgen.passes.rewriting import in_flight_already, refuse
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class OverlapWgmma(Pass):
    """Issue the mma of step k before waiting for the mma of step k - d.

    The consumer then holds d + 1 stages, so each release moves with the wait that allows it.

    args:
        in-flight: d, the steps whose groups stay in flight (0 changes nothing).
    rewrite:
        for k in 0..K {          if K > 0 {
          acquire tma.full         acquire tma.full
          fence                    fence
          mma ..., k               mma ..., 0
          commit                   commit
          wait 0                   advance tma
          release tma.empty      }
          advance tma        ->  for k in 1..K {
        }                          acquire tma.full
                                   fence
                                   mma ..., k
                                   commit
                                   wait 1
                                   release tma.empty lag 1
                                   advance tma
                                 }
                                 wait 0
                                 if K > 0 {
                                   release tma.empty lag 1
                                 }
    """

    name: ClassVar[str] = "overlap-wgmma"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover", "numerics"})
    in_flight: int

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        loops = list(_mma_loops(schedule))
        if self.in_flight == 0:
            return
        if not loops:
            reason = "no loop issues mma and waits for them"
            yield refuse(NothingToRewrite, self, reason, "a loop with `mma`, `commit` and `wait 0`")
        for role, loop in loops:
            yield from self._loop_refusals(schedule, role, loop)

    def _loop_refusals(self, schedule: Schedule, role: Role, loop: Loop) -> Iterator[Finding]:
        for stmt in statements(loop.body):
            if not isinstance(stmt, Op):
                reason = f"the loop at {loop.place or role.name} holds another block"
                yield refuse(
                    LoopNotRetimable, self, reason, "flatten the loop", role=role, place=stmt.place
                )
        for op in (s for s in loop.body if isinstance(s, Op)):
            if _in_flight(loop, op):
                fix = "apply it once, to the serial loop"
                reason = in_flight_already(op)
                yield refuse(AlreadyInFlight, self, reason, fix, role=role, place=op.place)
            if _touches_registers(op) or _sets_cursor(op):
                reason = f"`{op.text}` depends on the step that it stands in"
                fix = "take it out of the loop, or leave the loop serial"
                yield refuse(LoopNotRetimable, self, reason, fix, role=role, place=op.place)
        yield from self._late_refusals(role, loop)
        yield from self._depth_refusals(schedule, role, loop)

    def _late_refusals(self, role: Role, loop: Loop) -> Iterator[Finding]:
        """Ops after the first wait that need what the wait gives."""
        body = [s for s in loop.body if isinstance(s, Op)]
        first = next(n for n, op in enumerate(body) if is_wait(op))
        for op in body[first + 1 :]:
            if _needs_completion(op):
                reason = f"`{op.text}` needs the mma of its own step to have retired"
                fix = "take it out of the loop, or leave the loop serial"
                yield refuse(LoopNotRetimable, self, reason, fix, role=role, place=op.place)

    def _depth_refusals(self, schedule: Schedule, role: Role, loop: Loop) -> Iterator[Finding]:
        depth = commits_in(loop) * self.in_flight
        if depth > MAX_WAIT_DEPTH:
            reason = f"it would need `wait {depth}`; the immediate holds 0..{MAX_WAIT_DEPTH}"
            fix = f"at most in-flight={MAX_WAIT_DEPTH // max(commits_in(loop), 1)} here"
            yield refuse(DepthNotEncodable, self, reason, fix, role=role, place=loop.place)
        for ring in dict.fromkeys(released_ring(op) for op in late_ops(loop) if is_release(op)):
            needed = stages_needed(loop, ring, steps=self.in_flight)
            stages = schedule.ring(ring).stages
            if needed > stages:
                held = f"{self.in_flight} step{'' if self.in_flight == 1 else 's'} in flight"
                reason = f"{held} need {needed} stages of {ring}; it has {stages}"
                fix = f"`set-stages{{n={needed}}}` first, or keep fewer steps in flight"
                yield refuse(LagNeedsStages, self, reason, fix, role=role, place=loop.place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        if self.in_flight == 0:
            return schedule
        return map_loops(schedule, _is_mma_loop, lambda loop: retime(loop, steps=self.in_flight))


def _mma_loops(schedule: Schedule) -> Iterator[tuple[Role, Loop]]:
    for role in schedule.roles:
        for stmt in statements(role.body):
            if isinstance(stmt, Loop) and _is_mma_loop(stmt):
                yield role, stmt


def _is_mma_loop(loop: Loop) -> bool:
    own = [s for s in loop.body if isinstance(s, Op)]
    return any(o.effects().engine is Engine.TENSOR for o in own) and any(map(is_wait, own))


def _in_flight(loop: Loop, op: Op) -> bool:
    if is_release(op):
        return uses_before(loop, op, released_ring(op)) < 0
    group = op.effects().group
    return is_wait(op) and group is not None and group.depth > 0


def _touches_registers(op: Op) -> bool:
    return any(a.proxy is Proxy.REGISTER for a in op.effects().accesses)


def _sets_cursor(op: Op) -> bool:
    cursor = op.effects().cursor
    return cursor is not None and cursor.to is not None


def _needs_completion(op: Op) -> bool:
    """Ordinary code on memory, and signals that are not releases of a ring."""
    effects = op.effects()
    ordinary = any(a.proxy is Proxy.GENERIC for a in effects.accesses)
    signal = effects.signal
    plain = signal is not None and signal.arrivals and not isinstance(signal.barrier, RingBarrier)
    return ordinary or bool(plain) or effects.sync is not None
