"""Pipeline strings: they parse, they print, and bad ones say where."""

import re
from dataclasses import dataclass

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


@pytest.mark.parametrize("wrap", [lambda p: p, sg.Pipeline, list, iter])
def test_passes_are_applied_as_their_string_is(wrap):
    text = "overlap-wgmma{in-flight=1},set-stages{n=4}"
    passes = pipeline_of(text).passes
    v4 = sg.parse(V4)
    for given in ((wrap(passes),), passes):
        made = v4
        for each in given:
            made = sg.apply(made, each)
        assert sg.show(made) == sg.show(sg.apply(v4, text))


@dataclass(frozen=True, kw_only=True)
class Liar(sg.Pass):
    """Halves the bytes that are announced, and says that everything is kept."""

    name = "liar"
    keeps = frozenset({"traffic"})

    def refusals(self, schedule):
        return iter(())

    def rewrite(self, schedule):
        return sg.parse(sg.show(schedule).replace("load tma.B k", "load tma.A[0] k"))


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: sg.Pipeline((p,)), lambda p: [p]])
def test_what_a_pass_keeps_is_compared_however_it_is_given(wrap):
    with pytest.raises(sg.PassStopped) as stopped:
        sg.apply(sg.parse(V4), wrap(Liar()))
    assert stopped.value.finding.code == "SG901"
    first, *_, last = str(stopped.value).splitlines()
    assert first.startswith("SG901 pass-broke-the-schedule: ")
    assert last.startswith("    help : this is a bug of the pass")


NO_PASSES = [(Liar, "the class Liar is not a Pass: `Liar(...)`"), (4, "4 is not a Pass"),
             ([4], "4 is not a Pass")]  # fmt: skip


@pytest.mark.parametrize(("given", "says"), NO_PASSES)
def test_what_is_no_pass_is_said_so(given, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        sg.apply(sg.parse(V4), given)
