"""The ops of a schedule.

To add an op: a class with its keyword, text and effects in the file of its family, one row in
`OPS`, and one rule in ``schedule.lark``.  Nothing else has to know it.
"""

from schedgen.ir.ops.barriers import (
    Acquire,
    Advance,
    Arrive,
    Await,
    Expect,
    ExpectTx,
    Release,
    SetCursor,
    Sync,
)
from schedgen.ir.ops.base import Op, Place
from schedgen.ir.ops.memory import (
    FenceProxy,
    Load,
    Read,
    Store,
    StoreCommit,
    StoreWait,
    TmaStore,
    Write,
)
from schedgen.ir.ops.tensor import Commit, Fence, Mma, Touch, Wait

OPS: tuple[type[Op], ...] = (
    Acquire, Await, Expect, ExpectTx, Arrive, Release, Load, Fence, FenceProxy, Mma, Commit, Wait,
    Advance, SetCursor, Sync, Store, Touch, Write, Read, TmaStore, StoreCommit, StoreWait,
)  # fmt: skip

__all__ = [
    "OPS", "Acquire", "Advance", "Arrive", "Await", "Commit", "Expect", "ExpectTx", "Fence",
    "FenceProxy", "Load", "Mma", "Op", "Place", "Read", "Release", "SetCursor", "Store",
    "StoreCommit", "StoreWait", "Sync", "TmaStore", "Touch", "Wait", "Write",
]  # fmt: skip
