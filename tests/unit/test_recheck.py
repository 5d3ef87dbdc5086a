"""The certificate of a proof is re-checked by a script that shares no code with the prover."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.cli import verdict_json
from tests.recheck import complaints

TESTS = Path(__file__).parents[1]
GOOD = [TESTS / "known_good" / f"{name}.sched" for name in (
    "b29_sync_before_the_release", "depth_grows_late", "named_barrier_every_iteration",
    "outer_loop_of_two_column_halves", "prefetch_after_the_mma", "staged_buffer_used_again",
    "staged_in_the_ring", "staged_in_turns", "staged_in_two_rings", "third_role_hands_stages_back",
    "two_loops_second_in_flight", "v2", "v5_two_rings_first_deeper",
)]  # fmt: skip


def value_of(schedule):
    return json.loads(json.dumps(verdict_json(schedule, sg.check(schedule), schedule.name)))


@pytest.mark.parametrize("file", GOOD, ids=lambda f: f.stem)
def test_certificates_of_good_schedules_hold(file):
    value = value_of(sg.load(file))
    assert value["verdict"] == "proved"
    assert list(complaints(value)) == []


def test_on_the_command_line():
    value = json.dumps(value_of(sg.load("hopper_matmul_v4")))
    script = [sys.executable, str(TESTS / "recheck.py")]
    run = subprocess.run(script, input=value, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "the certificate holds\n")


FALSIFIED = [
    ("explicit", -1, "not its text"),
    ("distance", -1, "longer than said"),
    ("window", -1, "longer than said"),
    ("reach", -5, "longer than said"),
    ("descent", 9, "longer than said"),
]


@pytest.mark.parametrize(("field", "change", "expected"), FALSIFIED)
def test_a_wrong_number_is_found(field, change, expected):
    value = value_of(sg.load("hopper_matmul_v5"))
    value["certificate"][field] += change
    assert any(expected in text for text in complaints(value))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_repeat_that_comes_too_soon_is_found(side):
    value = value_of(sg.load("hopper_matmul_v5"))
    value["certificate"]["stretches"][0][side] -= 1
    assert any("does not repeat" in text for text in complaints(value))


@pytest.mark.parametrize("change", [(1, 0), (8, 0)])
def test_a_block_that_is_no_turn_is_found(change):
    value = value_of(sg.load("hopper_matmul_v5"))
    block = value["certificate"]["stretches"][0]["blocks"]["1"]
    block[:] = [block[0] + change[0], block[1] + change[1]]
    assert list(complaints(value)) != []


@pytest.mark.parametrize(
    ("name", "expected"), [("v5_two_stages", False), ("staged_in_the_ring", True)]
)
def test_a_buffer_in_a_ring_needs_every_remainder_of_k(name, expected):
    value = value_of(sg.load(TESTS / "known_good" / f"{name}.sched"))
    (stretch,) = value["certificate"]["stretches"]
    stretch["left"] = stretch["columns"] - stretch["right"]
    assert any("do not meet" in text for text in complaints(value)) is expected


def test_the_script_is_as_long_as_the_readme_says():
    lines = (TESTS / "recheck.py").read_text(encoding="utf-8").count("\n")
    assert f"`tests/recheck.py` ({lines} lines" in (TESTS.parent / "README.md").read_text("utf-8")
    assert lines <= 80
