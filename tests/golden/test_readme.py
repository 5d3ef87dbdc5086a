"""The console and Python blocks of the README, run as they stand; `test_docs` has the pages."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
PAGES = [README]


def blocks(language: str, page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def sessions(page: Path) -> list[tuple[str, str]]:
    """Every command of the console blocks, in order, with what it is said to print."""
    found: list[tuple[str, str]] = []
    for block in blocks("console", page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


def environment() -> dict[str, str]:
    """`schedgen` on PATH is the one of this interpreter."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": here + os.pathsep + os.environ["PATH"], "COLUMNS": "20"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_console_blocks(tmp_path, page):
    assert len(sessions(page)) >= 4
    for command, expected in sessions(page):
        done = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"], cwd=tmp_path, env=environment(), text=True,
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert expected.strip() == done.stdout.strip(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks("python", page)
    for block in blocks("python", page):
        exec(compile(block, str(page), "exec"), {})


def test_two_commands_stand_as_ci_reads_them():
    assert "    python3 -m pip install . && schedgen demo\n" in TEXT
    assert "    python3 -m pip install -e '.[test]' && python3 -m pytest\n" in TEXT
