"""The public test helpers: what they accept, what their failures say, and the strategies."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgen as sg
from schedgen.testing import assert_proved, assert_refuted, strategies

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
EARLY = sg.load(KNOWN_BAD / "sg203_early_release.sched")


def test_a_proved_schedule_passes():
    assert assert_proved(sg.load("hopper_matmul_v5")).outcome is sg.Outcome.PROVED


def test_the_failure_is_the_refusal_with_its_witness():
    with pytest.raises(AssertionError) as caught:
        assert_proved(EARLY)
    text = str(caught.value)
    assert "refuted (1 finding;" in text
    assert "SG203 overwrite-before-retire: tile 3 may land in stage 0 of tma.A[0] while" in text
    assert text.splitlines()[-1].startswith("overwrite: ")


def test_a_refusal_without_a_witness():
    v5 = sg.load("hopper_matmul_v5")
    large = replace(v5, rings=(replace(v5.rings[0], stages=5),))
    with pytest.raises(AssertionError, match="SG501"):
        assert_proved(large)


def test_what_is_not_known_is_not_proved():
    text = sg.show(sg.load("hopper_matmul_v4"))
    text = text.replace("for _ in 0..tma.stages", "for _ in 0..min(tma.stages, K / 2)")
    with pytest.raises(AssertionError, match="unsupported"):
        assert_proved(sg.parse(text))


def test_refuted_gives_the_finding():
    assert assert_refuted(EARLY, code="SG203").k == 4
    assert assert_refuted(EARLY, code="SG203", k=4).k == 4


def test_refuted_under_another_code_or_not_at_all():
    with pytest.raises(AssertionError, match=r"not refuted under SG205\n.*\nSG203"):
        assert_refuted(EARLY, code="SG205")
    with pytest.raises(AssertionError, match="not refuted under SG203\nproved for every K"):
        assert_refuted(sg.load("hopper_matmul_v5"), code="SG203")
    with pytest.raises(AssertionError, match="not refuted under SG203\nchecked for K = 3"):
        assert_refuted(EARLY, code="SG203", k=3)


@settings(max_examples=10)
@given(strategies.pipelines())
def test_generated_pipelines_are_right(schedule):
    assert_proved(schedule)


@given(strategies.pipelines(stages=st.just(3), consumers=st.just(2), rings=st.just(1)))
def test_the_numbers_can_be_chosen(schedule):
    assert [ring.stages for ring in schedule.rings] == [3]
    assert schedule.roles[1].replicas == 2


@given(st.data())
def test_a_mutant_is_another_schedule(data):
    base = data.draw(strategies.pipelines())
    assert data.draw(strategies.mutants(base)) != base


def test_helpers_need_no_hypothesis_and_strategies_say_so():
    work = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import schedgen.testing\n"
        "try:\n    import schedgen.testing.strategies\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    assert "python3 -m pip install 'schedgen[testing]'" in done.stdout
