"""Compile an emitted file for sm_90a on a machine without a GPU.

tilus refuses to compile where it sees no GPU, so this walks the steps of its own driver up to the
CUDA source (transpile, verify, optimise, generate, optimise, print) and then calls nvcc.  tilus
keeps global state and its transpiler is not thread-safe: a lock is held while it runs, its target
and cache folder are put back afterwards, and everything it writes goes to a temporary folder.
"""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from schedgen.build.report import BuildReport, read_report
from schedgen.build.script import kernel_class, load_module
from schedgen.build.toolchain import Toolchain, find_toolchain, import_tilus

Shape = tuple[int, int, int]
REFERENCE_SHAPE: Shape = (8192, 8192, 8192)

_TILUS = threading.Lock()


class BuildFailed(Exception):
    """tilus or nvcc refused the emitted file; the text is what it said."""

    exit_code: ClassVar[int] = 1


def build_kernel(
    path: str | Path,
    *,
    wait_depths: frozenset[int],
    tma_stores: int = 0,
    class_name: str | None = None,
    kernel: str | None = None,
    shape: Shape = REFERENCE_SHAPE,
    keep: Path | None = None,
) -> BuildReport:
    """Compile the kernel in the emitted file at ``path`` for problem ``shape`` = (m, n, k).

    ``wait_depths`` are the n of the schedule's `wait n`; the machine code must wait for these
    depths and no other.  ``tma_stores`` are the boxes that it stores by TMA.  ``keep`` is a folder
    that receives kernel.cu, kernel.cubin, kernel.sass and ptxas.log; without it nothing stays
    behind.
    """
    import_tilus()
    tools = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="schedgen-build-") as scratch:
        work = Path(scratch)
        class_name = _write_cuda(Path(path), class_name=class_name, shape=shape, work=work)
        ptxas_log = _run_nvcc(tools, work)
        sass = _disassemble(tools, work)
        report = read_report(
            kernel=kernel or class_name,
            shape=shape,
            nvcc=tools.nvcc,
            cuda=(work / "kernel.cu").read_text(),
            ptxas_log=ptxas_log,
            sass=sass,
            wait_depths=wait_depths,
            tma_stores=tma_stores,
        )
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for name in ("kernel.cu", "kernel.cubin"):
                (keep / name).write_bytes((work / name).read_bytes())
            (keep / "kernel.sass").write_text(sass)
            (keep / "ptxas.log").write_text(ptxas_log)
    return report


def _write_cuda(path: Path, *, class_name: str | None, shape: Shape, work: Path) -> str:
    """Write work/kernel.cu; returns the name of the kernel's class."""
    with _TILUS, _tilus_for_hopper(work):
        try:
            cls = kernel_class(load_module(path), class_name)
            instance = cls()._jit_instance_for(*shape, None, None, None)
            _lower(instance.transpiled_programs[0], work)
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise BuildFailed(f"tilus rejects {path}: {_last_lines(str(error))}") from error
    return cls.__name__


def _lower(program: Any, work: Path) -> None:
    """The steps of tilus' own build, as far as they need no GPU."""
    drivers = importlib.import_module("tilus.drivers")
    drivers.verify(program)
    program = drivers.optimize_program(program, drivers.BuildOptions.create(), work)
    module = drivers.optimize_ir_module(drivers.generate_ir_module(program), work)
    drivers.codegen(module, src_out_path=str(work / "kernel.cu"), target="cuda")


@contextlib.contextmanager
def _tilus_for_hopper(work: Path) -> Iterator[None]:
    """tilus aimed at sm_90a, its cache folder inside ``work``; both as before afterwards."""
    target: Any = importlib.import_module("tilus.target")
    option = importlib.import_module("tilus.option")
    old_target, old_cache = target._target, option.get_option("cache_dir")
    target.set_current_target(target.nvgpu_sm90a)
    option.cache_dir(work / "tilus")
    try:
        yield
    finally:
        target._target = old_target
        option.cache_dir(old_cache)


def _run_nvcc(tools: Toolchain, work: Path) -> str:
    """kernel.cu to kernel.cubin; returns what ptxas reported."""
    tvm = importlib.import_module("tvm_ffi.libinfo")
    hidet = importlib.import_module("tilus.hidet.libinfo")
    includes = [*hidet.get_include_dirs(), hidet.find_include_path(), tvm.find_include_path()]
    command = [
        tools.nvcc.path,
        *(f"-I{folder}" for folder in dict.fromkeys(includes)),
        f"-ccbin={tools.host.path}",
        "-std=c++17",
        "-O3",
        # The flags below are those of tilus' own build, so that both make the same machine code.
        "-ftz=true",
        "-prec-div=false",
        "-lineinfo",
        "--diag-suppress=39,177,179,550",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-cubin",
        "--ptxas-options=-v",
        "-o=kernel.cubin",
        "kernel.cu",
    ]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"nvcc fails: {_last_lines(done.stderr or done.stdout)}")
    return done.stdout + done.stderr


def _disassemble(tools: Toolchain, work: Path) -> str:
    command = [tools.nvdisasm.path, "-c", "kernel.cubin"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"nvdisasm fails: {_last_lines(done.stderr or done.stdout)}")
    return done.stdout


def _last_lines(text: str, count: int = 12) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return "\n".join(lines[-count:]) or "it gave no reason"
