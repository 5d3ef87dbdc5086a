"""A check starts quickly: what it does not need is not imported."""

import subprocess
import sys

import pytest

import schedgen as sg

HEAVY = ("numpy", "networkx", "rich", "torch", "tilus", "hidet")
"""Packages that take longer to import than a kernel takes to check."""


def test_a_check_imports_no_heavy_package():
    work = (
        "import sys, schedgen as sg, schedgen.cli\n"
        "verdict = sg.check(sg.load('hopper_matmul_v5'))\n"
        "assert verdict.outcome is sg.Outcome.PROVED\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("name", sg.__all__)
def test_every_public_name_is_there(name):
    assert getattr(sg, name) is not None


def test_functions_keep_their_names_beside_the_packages():
    """Importing the package `schedgen.emit` must not put it in the function's place."""
    work = (
        "import schedgen as sg\n"
        "first = sg.emit(sg.load('hopper_matmul_v5'))\n"
        "assert issubclass(sg.BuildFailed, Exception)\n"
        "import schedgen.build.compile, schedgen.emit.plan\n"
        "assert sg.emit(sg.load('hopper_matmul_v5')) == first\n"
        "assert callable(sg.build) and sg.build.__module__ == 'schedgen.api'\n"
    )
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="no attribute 'Machine'"):
        _ = sg.Machine
