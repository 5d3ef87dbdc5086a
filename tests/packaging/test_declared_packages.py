"""What the project file declares is what the tree holds."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_in_the_tree():
    found = set()
    for base, prefix in (("schedgen", "schedgen"), ("passes", "schedgen.passes"),
                         ("kernels", "schedgen.kernels")):  # fmt: skip
        for init in (ROOT / base).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / base).parts
            if not (base == "schedgen" and parts and parts[0] in ("passes", "kernels")):
                found.add(".".join([prefix, *parts]))
    return found


def test_every_package_is_declared():
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages_in_the_tree()


def test_folders_outside_are_mapped():
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    assert mapping == {
        "schedgen": "schedgen", "schedgen.passes": "passes", "schedgen.kernels": "kernels",
    }  # fmt: skip


def test_data_files_are_declared():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    kept = {".py", ".pyc"}
    loose = {p for p in (ROOT / "schedgen").rglob("*") if p.is_file() and p.suffix not in kept}
    wanted = {"schedgen.lark", "py.typed", "schedule.lark", "h200.json"}
    assert {p.name for p in loose if p.parent.name != "examples"} <= wanted
    assert "examples/*.sched" in data["schedgen"]
    assert "*.lark" in data["schedgen.ir"]
    assert "py.typed" in data["schedgen"]
    assert "*.toml" in data["schedgen.kernels"]
    assert "*.json" in data["schedgen.predict"]


def test_links_point_at_the_folders():
    for name in ("passes", "kernels"):
        link = ROOT / "schedgen" / name
        assert link.is_symlink(), f"schedgen/{name} is no link"
        assert link.resolve() == ROOT / name


def test_version_is_one():
    import schedgen

    assert PROJECT["project"]["version"] == schedgen.__version__
