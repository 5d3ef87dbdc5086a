"""Canonical text of a schedule: two spaces, one op per line; it parses back to an equal value."""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.ir.expr import Int
from schedgen.ir.ops import Op
from schedgen.ir.schedule import (
    WARPGROUP_WARPS,
    Accumulator,
    If,
    Loop,
    Ring,
    Role,
    Schedule,
    Slot,
    Stmt,
    Tensor,
    expect_schedule,
)

INDENT = "  "


def to_text(schedule: Schedule) -> str:
    """The text form, ending in a line end."""
    expect_schedule(schedule)
    return "\n".join(_lines(schedule)) + "\n"


def _lines(s: Schedule) -> Iterator[str]:
    yield f"schedule {s.name}"
    p = s.problem
    yield f"problem {_tensor(p.out)} = {_tensor(p.left)} * {_tensor(p.right)}"
    t = s.tile
    yield f"tile m {t.m}, n {t.n}, k {t.k}, raster {t.raster[0]} {t.raster[1]}"
    for ring in s.rings:
        yield from _ring(ring)
    for barrier in s.barriers:
        yield f"barrier {barrier.name}{_index(barrier.size)} count {barrier.count}"
    for named in s.named:
        yield f"named {named.name}{_index(named.size)} threads {named.threads}"
    for acc in s.accumulators:
        yield _accumulator(acc)
    for buffer in s.buffers:
        alias, head = buffer.alias, f"{buffer.name}{_index(buffer.parts)}"
        where = "" if alias is None else f" in {alias.ring}.{alias.slot} stage {alias.stage}"
        yield f"buffer {head} : {buffer.dtype} {buffer.rows}x{buffer.cols}{where}"
    for role in s.roles:
        yield from _role(role)


def _tensor(t: Tensor) -> str:
    return f"{t.name}[{t.dims[0]}, {t.dims[1]}] {t.dtype}"


def _index(size: int | None) -> str:
    return "" if size is None else f"[{size}]"


def _ring(ring: Ring) -> Iterator[str]:
    yield f"ring {ring.name} stages {ring.stages} empty {ring.empty} full {ring.full} {{"
    heads = [f"{slot.name}{_index(slot.slabs)}" for slot in ring.slots]
    shapes = [f"{slot.dtype} {slot.rows}x{slot.cols}" for slot in ring.slots]
    head_width = max(map(len, heads), default=0)
    shape_width = max(map(len, shapes), default=0)
    for slot, head, shape in zip(ring.slots, heads, shapes, strict=True):
        yield f"{INDENT}slot {head:<{head_width}} : {shape:<{shape_width}} = {_box(slot)}"
    yield "}"


def _box(slot: Slot) -> str:
    return f"{slot.tensor} rows {slot.first_row}"


def _accumulator(acc: Accumulator) -> str:
    columns = "" if acc.first_col == Int(0) else f" cols {acc.first_col}"
    shape = f"{acc.dtype} {acc.rows}x{acc.cols}"
    return f"acc {acc.name} : {shape} = {acc.tensor} rows {acc.first_row}{columns}"


def _role(role: Role) -> Iterator[str]:
    yield f"role {role.name}{_index(role.replicas)} {width_text(role.warps)} {{"
    yield from _body(role.body, INDENT)
    yield "}"


def width_text(warps: int) -> str:
    """``warp``, ``warpgroup`` or ``warps N``."""
    return {1: "warp", WARPGROUP_WARPS: "warpgroup"}.get(warps, f"warps {warps}")


def _body(body: tuple[Stmt, ...], indent: str) -> Iterator[str]:
    for stmt in body:
        if isinstance(stmt, Op):
            yield indent + stmt.text
            continue
        yield f"{indent}{_head(stmt)} {{"
        yield from _body(stmt.body, indent + INDENT)
        yield indent + "}"


def _head(stmt: Loop | If) -> str:
    if isinstance(stmt, Loop):
        return f"for {stmt.var} in {stmt.first}..{stmt.end}"
    return f"if {stmt.guard}"
