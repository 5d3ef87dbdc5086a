"""What sm_90a can hold and encode, checked on the declarations alone.

Sources: CUDA C++ Programming Guide, compute capability 9.0 (227 KB of shared memory per CTA, 65,536
registers per SM, 255 per thread, 1024 threads per CTA).  PTX ISA 9.0: mbarrier counts and tx-counts
below 2^20 (9.7.13.15), wait_group immediate (9.7.15.7.3), 16 named barriers in whole warps
(9.7.13.1), wgmma shapes m64nNk16 with N a multiple of 8 up to 256 (9.7.15.2).  Driver API
cuTensorMapEncodeTiled: box of at most 256 per dimension, 128 bytes inner with the 128 B swizzle.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.diagnostics.finding import Finding, Row
from schedgen.diagnostics.target import EncodingLimit, RegisterCapacity, SharedMemoryCapacity
from schedgen.happens_before.case import declared_row
from schedgen.ir.effects import AccRef, Engine
from schedgen.ir.ops import Place
from schedgen.ir.schedule import ELEMENT_BYTES, WARP_THREADS, Role, Schedule, Slot, ops_of

SHARED_BYTES = 232_448
BARRIER_BYTES = 8
REGISTERS_PER_SM = 65_536
REGISTERS_PER_THREAD = 255
REGISTERS_BESIDE = 26
"""What the K-loop takes beside its accumulators: nvcc 13.0 builds V4 and V5 with 154 for 128, and a
64x128 accumulator with 90 for 64; it refuses 128 accumulator registers below 154 (C7602)."""

SCHEDULERS = 4
MAX_THREADS = 1024
MAX_COUNT = 1 << 20
MAX_WAIT_DEPTH = 7
MAX_BOX = 256
MAX_INNER_BYTES = 128
SLAB_COLUMNS = MAX_INNER_BYTES // 2
"""Columns of the widest TMA box of 2-byte elements."""

MMA_ROWS = 64
"""Rows of the output that one wgmma of a warp group computes."""

NAMED_BARRIERS = 16


def limit_findings(schedule: Schedule) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """Findings that do not depend on K, with the key of their cause."""
    yield from _shared_memory(schedule)
    yield from _registers(schedule)
    for what, limit, rows, fix in _encodings(schedule):
        finding = EncodingLimit(what=what, limit=limit, rows=rows, missing=None, fix=fix)
        yield finding, ("SG502", what)


def shared_bytes(s: Schedule) -> int:
    """Shared memory of a CTA: slots of all stages, staging buffers, mbarriers."""
    slots = sum(r.stages * r.stage_bytes for r in s.rings)
    return slots + sum(b.bytes for b in s.buffers) + barrier_bytes(s)


def barrier_bytes(s: Schedule) -> int:
    """Two mbarriers for each stage, and the plain ones."""
    barriers = sum(2 * r.stages for r in s.rings) + sum(b.size or 1 for b in s.barriers)
    return barriers * BARRIER_BYTES


def _shared_memory(s: Schedule) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    needed = shared_bytes(s)
    if needed <= SHARED_BYTES:
        return
    parts = [f"{r.stages} x {r.stage_bytes} in ring {r.name}" for r in s.rings]
    parts += [f"{b.bytes} in {b.name}" for b in s.buffers if b.bytes]
    place = s.rings[0].place if s.rings else None
    largest = max((r.stage_bytes for r in s.rings), default=0)
    fits = (SHARED_BYTES - (needed - sum(r.stages * r.stage_bytes for r in s.rings))) // max(
        largest, 1
    )
    fix = f"`set-stages{{n={fits}}}`" if len(s.rings) == 1 and fits > 0 else "fewer stages"
    finding = SharedMemoryCapacity(
        needed=needed, limit=SHARED_BYTES, detail=" + ".join(parts) + " + barriers",
        rows=(declared_row("ring", s.rings[0].name if s.rings else s.name, place),),
        missing=None, fix=fix,
    )  # fmt: skip
    yield finding, ("SG501",)


def register_cap(s: Schedule) -> int:
    """Registers per thread that a CTA of these warps can have: the SM has four partitions, and
    registers come in units of 8 (9 warps get at most 168)."""
    warps_per_partition = max(-(-s.warps // SCHEDULERS), 1)
    per_thread = REGISTERS_PER_SM // SCHEDULERS // (warps_per_partition * WARP_THREADS)
    return min(per_thread // 8 * 8, REGISTERS_PER_THREAD)


def _registers(s: Schedule) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    cap = register_cap(s)
    for role in s.roles:
        needed = accumulator_registers(s, role)
        if needed and needed + REGISTERS_BESIDE > cap:
            finding = RegisterCapacity(
                who=f"role {role.name}", accumulators=needed, others=REGISTERS_BESIDE, limit=cap,
                rows=(declared_row("role", role.name, role.place),), missing=None,
                fix="smaller accumulators, or fewer warps in the CTA",
            )  # fmt: skip
            yield finding, ("SG503", role.name)


def accumulator_registers(s: Schedule, role: Role) -> int:
    """Registers per thread that hold the accumulators which a role uses."""
    names = _used_accumulators(role)
    words = sum(
        a.rows * a.cols * ELEMENT_BYTES[a.dtype] // 4 for a in s.accumulators if a.name in names
    )
    return -(-words // (role.warps * WARP_THREADS))


def _used_accumulators(role: Role) -> set[str]:
    return {
        a.location.name
        for op in ops_of(role.body)
        for a in op.effects().accesses
        if isinstance(a.location, AccRef)
    }


Excess = tuple[str, str, tuple[Row, ...], str]
"""What is too much, the limit, where, and a way out."""


def _encodings(s: Schedule) -> Iterator[Excess]:
    if any(op.effects().engine is Engine.TENSOR for r in s.roles for op in ops_of(r.body)):
        yield from _mma_types(s)
    yield from _counts(s)
    yield from _boxes(s)
    yield from _named(s)
    for role in s.roles:
        for op in ops_of(role.body):
            rows = (_op_row(op.text, op.place, role),)
            group = op.effects().group
            if group is not None and group.depth > MAX_WAIT_DEPTH:
                fix = "keep fewer groups in flight, or put more mma into each group"
                yield f"`{op.text}`", f"a wait depth is at most {MAX_WAIT_DEPTH}", rows, fix
            signal = op.effects().signal
            if signal is not None and signal.expected >= MAX_COUNT:
                fix = "announce the bytes of one use, or divide them among several barriers"
                yield f"`{op.text}`", "a phase counts fewer than 2^20 bytes", rows, fix
            if op.effects().engine is Engine.TENSOR and role.warps != 4:
                fix = f"write `role {role.name} warpgroup`; of several warp groups make replicas"
                yield f"`{op.text}` in role {role.name}", "wgmma needs a warp group", rows, fix
    threads = s.warps * WARP_THREADS
    if threads > MAX_THREADS:
        fix = "fewer replicas, or roles of fewer warps"
        yield f"{threads} threads", f"a CTA has at most {MAX_THREADS}", (), fix


MMA_TYPES = {("f16", "f16"): ("f16", "f32"), ("bf16", "bf16"): ("f32",)}
"""Accumulator types of wgmma by its operands' types (PTX 9.7.15.3)."""

MMA_K_BYTES = 32


def _mma_types(s: Schedule) -> Iterator[Excess]:
    operands = (s.problem.left.dtype, s.problem.right.dtype)
    allowed = MMA_TYPES.get(operands)
    rows = (declared_row("problem", s.name, s.problem.place),)
    if allowed is None:
        what, limit = f"an mma of {operands[0]} and {operands[1]}", "wgmma takes f16 or bf16 twice"
        yield what, limit, rows, "give both operands of the problem line one of these types"
        return
    for acc in s.accumulators:
        if acc.dtype not in allowed:
            row = declared_row("acc", acc.name, acc.place)
            limit = f"wgmma of {operands[0]} accumulates in {' or '.join(allowed)}"
            fix = f"`accumulate{{type={allowed[-1]}}}`, or declare it so"
            yield f"the accumulator {acc.name} of {acc.dtype}", limit, (row,), fix
    if s.tile.k * ELEMENT_BYTES[operands[0]] % MMA_K_BYTES:
        row = declared_row("tile", f"k {s.tile.k}", s.tile.place)
        step = MMA_K_BYTES // ELEMENT_BYTES[operands[0]]
        what, limit = f"a K step of {s.tile.k}", f"wgmma steps through K by {MMA_K_BYTES} bytes"
        yield what, limit, (row,), f"make `k` of the tile line a multiple of {step}"


def _op_row(text: str, place: Place | None, role: Role) -> Row:
    return Row(label="op", text=text, place=place, role=role.name, replica=None, k=None, tile=None)


def _counts(s: Schedule) -> Iterator[Excess]:
    counts = [(f"{r.name}.full", r.full, r.place) for r in s.rings]
    counts += [(f"{r.name}.empty", r.empty, r.place) for r in s.rings]
    counts += [(b.name, b.count, b.place) for b in s.barriers]
    for name, count, place in counts:
        if count >= MAX_COUNT:
            rows = (declared_row("barrier", name, place),)
            fix = "count the arrivals of one phase"
            yield f"the count {count} of {name}", "an mbarrier counts fewer than 2^20", rows, fix


def _boxes(s: Schedule) -> Iterator[Excess]:
    for ring in s.rings:
        for slot in ring.slots:
            rows = (declared_row("slot", f"{ring.name}.{slot.name}", slot.place),)
            what = f"the box {slot.rows}x{slot.cols} of {ring.name}.{slot.name}"
            if slot.rows > MAX_BOX:
                fix = f"divide it into slabs of at most {MAX_BOX} rows: `slot {slot.name}[N]`"
                yield what, f"a TMA box has at most {MAX_BOX} rows", rows, fix
            yield from _box_row(slot, f"{ring.name}.{slot.name}", rows)
    for acc in s.accumulators:
        rows = (declared_row("acc", acc.name, acc.place),)
        if acc.rows % MMA_ROWS or acc.cols % 8 or acc.cols > 256:
            what = f"the accumulator {acc.name} of {acc.rows}x{acc.cols}"
            fix = f"rows a multiple of {MMA_ROWS}; more replicas share a wider tile"
            yield what, f"wgmma has m{MMA_ROWS} and n a multiple of 8 up to 256", rows, fix


def _box_row(slot: Slot, name: str, rows: tuple[Row, ...]) -> Iterator[Excess]:
    """A row of a TMA box: whole units of 16 bytes, and not beyond the swizzle."""
    size = ELEMENT_BYTES[slot.dtype]
    row = slot.cols * size
    what = f"a row of {name} is {slot.cols} x {slot.dtype} = {row} bytes"
    widest, unit = MAX_INNER_BYTES // size, 16 // size
    if row > MAX_INNER_BYTES:
        fix = f"take `k {widest}` in the tile line and slots of {widest} columns: a slot begins at "
        limit = f"a row of a TMA box has at most {MAX_INNER_BYTES}"
        yield what, limit, rows, f"{fix}column 0 of its K tile, so two cannot share a wider one"
    elif row % 16:
        limit = "a row of a TMA box is a multiple of 16 bytes"
        yield what, limit, rows, f"take a multiple of {unit} columns"


def _named(s: Schedule) -> Iterator[Excess]:
    used = sum(1 if n.size is None else n.size for n in s.named)
    if used > NAMED_BARRIERS - 1:
        limit = "a CTA has 16, and barrier 0 is the compiler's"
        yield f"{used} named barriers", limit, (), "use mbarriers (`barrier`) for the others"
    for named in s.named:
        if named.threads % WARP_THREADS or named.threads > MAX_THREADS:
            rows = (declared_row("named", named.name, named.place),)
            what, limit = f"{named.threads} threads of {named.name}", "a multiple of 32 up to 1024"
            yield what, limit, rows, "count the threads of all warps that `sync` on it"
