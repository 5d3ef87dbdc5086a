"""Print and parse are inverse, whatever the schedule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedgen as sg
from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text
from tests.refusals import pipeline_of
from tests.strategies import mutants, pipelines, serial_schedules, soups


def parses_back(schedule):
    """The text is canonical and gives an equal schedule."""
    text = to_text(schedule)
    again = parse(text, file="again.sched")
    assert again == schedule, text
    assert to_text(again) == text
    return True


@given(soups())
def test_any_ops_in_any_blocks(schedule):
    assert parses_back(schedule)


@given(serial_schedules.flatmap(mutants))
def test_mutants(schedule):
    assert parses_back(schedule)


@pytest.mark.parametrize("kernel", ["hopper_matmul_v4", "hopper_matmul_v5"])
def test_kernels(kernel):
    assert parses_back(sg.load(kernel))


@given(pipelines())
def test_pipeline_prints_and_parses(text):
    assert pipeline_of(text).text == text
    assert pipeline_of(pipeline_of(text).text) == pipeline_of(text)


@given(soups(), st.sampled_from(["\n", " ", "\t", "\r\n", "  # comment\n"]))
def test_spaces_and_comments_do_not_matter(schedule, gap):
    tokens = to_text(schedule).replace("\n", gap if "\n" in gap else f"{gap}\n")
    assert parse(tokens, file="gaps.sched") == schedule


def test_names_of_schedule_and_file_are_no_part_of_equality():
    text = to_text(sg.load("hopper_matmul_v5"))
    other = text.replace("schedule hopper_matmul_v5", "schedule other")
    assert parse(text, file="a.sched") == parse(other, file="b.sched")
