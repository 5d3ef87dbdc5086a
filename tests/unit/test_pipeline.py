"""Pipeline strings: they parse, they print, and bad ones say where."""

import pytest

import schedgen as sg
from tests.refusals import BAD_PIPELINES, V4, pipeline_of


@pytest.mark.parametrize("text", BAD_PIPELINES)
def test_bad_pipeline_is_one_clear_error(text):
    with pytest.raises(sg.IllFormed) as stopped:
        pipeline_of(text)
    assert stopped.value.code == "SG114"
    assert str(stopped.value).startswith("error[SG114]: ")
    assert "\n" not in str(stopped.value)


CANONICAL = [
    "set-stages{n=4}", "set-stages{n=4,ring=tma}", "overlap-wgmma{in-flight=1}",
    "overlap-wgmma{in-flight=1},set-stages{n=4}", "set-stages{n=2},set-stages{n=3}",
]  # fmt: skip


@pytest.mark.parametrize("text", CANONICAL)
def test_prints_as_it_was_written(text):
    assert pipeline_of(text).text == text


def test_spaces_do_not_matter():
    loose = " overlap-wgmma { in-flight = 1 } , set-stages{ ring = tma, n=4 } "
    assert pipeline_of(loose).text == "overlap-wgmma{in-flight=1},set-stages{n=4,ring=tma}"


def test_error_names_the_column_of_the_bad_pass():
    with pytest.raises(sg.IllFormed) as stopped:
        pipeline_of("set-stages{n=4},no-such-pass")
    assert stopped.value.place.column == len("set-stages{n=4},") + 1
    assert "no-such-pass" in stopped.value.message
    assert "overlap-wgmma" in stopped.value.help


def test_steps_are_given_in_order():
    steps = sg.apply_steps(sg.parse(V4), "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert [(step.name, after.rings[0].stages) for step, after in steps] == [
        ("overlap-wgmma", 3), ("set-stages", 4),
    ]  # fmt: skip
