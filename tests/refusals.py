"""What is refused by other means than a schedule's text: pipelines, inputs, requests, emission.

One table, used by the tests of the refusals and by the test that every code is provoked.
"""

import schedgen as sg
from schedgen.diagnostics.finding import Finding
from schedgen.passes import PASSES
from schedgen.pipeline import Pipeline, parse_pipeline
from tests.ladder_refusals import LADDER_REFUSALS, V4, V5, changed

TWO_COMMITS = changed(V4, ("    commit\n", "    commit\n    commit\n"))

OVERLAP = "overlap-wgmma{in-flight=1}"
PASS_REFUSALS = [
    ("SG401", changed(V5, ("    wait 1\n", ""), ("  wait 0\n", "")), OVERLAP),
    ("SG401", V4, "set-stages{n=4,ring=tmb}"),
    ("SG402", V5, "set-stages{n=1}"),
    ("SG402", V4, "set-stages{n=0}"),
    ("SG402", V4, "overlap-wgmma{in-flight=3}"),
    ("SG402", changed(V4, ("stages 3", "stages 1")), OVERLAP),
    ("SG403", V5, OVERLAP),
    ("SG403", V4, "overlap-wgmma{in-flight=1},overlap-wgmma{in-flight=1}"),
    ("SG403", changed(V4, ("wait 0", "wait 1")), OVERLAP),
    ("SG404", changed(V4, ("stages 3", "stages 9")), "overlap-wgmma{in-flight=8}"),
    ("SG404", changed(TWO_COMMITS, ("stages 3", "stages 9")), "overlap-wgmma{in-flight=4}"),
    ("SG405", changed(V4, ("    release", "    touch acc\n    release")), OVERLAP),
    (
        "SG405",
        changed(V4, ("    release tma.empty\n", "    if k > 0 {\n    }\n    release tma.empty\n")),
        OVERLAP,
    ),
    *LADDER_REFUSALS,
]  # fmt: skip
"""Code, schedule, pipeline: the pass refuses, or its result would break at once."""

BAD_PIPELINES = [
    "", " ", ",", "set-stages{n=4},", ",set-stages{n=4}", "set-stages{n=4}set-stages{n=3}",
    "set-stages{n=4", "set-stages n=4", "set-stages", "set-stages{}", "set-stages{m=4}",
    "set-stages{n=}", "set-stages{n=four}", "set-stages{n=-1}", "set-stages{n=4,n=5}",
    "set-stages{n=99999999999999}", "set-stages{4}", "overlap{in-flight=1}",
    "overlap_wgmma{in_flight=1}", "overlap-wgmma{in-flight=1.5}", "Überlapp", "\0",
    "rasterize{along=k,group=4}", "accumulate{type=f64}", "stage-epilogue{buffer=shared}",
    "stage-epilogue", "warp-specialize{n=2}", "set-tile{m=128}",
]  # fmt: skip
"""Strings that are no pipeline (SG114)."""


def refusal(text: str, pipeline: str) -> Finding:
    """The finding with which the pipeline stops on a schedule."""
    try:
        sg.apply(sg.parse(text), pipeline)
    except sg.PassStopped as stopped:
        return stopped.finding
    raise AssertionError(f"{pipeline} was not refused")


def pipeline_of(text: str) -> Pipeline:
    return parse_pipeline(text, PASSES)
