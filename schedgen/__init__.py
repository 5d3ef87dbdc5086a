"""schedgen: Hopper GEMM K-loop schedules as values.

>>> import schedgen as sg
>>> v4 = sg.load("hopper_matmul_v4")
>>> v5 = sg.apply(v4, "overlap-wgmma{in-flight=1},set-stages{n=4}")
>>> sg.check(v5, k=(0, 9)).outcome
<Outcome.CHECKED: 'checked'>
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The packages first: later imports of them must not take the places of the functions below.
import schedgen.build
import schedgen.emit  # noqa: F401
from schedgen.api import (
    CannotEmit,
    Refused,
    apply,
    apply_steps,
    build,
    check,
    emit,
    limits,
    load,
    parse,
    replay_finding,
    run,
    suggest_fix,
)
from schedgen.diagnostics.finding import Finding
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.printer import to_text as show
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.pipeline import Pass, PassStopped, Pipeline

if TYPE_CHECKING:
    from schedgen.build import BuildFailed, BuildReport, ToolchainMissing
    from schedgen.fixes import Edit, Fix
    from schedgen.running import RunResult

__version__ = "0.1.0"

__all__ = [
    "BuildFailed", "BuildReport", "CannotEmit", "Edit", "Finding", "Fix", "IllFormed", "Outcome",
    "Pass", "PassStopped", "Pipeline", "Refused", "RunResult", "Schedule", "ToolchainMissing",
    "Verdict", "apply", "apply_steps", "build", "check", "emit", "limits", "load", "parse",
    "replay_finding", "run", "show", "suggest_fix",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names of what builds and runs kernels, imported when they are asked for."""
    if name in ("BuildFailed", "BuildReport", "ToolchainMissing"):
        return getattr(import_module("schedgen.build"), name)
    if name in ("Edit", "Fix"):
        return getattr(import_module("schedgen.fixes"), name)
    if name == "RunResult":
        return import_module("schedgen.running").RunResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
