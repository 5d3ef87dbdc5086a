"""schedgen: Hopper GEMM K-loop schedules as values.

>>> import schedgen as sg
>>> v4 = sg.load("hopper_matmul_v4")
>>> v5 = sg.apply(v4, "overlap-wgmma{in-flight=1},set-stages{n=4}")
>>> sg.check(v5, k=(0, 9)).outcome
<Outcome.CHECKED: 'checked'>
"""

from schedgen.api import (
    CannotEmit,
    Refused,
    RunResult,
    apply,
    apply_steps,
    build,
    check,
    emit,
    limits,
    load,
    parse,
    predict,
    replay_finding,
    run,
)
from schedgen.build import BuildFailed, BuildReport, ToolchainMissing
from schedgen.diagnostics.finding import Finding
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.printer import to_text as show
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.pipeline import Pass, PassStopped, Pipeline
from schedgen.predict import CannotPredict, Prediction

__version__ = "0.1.0"

__all__ = [
    "BuildFailed", "BuildReport", "CannotEmit", "CannotPredict", "Finding", "IllFormed",
    "Outcome", "Pass", "PassStopped", "Pipeline", "Prediction", "Refused", "RunResult",
    "Schedule", "ToolchainMissing", "Verdict", "apply", "apply_steps", "build", "check", "emit",
    "limits", "load", "parse", "predict", "replay_finding", "run", "show",
]  # fmt: skip
