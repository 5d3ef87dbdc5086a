"""Every schedule here must be accepted without a finding, by the checker and by the machine."""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.machine import adversaries, execute, seeded

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.sched"))


UNPROVED = {
    "cursor_wraps_after_two_turns", "drain_of_a_quarter", "extra_commit_now_and_then",
    "extra_wait_in_the_middle", "one_ring_at_half_the_rate", "two_uses_each_iteration",
}  # fmt: skip
"""Right for every K that was looked at, in a form that the proof has no words for."""

FAR = 30


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_proved_without_a_finding(file):
    verdict = sg.check(sg.load(file))
    assert [f"{f.code} K={f.k} {f.message}" for f in verdict.findings] == []
    unproved = sg.Outcome.UNSUPPORTED if file.stem in UNPROVED else sg.Outcome.PROVED
    assert verdict.outcome is unproved, verdict.reason


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_far_beyond_the_explicit_range_nothing_is_found(file):
    assert sg.check(sg.load(file), (FAR, FAR + 2)).ok


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_machine_sees_no_hazard(file):
    schedule = sg.load(file)
    k_tiles = max(ring.stages for ring in schedule.rings) + 2
    for policy in [*adversaries(schedule), seeded(0), seeded(1)]:
        run = execute(
            schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
        )  # fmt: skip
        assert run.is_clean, (str(policy), run.hazards)


def test_overlap_with_two_in_flight_on_three_consumers():
    """Two mma and two commits per step: the wait depth counts groups, the lag counts steps."""
    serial = sg.load(HERE / "three_consumers_serial.sched")
    made = sg.apply(serial, "overlap-wgmma{in-flight=2}")
    assert made == sg.load(HERE / "three_consumers_two_in_flight.sched")
    text = sg.show(made)
    assert "wait 4\n" in text
    assert "release tma.empty lag 2\n" in text
