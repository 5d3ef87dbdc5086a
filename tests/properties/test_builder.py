"""The builder can say what the text form can: the program of a schedule builds an equal one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedgen as sg
from schedgen.ir.parser import parse
from schedgen.ir.problems import IllFormed
from schedgen.ir.spec import verify
from schedgen.kernels import KERNELS
from tests.strategies import mutants, serial_schedules, small_pipelines, soups

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("tests/known_*/**/*.sched"))


def built(schedule):
    names = {}
    exec(compile(sg.to_python(schedule), "program.py", "exec"), names)
    return names["schedule"]


def outcome(act):
    """The value, or the code of the refusal."""
    try:
        return act()
    except IllFormed as error:
        return error.code


def well_formed(schedule):
    verify(schedule)
    return schedule


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    assert built(sg.load(name)) == sg.load(name)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_schedules_of_the_tests(path):
    schedule = outcome(lambda: sg.load(path))
    if not isinstance(schedule, str):  # refused as a text
        assert built(schedule) == schedule


@given(st.data())
def test_generated_schedules(data):
    base = data.draw(st.one_of(serial_schedules, small_pipelines()))
    schedule = data.draw(st.one_of(st.just(base), mutants(base)))
    assert outcome(lambda: built(schedule)) == outcome(lambda: well_formed(schedule))


@given(soups())
def test_any_ops_in_any_blocks(schedule):
    assert outcome(lambda: built(schedule)) == outcome(lambda: well_formed(schedule))


def test_names_that_mean_something_in_python():
    text = sg.show(sg.load("hopper_matmul_v4"))
    for old, new in (("tma", "s"), ("acc", "lambda"), ("producer", "sg"), (" k ", " schedule ")):
        text = text.replace(old, new)
    text = text.replace(" k\n", " schedule\n").replace("n 256, schedule 64", "n 256, k 64")
    text = text.replace("lambda lambda", "acc lambda")
    schedule = parse(text, file="odd.sched")
    assert built(schedule) == schedule
