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
import schedgen.emit
import schedgen.predict  # noqa: F401
from schedgen.api import (
    CannotEmit,
    Refused,
    apply,
    apply_steps,
    build,
    check,
    diff,
    emit,
    limits,
    load,
    parse,
    predict,
    replay_finding,
    run,
    suggest_fix,
    trace,
    trace_finding,
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
    from schedgen.predict import CannotPredict, Prediction
    from schedgen.running import RunResult
    from schedgen.timeline import Latencies, Timeline

__version__ = "0.1.0"

__all__ = [
    "BuildFailed", "BuildReport", "CannotEmit", "CannotPredict", "Edit", "Finding", "Fix",
    "IllFormed", "Latencies", "Outcome", "Pass", "PassStopped", "Pipeline", "Prediction", "Refused",
    "RunResult", "Schedule", "Timeline", "ToolchainMissing", "Verdict", "apply", "apply_steps",
    "build", "check", "diff", "emit", "limits", "load", "parse", "predict", "replay_finding", "run",
    "show", "suggest_fix", "trace", "trace_finding",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names of what builds, runs and predicts kernels, imported when they are asked for."""
    if name in ("BuildFailed", "BuildReport", "ToolchainMissing"):
        return getattr(import_module("schedgen.build"), name)
    if name in ("CannotPredict", "Prediction"):
        return getattr(import_module("schedgen.predict"), name)
    if name in ("Latencies", "Timeline"):
        return getattr(import_module("schedgen.timeline"), name)
    if name in ("Edit", "Fix"):
        return getattr(import_module("schedgen.fixes"), name)
    if name == "RunResult":
        return import_module("schedgen.running").RunResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
