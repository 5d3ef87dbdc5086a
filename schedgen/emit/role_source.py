"""The text of one replica's program: a line of code per op, in program order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from schedgen.emit.layout import call
from schedgen.emit.names import Names
from schedgen.emit.plan import (
    Block,
    Plan,
    depends_on_k,
    first_multiplying_loop,
    never_empty,
    run_of_one_warp,
    unroll_factor,
)
from schedgen.happens_before.limits import SLAB_COLUMNS
from schedgen.ir.effects import BufferRef, OutRef, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.expr import Binary, Expr, Int, Name, Stages, evaluate
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
    Store,
    StoreCommit,
    StoreWait,
    Sync,
    TmaStore,
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
        self.awaits: Counter[str] = Counter()
        self.joined = None if static_k else first_multiplying_loop(block.role.body)

    def lines(
        self, body: tuple[Stmt, ...], *, indent: int, variables: Mapping[str, str]
    ) -> Iterator[str]:
        at = 0
        while at < len(body):
            stmt, following = body[at], body[at + 1] if at + 1 < len(body) else None
            done = 1
            match (stmt, following):
                case _ if run := run_of_one_warp(self.block.role, body[at:]):
                    done = len(run)
                    yield f"{' ' * indent}with self.single_warp():\n"
                    for op in run:
                        yield from self._op(op, indent + 4, variables)
                case Loop(), Wait() if stmt is self.joined:
                    done = 2
                    yield from self._loop_and_wait(stmt, following, indent, variables)
                case Loop(), _:
                    yield from self._loop(stmt, indent, variables)
                case If(guard=guard), _:
                    left, right = (self._expr(e, variables) for e in (guard.left, guard.right))
                    yield f"{' ' * indent}if {left} {guard.op} {right}:\n"
                    yield from self._nested(stmt.body, indent + 4, variables)
                case op, _:
                    yield from self._op(op, indent, variables)
            at += done

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
            case Store(to=OutRef()):
                yield self._store(op, indent)
            case _:
                yield from self._epilogue_op(op, indent, variables)

    def _epilogue_op(self, op: Op, indent: int, variables: Mapping[str, str]) -> Iterator[str]:
        """Plain barriers, and results on their way through shared memory."""
        match op:
            case Arrive(barrier=PlainBarrier() as barrier):
                yield f"{' ' * indent}with self.single_thread():\n"
                arguments = [self._plain(barrier), 'sem="release"', 'scope="cta"']
                yield call("self.mbarrier.arrive", arguments, indent=indent + 4)
            case Await(barrier=PlainBarrier() as barrier):
                place = self._plain(barrier)
                earlier = self.awaits[place]
                self.awaits[place] += 1
                arguments = [place, f"phase={earlier % 2}", 'sem="acquire"', 'scope="cta"']
                yield call("self.mbarrier.wait", arguments, indent=indent)
            case Sync(barrier=barrier):
                index = "" if barrier.index is None else f"[{self._number(barrier.index)}]"
                yield call("self.sync", [], indent=indent, note=f"{barrier.name}{index}")
            case FenceProxy():
                yield call("self.fence.proxy_async", [], indent=indent)
            case Store(to=BufferRef() as part):
                yield self._stage_part(op, part, indent)
            case TmaStore(source=BufferRef() as part):
                yield from self._tma_store(op, part, indent, variables)
            case StoreCommit():
                yield call("self.tma.commit_group", [], indent=indent)
            case StoreWait(depth=depth, reads_only=reads):
                arguments = [str(depth), *(["read=True"] if reads else [])]
                yield call("self.tma.wait_group", arguments, indent=indent)
            case _:
                raise AssertionError(f"refuse_unsupported let `{op.text}` pass")

    def _number(self, expr: Expr) -> int:
        return evaluate(expr, {"self": self.block.replica}, {})

    def _plain(self, barrier: PlainBarrier) -> str:
        index = 0 if barrier.index is None else self._number(barrier.index)
        return f"{self.plan.barriers[barrier.name]}[{index}]"

    def _part(self, ref: BufferRef) -> list[int]:
        """The indices of a part: its number, or the stage that it lies in."""
        buffer = self.plan.schedule.buffer(ref.name)
        part = 0 if ref.part is None else self._number(ref.part)
        if buffer.alias is not None:
            return [buffer.stage_of(part, self.plan.schedule.stages)]
        return [] if ref.part is None else [part]

    def _stage_part(self, op: Store, ref: BufferRef, indent: int) -> str:
        """The slabs of a part lie one behind the other; side by side they are its columns."""
        buffer, acc = self.plan.schedule.buffer(ref.name), self.plan.schedule.accumulator(op.acc)
        name = self.plan.buffers[ref.name] + "".join(f"[{i}]" for i in self._part(ref))
        shape = f"[{buffer.rows}, {buffer.cols}]"
        value = self.block.variable_of(op.acc)
        if acc.dtype != buffer.dtype:
            value = f"self.cast({value}, dtype={DTYPES[buffer.dtype]})"
        target = f"self.reshape_shared({name}.permute((1, 0, 2)), {shape})"
        return call("self.store_shared", [target, value], indent=indent)

    def _tma_store(
        self, op: TmaStore, ref: BufferRef, indent: int, variables: Mapping[str, str]
    ) -> Iterator[str]:
        buffer = self.plan.schedule.buffer(ref.name)
        slab = Names(self.plan.taken | set(variables.values())).free("slab")
        index = ", ".join([*map(str, self._part(ref)), slab])
        row, column = map(self._number, op.to.corner or ())
        offsets = _plus("m_offset", row), f"{_plus('n_offset', column)} + {slab} * {SLAB_COLUMNS}"
        slabs = buffer.cols // SLAB_COLUMNS
        yield f'{" " * indent}for {slab} in self.range({slabs}, unroll="all"):\n'
        arguments = [
            f"src={self.plan.buffers[ref.name]}[{index}]",
            f"dst={self.plan.tensors[op.to.tensor]}",
            f"offsets=[{', '.join(offsets)}]",
        ]
        yield call("self.tma.shared_to_global", arguments, indent=indent + 4)

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
