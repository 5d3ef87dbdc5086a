"""Sizes and names that a reader may rely on."""

import re
from pathlib import Path

import pytest

from schedgen.passes import PASSES
from tests.unit.test_layers import MODULES

ROOT = Path(__file__).parents[2]
LONGEST = 400
CONTAINERS = {"utils", "util", "common", "helpers", "helper", "core", "misc", "base_classes"}
TESTS = sorted(ROOT.glob("tests/**/*.py"))


@pytest.mark.parametrize(("path", "name"), MODULES, ids=[name for _, name in MODULES])
def test_module_is_short(path, name):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", TESTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_test_module_is_short(path):
    if "golden/emitted" not in path.as_posix():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_no_module_is_named_after_a_container():
    parts = {part for _, name in MODULES for part in name.split(".")}
    assert parts & CONTAINERS == set()


@pytest.mark.parametrize("name", PASSES)
def test_pass_file_class_and_name_are_one_name(name):
    words = name.split("-")
    cls = PASSES[name]
    assert cls.__name__ == "".join(word.capitalize() for word in words)
    assert cls.__module__ == f"schedgen.passes.{'_'.join(words)}"
    assert (ROOT / "passes" / f"{'_'.join(words)}.py").is_file()


def test_every_pass_is_in_the_table():
    defined = set()
    for path in (ROOT / "passes").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        defined |= set(re.findall(r'name: ClassVar\[str\] = "([a-z-]+)"', text))
    assert defined == set(PASSES)


@pytest.mark.parametrize(("path", "name"), MODULES, ids=[name for _, name in MODULES])
def test_module_says_what_it_is(path, name):
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or text.lstrip().startswith('"""')


def test_schedule_has_no_verbs():
    """What one does with a schedule is a function of the api."""
    from schedgen.ir.schedule import Schedule

    public = {n for n in vars(Schedule) if not n.startswith("_")}
    fields = set(Schedule.__dataclass_fields__)
    assert public - fields == {
        "ring",
        "barrier",
        "buffer",
        "storage",
        "accumulator",
        "stages",
        "warps",
    }
