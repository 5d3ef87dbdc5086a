"""Compile kernels in parallel: one process each, since tilus' transpiler is not thread-safe.

With a GPU, tilus' own build fills the cache folder from which the measuring process loads.  In
each case `schedgen.build` compiles the same CUDA source once for every contestant and looks at the
machine code: a kernel whose mma the compiler serialised is measured, and its row says so.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from schedgen.bench.preparing import Prepared
from schedgen.bench.request import Shape, shape_text
from schedgen.build import BuildFailed, ToolchainMissing, build_kernel, load_script
from schedgen.build.report import BuildReport


@dataclass(frozen=True, kw_only=True)
class Job:
    """One kernel for one problem: what a worker needs, all of it picklable."""

    label: str
    script: str
    class_name: str | None
    shape: Shape
    wait_depths: frozenset[int] | None
    tma_stores: int
    load: bool
    """Whether the kernel will be loaded here: fill tilus' cache."""
    look: bool
    """Whether to look at the machine code."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A job that is done: what failed, what the machine code lacks, what there is to tell."""

    job: Job
    failure: str | None
    problems: tuple[str, ...]
    note: str


def jobs_of(prepared: Iterable[Prepared], *, dry: bool) -> list[Job]:
    """One job for every code that differs: n is always compiled in, k where it is a constant.

    That is how tilus treats the parameters of an emitted kernel (`int32` is a run-time number,
    `int` a constant; n gives the strides of the output).
    """
    found: dict[tuple[object, ...], Job] = {}
    for one in prepared:
        c = one.contestant
        if c.script is None or one.refusal is not None:
            continue
        constant_k = "k_size: int," in Path(c.script).read_text(encoding="utf-8")
        for shape in c.shapes:
            _, n, k = shape
            first = not any(label == c.label for label, *_ in found)
            job = Job(
                label=c.label, script=c.script, class_name=c.class_name, shape=shape,
                wait_depths=one.wait_depths, tma_stores=one.tma_stores, load=not dry,
                look=dry or first,
            )  # fmt: skip
            found.setdefault((c.label, n, k if constant_k else None), job)
    return list(found.values())


def build_all(jobs: list[Job], *, workers: int | None) -> Iterator[Built]:
    """Every job as it ends.  ``workers`` is how many processes, None for one per core."""
    count = min(workers or os.cpu_count() or 1, len(jobs))
    if count == 0:
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        futures = {pool.submit(build_one, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                if future.exception() is None:
                    yield future.result()
                else:  # the process died, most likely for want of memory
                    failure = f"the process that compiled it ended: {future.exception()}"
                    yield Built(job=futures[future], failure=failure, problems=(), note="")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def build_one(job: Job) -> Built:
    """In a worker: compile, and turn what tilus or nvcc says into text."""
    built = Built(job=job, failure=None, problems=(), note=shape_text(job.shape))
    try:
        if job.load:
            _fill_cache(job)
        return _looked_at(job, built) if job.look else built
    except KeyboardInterrupt:
        return replace(built, failure="interrupted")
    except (BuildFailed, ToolchainMissing) as error:
        return replace(built, failure=_short(str(error)))
    except Exception as error:  # whatever tilus raises is a row of the table
        text = f"{type(error).__name__}: {str(error)[-2000:]}"
        return replace(built, failure=_short(text))


def _looked_at(job: Job, built: Built) -> Built:
    """Registers, spills and what the machine code lacks.  A kernel that is loaded anyway only loses
    this look where there is no disassembler."""
    depths = job.wait_depths
    try:
        report = build_kernel(
            job.script, class_name=job.class_name, kernel=job.label, shape=job.shape,
            wait_depths=depths or frozenset(), tma_stores=job.tma_stores,
        )  # fmt: skip
    except ToolchainMissing as missing:
        if not job.load:
            raise
        return replace(built, note=f"{built.note}: machine code not looked at: {missing}")
    # A file promises no depths of wgmma groups; of it only what ptxas says counts.
    problems = report.problems if depths is not None else report.advisories
    return replace(built, problems=problems, note=_note(report))


def _note(report: BuildReport) -> str:
    spilled = report.spill_stores + report.spill_loads
    return (
        f"{shape_text(report.shape)}: {report.registers} registers, {spilled} bytes spilled, "
        f"{report.shared_bytes} bytes of shared memory"
    )


def _fill_cache(job: Job) -> None:
    """tilus' own build for sm_90a, into the folder where `load_script` will look for it."""
    from tilus import option, target
    from tilus.drivers import build_program

    loaded = load_script(job.script, class_name=job.class_name)
    target.set_current_target(target.nvgpu_sm90a)
    option.cache_dir(loaded.cache_dir)
    instance = loaded.script._jit_instance_for(*job.shape, None, None, None)
    build_program(instance.transpiled_programs[0], instance.build_options)


def _short(text: str, most: int = 600) -> str:
    """One line, the end of it where it is long: compilers say what is wrong last."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"... {line[-most:]}"
