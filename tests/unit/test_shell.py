"""The command line as a shell meets it: completion, `doctor`, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schedgen import doctor
from schedgen.build import ToolchainMissing, toolchain
from tests.command_line import schedgen

ROOT = Path(__file__).parents[2]


def process(*arguments, **environment):
    path = {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "schedgen", *arguments], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, **path, **environment},
    )  # fmt: skip


def completed(line):
    """What bash offers behind a line."""
    words = line.split(" ")
    code = "import sys; sys.argv = ['schedgen']; from schedgen.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "_SCHEDGEN_COMPLETE": "bash_complete",
             "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
    )  # fmt: skip
    return [tuple(line.split(",", 1)) for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("schedgen doc", [("plain", "doctor")]),
        ("schedgen check --fo", [("plain", "--format")]),
        ("schedgen show hopper_matmul_v6", [("plain", "hopper_matmul_v6")]),
        ("schedgen show tests/", [("file", "tests/")]),
        ("schedgen opt x -p over", [("plain", "overlap-wgmma")]),
        (
            "schedgen opt x -p set-tile{m=1,n=2},over",
            [("plain", "set-tile{m=1,n=2},overlap-wgmma")],
        ),
        ("schedgen opt x -p set-tile{m=1,n", []),
    ],
)
def test_completion(line, offered):
    assert completed(line) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    script = schedgen("completion", shell)
    assert (script.code, script.err) == (0, "")
    assert f"_SCHEDGEN_COMPLETE={shell}_complete" in script.out


def test_bash_takes_its_script():
    script = schedgen("completion", "bash").out
    done = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor_says_what_is_there():
    said = schedgen("doctor")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("schedgen 0.1.0, Python 3.")
    assert (
        "\ncan: check, opt, diff, trace, limits, predict, emit, run on the abstract machine\n"
        in said.out
    )
    assert all(len(line) < 140 or "/" in line for line in said.out.splitlines())


def test_doctor_json():
    value = json.loads(schedgen("doctor", "--format", "json").out)
    assert {fact["name"] for fact in value["facts"]} >= {"tilus", "nvcc", "GPU", "host compiler"}
    assert value["abilities"][0] == {
        "name": "check, opt, diff, trace, limits, predict, emit, run on the abstract machine",
        "lacks": [], "works": True,
    }  # fmt: skip


def test_doctor_where_nothing_is_installed(monkeypatch):
    def missing(*_):
        raise ToolchainMissing("no nvcc on PATH and none among the wheels: install the extra")

    for name in ("find_nvcc", "find_host_compiler", "find_nvdisasm"):
        monkeypatch.setattr(toolchain, name, missing)
    monkeypatch.setattr("importlib.metadata.version", lambda name: missing_package(name))
    monkeypatch.setattr("schedgen.running.cuda_reason", lambda: "there is no GPU")
    text = schedgen("doctor").out
    assert "  missing  nvcc" in text
    assert "no nvcc on PATH and none among the wheels\n" in text
    assert "install: install the extra\n" in text
    assert "cannot: build (lacks tilus, nvcc, host compiler, nvdisasm)\n" in text
    assert "cannot: run and bench on a GPU (lacks tilus, torch, nvcc, host compiler, GPU)\n" in text


def missing_package(name):
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)


def test_doctor_compares_with_the_pins(monkeypatch):
    monkeypatch.setattr(doctor, "_pins", lambda: {"tilus": "==0.2.0"})
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.1.9")
    tilus = doctor.facts()[0]
    assert (tilus.name, tilus.ok, tilus.found) == ("tilus", False, "0.1.9 is not ==0.2.0")


def test_a_torch_that_cannot_be_imported(monkeypatch):
    def broken():
        raise OSError("libcudart.so.13: cannot open shared object file")

    monkeypatch.setattr("schedgen.running.cuda_reason", broken)
    assert "torch cannot be used (libcudart.so.13: cannot" in schedgen("doctor").out


def test_control_c_is_130_and_no_traceback():
    sizes = ["--m", "8192", "--n", "8192", "--k", "4096"]
    running = process("run", "hopper_matmul_v4", "--device", "cpu", *sizes)
    assert "the abstract machine needs about" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
