"""The blocks of docs/*.md, run as they stand: each page in one namespace, in an empty folder."""

import contextlib
import io
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.golden.test_readme import environment

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks(page, language):
    """The blocks of a page in that language, each behind as many empty lines as in the page."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found[1] == language:
            yield "\n" * text.count("\n", 0, found.start(2)) + found[2]


def pages(language):
    return [page for page in PAGES if any(blocks(page, language))]


@pytest.mark.parametrize("page", pages("python"), ids=lambda page: page.stem)
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": f"docs_{page.stem}"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(page, "python"):
            exec(compile(block, str(page), "exec"), names)


def test_console_blocks(tmp_path):
    for page in pages("console"):
        folder = tmp_path / page.stem
        folder.mkdir()
        text = "".join(block.lstrip("\n") for block in blocks(page, "console"))
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            done = subprocess.run(
                ["sh", "-c", f"{command} 2>&1"], cwd=folder, env=environment(), text=True,
                capture_output=True, timeout=120, check=False,
            )  # fmt: skip
            assert expected.strip() == done.stdout.strip(), command


def test_there_are_blocks():
    assert ROOT / "docs" / "python.md" in pages("python")
    trace = ROOT / "docs" / "trace.md"
    assert trace in pages("python")
    assert "".join(blocks(trace, "console")).count("\n$ ") >= 4


def test_entry_points_are_those_of_the_project():
    (block,) = blocks(ROOT / "docs" / "python.md", "toml")
    project = (ROOT / "tests/plugin_project/pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(project)["project"]["entry-points"]
    for group, entries in tomllib.loads(block)["project"]["entry-points"].items():
        assert entries.items() <= declared[group].items()


def test_the_pass_of_the_page_is_that_of_the_project():
    """Apart from the layout: one names what the other writes as a lambda."""
    project = (ROOT / "tests/plugin_project/mine/passes.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for line in project[: project.index("class LoseLast")].splitlines():
        if line.startswith("    ") and "kept" not in line and "return not" not in line:
            assert line in page


def test_comments_that_say_what_is_printed():
    import schedgen as sg

    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    v4 = sg.load("hopper_matmul_v4")
    v5 = sg.apply(v4, "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert f"print(verdict)  # {sg.check(v5)}" in page
