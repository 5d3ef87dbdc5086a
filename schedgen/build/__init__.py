"""From an emitted file to machine code: compile it for sm_90a without a GPU, or run it on one.

Reading order: `toolchain` (what compiles), `compile` (emitted file to cubin), `report` (what the
compiler said about it), `launch` (the same file on a GPU).
"""

from schedgen.build.compile import BuildFailed, build_kernel
from schedgen.build.launch import LoadedScript, launch, load_script
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
    "launch",
    "load_script",
]
