"""Hand the loads of a role to a producer warp of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import AlreadyInFlight, LoopNotRetimable, NothingToRewrite
from schedgen.happens_before.kept import Keep
from schedgen.ir.effects import Engine, Proxy, RingBarrier
from schedgen.ir.expr import Int, Name, Stages
from schedgen.ir.ops import Acquire, Advance, Load, Op, Release, Sync, Wait
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt, ops_of, statements
from schedgen.passes.rewriting import (
    Fill,
    filled_rings,
    in_flight_already,
    is_fill,
    k_loop,
    multiplying_role,
    prologue,
    refill,
    refuse,
    touches_side,
)
from schedgen.pipeline import Pass


@dataclass(frozen=True, kw_only=True)
class WarpSpecialize(Pass):
    """Split one role that loads and multiplies into a producer warp and a consumer.

    Stages change hands by the full and empty barriers alone: the fills that the role made in
    advance, and the `sync` before each refill, are dropped.

    args:
        (none)
    rewrite:
        role worker warpgroup {             role producer warp {
          for k in 0..K {                     for k in 0..K {
            expect tma.full bytes N             acquire tma.empty
            load tma.A k                        expect tma.full bytes N
            acquire tma.full                    load tma.A k
            ...                                 advance tma
            wait 0                     ->     }
            sync block                        for _ in 0..tma.stages { acquire empty, advance }
            advance tma                     }
          }                                 role consumer warpgroup {
          store acc -> c                      for k in 0..K {
        }                                       acquire tma.full
                                                ...
                                                wait 0
                                                release tma.empty
                                                advance tma
                                              }
                                              store acc -> c
                                            }
    """

    name: ClassVar[str] = "warp-specialize"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "numerics"})

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        role = multiplying_role(schedule)
        if role is None or len(schedule.roles) > 1 or role.replica_count > 1:
            reason = "there is not one role, of one replica, that does everything"
            yield refuse(NothingToRewrite, self, reason, "it is for schedules of one role")
            return
        loop = k_loop(role)
        if loop is None or not any(isinstance(op, Load) for op in ops_of((loop,))):
            reason = f"{role.name} has no loop over 0..K that loads and multiplies"
            fix = "a loop that fills what it multiplies, as in hopper_matmul_v1 and v2"
            yield refuse(NothingToRewrite, self, reason, fix, role=role)
            return
        fix = "a loop that fills the stages it multiplies (`multi-buffer`), and waits with `wait 0`"
        for op in ops_of((loop,)):
            if isinstance(op, Wait) and op.depth:
                first = "`warp-specialize`, then `overlap-wgmma`"
                yield refuse(
                    AlreadyInFlight, self, in_flight_already(op), first, role=role, place=op.place
                )
        for reason, stmt in _objections(role, loop):
            place = loop.place if stmt is None else stmt.place
            yield refuse(LoopNotRetimable, self, reason, fix, role=role, place=place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        role = multiplying_role(schedule)
        loop = None if role is None else k_loop(role)
        assert role is not None
        assert loop is not None
        fill = _fill(role, loop)
        (ring,) = filled_rings(fill)
        consumer = replace(role, name="consumer", body=_consumer(role, loop, ring))
        synced = {op.barrier.name for op in ops_of(consumer.body) if isinstance(op, Sync)}
        return replace(
            schedule,
            rings=tuple(replace(r, empty=1) if r.name == ring else r for r in schedule.rings),
            named=tuple(n for n in schedule.named if n.name in synced),
            roles=(_producer(loop.var, fill, ring), consumer),
        )


def _producer(var: str, fill: Fill, ring: str) -> Role:
    """Fills a stage for every tile, and stays until the last stages are handed back."""
    acquire, advance = Acquire(barrier=RingBarrier(ring, "empty")), Advance(ring=ring)
    produce = Loop(var=var, first=Int(0), end=Name("K"), body=(acquire, *fill, advance))
    drain = Loop(var="_", first=Int(0), end=Stages(ring), body=(acquire, advance))
    return Role(name="producer", replicas=None, warps=1, body=(produce, drain))


def _consumer(role: Role, loop: Loop, ring: str) -> tuple[Stmt, ...]:
    """The role without fills and the syncs of its loop; a stage is free once its mma retired."""
    kept = [s for s in loop.body if not _only_fills(s) and not isinstance(s, Sync)]
    retired = max(n for n, stmt in enumerate(kept) if isinstance(stmt, Wait))
    kept.insert(retired + 1, Release(barrier=RingBarrier(ring, "empty")))
    steady = replace(loop, body=tuple(kept))
    return tuple(steady if s is loop else s for s in role.body if not _only_fills(s))


def _only_fills(stmt: Stmt) -> bool:
    return is_fill(stmt) or (isinstance(stmt, If) and all(map(is_fill, stmt.body)))


def _fill(role: Role, loop: Loop) -> Fill:
    """The fill of tile k for the use under the cursor; empty where the role's fills are not that.

    Either each step fills its own tile, or the tiles below n are filled before the loop and step k
    fills tile k + n, each under its guard: then n is how far the loads of the loop step ahead.
    """
    own = tuple(stmt for stmt in loop.body if is_fill(stmt))
    ahead = [stmt for stmt in loop.body if isinstance(stmt, If) and _only_fills(stmt)]
    before = tuple(s for s in role.body if s is not loop and any(map(is_fill, statements((s,)))))
    if not ahead:
        tiles = {op.tile for op in own if isinstance(op, Load)}
        plain = tiles == {Name(loop.var)} and not any(op.offset for op in own)
        return own if plain and not before else ()
    later = tuple(stmt for stmt in ahead[0].body if is_fill(stmt))
    stages = later[0].offset if later else 0
    fill = tuple(
        replace(op, offset=0, tile=Name(loop.var))
        if isinstance(op, Load)
        else replace(op, offset=0)
        for op in later
    )
    same = ahead == [refill(fill, loop.var, stages)] and before == prologue(fill, loop.var, stages)
    return fill if same and stages > 0 and not own else ()


def _objections(role: Role, loop: Loop) -> Iterator[tuple[str, Stmt | None]]:
    """What keeps the loads from moving to another role, with the statement that does."""
    fill = _fill(role, loop)
    rings = filled_rings(fill)
    if len(rings) != 1:
        yield "the fills are not one for each tile, for the step or a fixed number ahead", None
        return
    (ring,) = rings
    last = loop.body[-1]
    if not isinstance(last, Advance) or last.ring != ring:
        yield f"the loop does not end with `advance {ring}`", None
    retired = False
    for stmt in loop.body:
        if not isinstance(stmt, Op):
            if not _only_fills(stmt):
                yield "the loop holds another block", stmt
            continue
        effects = stmt.effects()
        if effects.engine is Engine.TENSOR:
            retired = False
        retired = retired or isinstance(stmt, Wait)
        if not is_fill(stmt) and stmt.offset:
            yield f"`{stmt.text}` steps away from the cursor", stmt
        if effects.cursor is not None and stmt is not last:
            yield f"`{stmt.text}` moves a cursor inside a step", stmt
        if any(a.proxy is Proxy.GENERIC for a in effects.accesses):
            yield f"`{stmt.text}` touches memory that a `sync` may have to order", stmt
    if not retired:
        yield "a step ends with its mma in flight", None
    for op in ops_of(role.body):
        if touches_side(op, ring, "empty"):
            yield f"`{op.text}`: the stages are handed over already", op
