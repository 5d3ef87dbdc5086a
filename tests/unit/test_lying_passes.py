"""A pass that does not keep what it declares is caught at the smallest K where it shows."""

import dataclasses

import pytest

import schedgen as sg
from schedgen.pipeline import Pipeline
from tests.lying_passes import LIES, Lie, load_b_twice


def caught(act, kernel):
    """The finding that stops the lie on a kernel, None if it gets through."""
    try:
        list(Pipeline((Lie(act=act),)).steps(sg.load(kernel)))
    except sg.PassStopped as stopped:
        return stopped.finding
    return None


@pytest.mark.parametrize("act", LIES, ids=lambda act: act.__name__)
def test_lie_is_caught(act):
    kernel, lost, k = LIES[act]
    finding = caught(act, kernel)
    assert finding is not None
    assert (finding.code, finding.property_name, finding.k) == ("SG901", lost, k)


def test_pass_that_breaks_well_formedness_is_caught():
    def broken(schedule):
        ring = dataclasses.replace(schedule.rings[0], stages=0)
        return dataclasses.replace(schedule, rings=(ring,))

    finding = caught(broken, "hopper_matmul_v4")
    assert (finding.code, finding.property_name) == ("SG901", "well-formedness")


def test_only_what_is_declared_is_checked():
    class Honest(Lie):
        keeps = frozenset({"products", "numerics"})

    steps = list(Pipeline((Honest(act=load_b_twice),)).steps(sg.load("hopper_matmul_v4")))
    assert len(steps) == 1


def test_identity_is_no_lie():
    assert caught(lambda schedule: schedule, "hopper_matmul_v5") is None
