"""The reading order is the only direction in which imports point, lazy ones included."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ORDER = [
    "markup", "ir", "diagnostics", "happens_before", "machine", "pipeline", "passes", "emit",
    "build", "kernels", "plugins", "predict", "running", "margins", "timeline", "comparison",
    "fixes", "sarif", "missing", "provenance", "trips", "wording", "api", "reprs", "testing",
    "terminal", "refusing", "completion", "options", "doctor", "bench", "forecast", "pictures",
    "checking", "demo", "explaining", "listing", "cli",
]  # fmt: skip
APART = {("happens_before", "machine"), ("machine", "happens_before"), ("machine", "passes"),
         ("margins", "machine"), ("margins", "passes")}  # fmt: skip
"""Pairs that do not import each other although the order would let one of them."""

HEAVY = {"tilus", "torch", "cuda", "hidet", "triton"}
"""Imported inside functions only: everything else works without them."""

PEER = "schedgen.bench.triton_matmul"
"""A Triton kernel is a decorated function: its module is itself imported inside functions only."""


def modules():
    """Every product file with its dotted name, the two mapped folders under their real names."""
    for base, prefix in (("schedgen", "schedgen"), ("passes", "schedgen.passes"),
                         ("kernels", "schedgen.kernels")):  # fmt: skip
        for path in sorted((ROOT / base).rglob("*.py")):
            parts = path.relative_to(ROOT / base).with_suffix("").parts
            if base == "schedgen" and parts[0] in ("passes", "kernels"):
                continue  # seen through the links
            yield path, ".".join([prefix, *parts]).removesuffix(".__init__")


def imports(path):
    """Each imported module, and whether the import stands at module level."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) not in lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module, id(node) not in lazy
            if module in ("schedgen", "schedgen.ir"):
                yield from ((f"{module}.{a.name}", id(node) not in lazy) for a in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                yield str(first.value), id(node) not in lazy


def layer(name):
    """The layer of a dotted name, None for the package itself and its entry points."""
    parts = name.split(".")
    return parts[1] if parts[0] == "schedgen" and len(parts) > 1 and parts[1] in ORDER else None


MODULES = list(modules())


@pytest.mark.parametrize(("path", "name"), MODULES, ids=[name for _, name in MODULES])
def test_imports_point_down(path, name):
    mine = layer(name)
    used = {layer(module) for module, _ in imports(path)} - {None, mine}
    if mine is None:
        assert name in ("schedgen", "schedgen.__main__"), f"{name} stands in no layer"
        return
    assert [u for u in used if ORDER.index(u) > ORDER.index(mine)] == []
    assert [u for u in used if (mine, u) in APART] == []


@pytest.mark.parametrize(("path", "name"), MODULES, ids=[name for _, name in MODULES])
def test_gpu_packages_are_imported_inside_functions(path, name):
    heavy = {m for m, top in imports(path) if top and m.split(".")[0] in HEAVY}
    peer = {m for m, top in imports(path) if top and m == PEER}
    allowed = {m for m in heavy if name == PEER and m.split(".")[0] == "triton"}
    assert (heavy - allowed) | peer == set()


def test_everything_imports_without_the_gpu_packages():
    import subprocess
    import sys

    block = "import sys\nfor name in ('torch', 'tilus', 'hidet'): sys.modules[name] = None\n"
    work = (
        "import schedgen as sg, schedgen.cli\nv5 = sg.load('hopper_matmul_v5')\n"
        "assert 'class' in sg.emit(v5)\n"
        "assert sg.run(v5, m=128, n=256, k=64, device='auto').ok\n"
    )
    done = subprocess.run([sys.executable, "-c", block + work], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
