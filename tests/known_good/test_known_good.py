"""Every schedule here must be accepted without a finding, by the checker and by the machine."""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.machine import adversaries, execute, seeded

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.sched"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_checked_without_a_finding(file):
    verdict = sg.check(sg.load(file))
    assert [f"{f.code} K={f.k} {f.message}" for f in verdict.findings] == []
    assert verdict.outcome is sg.Outcome.CHECKED


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
