"""Random schedules in the emitter's class: well formed, and most of them no good as kernels."""

from __future__ import annotations

import random

from schedgen.ir.effects import BufferRef, NamedRef, OutRef, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages
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
    Release,
    Store,
    StoreCommit,
    StoreWait,
    Sync,
    TmaStore,
    Wait,
)
from schedgen.ir.schedule import (
    Accumulator,
    Alias,
    Barrier,
    Buffer,
    If,
    Loop,
    NamedBarrier,
    Problem,
    Ring,
    Role,
    Schedule,
    Slot,
    Stmt,
    Tensor,
    Tile,
)

NAMES = ["tma", "ring", "for", "full", "A", "k_tiles", "stage", "acc", "a", "wgmma", "m_offset",
         "slab", "sync"]  # fmt: skip
DEEPEST = 2


class Writer:
    """Writes one schedule, with names that Python or tilus would rather keep for themselves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        names = self.random.sample(NAMES, 8)
        self.rings = tuple(self.ring(name) for name in names[: self.random.randint(1, 2)])
        self.accs = tuple(self.accumulator(name) for name in names[2:4])
        self.out_dtype = self.random.choice(["f16", "f32"])
        self.barriers = Barrier(name=names[4], count=2), Barrier(name=names[5], count=1, size=3)
        self.buffers = tuple(self.staging(names[6:])) if self.out_dtype == "f16" else ()

    def schedule(self) -> Schedule:
        roles = [
            self.role("consumer", self.random.randint(1, 3), 4),
            self.role("one", None, 4),
            self.role("producer", None, 1),
        ]
        self.random.shuffle(roles)
        return Schedule(
            name="random",
            problem=Problem(
                out=Tensor("y", ("m", "n"), self.out_dtype),
                left=Tensor("x", ("m", "k"), "f16"),
                right=Tensor("w", ("n", "k"), "f16"),
            ),
            tile=Tile(m=128, n=256, k=64, raster=(self.random.choice("mn"), 4)),
            rings=self.rings,
            barriers=self.barriers,
            named=(
                NamedBarrier(name="consumer", size=3, threads=128),
                NamedBarrier(name="one", size=None, threads=128),
            ),
            accumulators=self.accs,
            buffers=self.buffers,
            roles=tuple(roles),
        )

    def ring(self, name: str) -> Ring:
        def slot(name: str, tensor: str, slabs: int | None) -> Slot:
            row = Int(0) if slabs is None else Binary("*", Int(64), Name("i"))
            return Slot(
                name=name, slabs=slabs, dtype="f16", rows=64, cols=64, tensor=tensor, first_row=row
            )

        left, right = self.random.sample(NAMES, 2)
        stages, empty, full = (self.random.randint(1, 6) for _ in range(3))
        slots = slot(left, "x", 4), slot(right, "w", None)
        return Ring(name=name, stages=stages, empty=empty, full=full, slots=slots)

    def accumulator(self, name: str) -> Accumulator:
        row = Binary("*", Int(64), Name("self"))
        column = Int(64 * self.random.randint(0, 3))
        return Accumulator(
            name=name, dtype="f32", rows=64, cols=64, tensor="y", first_row=row, first_col=column
        )

    def role(self, name: str, replicas: int | None, warps: int) -> Role:
        return Role(name=name, replicas=replicas, warps=warps, body=self.body(name, warps, (), 0))

    def body(
        self, role: str, warps: int, variables: tuple[str, ...], depth: int
    ) -> tuple[Stmt, ...]:
        return tuple(
            self.statement(role, warps, variables, depth) for _ in range(self.random.randint(0, 6))
        )

    def statement(self, role: str, warps: int, variables: tuple[str, ...], depth: int) -> Stmt:
        kind = self.random.random() if depth < DEEPEST else 1.0
        if kind < 0.15:
            sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
            guard = Compare(sign, self.expr(variables), self.expr(variables))
            return If(guard=guard, body=self.body(role, warps, variables, depth + 1))
        if kind < 0.4:
            var = self.random.choice(["k", "_", "for", "m_offset"])
            scope = variables if var == "_" else (*variables, var)
            body = self.body(role, warps, scope, depth + 1)
            return Loop(var=var, first=self.expr(()), end=self.expr(()), body=body)
        return self.op(role, warps, variables, depth)

    def expr(self, variables: tuple[str, ...]) -> Expr:
        symbols = [Name("K"), *map(Name, variables), *(Stages(r.name) for r in self.rings)]
        symbol, number = self.random.choice(symbols), Int(self.random.randint(0, 5))
        shift, limit = self.random.choice("+-"), self.random.choice(["min", "max"])
        leaf = self.random.choice([symbol, number])
        shifted = Binary(shift, symbol, Int(self.random.randint(1, 4)))
        return self.random.choice([leaf, leaf, shifted, Binary(limit, leaf, symbol)])

    def op(self, role: str, warps: int, variables: tuple[str, ...], depth: int) -> Op:
        pick, ring = self.random.choice, self.random.choice(self.rings)
        offset = self.random.choice([0, 0, self.random.randint(-8, 8)])
        empty, full = RingBarrier(ring.name, "empty"), RingBarrier(ring.name, "full")
        slab = pick([Int(self.random.randint(0, 3)), Name("self")])
        left = SlotRef(ring.name, ring.slots[0].name, slab)
        other = self.random.choice(self.rings)
        right = SlotRef(other.name, other.slots[1].name, None)
        tile = self.expr(variables)
        ops: list[Op] = [
            Acquire(barrier=pick([empty, full]), offset=offset),
            Release(barrier=empty, offset=offset),
            Arrive(barrier=pick([empty, full]), offset=offset),
            Expect(barrier=full, bytes=self.random.randint(0, 99999), offset=offset),
            Load(into=pick([left, right]), tile=tile, offset=offset),
            Advance(ring=ring.name),
            Fence(),
            Commit(),
            Wait(depth=self.random.randint(0, 7)),
        ]
        if warps == 4:
            acc = pick(self.accs).name
            ops.append(Mma(acc=acc, a=left, b=right, tile=tile, offset=offset))
            ops.append(Store(acc=acc, to=OutRef("y")))
        if self.random.random() < 0.3:
            ops = self.epilogue(role, warps, depth)
        return pick(ops)

    def staging(self, names: list[str]) -> list[Buffer]:
        """One buffer of its own, one in the second slot of the first ring."""
        ring = self.rings[0]
        alias = Alias(ring.name, ring.slots[1].name, Binary("%", Name("i"), Int(ring.stages)))
        return [
            Buffer(name=names[0], dtype="f16", rows=64, cols=64, parts=3),
            Buffer(name=names[1], dtype="f16", rows=64, cols=64, parts=3, alias=alias),
        ]

    def epilogue(self, role: str, warps: int, depth: int) -> list[Op]:
        """Plain barriers anywhere, their awaits outside blocks; the rest where there are threads.

        A role without an index has no `self`, but is replica 0 in the language.
        """
        pick = self.random.choice
        number = Int(self.random.randint(0, 2))
        mine = pick([number, Name("self")])
        single, several = self.barriers
        barrier = pick([PlainBarrier(single.name), PlainBarrier(several.name, mine)])
        ops: list[Op] = [Arrive(barrier=barrier), FenceProxy(), StoreCommit()]
        ops.append(StoreWait(depth=self.random.randint(0, 2), reads_only=pick([True, False])))
        if depth == 0:
            ops.append(Await(barrier=barrier))
        for buffer in self.buffers:
            part = BufferRef(buffer.name, mine)
            ops.append(TmaStore(source=part, to=OutRef("y", number, Binary("*", Int(64), number))))
            if warps == 4:
                ops.append(Store(acc=pick(self.accs).name, to=part))
        if warps == 4:
            named = (
                NamedRef("consumer", Name("self")) if role == "consumer" else NamedRef("one", None)
            )
            ops.append(Sync(barrier=named))
        return ops
