"""From an emitted file to machine code: compile it for sm_90a without a GPU, or run it on one.

Reading order: `toolchain` (what compiles), `compile` (emitted file to cubin), `report` (what the
compiler said about it), `launch` (the same file on a GPU).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgen.build.compile import BuildFailed, build_kernel
    from schedgen.build.launch import LoadedScript, load_script
    from schedgen.build.report import BuildReport
    from schedgen.build.toolchain import Tool, Toolchain, ToolchainMissing, find_toolchain

__all__ = [
    "BuildFailed",
    "BuildReport",
    "LoadedScript",
    "Tool",
    "Toolchain",
    "ToolchainMissing",
    "build_kernel",
    "find_toolchain",
    "load_script",
]

_HOMES = {
    "BuildFailed": "compile", "BuildReport": "report", "LoadedScript": "launch",
    "Tool": "toolchain", "Toolchain": "toolchain", "ToolchainMissing": "toolchain",
    "build_kernel": "compile", "find_toolchain": "toolchain", "load_script": "launch",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imported when asked for: `schedgen` imports this package early, and a check needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
