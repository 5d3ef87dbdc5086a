"""Ops that move data: TMA loads and stores, ordinary accesses, the proxy fence."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.ir.effects import (
    Access,
    AccRef,
    BufferRef,
    Effects,
    Engine,
    Executor,
    GroupEffect,
    OutRef,
    Proxy,
    RingBarrier,
    Signal,
    SlotRef,
    ordinary_access,
)
from schedgen.ir.expr import Expr
from schedgen.ir.ops.base import Op


@dataclass(frozen=True, kw_only=True)
class Load(Op):
    """TMA load of one K tile into a slot; completes its bytes on the full barrier.

    Asynchronous: it writes the slot at any time after issue (PTX cp.async.bulk.tensor).
    """

    keyword = "load"
    executed_by = Executor.ELECTED
    into: SlotRef
    tile: Expr

    @property
    def body(self) -> str:
        return f"{self.into} {self.tile}"

    def effects(self) -> Effects:
        write = Access(
            location=self.into, offset=self.offset, writes=True, proxy=Proxy.ASYNC, tile=self.tile
        )
        signal = Signal(
            barrier=RingBarrier(self.into.ring, "full"),
            offset=self.offset,
            arrivals=0,
            expected=0,
            delivered=True,
        )
        return Effects(executor=self.executor, engine=Engine.TMA, signal=signal, accesses=(write,))


@dataclass(frozen=True, kw_only=True)
class FenceProxy(Op):
    """fence.proxy.async: the executing threads' earlier stores are visible to TMA and wgmma."""

    keyword = "fence proxy"
    executed_by = Executor.ALL

    @property
    def body(self) -> str:
        return ""

    def effects(self) -> Effects:
        return Effects(executor=self.executor, engine=Engine.WARP, fence="proxy")


@dataclass(frozen=True, kw_only=True)
class Store(Op):
    """Ordinary store of an accumulator: to the output, or into a staging buffer."""

    keyword = "store"
    executed_by = Executor.ALL
    acc: str
    to: OutRef | BufferRef

    @property
    def body(self) -> str:
        return f"{self.acc} -> {self.to}"

    def effects(self) -> Effects:
        read = ordinary_access(AccRef(self.acc), writes=False, proxy=Proxy.REGISTER, offset=0)
        write = ordinary_access(self.to, writes=True, proxy=Proxy.GENERIC, offset=0)
        return Effects(executor=self.executor, engine=Engine.WARP, accesses=(read, write))


@dataclass(frozen=True, kw_only=True)
class Write(Op):
    """Ordinary stores into a buffer or slot."""

    keyword = "write"
    executed_by = Executor.ALL
    to: SlotRef | BufferRef

    @property
    def body(self) -> str:
        return str(self.to)

    def effects(self) -> Effects:
        write = ordinary_access(self.to, writes=True, proxy=Proxy.GENERIC, offset=self.offset)
        return Effects(executor=self.executor, engine=Engine.WARP, accesses=(write,))


@dataclass(frozen=True, kw_only=True)
class Read(Op):
    """Ordinary loads from a buffer or slot."""

    keyword = "read"
    executed_by = Executor.ALL
    source: SlotRef | BufferRef

    @property
    def body(self) -> str:
        return str(self.source)

    def effects(self) -> Effects:
        read = ordinary_access(self.source, writes=False, proxy=Proxy.GENERIC, offset=self.offset)
        return Effects(executor=self.executor, engine=Engine.WARP, accesses=(read,))


@dataclass(frozen=True, kw_only=True)
class TmaStore(Op):
    """TMA store of a staging buffer or slot: reads its source until its bulk group is done."""

    keyword = "tma-store"
    executed_by = Executor.ELECTED
    source: SlotRef | BufferRef
    to: OutRef

    @property
    def body(self) -> str:
        return f"{self.source} -> {self.to}"

    def effects(self) -> Effects:
        read = ordinary_access(self.source, writes=False, proxy=Proxy.ASYNC, offset=self.offset)
        write = ordinary_access(self.to, writes=True, proxy=Proxy.ASYNC, offset=0)
        group = GroupEffect(queue="tma-store", action="join", depth=0, reads_only=False)
        return Effects(
            executor=self.executor, engine=Engine.TMA_STORE, accesses=(read, write), group=group
        )


@dataclass(frozen=True, kw_only=True)
class StoreCommit(Op):
    """cp.async.bulk.commit_group: closes the executing thread's group of TMA stores."""

    keyword = "store-commit"
    executed_by = Executor.ELECTED

    @property
    def body(self) -> str:
        return ""

    def effects(self) -> Effects:
        group = GroupEffect(queue="tma-store", action="commit", depth=0, reads_only=False)
        return Effects(executor=self.executor, engine=Engine.WARP, group=group)


@dataclass(frozen=True, kw_only=True)
class StoreWait(Op):
    """cp.async.bulk.wait_group[.read] n: the executing thread's groups only."""

    keyword = "store-wait"
    executed_by = Executor.ELECTED
    depth: int
    reads_only: bool

    @property
    def body(self) -> str:
        return f"{self.depth} read" if self.reads_only else str(self.depth)

    def effects(self) -> Effects:
        group = GroupEffect(
            queue="tma-store", action="wait", depth=self.depth, reads_only=self.reads_only
        )
        return Effects(executor=self.executor, engine=Engine.WARP, group=group)
