"""Pages: the command in line 1, then what it prints, what it says on standard error, its exit code.

``python3 -m pytest tests/golden --update-golden`` rewrites them; commands run in the repository
root, so line 1 can be pasted there.
"""

import difflib
import shlex
from pathlib import Path

import pytest

from tests.command_line import schedgen

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = sorted(HERE.glob("*.txt"))
ERR = "--- standard error\n"


def printed(command):
    """The page of a command."""
    words = shlex.split(command)
    assert words[:2] == ["$", "schedgen"], command
    result = schedgen(*words[2:])
    err = ERR + result.err if result.err else ""
    return f"{command}\n{result.out}{err}--- exit {result.code}\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page(page, request, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "20")
    wanted = page.read_text(encoding="utf-8")
    found = printed(wanted.partition("\n")[0])
    if request.config.getoption("--update-golden"):
        page.write_text(found, encoding="utf-8")
        return
    diff = difflib.unified_diff(
        wanted.splitlines(), found.splitlines(), "the page", "printed now", lineterm=""
    )
    assert found == wanted, "\n".join(diff)


def test_pages_are_there():
    assert len(PAGES) >= 15


def test_update_is_refused_under_ci(pytester):
    pytester.makeconftest((HERE.parent / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile("def test_nothing(): pass")
    pytester._monkeypatch.setenv("CI", "true")
    refused = pytester.runpytest_inprocess("--update-golden")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--update-golden is refused where CI is set*"])
