"""What the tilus emitter cannot say, found before a line is written.

The emitter's class: rings, one K-loop or several with guards, TMA loads, wgmma groups in flight
at any depth, lag and ahead, and an accumulator that is stored, at once or through a staging buffer
and TMA.  Everything else that the language can express is refused here by name, never left out of
the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.happens_before.limits import SLAB_COLUMNS
from schedgen.ir.effects import BufferRef, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.expr import Binary, Compare, EvaluationError, Expr, evaluate
from schedgen.ir.ops import (
    Acquire,
    Advance,
    Arrive,
    Await,
    Commit,
    Expect,
    Fence,
    FenceProxy,
    Load,
    Mma,
    Op,
    Place,
    Release,
    Store,
    StoreCommit,
    StoreWait,
    Sync,
    TmaStore,
    Wait,
)
from schedgen.ir.schedule import (
    WARP_THREADS,
    WARPGROUP_WARPS,
    Buffer,
    If,
    Loop,
    Role,
    Schedule,
    ops_of,
    statements,
)

EMITTED_OPS = (
    Acquire, Advance, Arrive, Await, Commit, Expect, Fence, FenceProxy, Load, Mma, Release, Store,
    StoreCommit, StoreWait, Sync, TmaStore, Wait,
)  # fmt: skip
MOST_SYNCING_GROUPS = 4
"""Thread groups for which tilus 0.2.0 has a hardware barrier; the next gets an mbarrier."""
LOADED_TYPES = ("f16", "bf16")
MOST_WARPS = 32

Objection = tuple[str, Op | None, Place | None]


class EmitUnsupported(Exception):
    """The schedule holds a construct that the emitter has no tilus for.

    ``op`` is the op that holds it, if it is one; ``place`` where it stands in the source.
    """

    def __init__(self, message: str, *, op: Op | None, place: Place | None) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.place = place

    def __str__(self) -> str:
        return self.message if self.place is None else f"{self.message} --> {self.place}"


def refuse_unsupported(schedule: Schedule) -> None:
    """Raise `EmitUnsupported` for the first construct outside the emitter's class."""
    for message, op, place in _objections(schedule):
        raise EmitUnsupported(message, op=op, place=place)


def _objections(s: Schedule) -> Iterator[Objection]:
    for buffer in s.buffers:
        yield from _buffer(s, buffer)
    if s.warps > MOST_WARPS:
        yield f"{s.warps} warps do not fit one block; it has at most {MOST_WARPS}", None, None
    yield from _types(s)
    for role in s.roles:
        yield from _role(s, role)
    yield from _syncs(s)


def _types(s: Schedule) -> Iterator[Objection]:
    for tensor in (s.problem.left, s.problem.right):
        if tensor.dtype not in LOADED_TYPES:
            text = f"operand `{tensor.name}` is {tensor.dtype}; wgmma here reads f16 or bf16"
            yield text, None, s.problem.place
    for ring in s.rings:
        for slot in ring.slots:
            if slot.cols != s.tile.k:
                text = f"slot `{slot.name}` is {slot.cols} wide, but a K tile is {s.tile.k}"
                yield text, None, slot.place


def _syncs(s: Schedule) -> Iterator[Objection]:
    """tilus has `self.sync()` for the threads of a group: each barrier belongs to one replica."""
    owners: dict[tuple[str, int | None], tuple[str, int]] = {}
    syncs = ((r, op) for r in s.roles for op in ops_of(r.body) if isinstance(op, Sync))
    for role, op in syncs:
        named = next(n for n in s.named if n.name == op.barrier.name)
        if named.threads != role.warps * WARP_THREADS:
            text = f"only a barrier of all threads of {role.name} can be emitted"
            yield text, op, op.place
        for i in range(role.replica_count):
            index = op.barrier.index
            key = named.name, None if index is None else evaluate(index, {"self": i}, {})
            if owners.setdefault(key, (role.name, i)) != (role.name, i):
                yield "two groups share the barrier", op, op.place
        if _syncing_groups(s, until=op) > MOST_SYNCING_GROUPS:
            text = f"tilus has hardware barriers for {MOST_SYNCING_GROUPS} groups"
            yield f"{text}, and the next would get another kind", op, op.place


def _syncing_groups(s: Schedule, *, until: Op) -> int:
    """Replicas with a hardware barrier of their own, up to the role of the op.

    The whole block has another one, and a single warp needs none.
    """
    count = 0
    for role in s.roles:
        syncs = [op for op in ops_of(role.body) if isinstance(op, Sync)]
        if syncs and role.warps > 1 and role.warps != s.warps:
            count += role.replica_count
        if any(op is until for op in syncs):
            break
    return count


def _buffer(s: Schedule, buffer: Buffer) -> Iterator[Objection]:
    if buffer.dtype not in LOADED_TYPES or buffer.cols % SLAB_COLUMNS:
        text = f"the staging buffer `{buffer.name}` is not made of slabs of {SLAB_COLUMNS} columns"
        yield f"{text} of f16 or bf16", None, buffer.place
    if buffer.dtype != s.problem.out.dtype:
        text = f"the staging buffer `{buffer.name}` is {buffer.dtype}; the output"
        yield f"{text} is {s.problem.out.dtype}", None, buffer.place
    alias = buffer.alias
    if alias is None:
        return
    slot = s.ring(alias.ring).slot(alias.slot)
    same = slot.slab_bytes == buffer.part_bytes and slot.dtype == buffer.dtype
    if not same or slot.cols != SLAB_COLUMNS:
        text = f"a part of `{buffer.name}` does not fill `{alias.ring}.{alias.slot}` exactly"
        yield text, None, buffer.place


def _role(s: Schedule, role: Role) -> Iterator[Objection]:
    for stmt in role.body:
        for op in [] if isinstance(stmt, Op) else ops_of(stmt.body):
            if isinstance(op, Await):
                text = "its phase is counted where it is written, outside loops"
                yield f"{text} and guards only", op, op.place
    for stmt in statements(role.body):
        match stmt:
            case Loop():
                yield from _expression(stmt.first, None, stmt.place)
                yield from _expression(stmt.end, None, stmt.place)
            case If(guard=Compare(_, left, right)):
                yield from _expression(left, None, stmt.place)
                yield from _expression(right, None, stmt.place)
            case _:
                yield from _op(s, role, stmt)


def _expression(expr: Expr, op: Op | None, place: Place | None) -> Iterator[Objection]:
    """C rounds towards zero where the language rounds down: no division is emitted."""
    if isinstance(expr, Binary):
        if expr.op in ("/", "%"):
            yield f"`{expr}` divides, which cannot be emitted", op, place
        yield from _expression(expr.left, op, place)
        yield from _expression(expr.right, op, place)


def _op(s: Schedule, role: Role, op: Op) -> Iterator[Objection]:
    if not isinstance(op, EMITTED_OPS):
        yield f"`{op.keyword}` cannot be emitted", op, op.place
    if op.by is not None:
        yield f"`by {op.by}` cannot be emitted", op, op.place
    match op:
        case Acquire(parity=parity) if parity is not None:
            yield "an explicit parity cannot be emitted", op, op.place
        case Load(tile=tile, into=into):
            yield from _expression(tile, op, op.place)
            yield from _numbers(role, op, f"the slab of {into}", into.slab)
        case Mma(a=a, b=b):
            yield from _numbers(role, op, f"the slab of {a}", a.slab)
            yield from _numbers(role, op, f"the slab of {b}", b.slab)
            if role.warps != WARPGROUP_WARPS:
                text = f"role `{role.name}` has {role.warps} warps; wgmma needs"
                yield f"{text} a warp group of {WARPGROUP_WARPS}", op, op.place
        case Arrive() | Await() | Sync() | Store() | TmaStore():
            yield from _epilogue_op(s, role, op)
        case _:
            pass


def _epilogue_op(s: Schedule, role: Role, op: Op) -> Iterator[Objection]:
    if isinstance(op, Arrive | Await | Sync) and not isinstance(op.barrier, RingBarrier):
        yield from _numbers(role, op, f"the index of {op.barrier}", op.barrier.index)
    match op:
        case Await(barrier=barrier, parity=parity):
            if parity is not None or op.offset or not isinstance(barrier, PlainBarrier):
                yield "only the next phase of a plain barrier", op, op.place
        case TmaStore(source=SlotRef()):
            yield "only a staging buffer can be stored by TMA", op, op.place
        case TmaStore(source=BufferRef() as ref, to=to):
            if to.corner is None:
                text = "it does not say which rows of the output it writes"
                yield text, op, op.place
            yield from _numbers(role, op, f"the place of {ref} in {to}", ref.part, *to.corner or ())
        case Store(acc=acc, to=BufferRef(name) as ref):
            yield from _numbers(role, op, f"the part of {ref}", ref.part)
            box, buffer = s.accumulator(acc), s.buffer(name)
            if (box.rows, box.cols) != (buffer.rows, buffer.cols):
                text = f"the accumulator is not a whole part of `{name}`"
                yield text, op, op.place
        case _:
            pass


def _numbers(role: Role, op: Op, what: str, *exprs: Expr | None) -> Iterator[Objection]:
    """Indices and corners are written as numbers, one block of code for each replica."""
    try:
        for expr in (expr for expr in exprs if expr is not None):
            for replica in range(role.replica_count):
                evaluate(expr, {"self": replica}, {})
    except EvaluationError:
        yield f"{what} is not a number in every replica", op, op.place
