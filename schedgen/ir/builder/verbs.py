"""One method for each op, written from the op classes; a test compares it with them.

``python3 -m pytest tests/unit/test_builder.py --update-golden`` writes it again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from schedgen.ir import ops
from schedgen.ir.builder.arguments import RingRef, Who
from schedgen.ir.effects import (
    AccRef,
    BarrierRef,
    BufferRef,
    NamedRef,
    OutRef,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Expr


class Verbs(ABC):
    """What a role can do, in the words of the text form."""

    @abstractmethod
    def _append(
        self,
        op: type[ops.Op],
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: object = None,
        **fields: object,
    ) -> None: ...

    def acquire(
        self,
        barrier: RingBarrier,
        *,
        parity: int | Expr | None = None,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Wait on a ring barrier for the use under the cursor (mbarrier.try_wait.parity)."""
        self._append(ops.Acquire, barrier=barrier, parity=parity, lag=lag, ahead=ahead, by=by)

    def await_(
        self,
        barrier: BarrierRef,
        *,
        parity: int | Expr | None = None,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Wait on a plain barrier: its n-th await waits for completion n - 1 (own count)."""
        self._append(ops.Await, barrier=barrier, parity=parity, lag=lag, ahead=ahead, by=by)

    def expect(
        self,
        barrier: RingBarrier,
        *,
        bytes: int,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Announce bytes and make ONE arrival, in that order (mbarrier.arrive.expect_tx)."""
        self._append(ops.Expect, barrier=barrier, bytes=bytes, lag=lag, ahead=ahead, by=by)

    def expect_tx(
        self,
        barrier: BarrierRef,
        *,
        bytes: int,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Announce bytes without an arrival (mbarrier.expect_tx)."""
        self._append(ops.ExpectTx, barrier=barrier, bytes=bytes, lag=lag, ahead=ahead, by=by)

    def arrive(
        self,
        barrier: BarrierRef,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """One plain arrival (mbarrier.arrive)."""
        self._append(ops.Arrive, barrier=barrier, lag=lag, ahead=ahead, by=by)

    def release(
        self,
        barrier: RingBarrier,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Hand a stage back: one arrival on the ring's empty barrier."""
        self._append(ops.Release, barrier=barrier, lag=lag, ahead=ahead, by=by)

    def load(
        self,
        into: SlotRef,
        tile: int | Expr,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """TMA load of one K tile into a slot; completes its bytes on the full barrier."""
        self._append(ops.Load, into=into, tile=tile, lag=lag, ahead=ahead, by=by)

    def fence(self, *, by: Who | None = None) -> None:
        """wgmma.fence: orders register accesses before the next mma; registers only."""
        self._append(ops.Fence, by=by)

    def fence_proxy(self, *, by: Who | None = None) -> None:
        """fence.proxy.async: the executing threads' earlier stores are visible to TMA and wgmma."""
        self._append(ops.FenceProxy, by=by)

    def mma(
        self,
        acc: AccRef,
        a: SlotRef,
        b: SlotRef,
        tile: int | Expr,
        *,
        lag: int | None = None,
        ahead: int | None = None,
    ) -> None:
        """wgmma.mma_async: acc += A tile * B tile, reading both slots until its group retires."""
        self._append(ops.Mma, acc=acc, a=a, b=b, tile=tile, lag=lag, ahead=ahead)

    def commit(self) -> None:
        """wgmma.commit_group: closes a group of every mma issued since the last commit."""
        self._append(ops.Commit)

    def wait(self, depth: int, *, by: Who | None = None) -> None:
        """wgmma.wait_group n: blocks until at most n groups are pending; n is an immediate."""
        self._append(ops.Wait, depth=depth, by=by)

    def advance(self, ring: RingRef) -> None:
        """Move the replica's cursor of a ring to the next use."""
        self._append(ops.Advance, ring=ring)

    def set(self, ring: RingRef, to: int | Expr) -> None:
        """Put the cursor at a use; ``reset tma`` is ``set tma = 0`` (an escape)."""
        self._append(ops.SetCursor, ring=ring, to=to)

    def sync(self, barrier: NamedRef) -> None:
        """Named barrier (bar.sync): returns when all of its threads have entered; whole warps."""
        self._append(ops.Sync, barrier=barrier)

    def store(self, acc: AccRef, to: OutRef | BufferRef, *, by: Who | None = None) -> None:
        """Ordinary store of an accumulator: to the output, or into a staging buffer."""
        self._append(ops.Store, acc=acc, to=to, by=by)

    def touch(self, acc: AccRef, *, by: Who | None = None) -> None:
        """Ordinary code reads and writes the accumulator's registers."""
        self._append(ops.Touch, acc=acc, by=by)

    def write(
        self,
        to: SlotRef | BufferRef,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Ordinary stores into a buffer or slot."""
        self._append(ops.Write, to=to, lag=lag, ahead=ahead, by=by)

    def read(
        self,
        source: SlotRef | BufferRef,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """Ordinary loads from a buffer or slot."""
        self._append(ops.Read, source=source, lag=lag, ahead=ahead, by=by)

    def tma_store(
        self,
        source: SlotRef | BufferRef,
        to: OutRef,
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: Who | None = None,
    ) -> None:
        """TMA store of a staging buffer or slot: reads its source until its bulk group is done."""
        self._append(ops.TmaStore, source=source, to=to, lag=lag, ahead=ahead, by=by)

    def store_commit(self, *, by: Who | None = None) -> None:
        """cp.async.bulk.commit_group: closes the executing thread's group of TMA stores."""
        self._append(ops.StoreCommit, by=by)

    def store_wait(self, depth: int, *, reads_only: bool, by: Who | None = None) -> None:
        """cp.async.bulk.wait_group[.read] n: the executing thread's groups only."""
        self._append(ops.StoreWait, depth=depth, reads_only=reads_only, by=by)
