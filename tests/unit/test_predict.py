"""What `schedgen predict` says: by hand where that is possible, and where it must tell apart."""

import dataclasses
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.kernels import KERNELS
from schedgen.predict import Numbers, h200, predicted_ms
from schedgen.predict import predict as predict_proved
from schedgen.predict.card import DATA
from schedgen.predict.costs import serialised
from schedgen.predict.model import loop_of
from schedgen.predict.occupancy import occupancy, waves
from tests.command_line import schedgen

ROOT = Path(__file__).parents[2]
SQUARE = (8192, 8192, 8192)
ROUND = Numbers(
    load_rate=64.0, load_latency=1000, load_queue=0, wakeup=10, launch=2000, store_rate=8.0,
    clock=1.5,
)  # fmt: skip


def made(kernel, pipeline=""):
    schedule = sg.load(f"hopper_matmul_{kernel}")
    return sg.apply(schedule, pipeline) if pipeline else schedule


def cycles(kernel, pipeline="", shape=SQUARE):
    schedule = made(kernel, pipeline)
    return predict_proved(schedule, shape=shape, numbers=h200(), clock=None).cycles


# --- by hand
def test_serial_loop_of_one_role():
    """Load, look, multiply, wait, synchronise: nothing of a step overlaps."""
    step = 1000 + 32768 // 64 + 10 + 512 + 10 + 10
    assert loop_of(made("v1"), ROUND).alone == step


def test_serial_consumer_whose_tiles_are_there():
    """The mma, the way back from it, and a look at the barrier: deep rings hide the load."""
    assert loop_of(made("v3", "set-stages{n=6}"), ROUND).alone == 512 + 10 + 10


def test_ring_of_two_stages():
    """Load, look, mma of both consumers one after the other, wait, release: over two steps."""
    loop = loop_of(made("v4", "set-stages{n=2}"), ROUND)
    assert loop.alone == Fraction(1000 + 49152 // 64 + 10 + 2 * 512 + 10 + 10, 2)
    assert loop.limiting is not None
    assert loop.limiting.text == (
        "ring tma: acquire -> load -> full -> mma -> wait -> release -> acquire over 2 stages"
    )


def test_two_consumers_share_the_tensor_core():
    loop = loop_of(made("v5"), ROUND)
    assert loop.alone == 2 * 64 * 256 * 64 * 2 // 4096
    assert loop.limiting is not None
    assert loop.limiting.text == "tensor core: the mma of both consumers"


def test_lag_takes_a_stage():
    """With one group in flight two stages are one load at a time."""
    loop = loop_of(made("v5", "set-stages{n=2}"), ROUND)
    assert loop.alone == 1000 + 49152 // 64 + 10 + 10


def test_whole_kernel():
    found = predict_proved(made("v5"), shape=SQUARE, numbers=ROUND, clock=2.0)
    assert found.epilogue == 10 + 2 * 64 * 256 * 2 // 8
    assert found.waves.count == 16
    alone = found.prologue + 128 * 1024 + found.epilogue
    assert found.cycles == 16 * alone
    assert found.ms == pytest.approx(found.cycles / 2e6)


def test_ctas_of_an_sm_share_its_loads():
    loop = loop_of(made("v3"), ROUND)
    assert loop.work == 32768 // 64
    assert loop.shared == 2 * loop.work > loop.alone
    assert loop.limiting is not None
    assert loop.limiting.text.endswith("of 2 CTAs")


# --- CTAs and waves
@pytest.mark.parametrize(
    ("kernel", "pipeline", "ctas", "limit"),
    [
        ("v1", "", 3, "registers"), ("v2", "", 2, "shared memory"),
        ("v3", "", 2, "shared memory"), ("v3", "set-stages{n=2}", 2, "registers"),
        ("v3", "set-stages{n=4}", 1, "shared memory"), ("v4", "", 1, "shared memory"),
        ("v5", "set-stages{n=2}", 1, "registers"), ("v6", "", 1, "shared memory"),
    ],
)  # fmt: skip
def test_occupancy(kernel, pipeline, ctas, limit):
    found = occupancy(made(kernel, pipeline))
    assert (found.ctas, found.limit) == (ctas, limit)


def test_waves():
    assert waves(2048, 1).count == 16
    assert (waves(4096, 3).rounds, waves(4096, 3).rest) == (10, 2)
    assert waves(132, 1).count == waves(1, 2).count == 1


# --- what it must tell apart
def test_two_stages_collapse_three_and_four_tie():
    two, three, four = (cycles("v5", f"set-stages{{n={n}}}") for n in (2, 3, 4))
    assert two > 1.4 * four
    assert 1 <= three / four < 1.05


def test_overlap_does_not_pay_with_two_consumers():
    assert cycles("v5") >= 0.999 * cycles("v4", "set-stages{n=4}")
    assert cycles("v5", "set-stages{n=3}") >= 0.999 * cycles("v4")
    assert cycles("v5", "set-stages{n=2}") > 1.1 * cycles("v4", "set-stages{n=2}")


def test_overlap_does_not_pay_with_one_consumer():
    """ptxas serialises 128 rows in flight; with 64 rows, whose loads are dearer, they limit."""
    overlap = "overlap-wgmma{in-flight=1}"
    assert cycles("v3", overlap) >= cycles("v3")
    deep = "set-stages{n=4}"
    assert cycles("v3", f"{deep},{overlap}") > 1.3 * cycles("v3", deep)
    narrow = "set-tile{m=64,n=256},set-stages{n=4}"
    assert cycles("v3", f"{narrow},{overlap}") > 0.95 * cycles("v3", narrow)


@pytest.mark.parametrize(
    ("pipeline", "is_serialised"),
    [
        ("overlap-wgmma{in-flight=1}", True), ("", False),
        ("set-tile{m=64,n=256},overlap-wgmma{in-flight=1}", False),
        ("set-tile{m=256,n=128},split-consumers{n=2},overlap-wgmma{in-flight=1}", True),
    ],
)  # fmt: skip
def test_serialised_by_ptxas(pipeline, is_serialised):
    """As nvcc 13.0.88 built them: C7520, and `DEPBAR` of depth 0 after each HGMMA, or neither."""
    schedule = made("v3", pipeline)
    assert serialised(schedule, schedule.roles[-1]) == is_serialised


def test_staged_epilogue_is_shorter():
    for plain, staged in (("v5", "v5_ring"), ("v4", "v4_ring")):
        assert cycles(staged) < cycles(plain)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_a_time(kernel):
    found = predicted_ms(sg.load(kernel), *SQUARE)
    assert found is not None
    assert 1.2 < found < 2.5


# --- the data file
def test_there_are_at_most_eight_numbers():
    data = json.loads(DATA.read_text(encoding="utf-8"))
    assert len(data["numbers"]) <= 8
    assert set(data["numbers"]) == {f.name for f in dataclasses.fields(Numbers)}
    for entry in data["numbers"].values():
        assert set(entry) == {"value", "unit", "how"}
    assert {"card", "date", "fitted_to"} <= set(data)


# --- the command line
def test_function_and_package_have_one_name():
    """Importing the package later does not put it in the place of the function."""
    import schedgen.predict  # noqa: F401

    assert sg.predict(made("v5"), shape=SQUARE).cycles == cycles("v5")


def test_clock_changes_milliseconds_only():
    slow, fast = (sg.predict(made("v5"), shape=SQUARE, clock=c) for c in (1.0, 2.0))
    assert slow.cycles == fast.cycles
    assert slow.ms == pytest.approx(2 * fast.ms)


def test_json():
    result = schedgen("predict", "hopper_matmul_v5", "--shape", "8192x8192x8192",
                      "--format", "json")  # fmt: skip
    value = json.loads(result.out)
    assert result.code == 0
    found = sg.predict(made("v5"), shape=SQUARE)
    assert value["cycles_per_step"] == pytest.approx(found.cycles_per_step, abs=1e-3)
    assert value["cycles_per_step"] >= 1024
    assert value["limiting"]["text"] == found.limiting.text
    assert {"role", "event", "op"} == set(value["limiting"]["events"][0])
    assert (value["tiles"], value["waves"], value["ctas_per_sm"]) == (2048, 16, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--shape", "8192x8192"], 2, "give MxNxK in elements"),
        (["--shape", "8192x8192x100"], 2, "use a multiple of 8"),
        (["--shape", "0x8192x128"], 2, "m and n must be 1 or more"),
        ([], 2, "--shape"),
        (["--shape", "64x64x64", "--clock", "0"], 2, "--clock"),
        (["--shape", "64x64x64", "-p", "set-stages{n=5}"], 1, "SG501"),
        (["--shape", "64x64x64", "-p", "set-stages"], 2, "SG114"),
    ],
)  # fmt: skip
def test_bad_input(arguments, code, words):
    result = schedgen("predict", "hopper_matmul_v5", *arguments)
    assert (result.code, result.out) == (code, "")
    assert words in result.err


def test_what_has_no_proof_has_no_prediction():
    text = sg.show(made("v5"))
    doubled = re.sub(r"for k in 0\.\.K \{", "for k in 0..2*K {", text)
    result = schedgen("predict", "-", "--shape", "64x64x64", stdin=doubled)
    assert result.code in (1, 3)
    assert "no prediction: hopper_matmul_v5 is not proved" in result.err


def test_nothing_is_said_where_turns_do_not_repeat():
    uneven = sg.show(made("v4")).replace("wait 0\n", "if k * k < K {\nwait 0\n}\n")
    assert predicted_ms(sg.parse(uneven), *SQUARE) is None
