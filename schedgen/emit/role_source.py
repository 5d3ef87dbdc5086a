"""The text of one replica's program: a line of code per op, in program order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest

from schedgen.emit.layout import call
from schedgen.emit.names import Names
from schedgen.emit.plan import (
    Block,
    Plan,
    depends_on_k,
    first_multiplying_loop,
    loads_beside_other_warps,
    never_empty,
    unroll_factor,
)
from schedgen.ir.effects import RingBarrier, SlotRef
from schedgen.ir.expr import Binary, Expr, Int, Name, Stages, evaluate
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
    Store,
    Wait,
)
from schedgen.ir.schedule import If, Loop, Slot, Stmt

DTYPES: Mapping[str, str] = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
"""Element types of the language and their tilus names."""


class RoleSource:
    """The text of one replica's program."""

    def __init__(self, plan: Plan, block: Block, *, static_k: bool) -> None:
        self.plan = plan
        self.block = block
        self.static_k = static_k
        self.joined = None if static_k else first_multiplying_loop(block.role.body)

    def lines(
        self, body: tuple[Stmt, ...], *, indent: int, variables: Mapping[str, str]
    ) -> Iterator[str]:
        rest = iter(zip_longest(body, body[1:]))
        for stmt, following in rest:
            match (stmt, following):
                case Loop(), Wait() if stmt is self.joined:
                    yield from self._loop_and_wait(stmt, following, indent, variables)
                    next(rest)
                case Loop(), _:
                    yield from self._loop(stmt, indent, variables)
                case If(guard=guard), _:
                    left, right = (self._expr(e, variables) for e in (guard.left, guard.right))
                    yield f"{' ' * indent}if {left} {guard.op} {right}:\n"
                    yield from self._nested(stmt.body, indent + 4, variables)
                case op, _:
                    yield from self._op(op, indent, variables)

    def _nested(
        self, body: tuple[Stmt, ...], indent: int, variables: Mapping[str, str]
    ) -> Iterator[str]:
        if not body:
            yield f"{' ' * indent}pass\n"
        yield from self.lines(body, indent=indent, variables=variables)

    def _loop(self, loop: Loop, indent: int, variables: Mapping[str, str]) -> Iterator[str]:
        """A range that is constant and empty crashes tilus: such a loop stands under an `if`."""
        schedule = self.plan.schedule
        first, end = self._expr(loop.first, variables), self._expr(loop.end, variables)
        constant = self.static_k or not depends_on_k(loop)
        if constant and not never_empty(loop, schedule):
            yield f"{' ' * indent}if {end} > {first}:\n"
            indent += 4
        bounds = end if loop.first == Int(0) else f"{first}, {end}, 1"
        factor = unroll_factor(loop, schedule)
        unroll = "" if factor is None else f", unroll={factor}"
        variable = "_"
        if loop.var != "_":
            variable = Names(self.plan.taken | set(variables.values())).free(loop.var)
        yield f"{' ' * indent}for {variable} in self.range({bounds}{unroll}):\n"
        yield from self._nested(loop.body, indent + 4, {**variables, loop.var: variable})

    def _loop_and_wait(
        self, loop: Loop, wait: Wait, indent: int, variables: Mapping[str, str]
    ) -> Iterator[str]:
        """The first loop that multiplies, and the wait after it, under one `if`.

        Where the loop is empty nothing is pending, so the wait may be skipped with it.  If it is
        not, ptxas sees a wait that the path without mma reaches too, and serialises them all.
        """
        first, end = self._expr(loop.first, variables), self._expr(loop.end, variables)
        yield f"{' ' * indent}if {end} > {first}:  # round the wait too, for ptxas (C7514)\n"
        self.joined = None
        yield from self._loop(loop, indent + 4, variables)
        yield from self._op(wait, indent + 4, variables)

    def _op(self, op: Op, indent: int, variables: Mapping[str, str]) -> Iterator[str]:
        match op:
            case (
                Acquire(barrier=RingBarrier() as barrier) | Arrive(barrier=RingBarrier() as barrier)
            ):
                yield call(self._verb(op, barrier), self._arguments(op, barrier), indent=indent)
            case Expect(barrier=barrier, bytes=count):
                arguments = [f"nbytes={count}", *self._arguments(op, barrier)]
                yield call(self._verb(op, barrier), arguments, indent=indent)
            case Load():
                yield from self._load(op, indent, variables)
            case Mma(acc=acc, a=a, b=b):
                arguments = [self._slot(a, op), f"{self._slot(b, op)}.transpose()"]
                arguments.append(self.block.variable_of(acc))
                note = f"tile {op.tile}"
                yield call("self.wgmma.mma", arguments, indent=indent, note=note)
            case Fence():
                yield call("self.wgmma.fence", [], indent=indent)
            case Commit():
                yield call("self.wgmma.commit_group", [], indent=indent)
            case Wait(depth=depth):
                yield call("self.wgmma.wait_group", [str(depth)], indent=indent)
            case Advance(ring=ring):
                yield call(f"{self.plan.rings[ring]}.advance", [], indent=indent)
            case Store():
                yield self._store(op, indent)
            case _:
                raise AssertionError(f"refuse_unsupported let `{op.text}` pass")

    def _verb(self, op: Op, barrier: RingBarrier) -> str:
        return f"{self.plan.rings[barrier.ring]}.{op.keyword}_{barrier.side}"

    def _arguments(self, op: Op, barrier: RingBarrier) -> list[str]:
        moved = self.plan.moved(f"{op.keyword}_{barrier.side}")
        return [self.plan.offsets.arguments(op.offset)] if moved else []

    def _stage(self, ring: str, op: Op) -> str:
        name = self.plan.rings[ring]
        return (
            f"{name}.stage_at({self.plan.offsets.arguments(op.offset)})"
            if op.offset
            else (f"{name}.stage")
        )

    def _slot(self, ref: SlotRef, op: Op) -> str:
        index = self._stage(ref.ring, op)
        if ref.slab is not None:
            index += f", {self._slab(ref)}"
        return f"{self.plan.rings[ref.ring]}.{self.plan.slots[ref.ring, ref.slot]}[{index}]"

    def _slab(self, ref: SlotRef) -> int:
        return 0 if ref.slab is None else evaluate(ref.slab, {"self": self.block.replica}, {})

    def _load(self, op: Load, indent: int, variables: Mapping[str, str]) -> Iterator[str]:
        schedule = self.plan.schedule
        ring, slot = op.into.ring, schedule.ring(op.into.ring).slot(op.into.slot)
        if loads_beside_other_warps(self.block.role, op):
            yield f"{' ' * indent}with self.single_warp():\n"
            indent += 4
        rows = self._rows(slot, slot.row_of(self._slab(op.into)))
        columns = _product(self._expr(op.tile, variables), op.tile, schedule.tile.k)
        yield call(
            "self.tma.global_to_shared",
            [
                f"src={self.plan.tensors[slot.tensor]}",
                f"dst={self._slot(op.into, op)}",
                f"offsets=[{rows}, {columns}]",
                f"mbarrier={self.plan.rings[ring]}.full[{self._stage(ring, op)}]",
            ],
            indent=indent,
        )

    def _rows(self, slot: Slot, row: int) -> str:
        left = slot.tensor == self.plan.schedule.problem.left.name
        return _plus("m_offset" if left else "n_offset", row)

    def _store(self, op: Store, indent: int) -> str:
        schedule = self.plan.schedule
        acc, out = schedule.accumulator(op.acc), schedule.problem.out
        row, column = acc.origin(self.block.replica)
        value = self.block.variable_of(op.acc)
        if acc.dtype != out.dtype:
            value = f"self.cast({value}, dtype={DTYPES[out.dtype]})"
        offsets = f"offsets=[{_plus('m_offset', row)}, {_plus('n_offset', column)}]"
        return call(
            "self.store_global", [self.plan.tensors[out.name], value, offsets], indent=indent
        )

    def _expr(self, expr: Expr, variables: Mapping[str, str]) -> str:
        match expr:
            case Int(value):
                return str(value)
            case Name("K"):
                return "k_tiles"
            case Name(name):
                return variables[name]
            case Stages(ring):
                return f"{self.plan.rings[ring]}.stages"
            case Binary(("min" | "max") as op, left, right):
                return f"{op}({self._expr(left, variables)}, {self._expr(right, variables)})"
            case Binary(op, left, right):
                sides = self._expr(left, variables), self._operand(right, variables)
                first = self._operand(left, variables) if op == "*" else sides[0]
                return f"{first} {op} {sides[1]}"

    def _operand(self, expr: Expr, variables: Mapping[str, str]) -> str:
        text = self._expr(expr, variables)
        simple = not isinstance(expr, Binary) or expr.op in ("min", "max")
        return text if simple and not text.startswith("-") else f"({text})"


def _plus(text: str, amount: int) -> str:
    if amount == 0:
        return text
    return f"{text} + {amount}" if amount > 0 else f"{text} - {-amount}"


def _product(text: str, expr: Expr, factor: int) -> str:
    if isinstance(expr, Int):
        return str(expr.value * factor)
    simple = not isinstance(expr, Binary) or expr.op in ("min", "max")
    return f"{text} * {factor}" if simple else f"({text}) * {factor}"
