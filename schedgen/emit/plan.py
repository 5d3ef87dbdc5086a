"""The decisions between a schedule and its kernel: threads, names, ring methods, unrolling.

Nothing here is text.  Warp groups come first in the block, since wgmma wants them on aligned
threads; the other roles follow in the schedule's order.  The blocks of code keep that order too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from schedgen.emit.names import KERNEL_NAMES, MODULE_NAMES, RING_NAMES, TILUS_NAMES, Names
from schedgen.happens_before.facts import names_k
from schedgen.happens_before.limits import SLAB_COLUMNS
from schedgen.ir.effects import BufferRef, RingBarrier
from schedgen.ir.expr import Int, Name, Stages, atoms
from schedgen.ir.ops import (
    Acquire,
    Advance,
    Arrive,
    Expect,
    Load,
    Mma,
    Op,
    Store,
    StoreCommit,
    StoreWait,
    TmaStore,
    Wait,
)
from schedgen.ir.schedule import (
    WARP_THREADS,
    WARPGROUP_WARPS,
    Accumulator,
    If,
    Loop,
    Role,
    Schedule,
    Stmt,
    ops_of,
)

MOST_UNROLLED = 8


@dataclass(frozen=True, kw_only=True)
class Block:
    """The code of one replica: its threads and its accumulators with their Python names."""

    role: Role
    replica: int
    thread_begin: int
    threads: int
    accumulators: tuple[tuple[Accumulator, str], ...]

    @property
    def label(self) -> str:
        return self.role.label(self.replica)

    def variable_of(self, accumulator: str) -> str:
        return next(name for acc, name in self.accumulators if acc.name == accumulator)


@dataclass(frozen=True, kw_only=True)
class Offsets:
    """By how much ops step away from the cursor, over the whole schedule."""

    lags: bool
    aheads: bool
    beyond_a_turn: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("lag",) * self.lags + ("ahead",) * self.aheads

    def arguments(self, offset: int) -> str:
        """The call arguments that name the use ``offset`` uses from the cursor."""
        amounts = {"lag": max(-offset, 0), "ahead": max(offset, 0)}
        return ", ".join(f"{name}={amounts[name]}" for name in self.parameters)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All decisions for one schedule."""

    schedule: Schedule
    class_name: str
    blocks: tuple[Block, ...]
    offsets: Offsets
    verbs: tuple[tuple[str, bool], ...]
    """Ring methods that ops call, each with whether some op calls it away from the cursor."""
    tensors: dict[str, str]
    rings: dict[str, str]
    slots: dict[tuple[str, str], str]
    barriers: dict[str, str]
    buffers: dict[str, str]
    taken: frozenset[str]
    """Every name of the kernel's scope, which a loop variable must not hide."""

    def moved(self, verb: str) -> bool:
        return dict(self.verbs)[verb]

    @property
    def advances(self) -> bool:
        return any(isinstance(op, Advance) for op in _all_ops(self.schedule))

    @property
    def hands_back(self) -> bool:
        """Whether stages have an empty side: roles that fill what they read need none."""
        return any(verb.endswith("_empty") for verb, _ in self.verbs)

    @property
    def steps_away(self) -> bool:
        """Whether some op needs the stage of a use that is not under the cursor."""
        return any(op.offset for op in _all_ops(self.schedule))

    @property
    def waits_away(self) -> bool:
        return any(isinstance(op, Acquire) and op.offset for op in _all_ops(self.schedule))


def make_plan(schedule: Schedule) -> Plan:
    """The plan of a schedule that `refuse_unsupported` let pass."""
    problem = schedule.problem
    tensors = [problem.left.name, problem.right.name, problem.out.name]
    names = Names(KERNEL_NAMES | MODULE_NAMES | {f"{tensor}_ptr" for tensor in tensors})
    tensor_names = {tensor: names.give(tensor) for tensor in tensors}
    ring_names = {ring.name: names.give(ring.name) for ring in schedule.rings}
    verbs = _verbs(schedule)
    slot_names = _slot_names(schedule, RING_NAMES | TILUS_NAMES | {verb for verb, _ in verbs})
    for (ring, _), slot in slot_names.items():
        # tilus binds `ring.slot` under this name, too.
        names.give(f"{ring_names[ring]}_{slot}")
    barriers = {barrier.name: names.give(barrier.name) for barrier in schedule.barriers}
    buffers = {buffer.name: names.give(buffer.name) for buffer in schedule.buffers}
    blocks = _blocks(schedule, names)
    taken = KERNEL_NAMES | MODULE_NAMES | {name for b in blocks for _, name in b.accumulators}
    return Plan(
        schedule=schedule,
        class_name=class_name(schedule),
        blocks=blocks,
        offsets=_offsets(schedule),
        verbs=verbs,
        tensors=tensor_names,
        rings=ring_names,
        slots=slot_names,
        barriers=barriers,
        buffers=buffers,
        taken=taken.union(*(d.values() for d in (tensor_names, ring_names, barriers, buffers))),
    )


def class_name(schedule: Schedule) -> str:
    """``hopper_matmul_v5`` gives HopperMatmulV5."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", schedule.name) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)
    if not name or name[0].isdigit() or name in MODULE_NAMES:
        name = f"Kernel{name}"
    return name


def wait_depths(schedule: Schedule) -> frozenset[int]:
    """The n of every `wait n`: the depths that the machine code must wait for."""
    return frozenset(op.depth for op in _all_ops(schedule) if isinstance(op, Wait))


def tma_stores(schedule: Schedule) -> int:
    """How many boxes of the output the text of the schedule stores by TMA, over all replicas."""
    return sum(
        role.replica_count * (schedule.buffer(op.source.name).cols // SLAB_COLUMNS)
        for role in schedule.roles
        for op in ops_of(role.body)
        if isinstance(op, TmaStore) and isinstance(op.source, BufferRef)
    )


def unroll_factor(loop: Loop, schedule: Schedule) -> int | None:
    """After how many steps of a K-loop every ring is back at the stage where it was.

    Unrolled that often, the stages of a step differ by constants.  None where that is too much
    code, where nothing moves, and for loops of a constant length.
    """
    if not any(map(names_k, (loop.first, loop.end))):
        return None
    moves = [op.ring for op in ops_of(loop.body) if isinstance(op, Advance)]
    turns = [s // math.gcd(s, moves.count(r)) for r, s in schedule.stages.items() if r in moves]
    factor = math.lcm(*turns)
    return factor if 1 < factor <= MOST_UNROLLED else None


def never_empty(loop: Loop, schedule: Schedule) -> bool:
    """Whether the loop runs at least once for every K, as far as plain numbers tell."""
    bounds = loop.first, loop.end
    values = [
        bound.value if isinstance(bound, Int) else schedule.stages[bound.ring]
        for bound in bounds
        if isinstance(bound, Int | Stages)
    ]
    return len(values) == len(bounds) and values[0] < values[1]


def depends_on_k(loop: Loop) -> bool:
    """Whether a bound of the loop is known at run time only."""
    return any(isinstance(atom, Name) for atom in [*atoms(loop.first), *atoms(loop.end)])


def first_multiplying_loop(body: tuple[Stmt, ...]) -> Loop | None:
    """The K-loop that holds the first mma of a program, if it may run no time at all."""
    for stmt in body:
        if isinstance(stmt, Op):
            if isinstance(stmt, Mma):
                return None
        elif any(isinstance(op, Mma) for op in ops_of(stmt.body)):
            if isinstance(stmt, If):
                return first_multiplying_loop(stmt.body)
            return stmt if depends_on_k(stmt) else None
    return None


def _all_ops(schedule: Schedule) -> Iterator[Op]:
    for role in schedule.roles:
        yield from ops_of(role.body)


def _verbs(schedule: Schedule) -> tuple[tuple[str, bool], ...]:
    found: dict[str, bool] = {}
    for op in _all_ops(schedule):
        if isinstance(op, Acquire | Arrive | Expect) and isinstance(op.barrier, RingBarrier):
            side = str(op.barrier).rpartition(".")[2]
            verb = f"{op.keyword}_{side}"
            found[verb] = found.get(verb, False) or op.offset != 0
    return tuple(sorted(found.items()))


def _offsets(schedule: Schedule) -> Offsets:
    offsets = [op.offset for op in _all_ops(schedule)]
    fewest = min((ring.stages for ring in schedule.rings), default=1)
    return Offsets(
        lags=any(offset < 0 for offset in offsets),
        aheads=any(offset > 0 for offset in offsets),
        beyond_a_turn=any(-offset > fewest for offset in offsets),
    )


def _slot_names(schedule: Schedule, taken: frozenset[str]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for ring in schedule.rings:
        names = Names(taken)
        for slot in ring.slots:
            found[ring.name, slot.name] = names.give(slot.name)
    return found


def _blocks(schedule: Schedule, names: Names) -> tuple[Block, ...]:
    replicas = [(role, i) for role in schedule.roles for i in range(role.replica_count)]
    groups = [r for r in replicas if r[0].warps % WARPGROUP_WARPS == 0]
    begins: dict[tuple[str, int], int] = {}
    thread = 0
    for role, replica in groups + [r for r in replicas if r not in groups]:
        begins[role.name, replica] = thread
        thread += role.warps * WARP_THREADS
    return tuple(
        Block(
            role=role,
            replica=replica,
            thread_begin=begins[role.name, replica],
            threads=role.warps * WARP_THREADS,
            accumulators=_accumulators(schedule, role, replica, names),
        )
        for role, replica in replicas
    )


def _accumulators(
    schedule: Schedule, role: Role, replica: int, names: Names
) -> tuple[tuple[Accumulator, str], ...]:
    used = {op.acc for op in ops_of(role.body) if isinstance(op, Mma | Store)}
    suffix = "" if role.replicas is None else f"_{replica}"
    return tuple(
        (acc, names.give(f"{acc.name}{suffix}"))
        for acc in schedule.accumulators
        if acc.name in used
    )


def run_of_one_warp(role: Role, body: tuple[Stmt, ...]) -> tuple[Op, ...]:
    """The ops at the beginning that belong under one `single_warp`.

    One warp issues the TMA ops of a role, always the same one, since it alone can wait for its own
    stores; a wider role must step down to it.
    """
    if role.warps == 1:
        return ()
    return tuple(op for op in takewhile(_is_of_tma, body) if isinstance(op, Op))


def _is_of_tma(stmt: Stmt) -> bool:
    return isinstance(stmt, Expect | Load | TmaStore | StoreCommit | StoreWait)
