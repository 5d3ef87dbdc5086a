"""No edge and no obligation of the checker can be dropped without some schedule that notices.

`tests/benchmarks/break_checker.py` counts over all schedules; here a few that together notice all.
"""

import pytest

from tests.benchmarks.break_checker import BREAKS, PROOF_BREAKS, changed, samples

ENOUGH = {
    "peeled_at_both_ends", "sg201_acquire_by_the_leader_alone", "sg201_tma_store_before_sync",
    "sg202_load_of_the_next_tile", "sg204_two_loads_of_one_slot", "sg206_no_last_wait",
    "sg207_no_commit", "sg210_no_proxy_fence", "sg211_both_consumers_multiply_slab_zero",
    "sg214_no_store_wait", "sg215_two_stores", "sg216_buffer_of_the_accumulator_type",
    "sg301_arrival_beside_the_expect", "sg302_arrival_by_another_loader",
    "sg302_bytes_left_over", "sg303_two_roles_arrive",
    "sg304_second_phase_awaited_first", "sg305_leader_releases_before_its_sisters_waited",
    "sg306_nobody_waits", "sg309_lag_in_the_first_step", "sg310_consumer_runs_one_tile_more",
    "sg502_box_too_wide", "staged_epilogue_waits_for_its_writes",
}  # fmt: skip
FEW = [s for s in samples(late=False) if s.name in ENOUGH]
LATE = [s for s in samples(late=True) if s.name == "sg203_one_commit_skipped"]


def test_unbroken_they_get_their_codes():
    assert {s.name for s in FEW} == ENOUGH
    assert changed([], FEW + LATE) == []


@pytest.mark.parametrize("name", BREAKS)
def test_some_schedule_notices(name):
    assert changed(BREAKS[name], FEW)


@pytest.mark.parametrize("name", PROOF_BREAKS)
def test_some_late_bug_notices_a_shorter_proof(name):
    assert changed(PROOF_BREAKS[name], LATE)
