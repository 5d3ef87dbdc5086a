"""Bad usage and bad input: exit 2, one clear line on standard error, nothing half done."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from schedgen.diagnostics.catalog import CATALOG
from tests.command_line import schedgen
from tests.refusals import BAD_PIPELINES, V4, V5, changed


def refused(result, code=None):
    """Exit 2, nothing on standard output, no traceback, an error line (with its code)."""
    assert (result.code, result.out) == (2, ""), result.err
    assert "Traceback" not in result.err
    word = "rror" if code is None else f"{code} {CATALOG[code].name}: "
    assert word in result.err
    return result.err


SUBCOMMANDS = [("show",), ("check",), ("emit",), ("opt", "-p", "set-stages{n=4}"),
               ("run", "--m", 64, "--n", 64, "--k", 64), ("build",)]  # fmt: skip


@pytest.mark.parametrize("command", SUBCOMMANDS, ids=lambda c: c[0])
def test_unknown_kernel(command):
    err = refused(schedgen(command[0], "hopper_matmul_v55", *command[1:]), "SG115")
    assert "hopper_matmul_v5" in err
    assert "`schedgen list` names the kernels" in err
    assert err.count("\n") == 2


@pytest.mark.parametrize("command", SUBCOMMANDS, ids=lambda c: c[0])
def test_empty_input(command, tmp_path):
    (tmp_path / "empty.sched").write_text("")
    err = refused(schedgen(command[0], tmp_path / "empty.sched", *command[1:]), "SG101")
    assert "`schedule`" in err
    assert "empty.sched:1:1" in err


@pytest.mark.parametrize("command", SUBCOMMANDS, ids=lambda c: c[0])
def test_directory(command, tmp_path):
    refused(schedgen(command[0], tmp_path, *command[1:]), "SG115")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"schedule x\x80", bytes(range(256))])
def test_not_text(content, tmp_path):
    (tmp_path / "binary.sched").write_bytes(content)
    refused(schedgen("check", tmp_path / "binary.sched"), "SG115")
    refused(schedgen("check", "-", stdin=content), "SG115")


def test_name_with_a_null_byte_or_too_long():
    refused(schedgen("check", "a\0b"), "SG115")
    refused(schedgen("check", "a" * 5000), "SG115")


NOT_SCHEDULES = {
    "stages 0": ("SG105", changed(V5, ("stages 4", "stages 0"))),
    "stages -1": ("SG105", changed(V5, ("stages 4", "stages -1"))),
    "negative lag": ("SG110", changed(V5, ("lag 1", "lag -1"))),
    "unknown ring": ("SG103", changed(V5, ("advance tma", "advance tmb"))),
    "two roles of one name": ("SG104", changed(V5, ("role producer", "role consumer"))),
    "huge number": ("SG110", changed(V5, ("bytes 49152", "bytes " + "9" * 5000))),
    "deep brackets": ("SG101", changed(V5, ("0..K", "0.." + "min(K, " * 3000 + "K" + ")" * 3000))),
    "long sum": ("SG101", changed(V5, ("0..K", "0..K" + " + 1" * 5000))),
    "deep blocks": ("SG101", changed(V5, ("  wait 0", "  if K > 0 {" * 3000 + "}" * 3000))),
    "null bytes": ("SG101", changed(V5, ("wait 0", "wait \0"))),
}


@pytest.mark.parametrize("name", NOT_SCHEDULES)
def test_not_a_schedule(name):
    code, text = NOT_SCHEDULES[name]
    err = refused(schedgen("check", "-", stdin=text), code)
    assert "\n      at : <stdin>:" in err
    assert err.count("\n") <= 9
    assert all(len(line) < 130 for line in err.splitlines())


NESTED = {
    "min": lambda d: changed(V5, ("0..K", "0.." + "min(K, " * d + "K" + ")" * d)),
    "sum": lambda d: changed(V5, ("0..K", "0..K" + " - 0" * d)),
    "blocks": lambda d: changed(V5, ("  wait 0", "  if K >= 0 {" * d + " wait 0 " + "}" * d)),
}


@pytest.mark.parametrize("depth", [10, 100, 340, 500, 1000])
@pytest.mark.parametrize("kind", NESTED)
def test_deep_texts(kind, depth):
    """Deep nesting is printed or refused, whatever the stack: a traceback is a bug."""
    shown = schedgen("show", "-", stdin=NESTED[kind](depth))
    assert shown.code in (0, 2)
    assert depth > 10 or shown.code == 0


def test_byte_order_mark_is_skipped():
    assert schedgen("show", "-", stdin="\ufeff" + V5).code == 0


def test_syntax_error_says_what_was_expected():
    err = refused(schedgen("check", "-", stdin=changed(V5, ("wait 1", "wait one"))), "SG101")
    line = V5[: V5.index("wait 1")].count("\n") + 1
    assert "expected a number" in err
    assert f"<stdin>:{line}:10" in err


@pytest.mark.parametrize("k", ["5..2", "-1", "-3..4", "1..-1", "..", "1..", "..5", "x", "", "1.5",
                               "1...3", "99999999999999999999", "²", "1..2..3"])  # fmt: skip
def test_bad_range_of_k(k):
    refused(schedgen("check", "hopper_matmul_v4", f"--k={k}"), "SG116")


@pytest.mark.parametrize("pipeline", BAD_PIPELINES)
def test_bad_pipeline(pipeline):
    refused(schedgen("opt", "hopper_matmul_v4", "-p", pipeline), "SG114")


@pytest.mark.parametrize("sizes", [(128, 256, 100), (128, 257, 64), (128, 256, -64), (128, 256, 4),
                                   (0, 256, 64), (-1, 256, 64), (128, 0, 64)])  # fmt: skip
def test_run_refuses_sizes_that_tma_cannot_address(sizes):
    m, n, k = sizes
    arguments = ("hopper_matmul_v5", "--m", m, "--n", n, "--k", k, "--device", "cpu")
    refused(schedgen("run", *arguments), "SG116")


def test_run_on_a_gpu_that_is_not_there():
    from schedgen.running import cuda_reason

    if cuda_reason() is None:
        pytest.skip("there is a GPU here")
    result = schedgen("run", "hopper_matmul_v5", "--m", 128, "--n", 256, "--k", 64,
                      "--device", "cuda")  # fmt: skip
    assert "cannot run on a GPU" in refused(result, "SG116")


USAGE = [
    ("check",), ("check", "hopper_matmul_v4", "extra"), ("nosuchcommand",),
    ("check", "hopper_matmul_v4", "--format", "yaml"), ("check", "hopper_matmul_v4", "--nosuch"),
    ("opt", "hopper_matmul_v4"), ("run", "hopper_matmul_v4"), ("explain", "SG999"),
    ("run", "hopper_matmul_v4", "--m", "x", "--n", "1", "--k", "1"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_usage(arguments):
    refused(schedgen(*arguments))


@pytest.mark.parametrize("command", [("opt", "-p", "set-stages{n=4}"), ("emit",)])
def test_unwritable_output_leaves_nothing(command, tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    targets = (tmp_path / "no" / "such.out", tmp_path / "folder", tmp_path / "file" / "below")
    for target in targets:
        refused(schedgen(command[0], "hopper_matmul_v4", *command[1:], "-o", target), "SG115")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_v4_through_standard_input_is_read_whole():
    assert schedgen("show", "-", stdin=V4).out == V4


def test_output_follows_a_link(tmp_path):
    target, link = tmp_path / "target.py", tmp_path / "link.py"
    target.write_text("old")
    link.symlink_to(target)
    assert schedgen("emit", "hopper_matmul_v4", "-o", link).code == 0
    assert link.is_symlink()
    assert target.read_text().startswith("# hopper_matmul_v4")


def test_output_to_a_pipe_keeps_the_pipe(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    assert schedgen("emit", "hopper_matmul_v4", "-o", pipe).code == 0
    reader.join(timeout=10)
    assert pipe.is_fifo()
    assert received[0].startswith("# hopper_matmul_v4")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs the device /dev/full")
def test_full_standard_output_is_one_sentence():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "schedgen", "show", "hopper_matmul_v5"], stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the output")
    assert "Traceback" not in done.stderr


def test_a_slab_that_changes_in_the_loop_is_judged(tmp_path):
    file = tmp_path / "turning.sched"
    file.write_text(changed(V4, ("mma acc, tma.A[self]", "mma acc, tma.A[k % 2]")))
    result = schedgen("check", file)
    assert (result.code, result.err) == (1, "")
    assert "SG211" in result.out


@pytest.mark.parametrize(("command", "says"), [
    (("run",), "--m, --n and --k must be given, such as --m 8192 --n 8192 --k 8192"),
    (("run", "--n=64"), "--m and --k must be given, such as --m 8192 --k 8192"),
    (("predict",), "--shape must be given, such as --shape 8192x8192x8192"),
    (("opt",), "--pipeline must be given, such as --pipeline 'set-stages{n=4}'"),
])  # fmt: skip
def test_all_options_that_are_missing_are_named(command, says):
    result = schedgen(command[0], "hopper_matmul_v4", *command[1:])
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1] == f"Error: {says}"


def test_an_empty_input_is_said_to_be_empty():
    assert "INPUT is empty, or this folder" in schedgen("check", "").err


def test_what_is_proved_needs_no_fix(tmp_path):
    result = schedgen("check", "hopper_matmul_v5", "--fix", "-o", tmp_path / "y")
    assert result.code == 0
    assert result.err.splitlines()[0] == "nothing to fix"
    assert (tmp_path / "y").is_file()
