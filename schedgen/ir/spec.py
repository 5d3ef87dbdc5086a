"""When a schedule is well formed: a table of rows, one code and one sentence each.

A row looks at the whole schedule and yields what it objects to.  These are the faults that make a
schedule meaningless; what a meaningful schedule does wrong is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from schedgen.ir.effects import (
    AccRef,
    BufferRef,
    Executor,
    Location,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Binary, Expr, Int, Name, Stages, atoms
from schedgen.ir.indices import index_objections
from schedgen.ir.ops import Acquire, Await, Load, Mma, Op, Place, SetCursor
from schedgen.ir.problems import IllFormed, did_you_mean
from schedgen.ir.schedule import ELEMENT_BYTES, If, Loop, Role, Schedule, Stmt, statements

MOST_WARPS = 1024
"""Warps of a role beyond which it is not even unrolled (a CTA has 32)."""

MOST_PARTS = 1024
"""Parts of a buffer, or barriers of an array, beyond which they are not even numbered."""

MOST_OBJECTIONS = 10
"""Faults of one text that are told; each is said once, where it stands first."""

Rings = Mapping[str, list[str]]
"""The slots of each ring."""

Objection = tuple[str, Place | None] | tuple[str, Place | None, str | None]
"""A sentence, a place, and a way out where there is one."""


@dataclass(frozen=True)
class Row:
    """One rule: its code, the sentence it enforces, and the check.

    ``last``: it looks only at what breaks no rule before it.
    """

    code: str
    rule: str
    check: Callable[[Schedule], Iterator[Objection]]
    last: bool = False


def verify(schedule: Schedule) -> None:
    """Raise `IllFormed` for the first rule of `SPEC` that the schedule breaks, with the others."""
    found = list(islice(_objections(schedule), MOST_OBJECTIONS))
    if found:
        found[0].others = tuple(found[1:])
        raise found[0]


def _objections(schedule: Schedule) -> Iterator[IllFormed]:
    said: set[tuple[str, str]] = set()
    for row in SPEC:
        if row.last and said:
            return
        for message, place, *rest in row.check(schedule):
            if (row.code, message) not in said:
                said.add((row.code, message))
                help = rest[0] if rest else None
                yield IllFormed(code=row.code, message=message, place=place, help=help)


def _all_ops(s: Schedule) -> Iterator[tuple[Role, Op]]:
    for role in s.roles:
        for stmt in statements(role.body):
            if isinstance(stmt, Op):
                yield role, stmt


def _names_are_unique(s: Schedule) -> Iterator[Objection]:
    storage = [*s.rings, *s.barriers, *s.named, *s.accumulators, *s.buffers]
    groups = [("name", storage), ("role", list(s.roles))]
    groups += [(f"slot of ring {r.name}", list(r.slots)) for r in s.rings]
    for kind, things in groups:
        seen: set[str] = set()
        for thing in things:
            if thing.name in seen:
                yield f"the {kind} `{thing.name}` is declared twice", thing.place
            seen.add(thing.name)
    tensors = [s.problem.out.name, s.problem.left.name, s.problem.right.name]
    if len(set(tensors)) != len(tensors):
        yield "the three tensors of the problem need three names", s.problem.place


def _numbers_are_in_range(s: Schedule) -> Iterator[Objection]:
    sizes = [("tile m", s.tile.m), ("tile n", s.tile.n), ("tile k", s.tile.k)]
    for what, value in [*sizes, ("raster group", s.tile.raster[1])]:
        if value < 1:
            yield f"{what} is {value}; it must be 1 or more", s.tile.place
    for ring in s.rings:
        for what, value in (("empty count", ring.empty), ("full count", ring.full)):
            if value < 1:
                yield (
                    f"the {what} of ring `{ring.name}` is {value}; it must be 1 or more",
                    (ring.place),
                )
        for slot in ring.slots:
            if min(slot.rows, slot.cols, slot.slab_count) < 1:
                yield f"slot `{slot.name}` has an empty shape", slot.place
    for barrier in s.barriers:
        if barrier.count < 1:
            yield f"the count of barrier `{barrier.name}` must be 1 or more", barrier.place
    arrays = [(b.name, b.size, "barriers", b.place) for b in s.barriers]
    arrays += [(b.name, b.parts, "parts", b.place) for b in s.buffers]
    for name, size, things, place in arrays:
        if size is not None and not 1 <= size <= MOST_PARTS:
            yield f"`{name}` has {size} {things}; it must be 1 to {MOST_PARTS}", place
    for named in s.named:
        if named.threads < 1 or (named.size is not None and named.size < 1):
            yield f"named barrier `{named.name}` needs positive numbers", named.place
    for box in [*s.accumulators, *s.buffers]:
        if min(box.rows, box.cols) < 1:
            yield f"`{box.name}` has an empty shape", box.place
    for role in s.roles:
        if role.replica_count < 1 or role.warps < 1:
            yield f"role `{role.name}` needs at least one replica and one warp", role.place
        if role.replica_count * role.warps > MOST_WARPS:
            message = f"role `{role.name}` has {role.replica_count * role.warps} warps"
            yield f"{message}; no more than {MOST_WARPS} are looked at", role.place
    for _, op in _all_ops(s):
        for field in ("depth", "bytes"):
            if getattr(op, field, 0) < 0:
                yield f"`{op.text}`: the number is negative", op.place


def _rings_have_stages(s: Schedule) -> Iterator[Objection]:
    for ring in s.rings:
        if ring.stages < 1:
            message = f"ring `{ring.name}` has {ring.stages} stages; it needs at least 1"
            yield message, ring.place


def _element_types_are_known(s: Schedule) -> Iterator[Objection]:
    known = ", ".join(ELEMENT_BYTES)
    p = s.problem
    typed = [(t.dtype, p.place) for t in (p.out, p.left, p.right)]
    typed += [(slot.dtype, slot.place) for ring in s.rings for slot in ring.slots]
    typed += [(box.dtype, box.place) for box in [*s.accumulators, *s.buffers]]
    for dtype, place in typed:
        if dtype not in ELEMENT_BYTES:
            near = did_you_mean(dtype, ELEMENT_BYTES)
            yield f"unknown element type `{dtype}`; known are {known}", place, near


def _tensors_fit_the_problem(s: Schedule) -> Iterator[Objection]:
    p = s.problem
    dims = (p.out.dims, p.left.dims, p.right.dims)
    if dims != (("m", "n"), ("m", "k"), ("n", "k")):
        yield "the problem must read out[m, n] = left[m, k] * right[n, k]", p.place
    operands = {p.left.name: p.left, p.right.name: p.right}
    for ring in s.rings:
        for slot in ring.slots:
            if slot.tensor not in operands:
                message = f"slot `{slot.name}` holds `{slot.tensor}`, which is no operand"
                yield message, slot.place, f"the operands are `{'` and `'.join(operands)}`"
            elif slot.dtype in ELEMENT_BYTES and slot.dtype != operands[slot.tensor].dtype:
                what = f"`{slot.dtype}` of slot `{slot.name}` is not the type of `{slot.tensor}`"
                yield what, slot.place, f"write `{operands[slot.tensor].dtype}`"
    for acc in s.accumulators:
        if acc.tensor != p.out.name:
            yield f"accumulator `{acc.name}` is no part of the output `{p.out.name}`", acc.place


_Unknown = tuple[str, str | None]
"""A sentence on a name that nothing has, and the one that may be meant."""


def _names_are_known(s: Schedule) -> Iterator[Objection]:
    rings = {r.name: [slot.name for slot in r.slots] for r in s.rings}
    for _, op in _all_ops(s):
        for message, near in filter(None, _unknown_names(s, rings, op)):
            yield message, op.place, near
    for where, expr, place in _expressions(s):
        for atom in atoms(expr):
            if isinstance(atom, Stages) and atom.ring not in rings:
                message = f"{where} names the ring `{atom.ring}`, which does not exist"
                yield message, place, did_you_mean(atom.ring, rings)


def _unknown_names(s: Schedule, rings: Rings, op: Op) -> Iterator[_Unknown | None]:
    effects = op.effects()
    for end in (effects.wait, effects.signal):
        ref = None if end is None else end.barrier
        if isinstance(ref, RingBarrier):
            yield _unknown("ring", ref.ring, rings)
        elif isinstance(ref, PlainBarrier):
            yield _unknown("barrier", ref.name, [b.name for b in s.barriers])
    if effects.cursor is not None:
        yield _unknown("ring", effects.cursor.ring, rings)
    if effects.sync is not None:
        yield _unknown("named barrier", effects.sync.name, [b.name for b in s.named])
    for access in effects.accesses:
        yield _unknown_location(s, rings, access.location)


def _unknown(kind: str, name: str, known: Iterable[str]) -> _Unknown | None:
    names = list(known)
    if name in names:
        return None
    return f"there is no {kind} `{name}`", did_you_mean(name, names)


def _unknown_location(s: Schedule, rings: Rings, at: Location) -> _Unknown | None:
    out = s.problem.out.name
    match at:
        case SlotRef(ring, slot, _):
            if ring not in rings:
                return _unknown("ring", ring, rings)
            message = f"ring `{ring}` has no slot `{slot}`"
            return None if slot in rings[ring] else (message, did_you_mean(slot, rings[ring]))
        case BufferRef(name, _):
            buffers = [b.name for b in s.buffers]
            message = f"there is no buffer `{name}` (and it is not the output)"
            near = did_you_mean(name, [*buffers, out])
            return None if name in buffers else (message, near)
        case AccRef(name):
            return _unknown("accumulator", name, [a.name for a in s.accumulators])
        case OutRef(name, _, _):
            message = f"`{name}` is not the output"
            return None if name == out else (message, f"the output is `{out}`")


def _sides_fit(s: Schedule) -> Iterator[Objection]:
    for _, op in _all_ops(s):
        side = {"release": "empty", "expect": "full"}.get(op.keyword)
        ref = getattr(op, "barrier", None)
        if side and isinstance(ref, RingBarrier) and ref.side != side:
            yield f"`{op.keyword}` names {ref}; it works on `{ref.ring}.{side}`", op.place


def _offsets_have_uses(s: Schedule) -> Iterator[Objection]:
    for _, op in _all_ops(s):
        effects = op.effects()
        on_ring = effects.signal is not None and isinstance(effects.signal.barrier, RingBarrier)
        on_slot = any(isinstance(a.location, SlotRef) for a in effects.accesses)
        if op.offset and not (effects.wait is not None or on_ring or on_slot):
            yield f"`{op.text}` names no use that a lag or ahead could shift", op.place


def _executors_can_change(s: Schedule) -> Iterator[Objection]:
    for _, op in _all_ops(s):
        fixed = op.executed_by is Executor.COLLECTIVE or op.effects().cursor is not None
        if op.by is not None and fixed:
            yield f"`{op.text}`: `{op.keyword}` is executed by every warp of the role", op.place


def _expressions(s: Schedule) -> Iterator[tuple[str, Expr, Place | None]]:
    for where, expr, place, _ in _scoped(s):
        yield where, expr, place


Scoped = tuple[str, Expr, Place | None, frozenset[str]]


def _scoped(s: Schedule) -> Iterator[Scoped]:
    """Every expression with the names that it may use."""
    for ring in s.rings:
        for slot in ring.slots:
            yield f"slot `{slot.name}`", slot.first_row, slot.place, frozenset({"i"})
    for buffer in s.buffers:
        if buffer.alias is not None:
            yield f"buffer `{buffer.name}`", buffer.alias.stage, buffer.place, frozenset({"i"})
    for acc in s.accumulators:
        for expr in (acc.first_row, acc.first_col):
            yield f"accumulator `{acc.name}`", expr, acc.place, frozenset({"self"})
    for role in s.roles:
        yield from _scoped_body(role.body, frozenset({"K"}))


def _scoped_body(body: tuple[Stmt, ...], scope: frozenset[str]) -> Iterator[Scoped]:
    for stmt in body:
        if isinstance(stmt, Loop):
            for expr in (stmt.first, stmt.end):
                yield "a loop bound", expr, stmt.place, frozenset({"K"})
            yield from _scoped_body(stmt.body, scope | ({stmt.var} - {"_"}))
        elif isinstance(stmt, If):
            for expr in (stmt.guard.left, stmt.guard.right):
                yield "a guard", expr, stmt.place, scope
            yield from _scoped_body(stmt.body, scope)
        else:
            for expr, extra in _op_expressions(stmt):
                yield f"`{stmt.text}`", expr, stmt.place, scope | extra


def _op_expressions(op: Op) -> Iterator[tuple[Expr, frozenset[str]]]:
    if isinstance(op, Load | Mma):
        yield op.tile, frozenset()
    if isinstance(op, Acquire | Await) and op.parity is not None:
        yield op.parity, frozenset({"self"})
    if isinstance(op, SetCursor):
        yield op.to, frozenset({"self"})
    effects = op.effects()
    for access in effects.accesses:
        at = access.location
        if isinstance(at, SlotRef) and at.slab is not None:
            yield at.slab, frozenset({"self"})
        elif isinstance(at, BufferRef) and at.part is not None:
            yield at.part, frozenset({"self"})
        elif isinstance(at, OutRef):
            yield from ((expr, frozenset({"self"})) for expr in at.corner or ())
    for end in (effects.wait, effects.signal):
        ref = None if end is None else end.barrier
        if isinstance(ref, PlainBarrier) and ref.index is not None:
            yield ref.index, frozenset({"self"})
    if effects.sync is not None and effects.sync.index is not None:
        yield effects.sync.index, frozenset({"self"})


_WHOLE = "a declaration holds for the whole kernel: numbers, and"
_DECLARED = {"slot": f"{_WHOLE} `i`", "buff": f"{_WHOLE} `i`", "accu": f"{_WHOLE} `self`"}


def _names_are_in_scope(s: Schedule) -> Iterator[Objection]:
    for where, expr, place, scope in _scoped(s):
        for atom in atoms(expr):
            if isinstance(atom, Name) and atom.name not in scope:
                may = ", ".join(f"`{n}`" for n in sorted(scope)) or "numbers only"
                help = did_you_mean(atom.name, scope) or _DECLARED.get(where[:4])
                yield f"`{atom.name}` has no value in {where} (may use: {may})", place, help


def _loop_variables_are_new(s: Schedule) -> Iterator[Objection]:
    for role in s.roles:
        for stmt in statements(role.body):
            if isinstance(stmt, Loop) and stmt.var in ("K", "self", "i"):
                yield f"a loop variable cannot be called `{stmt.var}`", stmt.place


def _divisors_are_positive(s: Schedule) -> Iterator[Objection]:
    def divisors(expr: Expr) -> Iterator[Expr]:
        if isinstance(expr, Binary):
            if expr.op in ("/", "%"):
                yield expr.right
            yield from divisors(expr.left)
            yield from divisors(expr.right)

    for where, expr, place in _expressions(s):
        for divisor in divisors(expr):
            positive = isinstance(divisor, Int) and divisor.value > 0
            if not positive and not isinstance(divisor, Stages):
                yield f"{where} divides by `{divisor}`; only a positive number or R.stages", place


def _aliases_fit(s: Schedule) -> Iterator[Objection]:
    """A part that lies in a ring fits into one unindexed slot of an existing stage."""
    slots = {(r.name, slot.name): (r, slot) for r in s.rings for slot in r.slots}
    for buffer in s.buffers:
        alias = buffer.alias
        if alias is None:
            continue
        ring, slot = slots.get((alias.ring, alias.slot), (None, None))
        if ring is None or slot is None:
            known = [f"{ring}.{slot}" for ring, slot in slots]
            near = did_you_mean(f"{alias.ring}.{alias.slot}", known)
            yield f"there is no slot `{alias.ring}.{alias.slot}`", buffer.place, near
            continue
        where = f"`{alias.ring}.{alias.slot}`"
        if slot.slabs is not None:
            yield f"`{buffer.name}` lies in {where}, which has slabs", buffer.place
        elif buffer.part_bytes > slot.slab_bytes:
            needed = f"a part of `{buffer.name}` has {buffer.part_bytes} bytes"
            yield f"{needed}; {where} has {slot.slab_bytes}", buffer.place
        for part in range(buffer.part_count):
            stage = buffer.stage_of(part, s.stages)
            if not 0 <= stage < ring.stages:
                text = f"part {part} of `{buffer.name}` lies in stage {stage}"
                yield f"{text}; ring `{ring.name}` has {ring.stages}", buffer.place


SPEC: tuple[Row, ...] = (
    Row("SG104", "a name is declared once", _names_are_unique),
    Row("SG105", "a ring has at least one stage", _rings_have_stages),
    Row("SG110", "counts, shapes and depths are in range", _numbers_are_in_range),
    Row("SG108", "element types are known", _element_types_are_known),
    Row("SG109", "slots and accumulators belong to the problem", _tensors_fit_the_problem),
    Row("SG103", "every name that is used is declared", _names_are_known),
    Row("SG111", "release works on empty, expect on full barriers", _sides_fit),
    Row("SG117", "lag and ahead stand on ops that name uses", _offsets_have_uses),
    Row("SG118", "collective ops and cursors belong to the whole role", _executors_can_change),
    Row("SG107", "a name in an expression has a value there", _names_are_in_scope),
    Row("SG112", "divisors are positive numbers", _divisors_are_positive),
    Row("SG113", "loop variables do not hide K, self or i", _loop_variables_are_new),
    Row("SG120", "a buffer in a ring fits into a slot", _aliases_fit, last=True),
    Row("SG106", "slabs are indexed, and inside their slot", index_objections, last=True),
)  # fmt: skip
