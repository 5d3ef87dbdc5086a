"""Which nvcc, host C++ compiler and disassembler compile a kernel, and in which version.

An nvcc on PATH wins if it is new enough to be trusted with wgmma (12.8); else the one that the
`tilus` extra brings as wheels.  No CUDA installation and no GPU is needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

OLDEST_NVCC = (12, 8)
INSTALL_HINT = "install the extra: python3 -m pip install '.[tilus]' in schedgen's folder"


class ToolchainMissing(Exception):
    """Something that compiling or running needs is not on this machine; the text says what."""

    exit_code: ClassVar[int] = 3


@dataclass(frozen=True)
class Tool:
    """A program that was found, and the version that it reports."""

    path: str
    version: str

    def __str__(self) -> str:
        return f"{self.path} ({self.version})"


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """Everything between CUDA source and disassembly."""

    nvcc: Tool
    host: Tool
    nvdisasm: Tool

    def __str__(self) -> str:
        return f"nvcc {self.nvcc}, host compiler {self.host}, nvdisasm {self.nvdisasm}"


def find_toolchain() -> Toolchain:
    """The tools that a build uses on this machine, or `ToolchainMissing`."""
    nvcc = find_nvcc()
    return Toolchain(nvcc=nvcc, host=find_host_compiler(), nvdisasm=find_nvdisasm(nvcc))


def find_nvcc() -> Tool:
    """nvcc on PATH if it is at least 12.8, else the one of the nvidia-cuda-nvcc wheel."""
    too_old: Tool | None = None
    for candidate in (shutil.which("nvcc"), _in_wheels("nvcc")):
        if candidate is None:
            continue
        tool = Tool(candidate, _reported_version(candidate))
        if version_tuple(tool.version) >= OLDEST_NVCC:
            return tool
        too_old = too_old or tool
    oldest = ".".join(map(str, OLDEST_NVCC))
    if too_old is not None:
        raise ToolchainMissing(f"nvcc {too_old} is older than {oldest}: {INSTALL_HINT}")
    raise ToolchainMissing(f"no nvcc on PATH and none among the wheels: {INSTALL_HINT}")


def find_host_compiler() -> Tool:
    """The C++ compiler that nvcc calls: $NVCC_CCBIN if set, else g++, else clang++."""
    wanted = os.environ.get("NVCC_CCBIN")
    for name in [wanted] if wanted else ["g++", "clang++"]:
        found = shutil.which(name)
        if found is not None:
            return Tool(found, _first_version(_output([found, "--version"])))
    looked = f"$NVCC_CCBIN = {wanted}" if wanted else "g++, clang++"
    raise ToolchainMissing(
        f"nvcc needs a host C++ compiler and none was found ({looked}): install g++"
    )


def find_nvdisasm(nvcc: Tool) -> Tool:
    """The disassembler beside nvcc, of the wheels, or on PATH; it must not be older than nvcc."""
    beside = Path(nvcc.path).resolve().with_name("nvdisasm")
    candidates = (str(beside), _in_wheels("nvdisasm"), shutil.which("nvdisasm"))
    for candidate in candidates:
        if candidate is None or not os.access(candidate, os.X_OK):
            continue
        tool = Tool(candidate, _reported_version(candidate))
        if version_tuple(tool.version) >= version_tuple(nvcc.version):
            return tool
    raise ToolchainMissing(
        f"no nvdisasm that reads the output of nvcc {nvcc.version}: {INSTALL_HINT}"
    )


def import_tilus() -> Any:
    """The tilus module; a missing or broken extra becomes one sentence."""
    try:
        return importlib.import_module("tilus")
    except ImportError as error:
        raise ToolchainMissing(f"tilus cannot be imported ({error}): {INSTALL_HINT}") from error
    except OSError as error:  # tilus 0.2.0 asks `git` for its cache folder when it is imported
        raise ToolchainMissing(
            f"tilus cannot be imported ({error}): it runs `git`; install git"
        ) from error


def version_tuple(version: str) -> tuple[int, int]:
    """``13.0.88`` as (13, 0); (0, 0) for a text without a version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _in_wheels(name: str) -> str | None:
    """``name`` in the bin folder of the newest CUDA wheels (site-packages/nvidia/cuNN/bin)."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    found = [path for root in roots for path in Path(root).glob(f"cu[0-9]*/bin/{name}")]
    return str(max(found, key=lambda path: (path.parts[-3], str(path)))) if found else None


def _reported_version(path: str) -> str:
    output = _output([path, "--version"])
    found = re.search(r"\bV(\d+\.\d+\.\d+)", output)
    return found[1] if found else _first_version(output)


def _first_version(text: str) -> str:
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found[0] if found else "version unknown"


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return ""
    return done.stdout
