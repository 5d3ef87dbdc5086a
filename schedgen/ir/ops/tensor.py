"""Ops of the tensor core: wgmma, its groups and its register fence."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.ir.effects import (
    Access,
    AccRef,
    Effects,
    Engine,
    Executor,
    GroupEffect,
    Proxy,
    SlotRef,
    ordinary_access,
)
from schedgen.ir.expr import Expr
from schedgen.ir.ops.base import Op


@dataclass(frozen=True, kw_only=True)
class Fence(Op):
    """wgmma.fence: orders register accesses before the next mma; registers only."""

    keyword = "fence"
    executed_by = Executor.ALL

    @property
    def body(self) -> str:
        return ""

    def effects(self) -> Effects:
        return Effects(executor=self.executor, engine=Engine.WARP, fence="wgmma")


@dataclass(frozen=True, kw_only=True)
class Mma(Op):
    """wgmma.mma_async: acc += A tile * B tile, reading both slots until its group retires."""

    keyword = "mma"
    executed_by = Executor.COLLECTIVE
    acc: str
    a: SlotRef
    b: SlotRef
    tile: Expr

    @property
    def body(self) -> str:
        return f"{self.acc}, {self.a}, {self.b}, {self.tile}"

    def effects(self) -> Effects:
        def reads(ref: SlotRef) -> Access:
            return Access(
                location=ref, offset=self.offset, writes=False, proxy=Proxy.ASYNC, tile=self.tile
            )

        acc = Access(
            location=AccRef(self.acc), offset=0, writes=True, proxy=Proxy.ASYNC, tile=self.tile
        )
        group = GroupEffect(queue="wgmma", action="join", depth=0, reads_only=False)
        return Effects(
            executor=self.executor,
            engine=Engine.TENSOR,
            accesses=(reads(self.a), reads(self.b), acc),
            group=group,
        )


@dataclass(frozen=True, kw_only=True)
class Commit(Op):
    """wgmma.commit_group: closes a group of every mma issued since the last commit."""

    keyword = "commit"
    executed_by = Executor.COLLECTIVE

    @property
    def body(self) -> str:
        return ""

    def effects(self) -> Effects:
        group = GroupEffect(queue="wgmma", action="commit", depth=0, reads_only=False)
        return Effects(executor=self.executor, engine=Engine.WARP, group=group)


@dataclass(frozen=True, kw_only=True)
class Wait(Op):
    """wgmma.wait_group n: blocks until at most n groups are pending; n is an immediate."""

    keyword = "wait"
    executed_by = Executor.ALL
    depth: int

    @property
    def body(self) -> str:
        return str(self.depth)

    def effects(self) -> Effects:
        group = GroupEffect(queue="wgmma", action="wait", depth=self.depth, reads_only=False)
        return Effects(executor=self.executor, engine=Engine.WARP, group=group)


@dataclass(frozen=True, kw_only=True)
class Touch(Op):
    """Ordinary code reads and writes the accumulator's registers."""

    keyword = "touch"
    executed_by = Executor.ALL
    acc: str

    @property
    def body(self) -> str:
        return self.acc

    def effects(self) -> Effects:
        touch = ordinary_access(AccRef(self.acc), writes=True, proxy=Proxy.REGISTER, offset=0)
        return Effects(executor=self.executor, engine=Engine.WARP, accesses=(touch,))
