"""The text of a kernel: a pure function of the schedule, one line of code per op.

The emitted file reads like the schedule: a ring is an object with the schedule's name, an op is a
call on it (`acquire tma.full` is `tma.acquire_full()`), every replica of a role is one block, in
program order.  K counts tiles there too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from schedgen.emit.kernel_source import KernelSource
from schedgen.emit.layout import call
from schedgen.emit.plan import Block, Plan, make_plan
from schedgen.emit.ring_source import ring_source
from schedgen.emit.role_source import DTYPES, RoleSource
from schedgen.emit.tilus_repairs import REPAIRS
from schedgen.emit.unsupported import refuse_unsupported
from schedgen.happens_before.limits import SLAB_COLUMNS
from schedgen.ir.schedule import Buffer, Schedule, Tensor

TILUS_VERSION = "0.2.0"


def emit_tilus(
    schedule: Schedule,
    *,
    static_k: bool,
    made_by: str,
    verdict: str,
    finding: str | None,
    regenerate: str | None = None,
) -> str:
    """The Python file of the kernel.

    ``static_k`` makes k_size a constant of the kernel, compiled anew for every value.  ``made_by``
    (a kernel and its pipeline), ``verdict`` (with its scope), ``finding`` (what was found wrong,
    if the schedule was refused) and ``regenerate`` (a command) go into the header.  Raises
    `EmitUnsupported` for what this emitter cannot say.
    """
    refuse_unsupported(schedule)
    plan = make_plan(schedule)
    command = regenerate or f"schedgen emit {schedule.name}{' --static-k' if static_k else ''}"
    parts = [
        _header(schedule, made_by=made_by, verdict=verdict, finding=finding, command=command),
        _imports(schedule),
        *(f"\n\n{inspect.getsource(repair)}" for repair in REPAIRS),
        f'\n\nif tilus.__version__ == "{TILUS_VERSION}":\n',
        *(f"    {repair.__name__}()\n" for repair in REPAIRS),
        f"\n\n{ring_source(plan, static_k=static_k)}" if schedule.rings else "",
        f"\n\n{_Kernel(plan, static_k=static_k).source()}",
    ]
    return KernelSource("".join(parts))


def _header(
    schedule: Schedule, *, made_by: str, verdict: str, finding: str | None, command: str
) -> str:
    problem, tile = schedule.problem, schedule.tile
    out, left, right = (
        f"{t.name}[{t.dims[0]}, {t.dims[1]}]" for t in (problem.out, problem.left, problem.right)
    )
    lines = [
        f"{schedule.name}: {out} = {left} * {right}",
        f"One block computes a tile of {tile.m}x{tile.n}; K goes by in tiles of {tile.k}.",
        "",
        *_labelled("Made by schedgen", made_by),
        *_labelled("Verdict", verdict),
        *_labelled("Regenerate", command),
    ]
    if finding is not None:
        lines += ["", "UNSAFE: schedgen refused this schedule and was told to emit it anyway."]
        lines += finding.splitlines()
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _labelled(label: str, text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    return [f"{label}: {first}", *(f"    {line}" for line in rest)]


def _imports(schedule: Schedule) -> str:
    problem = schedule.problem
    types = {DTYPES[t.dtype] for t in (problem.out, problem.left, problem.right)}
    types |= {DTYPES[acc.dtype] for acc in schedule.accumulators}
    types |= {"int32"} | ({"uint32"} if schedule.rings else set())
    return (
        f"\nimport tilus\nfrom tilus import {', '.join(sorted(types))}\n"
        "from tilus.utils import cdiv\n"
    )


class _Kernel:
    """The text of the tilus.Script; holds the plan that every line needs."""

    def __init__(self, plan: Plan, *, static_k: bool) -> None:
        self.plan = plan
        self.schedule = plan.schedule
        self.static_k = static_k

    def source(self) -> str:
        parts = [f"class {self.plan.class_name}(tilus.Script):\n", self._raster()]
        parts += [self._signature(), self._prologue(), self._storage()]
        for block in self.plan.blocks:
            parts += ["\n", *self._block(block)]
        return "".join(parts)

    def _raster(self) -> str:
        """Which tile a block computes: bands along one dimension, walked along the other."""
        along, width = self.schedule.tile.raster
        across = "n" if along == "m" else "m"
        head = "    def output_tile(self, block: int32, m_tiles: int32, n_tiles: int32):\n"
        if width == 1:
            note = f'        """Blocks walk along {across} first."""\n'
            body = (
                f"        {along}_tile, {across}_tile = self.fast_divmod(block, {across}_tiles)\n"
            )
            return head + note + body + "        return m_tile, n_tile\n"
        inner = {along: "first + place % width", across: "place // width"}
        return (
            f"{head}"
            f'        """Bands of {width} tiles along {along}, each walked along {across}, '
            f'{along} fastest."""\n'
            f"        band, place = self.fast_divmod(block, {across}_tiles * {width})\n"
            f"        first = band * {width}\n"
            f"        width: int32 = min({width}, {along}_tiles - first)\n"
            f"        return {inner['m']}, {inner['n']}\n"
        )

    def _signature(self) -> str:
        k_type = "int" if self.static_k else "int32"
        problem = self.schedule.problem
        pointers = "".join(
            f"        {t.name}_ptr: ~{DTYPES[t.dtype]},\n"
            for t in (problem.left, problem.right, problem.out)
        )
        return (
            "\n    def __call__(\n        self,\n        m_size: int32,\n        n_size: int,\n"
            f"        k_size: {k_type},\n{pointers}    ):\n"
        )

    def _prologue(self) -> str:
        tile, problem = self.schedule.tile, self.schedule.problem
        lines = [
            f"m_tiles = cdiv(m_size, {tile.m})",
            f"n_tiles = cdiv(n_size, {tile.n})",
            f"k_tiles = cdiv(k_size, {tile.k})",
            "self.attrs.blocks = m_tiles * n_tiles",
            f"self.attrs.warps = {self.schedule.warps}",
            "",
            "m_tile, n_tile = self.output_tile(self.blockIdx.x, m_tiles, n_tiles)",
            f"m_offset: int32 = m_tile * {tile.m}",
            f"n_offset: int32 = n_tile * {tile.n}",
            "",
            *(self._view(t) for t in (problem.left, problem.right, problem.out)),
        ]
        return "".join(f"        {line}".rstrip() + "\n" for line in lines)

    def _view(self, tensor: Tensor) -> str:
        shape = f"[{tensor.dims[0]}_size, {tensor.dims[1]}_size]"
        name, dtype = self.plan.tensors[tensor.name], DTYPES[tensor.dtype]
        return f"{name} = self.global_view({tensor.name}_ptr, dtype={dtype}, shape={shape})"

    def _storage(self) -> str:
        lines: list[str] = []
        for ring in self.schedule.rings:
            name = self.plan.rings[ring.name]
            counts = f"stages={ring.stages}, full={ring.full}"
            if self.plan.hands_back:
                counts += f", empty={ring.empty}"
            lines += ["", f"{name} = Ring({counts})"]
            for slot in ring.slots:
                slabs = [] if slot.slabs is None else [slot.slabs]
                shape = [ring.stages, *slabs, slot.rows, slot.cols]
                attribute = f"{name}.{self.plan.slots[ring.name, slot.name]}"
                made = f"self.shared_tensor(dtype={DTYPES[slot.dtype]}, shape={shape})"
                lines.append(f"{attribute} = {made}")
        for barrier in self.schedule.barriers:
            counts = ", ".join([str(barrier.count)] * (barrier.size or 1))
            lines.append(f"{self.plan.barriers[barrier.name]} = self.mbarrier.alloc([{counts}])")
        lines += [self._buffer(buffer) for buffer in self.schedule.buffers]
        return "".join(f"        {line}".rstrip() + "\n" for line in lines)

    def _buffer(self, buffer: Buffer) -> str:
        """A TMA store takes 64 columns at once: a part is stored as slabs of so many."""
        slabs = [buffer.cols // SLAB_COLUMNS, buffer.rows, SLAB_COLUMNS]
        name = self.plan.buffers[buffer.name]
        if buffer.alias is None:
            shape = [*([] if buffer.parts is None else [buffer.parts]), *slabs]
            made = f"self.shared_tensor(dtype={DTYPES[buffer.dtype]}, shape={shape})"
            return f"{name} = {made}  # slabs of {SLAB_COLUMNS} columns"
        ring, slot = buffer.alias.ring, self.plan.slots[buffer.alias.ring, buffer.alias.slot]
        shape = [self.schedule.ring(ring).stages, *slabs]
        made = f"self.reshape_shared({self.plan.rings[ring]}.{slot}, {shape})"
        return f"{name} = {made}  # the stages as slabs of {SLAB_COLUMNS} columns"

    def _block(self, block: Block) -> Iterator[str]:
        threads = f"thread_begin={block.thread_begin}, num_threads={block.threads}"
        yield f"        with self.thread_group({threads}):  # {block.label}\n"
        for acc, name in block.accumulators:
            made = [f"dtype={DTYPES[acc.dtype]}", f"shape=[{acc.rows}, {acc.cols}]", "init=0.0"]
            yield call(f"{name} = self.register_tensor", made, indent=12)
        if not block.role.body and not block.accumulators:
            yield f"{' ' * 12}pass\n"
        role = RoleSource(self.plan, block, static_k=self.static_k)
        yield from role.lines(block.role.body, indent=12, variables={})
