"""Passes of the ladder in any order, on any rung: what they make is right, or they refuse."""

from hypothesis import event, given, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.kernels import KERNELS

LIMITS = {"SG501", "SG502", "SG503"}
STEPS = [
    "multi-buffer{n=1}", "multi-buffer{n=2}", "multi-buffer{n=3}", "warp-specialize",
    "set-tile{m=128,n=128}", "set-tile{m=128,n=256}", "set-tile{m=256,n=256}",
    "split-consumers{n=1}", "split-consumers{n=2}", "split-consumers{n=4}",
    "overlap-wgmma{in-flight=1}", "overlap-wgmma{in-flight=2}", "set-stages{n=1}",
    "set-stages{n=2}", "set-stages{n=4}", "accumulate{type=f16}", "accumulate{type=f32}",
    "rasterize{along=n,group=8}", "rasterize{along=m,group=1}", "stage-epilogue{buffer=own}",
    "stage-epilogue{buffer=turns}", "stage-epilogue{buffer=ring}",
]  # fmt: skip


@given(st.sampled_from(sorted(KERNELS)), st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_result_is_accepted_or_a_pass_refuses(kernel, steps):
    """A pass that refuses is left out, so that the ones behind it are tried, too."""
    schedule = sg.load(kernel)
    for step in steps:
        try:
            schedule = sg.apply(schedule, step)
        except sg.PassStopped as stopped:
            code = stopped.finding.code
        else:
            code = None
            event(f"applied {step.partition('{')[0]}")
        assert code is None or code.startswith("SG4"), step
    note(sg.show(schedule))
    findings = [f for f in sg.check(schedule, (0, 7)).findings if f.code not in LIMITS]
    assert [f"{f.code} K={f.k} {f.message}" for f in findings] == []
