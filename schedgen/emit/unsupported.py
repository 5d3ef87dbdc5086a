"""What the tilus emitter cannot say, found before a line is written.

The emitter's class: rings, one K-loop or several with guards, TMA loads, wgmma groups in flight
at any depth, lag and ahead, and a plain store of the accumulator.  Everything else that the
language can express is refused here by name, never left out of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.ir.effects import OutRef, PlainBarrier, SlotRef
from schedgen.ir.expr import Binary, Compare, EvaluationError, Expr, evaluate
from schedgen.ir.ops import (
    Acquire,
    Advance,
    Arrive,
    Commit,
    Expect,
    Fence,
    Load,
    Mma,
    Op,
    Place,
    Release,
    Store,
    Wait,
)
from schedgen.ir.schedule import WARPGROUP_WARPS, If, Loop, Role, Schedule, statements

EMITTED_OPS = (Acquire, Advance, Arrive, Commit, Expect, Fence, Load, Mma, Release, Store, Wait)
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
    for barrier in s.barriers:
        yield f"the plain barrier `{barrier.name}` cannot be emitted", None, barrier.place
    for named in s.named:
        yield f"the named barrier `{named.name}` cannot be emitted", None, named.place
    for buffer in s.buffers:
        yield f"the staging buffer `{buffer.name}` cannot be emitted", None, buffer.place
    if s.warps > MOST_WARPS:
        yield f"{s.warps} warps do not fit one block; it has at most {MOST_WARPS}", None, None
    yield from _types(s)
    for role in s.roles:
        yield from _role(s, role)


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


def _role(s: Schedule, role: Role) -> Iterator[Objection]:
    for stmt in statements(role.body):
        match stmt:
            case Loop():
                yield from _expression(stmt.first, None, stmt.place)
                yield from _expression(stmt.end, None, stmt.place)
            case If(guard=Compare(_, left, right)):
                yield from _expression(left, None, stmt.place)
                yield from _expression(right, None, stmt.place)
            case _:
                yield from _op(role, stmt)


def _expression(expr: Expr, op: Op | None, place: Place | None) -> Iterator[Objection]:
    """C rounds towards zero where the language rounds down: no division is emitted."""
    if isinstance(expr, Binary):
        if expr.op in ("/", "%"):
            yield f"`{expr}` divides, which cannot be emitted", op, place
        yield from _expression(expr.left, op, place)
        yield from _expression(expr.right, op, place)


def _op(role: Role, op: Op) -> Iterator[Objection]:
    if not isinstance(op, EMITTED_OPS):
        yield f"`{op.text}`: `{op.keyword}` cannot be emitted", op, op.place
    if op.by is not None:
        yield f"`{op.text}`: `by {op.by}` cannot be emitted", op, op.place
    match op:
        case Acquire(parity=parity) if parity is not None:
            yield f"`{op.text}`: an explicit parity cannot be emitted", op, op.place
        case Arrive(barrier=PlainBarrier()):
            yield f"`{op.text}`: a plain barrier cannot be emitted", op, op.place
        case Load(tile=tile, into=into):
            yield from _expression(tile, op, op.place)
            yield from _slab(role, op, into)
        case Mma(a=a, b=b):
            yield from _slab(role, op, a)
            yield from _slab(role, op, b)
            if role.warps != WARPGROUP_WARPS:
                text = f"`{op.text}`: role `{role.name}` has {role.warps} warps; wgmma needs"
                yield f"{text} a warp group of {WARPGROUP_WARPS}", op, op.place
        case Store(to=to) if not isinstance(to, OutRef):
            yield f"`{op.text}`: only a store to the output can be emitted", op, op.place
        case _:
            pass


def _slab(role: Role, op: Op, ref: SlotRef) -> Iterator[Objection]:
    if ref.slab is None:
        return
    try:
        for replica in range(role.replica_count):
            evaluate(ref.slab, {"self": replica}, {})
    except EvaluationError:
        yield f"`{op.text}`: the slab of {ref} is not a number in every replica", op, op.place
