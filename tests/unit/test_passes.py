"""What the passes make, what they refuse and why."""

import dataclasses
import inspect

import pytest

import schedgen as sg
from schedgen.passes import PASSES
from tests.refusals import PASS_REFUSALS, V4, V5, changed, pipeline_of, refusal


@pytest.mark.parametrize(("code", "text", "pipeline"), PASS_REFUSALS)
def test_refuses_with_its_code(code, text, pipeline):
    assert refusal(text, pipeline).code == code


REASONS = [
    (V5, "set-stages{n=1}", ["lags by 1", "at least 2 stages"]),
    (V4, "overlap-wgmma{in-flight=3}", ["3 steps in flight", "4 stages of tma", "it has 3"]),
    (changed(V4, ("stages 3", "stages 9")), "overlap-wgmma{in-flight=8}", ["wait 8", "0..7"]),
    (V5, "overlap-wgmma{in-flight=1}", ["wait 1"]),
    (V4, "set-stages{n=4,ring=tmb}", ["no ring `tmb`"]),
]


@pytest.mark.parametrize(("text", "pipeline", "words"), REASONS)
def test_refusal_gives_its_reason(text, pipeline, words):
    message = refusal(text, pipeline).message
    assert [word for word in words if word not in message] == [], message


def test_v5_is_v4_through_the_pipeline():
    made = sg.apply(sg.parse(V4), "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert made == sg.load("hopper_matmul_v5")
    assert sg.show(made).partition("\n")[2] == V5.partition("\n")[2]


@pytest.mark.parametrize("pipeline", ["overlap-wgmma{in-flight=0}", "set-stages{n=3}"])
def test_nothing_to_do_gives_the_same_object(pipeline):
    schedule = sg.parse(V4)
    assert pipeline_of(pipeline).rewrite_unchecked(schedule) is schedule


def test_too_many_stages_are_left_to_the_verdict():
    five = sg.apply(sg.parse(V5), "set-stages{n=5}")
    assert [f.code for f in sg.check(five, 1).findings] == ["SG501"]


def test_only_the_named_ring_is_changed():
    two = changed(V4, ("acc acc", "ring other stages 2 empty 1 full 1 {\n}\nacc acc"))
    made = sg.apply(sg.parse(two), "set-stages{n=4,ring=tma}")
    assert {r.name: r.stages for r in made.rings} == {"tma": 4, "other": 2}


@pytest.mark.parametrize("cls", PASSES.values())
def test_pass_declares_itself(cls):
    page = inspect.getdoc(cls)
    assert [part for part in ("args:", "rewrite:", "->") if part not in page] == []
    assert cls.keeps
    assert cls.__dataclass_params__.frozen
    for field in dataclasses.fields(cls):
        assert f"{field.name.replace('_', '-')}:" in page
