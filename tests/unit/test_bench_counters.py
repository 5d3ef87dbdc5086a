"""What ncu prints, cut into contestants; and the child that it runs."""

import json
import sys
from dataclasses import asdict

import pytest

from schedgen.bench import counters, profiled
from schedgen.bench.counters import CYCLES, METRICS, TENSOR_PIPE, command_line, read_counts
from schedgen.bench.preparing import Prepared
from schedgen.bench.request import Contestant
from tests.fake_gpu import FakeGpu

HEAD = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
SPIN = "at::cuda::<unnamed>::spin_kernel(long)"


def printed(*kernels):
    """ncu's output for kernels, each a name, its cycles and its tensor-pipe use."""
    lines = ["==PROF== Connected to process 7", HEAD]
    for number, (name, cycles, pipe) in enumerate(kernels):
        values = {CYCLES: f"{cycles:,}", TENSOR_PIPE: f"{pipe}", "other__metric": "n/a"}
        lines += [f'"{number}","7","{name}","{m}","x","{v}"' for m, v in values.items()]
    return "\n".join(lines) + "\n"


def test_each_contestant_gets_its_own_kernels():
    out = printed((SPIN, 5, 0), ("v4", 2406233, 86.2), (SPIN, 5, 0), ("nvjet", 2248384, 93.1))
    found = read_counts(["V4", "torch.matmul"], out, "", process=0)
    assert found["V4"].metrics == {CYCLES: 2406233.0, TENSOR_PIPE: 86.2}
    assert found["torch.matmul"].metrics == {CYCLES: 2248384.0, TENSOR_PIPE: 93.1}
    assert found["V4"].reason is None


def test_several_kernels_are_one_product():
    """A product that is split over K: cycles add up, shares are weighted by them."""
    out = printed((SPIN, 5, 0), ("part", 3000, 80.0), ("sum", 1000, 0.0))
    assert read_counts(["x"], out, "", process=0)["x"].metrics == {
        CYCLES: 4000.0, TENSOR_PIPE: 60.0,
    }  # fmt: skip


def test_what_was_not_counted_has_a_reason():
    out = printed((SPIN, 5, 0), ("v4", 10, 1.0)) + "==ERROR== The application failed\n"
    found = read_counts(["V4", "V5"], out, "V5 is wrong here: relative error 1.0", process=3)
    assert (found["V4"].reason, found["V5"].metrics) == (None, {})
    assert "V5 is wrong here" in found["V5"].reason
    assert found["V5"].process == 3


def test_missing_permission_is_said():
    out = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters\n"
    (count,) = read_counts(["V4"], out, "", process=0).values()
    assert count.reason.startswith("ncu may not read the GPU's counters (ERR_NVGPUCTRPERM): run as")


def contestant(label):
    return Contestant(
        label=label, kind="peer", source="torch", pipeline="", static_k=False, shapes=()
    )


def task_of(tmp_path, *labels):
    ones = [
        Prepared(contestant=contestant(x), schedule=None, digest=None, proof=None, refusal=None)
        for x in labels
    ]
    task = tmp_path / "task.json"
    task.write_text(counters.task_text((8, 16, 24), ones, seed=7))
    return task


@pytest.fixture
def child(monkeypatch):
    """Run the child of ncu on a fake GPU."""

    def run(task, gpu):
        gpu.profiled = lambda launch: gpu.log.append(("profiled", launch.label))
        monkeypatch.setattr(profiled, "CudaDevice", lambda: gpu)
        return profiled.main(task)

    return run


def test_the_child_checks_before_it_counts(tmp_path, child):
    gpu = FakeGpu({})
    assert child(task_of(tmp_path, "a", "b"), gpu) == 0
    assert gpu.log == [
        ("use", "8x16x24"), ("check", "a"), ("profiled", "a"), ("check", "b"), ("profiled", "b"),
    ]  # fmt: skip


def test_the_child_never_counts_what_is_wrong(tmp_path, child, capsys):
    gpu = FakeGpu({}, errors={"a": 0.5})
    assert child(task_of(tmp_path, "a", "b"), gpu) == 1
    assert gpu.of("profiled") == []
    assert "a is wrong here: relative error 5.00e-01" in capsys.readouterr().err


def test_the_task_holds_everything(tmp_path):
    value = json.loads(task_of(tmp_path, "a").read_text())
    row = value["contestants"][0]
    assert row.pop("limit") == 5e-4
    assert (value["shape"], value["seed"]) == ([8, 16, 24], 7)
    assert asdict(Contestant(**row)) | {"shapes": ()} == asdict(contestant("a"))


def test_ncu_leaves_the_clocks_alone(tmp_path):
    line = command_line(tmp_path)
    assert line[:3] == ["ncu", "--clock-control", "none"]
    assert ",".join(METRICS) in line
    assert line[-4:] == [sys.executable, "-m", "schedgen.bench.profiled", str(tmp_path)]


def ncu_that(tmp_path, monkeypatch, body):
    program = tmp_path / "bin" / "ncu"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")


def test_a_count_goes_through_ncu(tmp_path, monkeypatch):
    (tmp_path / "out").write_text(printed((SPIN, 5, 0), ("v4", 10, 1.0)))
    ncu_that(tmp_path, monkeypatch, f"cat {tmp_path / 'out'}")
    one = Prepared(contestant=contestant("a"), schedule=None, digest=None, proof=None, refusal=None)
    counters.require_ncu()
    found = counters.count((8, 16, 24), [one], seed=7, process=0)
    assert found["a"].metrics == {CYCLES: 10.0, TENSOR_PIPE: 1.0}


def test_an_ncu_that_hangs_is_given_up(tmp_path, monkeypatch):
    ncu_that(tmp_path, monkeypatch, "exec sleep 30")
    monkeypatch.setattr(counters, "SECONDS", 0.2)
    one = Prepared(contestant=contestant("a"), schedule=None, digest=None, proof=None, refusal=None)
    found = counters.count((8, 16, 24), [one], seed=7, process=0)
    assert found["a"].reason == "ncu took more than 0.2 s"
