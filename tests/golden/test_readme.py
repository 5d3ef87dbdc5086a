"""The README's console and Python blocks, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str]]:
    """Every command of the console blocks, in order, with what it is said to print."""
    found: list[tuple[str, str]] = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


def environment() -> dict[str, str]:
    """`schedgen` on PATH is the one of this interpreter."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": here + os.pathsep + os.environ["PATH"], "COLUMNS": "20"}


def test_console_blocks(tmp_path):
    assert len(sessions()) >= 4
    for command, expected in sessions():
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"], cwd=tmp_path, env=environment(), text=True,
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert expected.strip() == done.stdout.strip(), command


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_blocks(number):
    exec(compile(blocks("python")[number], str(README), "exec"), {})


def test_two_commands_stand_as_ci_reads_them():
    assert "    python3 -m pip install . && schedgen demo\n" in TEXT
    assert "    python3 -m pip install -e '.[test]' && python3 -m pytest\n" in TEXT
