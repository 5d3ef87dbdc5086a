"""Whatever a pass makes, the checker accepts; what cannot be legal, it refuses with a code."""

from hypothesis import given, note
from hypothesis import strategies as st

import schedgen as sg
from tests.strategies import pipelines, serial_schedules, serials

LIMITS = {"SG501", "SG502", "SG503"}


@given(serial_schedules, pipelines())
def test_result_is_accepted_or_the_pass_refuses(schedule, pipeline):
    note(f"{pipeline}\n{sg.show(schedule)}")
    try:
        made = sg.apply(schedule, pipeline)
    except sg.PassStopped as stopped:
        refused = stopped.finding.code
    else:
        refused = None
    assert refused in {None, "SG402", "SG403"}
    if refused is not None:
        return
    findings = [f for f in sg.check(made, (0, 11)).findings if f.code not in LIMITS]
    assert [f"{f.code} K={f.k} {f.message}" for f in findings] == []


@given(serials(), st.integers(1, 5))
def test_overlap_needs_one_stage_more_than_steps_in_flight(serial, steps):
    """It refuses exactly where the lag would not fit, never for another reason."""
    schedule = serial.schedule()
    try:
        made = sg.apply(schedule, f"overlap-wgmma{{in-flight={steps}}}")
    except sg.PassStopped as stopped:
        code, legal = stopped.finding.code, steps * serial.commits <= 7
        assert code == ("SG402" if legal else "SG404")
        assert not legal or steps >= min(serial.stages)
        return
    assert steps < min(serial.stages)
    assert f"wait {steps * serial.commits}\n" in sg.show(made)
    assert f"lag {steps}\n" in sg.show(made)


@given(serials(), st.integers(0, 2), st.integers(1, 4))
def test_stages_commute_with_overlap(serial, steps, stages):
    """Deepening first and overlapping then gives the same as the other way round."""
    schedule, overlap = serial.schedule(), f"overlap-wgmma{{in-flight={steps}}}"
    if steps >= min(*serial.stages, stages):
        return
    one = sg.apply(schedule, f"{overlap},set-stages{{n={stages}}}")
    other = sg.apply(schedule, f"set-stages{{n={stages}}},{overlap}")
    assert one == other


@given(serial_schedules, st.integers(1, 4))
def test_set_stages_twice_is_the_last_one(schedule, stages):
    twice = f"set-stages{{n={stages + 1}}},set-stages{{n={stages}}}"
    assert sg.apply(schedule, twice) == sg.apply(schedule, f"set-stages{{n={stages}}}")
