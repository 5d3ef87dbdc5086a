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
from schedgen.api import build as compile
from schedgen.diagnostics.finding import Finding
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.builder import Builder, to_python
from schedgen.ir.expr import Name, literal
from schedgen.ir.expr import greatest as max
from schedgen.ir.expr import least as min
from schedgen.ir.printer import to_text as show
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Problem, Schedule, Tensor, Tile
from schedgen.pipeline import Pass, PassStopped, Pipeline
from schedgen.reprs import attach

if TYPE_CHECKING:
    from schedgen.build import BuildFailed, BuildReport, ToolchainMissing
    from schedgen.fixes import Edit, Fix
    from schedgen.predict import CannotPredict, Numbers, Prediction, h200
    from schedgen.running import RunResult
    from schedgen.timeline import Timeline

__version__ = "0.1.0"

attach()

K = Name("K")
"""The K tiles of a problem; not known when a schedule is written."""

SELF = Name("self")
"""The number of a role's replica, from 0."""

I = Name("i")  # noqa: E741
"""The number of a slab or part, in the declaration of a slot or buffer."""

__all__ = [
    "SELF",
    "BuildFailed",
    "BuildReport",
    "Builder",
    "CannotEmit",
    "CannotPredict",
    "Edit",
    "Finding",
    "Fix",
    "I",
    "IllFormed",
    "K",
    "Numbers",
    "Outcome",
    "Pass",
    "PassStopped",
    "Pipeline",
    "Prediction",
    "Problem",
    "Refused",
    "RunResult",
    "Schedule",
    "Tensor",
    "Tile",
    "Timeline",
    "ToolchainMissing",
    "Verdict",
    "apply",
    "apply_steps",
    "build",
    "check",
    "compile",
    "diff",
    "emit",
    "h200",
    "limits",
    "literal",
    "load",
    "max",
    "min",
    "parse",
    "predict",
    "replay_finding",
    "run",
    "show",
    "suggest_fix",
    "to_python",
    "trace",
    "trace_finding",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> Any:
    """Names of what builds, runs and predicts kernels, imported when they are asked for."""
    if name in ("BuildFailed", "BuildReport", "ToolchainMissing"):
        return getattr(import_module("schedgen.build"), name)
    if name in ("CannotPredict", "Numbers", "Prediction", "h200"):
        return getattr(import_module("schedgen.predict"), name)
    if name == "Timeline":
        return import_module("schedgen.timeline").Timeline
    if name in ("Edit", "Fix"):
        return getattr(import_module("schedgen.fixes"), name)
    if name == "RunResult":
        return import_module("schedgen.running").RunResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
