"""A schedule: the K-loop of a Hopper GEMM as an immutable value.

Read `Schedule` from the top: the problem, the storage (rings, buffers, accumulators), the
barriers, and the roles that run concurrently.  Places in a source text and the names of schedule
and file take no part in equality.

Words: a *slot* is storage, a *stage* a place in a ring, a *slab* a part of a slot, a *use* a turn
of a stage, a *tile* a piece of the problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schedgen.ir.effects import BufferRef, SlotRef
from schedgen.ir.expr import Compare, Expr, evaluate
from schedgen.ir.ops import Op, Place

ELEMENT_BYTES: Mapping[str, int] = {"f16": 2, "bf16": 2, "f32": 4}
"""Element types the language knows, with their size in bytes."""

WARP_THREADS = 32
WARPGROUP_WARPS = 4


@dataclass(frozen=True)
class Tensor:
    """A matrix in global memory: name, its two dimensions' names, element type."""

    name: str
    dims: tuple[str, str]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """``out[m, n] = left[m, k] * right[n, k]``; both operands are K-major."""

    out: Tensor
    left: Tensor
    right: Tensor
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Tile:
    """The output tile of one CTA (m x n elements), the K step, and the raster group.

    ``raster`` ("m" or "n", width) walks the CTAs in groups of that many tiles along a dimension.
    """

    m: int
    n: int
    k: int
    raster: tuple[str, int]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A named buffer of each stage of a ring; ``slabs`` None means one slab without an index.

    Slab i holds a ``rows x cols`` box of ``tensor`` that starts at row ``first_row`` (in ``i``) of
    the CTA's tile.
    """

    name: str
    slabs: int | None
    dtype: str
    rows: int
    cols: int
    tensor: str
    first_row: Expr
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def slab_bytes(self) -> int:
        """Bytes of one slab, which is also what one load of it delivers."""
        return self.rows * self.cols * ELEMENT_BYTES.get(self.dtype, 0)

    @property
    def slab_count(self) -> int:
        return 1 if self.slabs is None else self.slabs

    def row_of(self, slab: int) -> int:
        return evaluate(self.first_row, {"i": slab}, {})


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Stages of slots, each with a full and an empty mbarrier of the given arrival counts."""

    name: str
    stages: int
    empty: int
    full: int
    slots: tuple[Slot, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def slot(self, name: str) -> Slot:
        return next(s for s in self.slots if s.name == name)

    @property
    def stage_bytes(self) -> int:
        return sum(s.slab_bytes * s.slab_count for s in self.slots)


@dataclass(frozen=True, kw_only=True)
class Barrier:
    """A plain mbarrier, or an array of ``size``."""

    name: str
    count: int
    size: int | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class NamedBarrier:
    """Hardware named barriers (``bar.sync``); ``threads`` enter before any returns."""

    name: str
    size: int | None
    threads: int
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """Registers of each replica that names it: a box of the output tile."""

    name: str
    dtype: str
    rows: int
    cols: int
    tensor: str
    first_row: Expr
    first_col: Expr
    place: Place | None = field(default=None, compare=False, repr=False)

    def origin(self, replica: int) -> tuple[int, int]:
        """Row and column of the box in the CTA's tile."""
        names = {"self": replica}
        return evaluate(self.first_row, names, {}), evaluate(self.first_col, names, {})


@dataclass(frozen=True)
class Alias:
    """A buffer inside a ring: part i lies in the slot at the stage that ``stage`` (in i) gives."""

    ring: str
    slot: str
    stage: Expr


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """A staging buffer in shared memory: ``parts`` boxes of ``rows x cols`` (None: one, no index).

    With ``alias`` it has no memory of its own.
    """

    name: str
    dtype: str
    rows: int
    cols: int
    parts: int | None = None
    alias: Alias | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def part_bytes(self) -> int:
        return self.rows * self.cols * ELEMENT_BYTES.get(self.dtype, 0)

    @property
    def part_count(self) -> int:
        return 1 if self.parts is None else self.parts

    @property
    def bytes(self) -> int:
        """Shared memory of its own."""
        return 0 if self.alias is not None else self.part_bytes * self.part_count

    def stage_of(self, part: int, stages: Mapping[str, int]) -> int:
        """The stage of its ring in which a part of an aliased buffer lies."""
        assert self.alias is not None
        return evaluate(self.alias.stage, {"i": part}, stages)


@dataclass(frozen=True, kw_only=True)
class Loop:
    """``for var in first..end``: end excluded; ``var`` is ``_`` where it is not used."""

    var: str
    first: Expr
    end: Expr
    body: tuple[Stmt, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class If:
    """A guarded block."""

    guard: Compare
    body: tuple[Stmt, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


Stmt = Op | Loop | If


@dataclass(frozen=True, kw_only=True)
class Role:
    """Warps that run one program, each at its own pace.

    ``replicas`` None is one role without an index; n is n roles with ``self`` = 0..n-1.
    ``warps`` counts the warps of one replica (a warp group has four).
    """

    name: str
    replicas: int | None
    warps: int
    body: tuple[Stmt, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def replica_count(self) -> int:
        return 1 if self.replicas is None else self.replicas

    def label(self, replica: int) -> str:
        """``producer`` or ``consumer[1]``."""
        return self.name if self.replicas is None else f"{self.name}[{replica}]"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A whole K-loop schedule of one CTA."""

    name: str = field(compare=False)
    problem: Problem
    tile: Tile
    rings: tuple[Ring, ...]
    barriers: tuple[Barrier, ...]
    named: tuple[NamedBarrier, ...]
    accumulators: tuple[Accumulator, ...]
    buffers: tuple[Buffer, ...]
    roles: tuple[Role, ...]
    source: str | None = field(default=None, compare=False, repr=False)

    def ring(self, name: str) -> Ring:
        return next(r for r in self.rings if r.name == name)

    def barrier(self, name: str) -> Barrier:
        return next(b for b in self.barriers if b.name == name)

    def buffer(self, name: str) -> Buffer:
        return next(b for b in self.buffers if b.name == name)

    def storage(self, ref: SlotRef | BufferRef) -> Slot | Buffer:
        """The slot or buffer that a reference names."""
        if isinstance(ref, BufferRef):
            return self.buffer(ref.name)
        return self.ring(ref.ring).slot(ref.slot)

    def accumulator(self, name: str) -> Accumulator:
        return next(a for a in self.accumulators if a.name == name)

    @property
    def stages(self) -> Mapping[str, int]:
        """Stages of each ring, for evaluating expressions."""
        return {r.name: r.stages for r in self.rings}

    @property
    def warps(self) -> int:
        return sum(r.warps * r.replica_count for r in self.roles)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body, outer before inner, in text order."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, Loop | If):
            yield from statements(stmt.body)


def ops_of(body: tuple[Stmt, ...]) -> Iterator[Op]:
    """Every op of a body in text order."""
    return (s for s in statements(body) if isinstance(s, Op))


def expect_schedule(value: object) -> None:
    """Raise `TypeError`, with the way to one, for what is no schedule."""
    if not isinstance(value, Schedule):
        shown = f"`{value}`" if isinstance(value, str) and "\n" not in value else "this"
        message = f"{shown} is a {type(value).__name__}, not a Schedule: sg.load takes a kernel's"
        raise TypeError(f"{message} name or a .sched file, sg.parse a text")
