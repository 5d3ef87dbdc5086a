"""Kernel files on a GPU: load them by path, compile many problem shapes at once, launch them."""

from __future__ import annotations

import hashlib
import importlib.util
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class KernelFile:
    """An emitted or hand-written kernel: what it is called in tables, and where it stands."""

    name: str
    path: Path
    cache_root: Path

    @cached_property
    def cache_dir(self) -> Path:
        """A folder for this very text: tilus' own cache does not see repairs in the file."""
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
        return self.cache_root / digest

    def launch(self, a: Any, b: Any, c: Any) -> None:
        """c[m, n] = a[m, k] * b[n, k]."""
        import tilus.option

        tilus.option.cache_dir(self.cache_dir)
        (m, k), n = a.shape, b.shape[0]
        load(self.path)(m, n, k, a, b, c)


@cache
def load(path: Path) -> Any:
    """The one tilus script that the file defines, ready to be called."""
    import tilus

    name = f"kernel_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    scripts = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, tilus.Script) and value.__module__ == name
    ]
    assert len(scripts) == 1, f"{path} defines {len(scripts)} kernels"
    return scripts[0]()


def compile_one(kernel: KernelFile, shape: Shape) -> str | None:
    """Compile into tilus' cache folder without touching the GPU; returns what went wrong."""
    import tilus.option
    import tilus.target
    from tilus.drivers import build_program

    tilus.target.set_current_target(tilus.target.nvgpu_sm90a)
    tilus.option.cache_dir(kernel.cache_dir)
    try:
        instance = load(kernel.path)._jit_instance_for(*shape, None, None, None)
        build_program(instance.transpiled_programs[0], instance.build_options)
    except Exception as error:
        return f"{kernel.name} {shape}: {str(error)[-2000:]}"
    return None


def compile_all(jobs: list[tuple[KernelFile, Shape]]) -> list[str]:
    """Compile every job, on all cores, each in a process of its own; returns the failures."""
    distinct: dict[tuple[object, ...], tuple[KernelFile, Shape]] = {}
    for kernel, shape in jobs:
        distinct.setdefault((kernel.path, code_key(kernel, shape)), (kernel, shape))
    context = multiprocessing.get_context("spawn")
    workers = min(len(distinct), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        results = [pool.submit(compile_one, *job) for job in distinct.values()]
        return [failure for result in results if (failure := result.result()) is not None]


def code_key(kernel: KernelFile, shape: Shape) -> tuple[int, ...]:
    """The sizes that tilus compiles into the code: n always, k where it is a constant."""
    _, n, k = shape
    return (n, k) if "k_size: int," in kernel.path.read_text() else (n,)
