"""Ops on mbarriers, cursors and named barriers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedgen.ir.effects import (
    BarrierRef,
    BarrierWait,
    CursorEffect,
    Effects,
    Engine,
    Executor,
    NamedRef,
    RingBarrier,
    Signal,
)
from schedgen.ir.expr import Expr
from schedgen.ir.ops.base import Op


@dataclass(frozen=True, kw_only=True)
class Acquire(Op):
    """Wait on a ring barrier for the use under the cursor (mbarrier.try_wait.parity)."""

    keyword = "acquire"
    executed_by = Executor.ALL
    barrier: RingBarrier
    parity: Expr | None = None

    @property
    def body(self) -> str:
        return f"{self.barrier}" + ("" if self.parity is None else f" parity ({self.parity})")

    def effects(self) -> Effects:
        wait = BarrierWait(barrier=self.barrier, offset=self.offset, parity=self.parity)
        return Effects(executor=self.executor, engine=Engine.WARP, wait=wait)


@dataclass(frozen=True, kw_only=True)
class Await(Op):
    """Wait on a plain barrier: its n-th await waits for completion n - 1 (own count)."""

    keyword = "await"
    executed_by = Executor.ALL
    barrier: BarrierRef
    parity: Expr | None = None

    @property
    def body(self) -> str:
        return f"{self.barrier}" + ("" if self.parity is None else f" parity ({self.parity})")

    def effects(self) -> Effects:
        wait = BarrierWait(barrier=self.barrier, offset=self.offset, parity=self.parity)
        return Effects(executor=self.executor, engine=Engine.WARP, wait=wait)


@dataclass(frozen=True, kw_only=True)
class ExpectTx(Op):
    """Announce bytes without an arrival (mbarrier.expect_tx)."""

    keyword = "expect-tx"
    executed_by = Executor.ELECTED
    arrivals: ClassVar[int] = 0
    barrier: BarrierRef
    bytes: int

    @property
    def body(self) -> str:
        return f"{self.barrier} bytes {self.bytes}"

    def effects(self) -> Effects:
        signal = Signal(
            barrier=self.barrier,
            offset=self.offset,
            arrivals=self.arrivals,
            expected=self.bytes,
            delivered=False,
        )
        return Effects(executor=self.executor, engine=Engine.WARP, signal=signal)


@dataclass(frozen=True, kw_only=True)
class Expect(ExpectTx):
    """Announce bytes and make ONE arrival, in that order (mbarrier.arrive.expect_tx)."""

    keyword = "expect"
    arrivals = 1
    barrier: RingBarrier


@dataclass(frozen=True, kw_only=True)
class Arrive(Op):
    """One plain arrival (mbarrier.arrive)."""

    keyword = "arrive"
    executed_by = Executor.ELECTED
    barrier: BarrierRef

    @property
    def body(self) -> str:
        return f"{self.barrier}"

    def effects(self) -> Effects:
        signal = Signal(
            barrier=self.barrier, offset=self.offset, arrivals=1, expected=0, delivered=False
        )
        return Effects(executor=self.executor, engine=Engine.WARP, signal=signal)


@dataclass(frozen=True, kw_only=True)
class Release(Arrive):
    """Hand a stage back: one arrival on the ring's empty barrier."""

    keyword = "release"
    barrier: RingBarrier


@dataclass(frozen=True, kw_only=True)
class Advance(Op):
    """Move the replica's cursor of a ring to the next use."""

    keyword = "advance"
    executed_by = Executor.ALL
    ring: str

    @property
    def body(self) -> str:
        return self.ring

    def effects(self) -> Effects:
        cursor = CursorEffect(ring=self.ring, to=None)
        return Effects(executor=self.executor, engine=Engine.WARP, cursor=cursor)


@dataclass(frozen=True, kw_only=True)
class SetCursor(Op):
    """Put the cursor at a use; ``reset tma`` is ``set tma = 0`` (an escape)."""

    keyword = "set"
    executed_by = Executor.ALL
    ring: str
    to: Expr

    @property
    def body(self) -> str:
        return f"{self.ring} = {self.to}"

    def effects(self) -> Effects:
        cursor = CursorEffect(ring=self.ring, to=self.to)
        return Effects(executor=self.executor, engine=Engine.WARP, cursor=cursor)


@dataclass(frozen=True, kw_only=True)
class Sync(Op):
    """Named barrier (bar.sync): returns when all of its threads have entered; whole warps."""

    keyword = "sync"
    executed_by = Executor.COLLECTIVE
    barrier: NamedRef

    @property
    def body(self) -> str:
        return str(self.barrier)

    def effects(self) -> Effects:
        return Effects(executor=self.executor, engine=Engine.WARP, sync=self.barrier)
