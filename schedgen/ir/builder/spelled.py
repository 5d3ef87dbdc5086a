"""The calls of the builder that build a given schedule, as a Python program.

``schedgen show INPUT --python`` prints them.  Running them gives an equal schedule.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator

from schedgen.ir.builder.arguments import is_named, method_name, own_fields
from schedgen.ir.effects import (
    BufferRef,
    NamedRef,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages
from schedgen.ir.ops import Op
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import If, Loop, Ring, Role, Schedule, Stmt, expect_schedule
from schedgen.ir.spec import verify

INDENT = "    "
_WORDS = {"K": "sg.K", "self": "sg.SELF", "i": "sg.I"}
_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


def to_python(schedule: Schedule) -> str:
    """A program that leaves the schedule in ``schedule``.

    Raises `IllFormed` for a value that is no schedule.
    """
    expect_schedule(schedule)
    verify(schedule)
    return "\n".join(_Speller(schedule).lines()) + "\n"


class _Speller:
    """Variables for everything that is declared, and the lines."""

    def __init__(self, schedule: Schedule) -> None:
        self.s = schedule
        self.taken = {"sg", "s", "schedule", *keyword.kwlist}
        loops = (stmt.var for role in schedule.roles for stmt in _loops(role.body))
        self.loops = {var: self._variable(var) for var in dict.fromkeys(loops)}
        self.rings = {r.name: self._variable(r.name) for r in schedule.rings}
        self.slots = {
            (r.name, slot.name): self._variable(slot.name)
            for r in schedule.rings
            for slot in r.slots
        }
        s = schedule
        self.plain = {b.name: self._variable(b.name) for b in s.barriers}
        self.named = {n.name: self._variable(n.name) for n in s.named}
        self.accs = {a.name: self._variable(a.name) for a in s.accumulators}
        self.buffers = {b.name: self._variable(b.name) for b in s.buffers}
        self.roles = [self._variable(r.name) for r in s.roles]

    def _variable(self, wanted: str) -> str:
        name = wanted
        number = 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name

    def lines(self) -> Iterator[str]:
        s, t = self.s, self.s.tile
        problem = to_text(s).splitlines()[1].removeprefix("problem ")
        yield "import schedgen as sg"
        yield ""
        yield "s = sg.Builder("
        yield f'{INDENT}"{s.name}",'
        yield f'{INDENT}problem="{problem}",'
        raster = f'("{t.raster[0]}", {t.raster[1]})'
        yield f"{INDENT}tile=sg.Tile(m={t.m}, n={t.n}, k={t.k}, raster={raster}),"
        yield ")"
        for ring in s.rings:
            yield from self._ring(ring)
        for b in s.barriers:
            text = f's.barrier("{b.name}", count={b.count}{_given("size", b.size)})'
            yield f"{self.plain[b.name]} = {text}"
        for n in s.named:
            text = f's.named("{n.name}", threads={n.threads}{_given("size", n.size)})'
            yield f"{self.named[n.name]} = {text}"
        for a in s.accumulators:
            shape = f'"{a.name}", dtype="{a.dtype}", shape=({a.rows}, {a.cols})'
            cols = "" if a.first_col == Int(0) else f", cols={self.expr(a.first_col)}"
            box = f'tensor="{a.tensor}", rows={self.expr(a.first_row)}{cols}'
            yield f"{self.accs[a.name]} = s.acc({shape}, {box})"
        yield from self._buffers()
        for role, variable in zip(s.roles, self.roles, strict=True):
            yield from self._role(role, variable)
        yield "schedule = s.build()"

    def _ring(self, ring: Ring) -> Iterator[str]:
        numbers = f"stages={ring.stages}, empty={ring.empty}, full={ring.full}"
        yield f'{self.rings[ring.name]} = s.ring("{ring.name}", {numbers})'
        for slot in ring.slots:
            shape = f'"{slot.name}", dtype="{slot.dtype}", shape=({slot.rows}, {slot.cols})'
            box = f'tensor="{slot.tensor}", rows={self.expr(slot.first_row)}'
            call = f"{self.rings[ring.name]}.slot({shape}, {box}{_given('slabs', slot.slabs)})"
            yield f"{self.slots[ring.name, slot.name]} = {call}"

    def _buffers(self) -> Iterator[str]:
        for b in self.s.buffers:
            alias = ""
            if b.alias is not None:
                slot = self.slots[b.alias.ring, b.alias.slot]
                alias = f", within={slot}, stage={self.expr(b.alias.stage)}"
            shape = f'"{b.name}", dtype="{b.dtype}", shape=({b.rows}, {b.cols})'
            yield f"{self.buffers[b.name]} = s.buffer({shape}{_given('parts', b.parts)}{alias})"

    def _role(self, role: Role, variable: str) -> Iterator[str]:
        width = f"warps={role.warps}{_given('replicas', role.replicas)}"
        yield f'with s.role("{role.name}", {width}) as {variable}:'
        yield from self._body(role.body, variable, INDENT)

    def _body(self, body: tuple[Stmt, ...], role: str, indent: str) -> Iterator[str]:
        if not body:
            yield f"{indent}pass"
        for stmt in body:
            if isinstance(stmt, Op):
                yield indent + self._op(stmt, role)
                continue
            if isinstance(stmt, Loop):
                bounds = f"{self.expr(stmt.first)}, {self.expr(stmt.end)}"
                bound = "" if stmt.var == "_" else f" as {self.loops[stmt.var]}"
                yield f'{indent}with {role}.loop("{stmt.var}", {bounds}){bound}:'
            else:
                yield f"{indent}with {role}.when({self._guard(stmt.guard)}):"
            yield from self._body(stmt.body, role, indent + INDENT)

    def _op(self, op: Op, role: str) -> str:
        given: list[str] = []
        for field in own_fields(type(op)):
            value = getattr(op, field.name)
            if is_named(field) and value is None:
                continue
            text = self._value(field.name, value)
            given.append(f"{field.name}={text}" if is_named(field) else text)
        if op.offset:
            given.append(f"lag={-op.offset}" if op.offset < 0 else f"ahead={op.offset}")
        if op.by is not None:
            given.append(f'by="{op.by}"')
        return f"{role}.{method_name(type(op))}({', '.join(given)})"

    def _value(self, field: str, value: object) -> str:
        match value:
            case RingBarrier(ring, side):
                return f"{self.rings[ring]}.{side}"
            case PlainBarrier(name, index):
                return self.plain[name] + self._index(index)
            case NamedRef(name, index):
                return self.named[name] + self._index(index)
            case SlotRef(ring, slot, slab):
                return self.slots[ring, slot] + self._index(slab)
            case BufferRef(name, part):
                return self.buffers[name] + self._index(part)
            case OutRef(_, row, col):
                named = (("rows", row), ("cols", col))
                given = [f"{word}={self.expr(x)}" for word, x in named if x is not None]
                return f"s.out.at({', '.join(given)})" if given else "s.out"
            case str():
                return self.accs[value] if field == "acc" else self.rings[value]
            case Int() | Name() | Stages() | Binary():
                return self.expr(value)
            case _:
                return repr(value)

    def _index(self, index: Expr | None) -> str:
        return "" if index is None else f"[{self.expr(index)}]"

    def _guard(self, guard: Compare) -> str:
        right = self.expr(guard.right)
        method = {"==": "equals", "!=": "differs"}.get(guard.op)
        if method is not None:
            return f"{self._kept(guard.left, 9)}.{method}({right})"
        return f"{self._kept(guard.left, 0)} {guard.op} {right}"

    def expr(self, expr: Expr) -> str:
        """Python that makes the expression, or a number that stands for it."""
        match expr:
            case Int(value):
                return str(value)
            case Name(name):
                return _WORDS.get(name) or self.loops[name]
            case Stages(ring):
                return f"{self.rings[ring]}.stages"
            case Binary("min" | "max" as word, left, right):
                return f"sg.{word}({self.expr(left)}, {self.expr(right)})"
            case Binary(op, left, right):
                level = _LEVELS[op]
                first = self._wrapped(left, level)
                if isinstance(left, Int) and isinstance(right, Int):  # Python would add them up
                    first = self._kept(left, level)
                gap = "//" if op == "/" else op
                return f"{first} {gap} {self._wrapped(right, level + 1)}"

    def _wrapped(self, expr: Expr, level: int) -> str:
        low = isinstance(expr, Binary) and _LEVELS.get(expr.op, 9) < level
        return f"({self.expr(expr)})" if low else self.expr(expr)

    def _kept(self, expr: Expr, level: int) -> str:
        """As `_wrapped`, a number as an expression of its own."""
        return f"sg.literal({expr})" if isinstance(expr, Int) else self._wrapped(expr, level)


def _given(word: str, value: int | None) -> str:
    return "" if value is None else f", {word}={value}"


def _loops(body: tuple[Stmt, ...]) -> Iterator[Loop]:
    for stmt in body:
        if isinstance(stmt, Loop):
            yield stmt
        if isinstance(stmt, Loop | If):
            yield from _loops(stmt.body)
