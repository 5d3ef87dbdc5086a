"""Bring the results to the output through shared memory and TMA stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.target import AlreadyStaged, NothingToRewrite, SizesDoNotFit
from schedgen.happens_before.kept import Keep
from schedgen.happens_before.limits import SLAB_COLUMNS
from schedgen.ir.effects import BufferRef, NamedRef, OutRef, PlainBarrier
from schedgen.ir.expr import Expr, Int, Name
from schedgen.ir.ops import (
    Arrive,
    Await,
    FenceProxy,
    Load,
    Op,
    Store,
    StoreCommit,
    StoreWait,
    Sync,
    TmaStore,
)
from schedgen.ir.schedule import (
    ELEMENT_BYTES,
    WARP_THREADS,
    Accumulator,
    Alias,
    Barrier,
    Buffer,
    NamedBarrier,
    Role,
    Schedule,
    ops_of,
)
from schedgen.passes.rewriting import fresh, multiplying_role, refuse, with_role
from schedgen.pipeline import Pass

STAGED_BYTES = 2
"""Size of the elements that are staged."""


@dataclass(frozen=True, kw_only=True)
class StageEpilogue(Pass):
    """Store the accumulators into shared memory, and from there by TMA to the output.

    args:
        buffer: own, a part of a buffer for each group; ring, the stages of the ring, once all
            groups are done with them; turns, one part that the groups use one after the other,
            while the producer stores what they leave there.
    rewrite:
        store acc -> c  ->  (ring: arrive done, await done)
                            store acc -> out[self]
                            fence proxy
                            sync group[self]
                            tma-store out[self] -> c rows 64*self cols 0
                            store-commit
                            store-wait 0 read

        store acc -> c  ->  await free[self]            and in the producer, for each group i,
        (turns)             store acc -> out              arrive free[i]
                            fence proxy                   await ready[i]
                            sync group[self]              tma-store out -> c rows 64*i cols 0
                            arrive ready[self]            store-commit, store-wait 0 read
    """

    name: ClassVar[str] = "stage-epilogue"
    keeps: ClassVar[frozenset[Keep]] = frozenset({"products", "traffic", "handover", "numerics"})
    buffer: Literal["own", "turns", "ring"]

    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        role = multiplying_role(schedule)
        for thing in (*schedule.buffers, *schedule.barriers, *schedule.named):
            reason, fix = f"{thing.name} is there already", "stage the epilogue once, and last"
            yield refuse(AlreadyStaged, self, reason, fix, role=role, place=thing.place)
        store = None if role is None else _last_store(role)
        if role is None or store is None:
            reason = "no role that multiplies ends with its one store to the output"
            fix = "end the role that multiplies with `store acc -> c`"
            yield refuse(NothingToRewrite, self, reason, fix, role=role)
            return
        acc, out = schedule.accumulator(store.acc), schedule.problem.out
        if ELEMENT_BYTES.get(out.dtype) != STAGED_BYTES or acc.cols % SLAB_COLUMNS:
            reason = f"{acc.cols} columns of {out.dtype} are no slabs of {SLAB_COLUMNS} f16 or bf16"
            fix = f"an output of 2-byte elements, and a multiple of {SLAB_COLUMNS} columns"
            yield refuse(SizesDoNotFit, self, reason, fix, role=role, place=store.place)
        if self.buffer == "ring" and _host(schedule, role, acc) is None:
            size = acc.rows * acc.cols * STAGED_BYTES
            reason = f"no ring has {role.replica_count} stages with a slot of {size} bytes, unsplit"
            fix = "`stage-epilogue{buffer=own}`, or a tile where a slot is as large as the results"
            yield refuse(SizesDoNotFit, self, reason, fix, role=role, place=store.place)
        if self.buffer == "turns" and _producer(schedule, role) is None:
            reason = "there is not one other role, of one replica, that loads and could store"
            fix = "`warp-specialize` first, or `stage-epilogue{buffer=own}`"
            yield refuse(NothingToRewrite, self, reason, fix, role=role, place=store.place)

    def rewrite(self, schedule: Schedule) -> Schedule:
        role = multiplying_role(schedule)
        store = None if role is None else _last_store(role)
        assert role is not None
        assert store is not None
        staged = _Staged(schedule, role, store)
        return {"own": staged.own, "ring": staged.in_ring, "turns": staged.in_turns}[self.buffer]()


def _last_store(role: Role) -> Store | None:
    """The store to the output that ends the role, if it is the role's only store."""
    stores = [op for op in ops_of(role.body) if isinstance(op, Store)]
    last = role.body[-1]
    if not isinstance(last, Store) or len(stores) != 1 or not isinstance(last.to, OutRef):
        return None
    return last


def _host(schedule: Schedule, role: Role, acc: Accumulator) -> Alias | None:
    """A slot with room for one group's results, in a ring with a stage for each group."""
    size = acc.rows * acc.cols * STAGED_BYTES
    stage = Int(0) if role.replicas is None else Name("i")
    for ring in schedule.rings:
        for slot in ring.slots:
            fits = slot.slabs is None and slot.slab_bytes == size
            if fits and ring.stages >= role.replica_count:
                return Alias(ring.name, slot.name, stage)
    return None


def _producer(schedule: Schedule, role: Role) -> Role | None:
    found = [
        r
        for r in schedule.roles
        if r is not role and any(isinstance(op, Load) for op in ops_of(r.body))
    ]
    return found[0] if len(found) == 1 and found[0].replica_count == 1 else None


class _Staged:
    """The three forms of one epilogue."""

    def __init__(self, schedule: Schedule, role: Role, store: Store) -> None:
        self.schedule, self.role, self.store = schedule, role, store
        self.acc = schedule.accumulator(store.acc)
        self.me: Expr | None = None if role.replicas is None else Name("self")
        self.groups = role.replicas
        self.group = NamedBarrier(
            name=fresh(schedule, "group"), size=self.groups, threads=role.warps * WARP_THREADS
        )

    def own(self) -> Schedule:
        return self._with(self._by_the_group(self.me), self._buffer(self.groups, None), ())

    def in_ring(self) -> Schedule:
        """Behind a barrier of all groups: nobody reads the stages any more."""
        done = Barrier(name=fresh(self.schedule, "done"), count=self.role.replica_count)
        joined = (Arrive(barrier=PlainBarrier(done.name)), Await(barrier=PlainBarrier(done.name)))
        buffer = self._buffer(self.groups, _host(self.schedule, self.role, self.acc))
        return self._with((*joined, *self._by_the_group(self.me)), buffer, (done,))

    def in_turns(self) -> Schedule:
        """The producer hands the buffer to one group after the other.

        It gives it to the first one, too, although nobody used it before: one form for all groups
        costs one arrival.
        """
        producer = _producer(self.schedule, self.role)
        assert producer is not None
        ready = Barrier(name=fresh(self.schedule, "ready"), count=1, size=self.groups)
        free = Barrier(name=fresh(self.schedule, "free"), count=1, size=self.groups)
        mine = (
            Await(barrier=PlainBarrier(free.name, self.me)),
            *self._staging(None),
            Arrive(barrier=PlainBarrier(ready.name, self.me)),
        )
        turns: list[Op] = []
        for i in range(self.role.replica_count):
            index = None if self.groups is None else Int(i)
            row, col = self.acc.origin(i)
            turns.append(Arrive(barrier=PlainBarrier(free.name, index)))
            turns.append(Await(barrier=PlainBarrier(ready.name, index)))
            turns += self._shipping(None, Int(row), Int(col))
        made = self._with(mine, self._buffer(None, None), (ready, free))
        return with_role(made, producer, replace(producer, body=(*producer.body, *turns)))

    def _with(self, ops: tuple[Op, ...], buffer: Buffer, barriers: tuple[Barrier, ...]) -> Schedule:
        schedule = replace(self.schedule, barriers=barriers, named=(self.group,), buffers=(buffer,))
        return with_role(schedule, self.role, replace(self.role, body=(*self.role.body[:-1], *ops)))

    def _buffer(self, parts: int | None, alias: Alias | None) -> Buffer:
        dtype = self.schedule.problem.out.dtype
        return Buffer(
            name=fresh(self.schedule, "out"), dtype=dtype, rows=self.acc.rows, cols=self.acc.cols,
            parts=parts, alias=alias,
        )  # fmt: skip

    def _part(self, part: Expr | None) -> BufferRef:
        return BufferRef(fresh(self.schedule, "out"), part)

    def _staging(self, part: Expr | None) -> tuple[Op, ...]:
        """Every warp stores, and makes its stores visible to TMA, before anyone goes on."""
        store = replace(self.store, to=self._part(part))
        return store, FenceProxy(), Sync(barrier=NamedRef(self.group.name, self.me))

    def _shipping(self, part: Expr | None, row: Expr, col: Expr) -> tuple[Op, ...]:
        assert isinstance(self.store.to, OutRef)
        to = replace(self.store.to, first_row=row, first_col=col)
        ship = TmaStore(source=self._part(part), to=to)
        return ship, StoreCommit(), StoreWait(depth=0, reads_only=True)

    def _by_the_group(self, part: Expr | None) -> tuple[Op, ...]:
        return (
            *self._staging(part),
            *self._shipping(part, self.acc.first_row, self.acc.first_col),
        )
