"""Passes and kernels of other distributions (SG121, SG902): used, refused, and never in the way."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import schedgen as sg
from tests.command_line import schedgen

PROJECT = Path(__file__).parents[1] / "plugin_project"
ROOT = PROJECT.parents[1]


def distribution(folder, name, declared, **files):
    """Puts modules and the metadata of an installed distribution into a folder on the path."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, entries in declared.items()
        for line in [f"[schedgen.{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, text in files.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The project of the docs, installed in a folder on the path."""
    points = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["entry-points"]
    declared = {group.removeprefix("schedgen."): entries for group, entries in points.items()}
    distribution(tmp_path, "mine", declared)
    shutil.copytree(PROJECT / "mine", tmp_path / "mine")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "mine.passes", "mine.kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def command(folder, *arguments):
    """``schedgen ARGUMENTS`` in a process of its own that has the folder on its path."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-m", "schedgen", *arguments], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip


def test_pass_and_kernel_are_used_from_the_command_line(mine):
    made = command(mine, "opt", "mine_v4", "-p", "overlap-wgmma{in-flight=1},drop-drain")
    assert (made.returncode, made.stderr.splitlines()[0][:26]) == (0, "proved for every K >= 0 (e")
    assert "for _ in" not in made.stdout
    assert "schedule mine_v4" in made.stdout


def has_setuptools(oldest):
    try:
        return int(importlib.metadata.version("setuptools").partition(".")[0]) >= oldest
    except importlib.metadata.PackageNotFoundError:
        return False


def test_installed_by_pip(tmp_path):
    if importlib.util.find_spec("pip") is None or not has_setuptools(77):
        pytest.skip("pip and a setuptools that builds without a network are not installed here")
    shutil.copytree(PROJECT, tmp_path / "project")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    folder = tmp_path / "installed"
    subprocess.run([*pip, "--target", folder, tmp_path / "project"], check=True)
    listed = command(folder, "list")
    assert listed.returncode == 0
    words = " ".join(listed.stdout.split())
    assert " mine_v4 V4 with tiles of 128 x 128. of mine 1.0 " in words
    assert command(folder, "check", "mine_v4").stdout.startswith("mine_v4: proved for every K")


def test_list_names_who_brings_what(mine):
    plain = schedgen("list")
    assert plain.code == 0
    assert plain.err == ""
    start = plain.out.index("  crash ")
    words = "crash Look for a ring that is not there. keeps nothing of mine 1.0"
    assert " ".join(plain.out[start:].split()).startswith(words)


def test_in_python(mine):
    kernel = sg.load("mine_v4")
    assert (kernel.name, sg.check(kernel).outcome) == ("mine_v4", sg.Outcome.PROVED)
    assert sg.check(sg.apply(kernel, "drop-drain")).outcome is sg.Outcome.PROVED
    assert "# Regenerate: schedgen emit mine_v4\n" in sg.emit(kernel)


def test_places_are_in_the_file_of_the_kernel(mine):
    place = sg.load("mine_v4").roles[0].place
    assert Path(place.file).samefile(mine / "mine" / "kernels.py")
    assert "producer" in (mine / "mine" / "kernels.py").read_text().splitlines()[place.line - 1]


def test_a_pass_that_lies_is_told_of_its_distribution(mine):
    told = schedgen("opt", "hopper_matmul_v4", "-p", "lose-last")
    assert told.code == 1
    assert told.err.startswith("SG902 plugin-broke-the-schedule: pass `lose-last` of mine 1.0 does")
    assert "smallest K = 1 tile" in told.err


def test_a_pass_that_raises_is_no_traceback(mine):
    told = schedgen("opt", "hopper_matmul_v4", "-p", "crash")
    assert told.code == 1
    assert "pass `crash` of mine 1.0 raises KeyError: 'hopper_matmul_v4'\n" in told.err


def test_unknown_names_list_those_of_plugins_too(mine):
    assert "did you mean `mine_v4`?" in schedgen("show", "mine_v5").err
    assert "drop-drain" in schedgen("opt", "mine_v4", "-p", "nothing").err


BAD_PASSES = """
from dataclasses import dataclass
import schedgen as sg

class Base(sg.Pass):
    keeps = frozenset()
    def refusals(self, schedule): return iter(())
    def rewrite(self, schedule): return None

class Bare(Base):
    name = "bare"

@dataclass(frozen=True, kw_only=True)
class Nothing(Base):
    name = "nothing"

@dataclass(frozen=True, kw_only=True)
class OtherName(Base):
    name = "other"

@dataclass(frozen=True, kw_only=True)
class Unfinished(sg.Pass):
    name = "unfinished"
    keeps = frozenset()

@dataclass(frozen=True, kw_only=True)
class BadKeeps(Base):
    name = "bad-keeps"
    keeps = {"everything"}

@dataclass(frozen=True, kw_only=True)
class BadOption(Base):
    name = "bad-option"
    ratio: float = 0.5

class Hint(Base):
    name = "hint"
Hint = dataclass(frozen=True, kw_only=True)(Hint)
Hint.__annotations__ = {"x": "Nowhere"}
text = "no pass"
"""


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("gone", "nowhere_to_be_found:Gone", "cannot be loaded from nowhere_to_be_found:Gone"),
        ("away", "{0}:Away", "AttributeError"),
        ("text", "{0}:text", "is no subclass of schedgen.Pass"),
        ("misnamed", "{0}:OtherName", "calls itself `other`"),
        ("unfinished", "{0}:Unfinished", "lacks refusals, rewrite"),
        ("bad-keeps", "{0}:BadKeeps", "declares no `keeps`: a frozenset of handover, numerics"),
        ("bare", "{0}:Bare", "is no dataclass: write @dataclass"),
        ("bad-option", "{0}:BadOption", "has the option `ratio`, which is no int, str"),
        ("hint", "{0}:Hint", "has annotations that mean nothing (NameError"),
    ],
)
def test_a_broken_pass_says_so_and_the_way_out(tmp_path, monkeypatch, name, value, says):
    module = f"bad_{name.replace('-', '_')}"
    distribution(
        tmp_path, "broken", {"passes": {name: value.format(module)}}, **{module: BAD_PASSES}
    )
    monkeypatch.syspath_prepend(tmp_path)
    told = schedgen("opt", "hopper_matmul_v4", "-p", name)
    assert told.code == 2
    assert told.err.startswith(f"SG121 broken-plugin: the pass `{name}` of broken 1.0 ")
    assert says in told.err
    assert "take it away: python3 -m pip uninstall broken\n" in told.err
    listed = schedgen("list")
    assert listed.code == 0
    assert listed.err == told.err
    assert schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4}").code == 0


def test_what_a_pass_gives_is_looked_at(tmp_path, monkeypatch):
    distribution(tmp_path, "odd", {"passes": {"nothing": "odd_pass:Nothing"}}, odd_pass=BAD_PASSES)
    monkeypatch.syspath_prepend(tmp_path)
    told = schedgen("opt", "hopper_matmul_v4", "-p", "nothing")
    assert "raises TypeError: `rewrite` gives a NoneType, no Schedule" in told.err


BAD_KERNELS = """
import sys
import schedgen as sg
def raises():
    return {}["k"]
def number():
    return 3
def unnamed():
    sg.Builder("1", problem="", tile=None)
"""


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("raises", "SG121", "raises KeyError: 'k' ("),
        ("number", "SG121", "is a int and no Schedule"),
        ("unnamed", "SG116", "bad_kernel_unnamed.py:9:5"),
    ],
)
def test_a_broken_kernel_says_so(tmp_path, monkeypatch, name, code, says):
    module = f"bad_kernel_{name}"
    entry = {"kernels": {name: f"{module}:{name}"}}
    distribution(tmp_path, "broken", entry, **{module: BAD_KERNELS})
    monkeypatch.syspath_prepend(tmp_path)
    told = schedgen("check", name)
    assert told.code == 2
    assert told.err.startswith(f"{code} ")
    assert says in told.err


def test_a_module_that_leaves_is_not_followed(tmp_path, monkeypatch):
    entry = {"kernels": {"leaves": "leaves_at_once:x"}}
    distribution(tmp_path, "broken", entry, leaves_at_once="raise SystemExit(7)")
    monkeypatch.syspath_prepend(tmp_path)
    assert schedgen("list").code == 0


def test_a_name_of_ours_stays_ours(tmp_path, monkeypatch):
    entry = {"passes": {"set-stages": "x:Y"}, "kernels": {"hopper_matmul_v4": "x:y"}}
    distribution(tmp_path, "greedy", entry)
    before = schedgen("show", "hopper_matmul_v4")
    monkeypatch.syspath_prepend(tmp_path)
    assert schedgen("show", "hopper_matmul_v4") == before
    listed = schedgen("list")
    assert (listed.code, listed.err.count("SG121 broken-plugin: ")) == (0, 2)
    assert "has the name of one of schedgen's own, which is used instead" in listed.err


def test_two_that_share_a_name(mine, tmp_path, monkeypatch):
    distribution(tmp_path / "second", "other", {"passes": {"drop-drain": "mine.passes:DropDrain"}})
    monkeypatch.syspath_prepend(tmp_path / "second")
    told = schedgen("opt", "hopper_matmul_v4", "-p", "drop-drain")
    assert told.code == 2
    assert "`drop-drain` of mine 1.0 is one of two, other 1.0 has that name too" in told.err
    listed = schedgen("list")
    assert (listed.code, listed.err.count("is one of two")) == (0, 2)


def test_a_known_name_looks_for_no_plugin():
    work = (
        "import sys, schedgen as sg\n"
        "sg.apply(sg.load('hopper_matmul_v4'), 'set-stages{n=4}')\n"
        "assert 'importlib.metadata' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
