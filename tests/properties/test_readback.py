"""Emitted files read back into op lists equal the schedule that they were made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from schedgen.api import apply
from schedgen.emit import emit_tilus
from schedgen.ir.effects import BufferRef, NamedRef, OutRef, PlainBarrier, RingBarrier, SlotRef
from schedgen.ir.expr import Expr, Int, evaluate, substitute
from schedgen.ir.ops import Arrive, Await, Load, Mma, Op, Store, Sync, TmaStore
from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import Buffer, If, Loop, Ring, Schedule, Stmt, ops_of
from schedgen.ir.spec import verify
from schedgen.kernels import KERNELS
from schedgen.pipeline import PassStopped
from tests.properties.emit_schedules import Writer
from tests.properties.emitted_reader import Reader
from tests.strategies import pipelines, serial_schedules

EMITTED = Path(__file__).parents[1] / "golden" / "emitted"


def emit(schedule: Schedule, *, static_k: bool) -> str:
    return emit_tilus(schedule, static_k=static_k, made_by="a test", verdict="", finding=None)


# --- What the schedule says, one list of lines per replica ---------------------------------------


def said(schedule: Schedule) -> dict[str, list[str]]:
    return {
        role.label(i): list(phased(said_body(schedule, role.body, i)))
        for role in schedule.roles
        for i in range(role.replica_count)
    }


def phased(lines: Iterator[str]) -> Iterator[str]:
    """An await waits for the phase that its replica's earlier awaits of the barrier leave."""
    earlier: Counter[str] = Counter()
    for line in lines:
        yield f"{line} phase {earlier[line] % 2}" if line.startswith("await ") else line
        earlier[line] += 1


def said_body(s: Schedule, body: tuple[Stmt, ...], replica: int) -> Iterator[str]:
    for stmt in body:
        match stmt:
            case Loop():
                yield f"for {stmt.var} in {flat(stmt.first)}..{flat(stmt.end)}"
                yield from said_body(s, stmt.body, replica)
                yield "end"
            case If(guard=guard):
                yield f"if {flat(guard.left)}{guard.op}{flat(guard.right)}"
                yield from said_body(s, stmt.body, replica)
                yield "end"
            case _:
                yield said_op(s, stmt, replica)


def said_op(s: Schedule, op: Op, replica: int) -> str:
    away = f" {op.offset:+}" if op.offset else ""
    match op:
        case Load(into=into, tile=tile):
            slot = s.ring(into.ring).slot(into.slot)
            slab = slab_of(into, replica)
            row = slot.row_of(slab or 0)
            return f"load {at(into, slab)} {flat(tile)} of {slot.tensor} row {row}{away}"
        case Mma(acc=acc, a=a, b=b, tile=tile):
            slots = f"{at(a, slab_of(a, replica))}, {at(b, slab_of(b, replica))}"
            return f"mma {acc}, {slots}, {flat(tile)}{away}"
        case Arrive(barrier=PlainBarrier(name, index)) | Await(barrier=PlainBarrier(name, index)):
            return f"{op.keyword} {name}[{0 if index is None else number(index, replica)}]"
        case Sync(barrier=NamedRef(name, index)):
            return f"sync {name}" + ("" if index is None else f"[{number(index, replica)}]")
        case TmaStore(source=BufferRef() as part, to=OutRef(out, row, column)):
            assert row is not None
            corner = f"row {number(row, replica)} column {number(column or Int(0), replica)}"
            return f"tma-store {part_of(s, part, replica)} -> {out} {corner}"
        case Store(acc=acc, to=BufferRef() as part):
            return f"store {acc} -> {part_of(s, part, replica)}"
        case Store(acc=acc):
            row, column = s.accumulator(acc).origin(replica)
            return f"store {acc} -> {s.problem.out.name} row {row} column {column}"
        case _:
            return f"{op.keyword} {op.body}".strip() + away


def slab_of(ref: SlotRef, replica: int) -> int | None:
    if ref.slab is None:
        return None
    slab = substitute(ref.slab, "self", Int(replica))
    assert isinstance(slab, Int)
    return slab.value


def number(expr: Expr, replica: int) -> int:
    return evaluate(expr, {"self": replica}, {})


def part_of(s: Schedule, ref: BufferRef, replica: int) -> str:
    """A part that lies in a ring has the number of its stage."""
    buffer = s.buffer(ref.name)
    part = 0 if ref.part is None else number(ref.part, replica)
    if buffer.alias is not None:
        return f"{ref.name}[{buffer.stage_of(part, s.stages)}]"
    return ref.name if ref.part is None else f"{ref.name}[{part}]"


def at(ref: SlotRef, slab: int | None) -> str:
    return f"{ref.ring}.{ref.slot}" + ("" if slab is None else f"[{slab}]")


def flat(expr: Expr) -> str:
    return str(expr).replace(" ", "")


# --- The laws ------------------------------------------------------------------------------------


def check_readback(schedule: Schedule, *, static_k: bool) -> None:
    reader = Reader(emit(schedule, static_k=static_k))
    assert reader.programs() == said(schedule)
    assert list(reader.programs()) == list(said(schedule))
    assert reader.static_k is static_k
    assert reader.warps == schedule.warps
    assert reader.rings == {
        r.name: {"stages": r.stages, "full": r.full, **handed_back(schedule, r)}
        for r in schedule.rings
    }
    assert reader.barriers == {b.name: [b.count] * (b.size or 1) for b in schedule.barriers}
    own = {b.name: (b.dtype, shape_of(b)) for b in schedule.buffers if b.alias is None}
    assert reader.slots == own | {
        f"{r.name}.{slot.name}": (
            slot.dtype,
            [r.stages, *([] if slot.slabs is None else [slot.slabs]), slot.rows, slot.cols],
        )
        for r in schedule.rings
        for slot in r.slots
    }
    assert reader.aliases == {
        b.name: (f"{b.alias.ring}.{b.alias.slot}", [schedule.stages[b.alias.ring], *slabs_of(b)])
        for b in schedule.buffers
        if b.alias is not None
    }
    check_threads(schedule, reader)


def handed_back(schedule: Schedule, ring: Ring) -> dict[str, int]:
    """The count of the empty side, if some role uses one at all."""
    for role in schedule.roles:
        for op in ops_of(role.body):
            effects = op.effects()
            ends = (end.barrier for end in (effects.wait, effects.signal) if end is not None)
            if any(isinstance(b, RingBarrier) and b.side == "empty" for b in ends):
                return {"empty": ring.empty}
    return {}


def slabs_of(buffer: Buffer) -> list[int]:
    return [buffer.cols // 64, buffer.rows, 64]


def shape_of(buffer: Buffer) -> list[int]:
    return [*([] if buffer.parts is None else [buffer.parts]), *slabs_of(buffer)]


def check_threads(schedule: Schedule, reader: Reader) -> None:
    """Warp groups are aligned, and every thread of the block runs exactly one replica."""
    blocks = sorted((begin, count) for _, begin, count, _ in reader.replicas())
    assert [begin for begin, _ in blocks] == [
        sum(count for _, count in blocks[:i]) for i in range(len(blocks))
    ]
    assert sum(count for _, count in blocks) == 32 * schedule.warps
    assert all(begin % 128 == 0 for begin, count in blocks if count % 128 == 0)


CASES = [*KERNELS, "two_rings", "three_consumers", "ahead"]


@pytest.mark.parametrize("static_k", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_known_schedules_read_back(name: str, static_k: bool) -> None:
    path = EMITTED / f"{name}.sched"
    check_readback(parse(path.read_text(), file=path.name), static_k=static_k)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), static_k=st.booleans())
def test_random_schedules_read_back(seed: int, static_k: bool) -> None:
    schedule = Writer(seed).schedule()
    verify(schedule)
    note(to_text(schedule))
    check_readback(schedule, static_k=static_k)


@given(schedule=serial_schedules, pipeline=pipelines(), static_k=st.booleans())
def test_what_passes_make_reads_back(schedule: Schedule, pipeline: str, static_k: bool) -> None:
    try:
        schedule = apply(schedule, pipeline)
    except PassStopped:
        event("refused: the schedule as it was")
    note(to_text(schedule))
    check_readback(schedule, static_k=static_k)


CHANGES = [
    ("release_empty(lag=1)", "release_empty(lag=2)"),
    ("wait_group(1)", "wait_group(2)"),
    ("nbytes=49152", "nbytes=49151"),
    ("m_offset + 64, k", "m_offset, k"),
    ("k * 64]", "(k + 1) * 64]"),
    ("tma.A[tma.stage, 1], tma.B", "tma.A[tma.stage, 0], tma.B"),
    ("range(1, k_tiles, 1", "range(2, k_tiles, 1"),
    ("if k_tiles > 0:", "if k_tiles >= 0:"),
    ("                self.wgmma.commit_group()\n", ""),
]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_changed_file_reads_back_otherwise(old: str, new: str) -> None:
    path = EMITTED / "hopper_matmul_v5.sched"
    schedule = parse(path.read_text(), file=path.name)
    text = emit(schedule, static_k=False)
    assert old in text
    assert Reader(text.replace(old, new)).programs() != said(schedule)


STAGED_CHANGES = [
    ("v5_ring", "out[1].permute", "out[0].permute"),
    ("v5_ring", "src=out[1, slab]", "src=out[0, slab]"),
    ("v5_ring", "self.fence.proxy_async()", "pass"),
    ("v5_ring", "self.sync()  # group[0]", "pass"),
    ("v5_ring", "done[0], phase=0", "done[0], phase=1"),
    ("v5_own", "m_offset + 64, n_offset + slab", "m_offset, n_offset + slab"),
    ("v6", "wait_group(0, read=True)", "wait_group(0)"),
    ("v6", "mbarrier.arrive(free[2]", "mbarrier.arrive(free[1]"),
]


@pytest.mark.parametrize(("name", "old", "new"), STAGED_CHANGES)
def test_a_changed_epilogue_reads_back_otherwise(name: str, old: str, new: str) -> None:
    path = EMITTED / f"hopper_matmul_{name}.sched"
    schedule = parse(path.read_text(), file=path.name)
    text = emit(schedule, static_k=False)
    assert old in text
    assert Reader(text.replace(old, new, 1)).programs() != said(schedule)
