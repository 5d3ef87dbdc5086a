"""Every operator of the mutants makes schedules that are others, and most of them well formed."""

import pytest
from hypothesis import HealthCheck, given, settings

import schedgen as sg
from tests.mutations import MUTATIONS
from tests.small_cases import SAMPLES, bases, is_small


@pytest.mark.parametrize("name", MUTATIONS)
def test_an_operator_edits(name):
    made = [(sample, edit()) for sample in SAMPLES for edit in MUTATIONS[name](sample)]
    formed = 0
    for sample, schedule in made:
        assert schedule != sample
        try:
            assert sg.parse(sg.show(schedule)) == schedule
        except sg.IllFormed:
            continue
        formed += 1
    assert 2 * formed > len(made) > len(SAMPLES)


@settings(suppress_health_check=list(HealthCheck))
@given(bases)
def test_bases_are_small(schedule):
    assert is_small(schedule)
    assert len(schedule.roles) <= 3
    for ring in schedule.rings:
        assert sum(slot.slab_count for slot in ring.slots) <= 3  # two work tiles share one of A
