"""The blocks of docs/**/*.md, run as they stand: each page in an empty folder of its own.

Console blocks are compared byte for byte; ``--update-golden`` rewrites what they print.
Blocks whose title names a machine run there alone, and numbers in them may differ.
"""

import contextlib
import io
import json
import tomllib
from pathlib import Path

import pytest

import schedgen as sg
from tests.golden.blocks import CARD, NVCC, Command, blocks, commands, run, says

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EXECUTED = {"console", "python"}
NOT_EXECUTED = {
    "toml": "declares entry points: compared with tests/plugin_project",
    "json": "read back as JSON",
    "sched": "a schedule: parsed, unless `...` says that it is not whole",
    "mermaid": "a picture that tests/unit/test_proof_pages.py compares with the graph",
    "yaml": "a job of a CI system that is not here",
}
"""Languages of blocks that no test runs, and what is done with them instead."""


def place(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


def written(page, language, *titles):
    return [b for b in blocks(page) if b.language == language and b.title in titles]


def pages(language, *titles):
    """Parameters: the pages with such blocks."""
    return [pytest.param(p, id=place(p)) for p in PAGES if written(p, language, *titles)]


@pytest.mark.parametrize("page", pages("python", None))
def test_python_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": f"docs_{page.stem}"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in written(page, "python", None):
            exec(compile(block.placed, str(page), "exec"), names)


@pytest.mark.parametrize("page", pages("console", None))
def test_console_blocks(page, tmp_path, request):
    update = request.config.getoption("--update-golden")
    for command in commands(written(page, "console", None)):
        printed = run(command, folder=tmp_path, seconds=120)
        if update:
            rewrite(page, command, printed)
        else:
            assert printed == command.printed, command.text


def rewrite(page, command, printed):
    """Let the page say what the command prints."""
    text = page.read_text(encoding="utf-8")
    old, new = (
        "\n".join(filter(None, ["$ " + command.text, said, "\n"]))[:-1]
        for said in (command.printed, printed)
    )
    assert text.count(old) >= 1, command.text
    page.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.compile
@pytest.mark.parametrize("page", pages("console", NVCC))
def test_console_blocks_with_nvcc(page, tmp_path):
    compare_titled(page, tmp_path, NVCC)


@pytest.mark.gpu
@pytest.mark.parametrize("page", pages("console", CARD))
def test_console_blocks_on_a_card(page, tmp_path):
    compare_titled(page, tmp_path, CARD)


@pytest.mark.gpu
@pytest.mark.parametrize("page", pages("python", CARD))
def test_python_blocks_on_a_card(page, tmp_path, monkeypatch):
    for command in commands(written(page, "console", None)):
        run(command, folder=tmp_path, seconds=600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for block in written(page, "python", CARD):
        exec(compile(block.placed, str(page), "exec"), {})


def compare_titled(page, folder, title):
    """Run what stands before them too: it writes the files that they read."""
    for block in written(page, "console", None, title):
        for command in commands([block]):
            printed = run(command, folder=folder, seconds=600)
            if block.title is not None:
                assert says(printed, page=command.printed), f"{command.text}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_every_block_is_executed_or_looked_at(page):
    for block in blocks(page):
        where = f"line {block.line}: {block.language or 'no language'}"
        assert block.language in EXECUTED | NOT_EXECUTED.keys(), where
        assert block.title in (None, NVCC, CARD), where
        if block.language == "console":
            assert block.text.startswith("$ "), where
        if block.language == "sched" and "..." not in block.text:
            sg.parse(block.text)
        if block.language == "json":
            json.loads(block.text)


def test_titles_and_languages_are_read(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```console title="on an H200"\n$ a \\\n    b\nc\n\nd\n```\n\n```\ne\n```\n')
    titled, plain = blocks(page)
    assert (titled.title, titled.line, plain.language) == (CARD, 2, "")
    assert list(commands([titled])) == [Command(text="a \\\n    b", printed="c\n\nd")]


@pytest.mark.parametrize(
    ("page", "right"),
    [
        ("V5  1.5028 1.0\n...\nend", True),
        ("V5 9 9\nend\n...", False),
        ("V4 1.5 1.0\n...\nend", False),
        ("...", True),
        ("V5 1\n...\nend", False),
    ],
)
def test_masked_comparison(page, right):
    assert says("V5 1.4 0.93\n\nmore\nend", page=page) is right


def test_there_are_blocks():
    python, console = ({p.id for p in pages(kind, None)} for kind in sorted(EXECUTED)[::-1])
    assert {"python", "trace"} <= python
    assert {"trace", "howto/check"} <= console
    assert len(list(commands(written(DOCS / "trace.md", "console", None)))) >= 4
    assert {p.id for p in pages("console", NVCC)} >= {"howto/build"}
    assert {p.id for p in pages("console", CARD)} >= {"howto/bench"}


@pytest.mark.parametrize("page", pages("toml", None))
def test_entry_points_are_those_of_the_project(page):
    (block,) = written(page, "toml", None)
    project = (ROOT / "tests/plugin_project/pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(project)["project"]["entry-points"]
    for group, entries in tomllib.loads(block.text)["project"]["entry-points"].items():
        assert entries.items() <= declared[group].items()


def test_the_pass_of_the_page_is_that_of_the_project():
    """Apart from the layout: one names what the other writes as a lambda."""
    project = (ROOT / "tests/plugin_project/mine/passes.py").read_text(encoding="utf-8")
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    for line in project[: project.index("class LoseLast")].splitlines():
        if line.startswith("    ") and "kept" not in line and "return not" not in line:
            assert line in page


def test_comments_that_say_what_is_printed():
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    v4 = sg.load("hopper_matmul_v4")
    v5 = sg.apply(v4, "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert f"print(verdict)  # {sg.check(v5)}" in page
