"""The console and Python blocks of the README, run as they stand; `test_docs` has the pages."""

from pathlib import Path

from tests.golden.blocks import blocks, commands, run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def written(language: str):
    return [block for block in blocks(README) if block.language == language]


def test_console_blocks(tmp_path):
    told = list(commands(written("console")))
    assert len(told) >= 4
    for command in told:
        printed = run(command, folder=tmp_path, seconds=120)
        assert printed == command.printed, command.text


def test_python_blocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert written("python")
    for block in written("python"):
        exec(compile(block.placed, str(README), "exec"), {})


def test_two_commands_stand_as_ci_reads_them():
    assert "    python3 -m pip install . && schedgen demo\n" in TEXT
    assert "    python3 -m pip install -e '.[test]' && python3 -m pytest\n" in TEXT
