"""Run an emitted file on a GPU through tilus' own just-in-time compiler.

tilus caches compiled programs by its own IR, which says nothing of the toolchain or of a repair
in the emitted file.  Every emitted text therefore gets a cache folder of its own, and so does
every version of tilus and nvcc.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedgen.build.script import kernel_class, load_module, text_hash
from schedgen.build.toolchain import find_host_compiler, find_nvcc, import_tilus

ROW_BYTES = 16
ELEMENT_BYTES = 2


@dataclass(frozen=True)
class LoadedScript:
    """A kernel ready to be launched, and the folder where tilus keeps what it compiles."""

    name: str
    script: Any
    cache_dir: Path


def load_script(
    path: str | Path, *, class_name: str | None = None, cache_root: Path | None = None
) -> LoadedScript:
    """The kernel of the emitted file at ``path``; nothing is compiled before the first launch."""
    tilus = import_tilus()
    nvcc = find_nvcc()
    find_host_compiler()
    if shutil.which("nvcc") is None:  # tilus looks for nvcc on PATH alone
        os.environ["PATH"] += os.pathsep + str(Path(nvcc.path).parent)
    cls = kernel_class(load_module(Path(path)), class_name)
    versions = hashlib.sha256(f"{tilus.__version__} {nvcc.path} {nvcc.version}".encode())
    folder = f"{text_hash(Path(path))}-{versions.hexdigest()[:8]}"
    return LoadedScript(cls.__name__, cls(), (cache_root or default_cache_root()) / folder)


def default_cache_root() -> Path:
    """$XDG_CACHE_HOME/schedgen/tilus, by default under the home folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "schedgen" / "tilus"


def launch(loaded: LoadedScript, a: Any, b: Any, c: Any) -> None:
    """c[m, n] = a[m, k] * b[n, k]: three contiguous fp16 CUDA tensors; c is overwritten.

    Asynchronous like every kernel launch.  Compiles on the first call of a problem shape that
    needs code of its own.
    """
    m, n, k = _problem(a, b, c)
    importlib.import_module("tilus.option").cache_dir(loaded.cache_dir)
    loaded.script(m, n, k, a, b, c)


def _problem(a: Any, b: Any, c: Any) -> tuple[int, int, int]:
    torch = importlib.import_module("torch")
    for name, tensor in (("a", a), ("b", b), ("c", c)):
        if tensor.dtype != torch.float16 or not tensor.is_cuda or not tensor.is_contiguous():
            raise ValueError(f"{name} must be a contiguous float16 tensor on a CUDA device")
    (m, k), (n, k_of_b) = a.shape, b.shape
    if k != k_of_b or tuple(c.shape) != (m, n):
        raise ValueError(f"shapes do not fit: a {m}x{k}, b {n}x{k_of_b}, c {tuple(c.shape)}")
    for name, columns in (("k", k), ("n", n)):
        if columns * ELEMENT_BYTES % ROW_BYTES:
            raise ValueError(
                f"{name} = {columns}: rows of {columns * ELEMENT_BYTES} bytes; TMA needs rows "
                f"that are a multiple of {ROW_BYTES} bytes"
            )
    return m, n, k
