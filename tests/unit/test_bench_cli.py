"""`schedgen bench` from outside: files, exit codes, refusals; on a fake GPU where it needs one."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from schedgen.bench import conducting
from schedgen.bench.preparing import CannotMeasure
from tests.command_line import schedgen
from tests.fake_gpu import FakeGpu, built_at_once

ASKED = ["bench", "V1=hopper_matmul_v1", "V2=hopper_matmul_v2", "--peer", "torch", "--rounds", "3"]
FIVE = "five=hopper_matmul_v5:set-stages{n=5}"
TIMES = {"V1": 1.5, "V2": 1.4, "torch.matmul": 1.0}


@pytest.fixture
def bench(monkeypatch):
    """Run `schedgen bench` on a fake GPU."""
    monkeypatch.setattr(conducting, "build_all", built_at_once)
    monkeypatch.setattr(conducting, "require_peers", lambda request: None)

    def run(*arguments, gpu=None):
        monkeypatch.setattr(conducting, "DEVICE", lambda: gpu or FakeGpu(TIMES))
        return schedgen(*arguments)

    return run


def test_a_run_and_its_file(bench, tmp_path):
    file, plot = tmp_path / "r.json", tmp_path / "r.svg"
    result = bench(*ASKED, FIVE, "--sustained", "-o", file, "--plot", plot)
    assert result.code == 0
    value = json.loads(file.read_text())
    assert (value["complete"], value["baseline"]) == (True, "torch.matmul")
    v1, v2, five, torch = value["contestants"]
    assert v1["schedule"] == "hopper_matmul_v1"
    assert v2["proof"].startswith("proved for every K")
    assert five["refusal"].startswith("SG501 shared-memory-capacity: 245840 bytes")
    assert torch["kind"] == "peer"
    rows = {row["label"]: row for row in value["shapes"][0]["rows"]}
    assert rows["V2"]["burst"]["rounds_ms"] == [1.4, 1.4, 1.4]
    assert rows["V2"]["check"]["state"] == "right"
    assert (rows["five"]["check"], "burst" in rows["five"]) == (None, False)
    assert {p.name for p in tmp_path.iterdir()} == {"r.json", "r.svg"}
    assert ET.fromstring(plot.read_text()).tag.endswith("svg")
    assert "0.7143" in result.out
    assert "five: SG501 shared-memory-capacity: 245840 bytes" in result.out


def test_json_alone_on_standard_output(bench):
    result = bench(*ASKED, "--format", "json")
    assert json.loads(result.out)["format"] == "schedgen bench"


def test_a_wrong_kernel_is_exit_1(bench):
    result = bench(*ASKED, gpu=FakeGpu(TIMES, errors={"V2": 0.5}))
    assert result.code == 1
    assert "V2 at 8192x8192x8192: wrong, relative error 5.00e-01, 5.00e-04 is allowed" in " ".join(
        result.out.split()
    )


def test_a_build_that_fails_is_a_row_and_exit_1(bench, monkeypatch):
    def fails(jobs, *, workers):
        for built in built_at_once(jobs, workers=workers):
            yield replace(built, failure="ptxas" if built.job.label == "V2" else None)

    monkeypatch.setattr(conducting, "build_all", fails)
    result = bench(*ASKED)
    assert result.code == 1
    assert "V2: does not build at 8192x8192x8192: ptxas" in result.out
    assert "not built" in result.out


def test_a_serialised_kernel_is_measured_and_said(bench, monkeypatch):
    def serial(jobs, *, workers):
        for built in built_at_once(jobs, workers=workers):
            yield replace(built, problems=("serialised",) if built.job.label == "V2" else ())

    monkeypatch.setattr(conducting, "build_all", serial)
    result = bench(*ASKED)
    assert result.code == 0
    assert "V2, as compiled: serialised" in result.out
    assert bench(*ASKED, "--dry-run").code == 1


def test_interrupted_and_resumed(bench, tmp_path):
    file = tmp_path / "r.json"
    stopped = bench(*ASKED, "-o", file, gpu=FakeGpu(TIMES, interrupt_at=5))
    assert stopped.code == 130
    assert f"interrupted; what was measured is in {file}, and --resume goes on" in stopped.err
    assert "INCOMPLETE, lacks: 8192x8192x8192 burst" in stopped.out
    assert "(1 of 3 rounds)" in stopped.out
    kept = json.loads(file.read_text())
    assert (kept["complete"], len(kept["shapes"][0]["rows"][0]["burst"]["rounds_ms"])) == (False, 1)
    result = bench(*ASKED, "-o", file, "--resume")
    assert result.code == 0
    value = json.loads(file.read_text())
    assert (value["complete"], value["run"], len(value["processes"])) == (True, kept["run"], 2)
    assert value["shapes"][0]["parts"]["burst"]["process"] == 1


def test_interrupted_without_a_file(bench):
    stopped = bench(*ASKED, gpu=FakeGpu(TIMES, interrupt_at=5))
    assert stopped.code == 130
    assert "interrupted; nothing was kept, since there is no -o FILE" in stopped.err


def test_a_finished_run_may_be_asked_for_more(bench, tmp_path):
    file = tmp_path / "r.json"
    bench(*ASKED, "-o", file)
    gpu = FakeGpu(TIMES)
    assert bench(*ASKED, "-o", file, "--resume", "--sustained", gpu=gpu).code == 0
    assert {entry[2] for entry in gpu.of("time")} == {20}
    assert set(json.loads(file.read_text())["shapes"][0]["parts"]) == {"burst", "sustained"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "is there already: --resume goes on with it"),
        (["--resume", "--rounds", "5"], "is another run (burst had 3 rounds)"),
        (["--resume", "hopper_matmul_v3"], "is another run (other contestants)"),
        (["--resume", "--shape", "64x64x64"], "other shapes"),
    ],
)
def test_a_file_of_another_run_is_not_touched(bench, tmp_path, more, words):
    file = tmp_path / "r.json"
    bench(*ASKED, "-o", file)
    before = file.read_bytes()
    result = bench(*ASKED, "-o", file, *more)
    assert result.code == 2
    assert words in result.err
    assert file.read_bytes() == before


def test_another_card_is_another_run(bench, tmp_path):
    file = tmp_path / "r.json"
    bench(*ASKED, "-o", file, gpu=FakeGpu(TIMES, interrupt_at=5))
    result = bench(*ASKED, "-o", file, "--resume", gpu=FakeGpu(TIMES, card="H100"))
    assert result.code == 2
    assert "card was Fake H200, is H100" in result.err


def test_runs_are_not_compared(bench, tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    for file in (one, two):
        bench(*ASKED, "-o", file)
    assert schedgen("bench", "--show", one).code == 0
    result = schedgen("bench", "--show", one, "--show", two)
    assert (result.code, result.out) == (2, "")
    assert "numbers of different runs are not compared" in result.err


def test_show_takes_another_baseline(bench, tmp_path):
    file = tmp_path / "r.json"
    shown = bench(*ASKED, "-o", file).out
    assert schedgen("bench", "--show", file).out == shown
    other = schedgen("bench", "--show", file, "--baseline", "V1").out
    assert "ratio to V1" in other
    assert "1.0714" in other
    result = schedgen("bench", "--show", file, "--baseline", "V9")
    assert (result.code, "there is no `V9` among the contestants" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resume"], "--resume goes on with a results file: name it with -o"),
        (["--resume", "-o", "nowhere.json"], "there is no `nowhere.json` to resume"),
        (["--baseline", "V9"], "--baseline `V9` is none of: V1"),
        (["--show", "x.json"], "--show prints files and measures nothing"),
        (["--shape", "1x2"], "is no shape"),
        (["-o", "no/where.json"], "cannot write `no/where.json`: there is no such folder"),
        (["--plot", "no/where.svg"], "cannot write `no/where.svg`: there is no such folder"),
    ],
)
def test_bad_options(bench, arguments, words):
    result = bench(*ASKED, *arguments)
    assert (result.code, words in result.err) == (2, True)


def test_no_gpu_is_said_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(conducting, "cuda_reason", lambda: "there is no GPU that torch can use")
    monkeypatch.setattr(conducting, "prepare_and_build", None)
    result = schedgen("bench", "hopper_matmul_v5")
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "error: nothing can be measured here: there is no GPU that torch can use; `--dry-run` "
        "builds everything without a GPU, `--show FILE` prints what was measured elsewhere\n"
    )


def test_a_missing_peer_is_said_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(conducting, "DEVICE", lambda: FakeGpu(TIMES))
    monkeypatch.setattr(conducting, "prepare_and_build", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = schedgen("bench", "--peer", "triton")
    assert result.code == 3
    assert "pip install '.[triton]'" in result.err


def test_a_missing_profiler_is_said_before_anything_is_built(bench, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(conducting, "prepare_and_build", None)
    result = bench("bench", "hopper_matmul_v1", "--cycles")
    assert result.code == 3
    assert "--cycles needs ncu (Nsight Compute), which is not on PATH" in result.err


def test_cannot_measure_is_a_missing_tool():
    assert CannotMeasure.exit_code == 3


@pytest.mark.compile
def test_dry_run_compiles():
    result = schedgen(
        "bench", "one=hopper_matmul_v1", "--peer", "torch", "--dry-run", "--shape", "256x256x256"
    )
    assert (result.code, result.out) == (
        0,
        "one: 256x256x256: 154 registers, 0 bytes spilled, 32896 bytes of shared memory\n"
        "torch.matmul: a peer, compiled when it is measured\n",
    )


def test_dry_run_tells_what_is_refused(bench):
    result = bench(*ASKED, FIVE, "--dry-run", "--format", "json")
    rows = {row["label"]: row for row in json.loads(result.out)}
    assert result.code == 0
    assert rows["five"]["refusal"].startswith("SG501")
    assert rows["V2"] == {"label": "V2", "refusal": None, "failure": None, "problems": [],
                          "built": ["built"]}  # fmt: skip
