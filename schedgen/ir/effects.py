"""What an op does to the machine, as data.

Each op class declares its effects once (`Op.effects`); the checker, the abstract machine and the
products of a schedule read them here and nowhere else, so a new op needs no new branch in them.

Sources: PTX ISA 9.0, sections "mbarrier" (9.7.13.15), "cp.async.bulk.tensor" (9.7.9.27),
"wgmma" (9.7.15.7), "fence.proxy.async" (9.7.13.4), "barrier" (9.7.13.1).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, cast

from schedgen.ir.expr import Expr, Int, literal


class Executor(StrEnum):
    """Who of a role executes an op."""

    ALL = "all"  # every warp, each at its own pace
    ELECTED = "elected"  # the elected thread's warp alone
    COLLECTIVE = "collective"  # every warp; it completes only after all of them issued it


class Engine(StrEnum):
    """Who carries an op out, hence when it is over."""

    WARP = "warp"  # over when the warp goes on
    TMA = "tma"  # lands later, in any order
    TENSOR = "tensor"  # retires with its wgmma group
    TMA_STORE = "tma-store"  # reads its source until its bulk group is done


class Proxy(StrEnum):
    """The path by which memory is touched (PTX: generic and async proxy; registers apart)."""

    GENERIC = "generic"
    ASYNC = "async"
    REGISTER = "register"


class Indexed:
    """A reference that may have an index: ``A[0]``, as in the text form, is another reference."""

    __iter__: ClassVar[None] = None  # or Python would try A[0], A[1] and so on for ever

    def __getitem__(self, index: int | Expr) -> Self:
        named = dataclasses.fields(cast(Any, self))[-1].name
        return dataclasses.replace(cast(Any, self), **{named: literal(index)})


Side = Literal["full", "empty"]


@dataclass(frozen=True)
class RingBarrier:
    """``tma.full`` or ``tma.empty``: one mbarrier per stage; the cursor picks the stage."""

    ring: str
    side: Side

    def __str__(self) -> str:
        return f"{self.ring}.{self.side}"


@dataclass(frozen=True)
class PlainBarrier(Indexed):
    """A declared mbarrier that belongs to no ring, perhaps one of an array."""

    name: str
    index: Expr | None = None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


@dataclass(frozen=True)
class NamedRef(Indexed):
    """A hardware named barrier (``bar.sync``), perhaps one of an array."""

    name: str
    index: Expr | None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


BarrierRef = RingBarrier | PlainBarrier


@dataclass(frozen=True)
class SlotRef(Indexed):
    """A slab of a slot of a ring, at the stage that the cursor (with the op's offset) gives."""

    ring: str
    slot: str
    slab: Expr | None

    def __str__(self) -> str:
        text = f"{self.ring}.{self.slot}"
        return text if self.slab is None else f"{text}[{self.slab}]"


@dataclass(frozen=True)
class BufferRef(Indexed):
    """A staging buffer in shared memory, perhaps one part of an array."""

    name: str
    part: Expr | None = None

    def __str__(self) -> str:
        return self.name if self.part is None else f"{self.name}[{self.part}]"


@dataclass(frozen=True)
class AccRef:
    """An accumulator of the role replica that executes the op."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class OutRef:
    """The output tensor in global memory, perhaps with the corner of a box in the CTA's tile."""

    tensor: str
    first_row: Expr | None = None
    first_col: Expr | None = None

    @property
    def corner(self) -> tuple[Expr, Expr] | None:
        """Row and column of the box, None where none is named; one that is left out is 0."""
        if self.first_row is None and self.first_col is None:
            return None
        return self.first_row or Int(0), self.first_col or Int(0)

    def at(self, *, rows: int | Expr | None = None, cols: int | Expr | None = None) -> OutRef:
        """The box that begins there, as ``c rows R cols C`` in the text form."""
        row, col = (None if x is None else literal(x) for x in (rows, cols))
        return OutRef(self.tensor, row, col)

    def __str__(self) -> str:
        rows = "" if self.first_row is None else f" rows {self.first_row}"
        cols = "" if self.first_col is None else f" cols {self.first_col}"
        return f"{self.tensor}{rows}{cols}"


Location = SlotRef | BufferRef | AccRef | OutRef


@dataclass(frozen=True, kw_only=True)
class BarrierWait:
    """Blocks until a phase of the barrier is past.

    ``parity`` None: the phase that the cursor names (for a plain barrier: the waiter's own count
    of awaits); else the raw test of mbarrier.try_wait.parity with that value.
    """

    barrier: BarrierRef
    offset: int
    parity: Expr | None


@dataclass(frozen=True, kw_only=True)
class Signal:
    """Something counted by the current phase of an mbarrier.

    ``arrivals`` and ``expected`` count at issue, ``delivered`` bytes when the copy has landed.
    """

    barrier: BarrierRef
    offset: int
    arrivals: int
    expected: int
    delivered: bool


@dataclass(frozen=True, kw_only=True)
class Access:
    """A location read or written, from issue to completion of the op.

    ``tile`` is the K tile that is fetched (write) or meant (read), None where there is none.
    """

    location: Location
    offset: int
    writes: bool
    proxy: Proxy
    tile: Expr | None


def ordinary_access(location: Location, *, writes: bool, proxy: Proxy, offset: int) -> Access:
    """An access that names no K tile."""
    return Access(location=location, offset=offset, writes=writes, proxy=proxy, tile=None)


Queue = Literal["wgmma", "tma-store"]


@dataclass(frozen=True, kw_only=True)
class GroupEffect:
    """Join the open async group of a queue, close it, or wait until at most ``depth`` pend.

    ``reads_only``: the wait covers only the reading of the sources (``.read`` of
    cp.async.bulk.wait_group), not the writes.
    """

    queue: Queue
    action: Literal["join", "commit", "wait"]
    depth: int
    reads_only: bool


@dataclass(frozen=True, kw_only=True)
class CursorEffect:
    """Move the replica's cursor of a ring: by one use, or to the use that ``to`` gives."""

    ring: str
    to: Expr | None


Fence = Literal["wgmma", "proxy"]


@dataclass(frozen=True, kw_only=True)
class Effects:
    """All that an op does."""

    executor: Executor
    engine: Engine
    wait: BarrierWait | None = None
    signal: Signal | None = None
    sync: NamedRef | None = None
    accesses: tuple[Access, ...] = ()
    group: GroupEffect | None = None
    cursor: CursorEffect | None = None
    fence: Fence | None = None
