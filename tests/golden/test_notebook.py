"""docs/notebook.ipynb runs from top to bottom in a fresh kernel, and every value shows itself."""

import runpy
from functools import cache
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "notebook.ipynb"
PAGE = runpy.run_path(str(ROOT / "docs" / "_build" / "notebook.py"), run_name="notebook")

SHOWN = {
    "v4": ["hopper_matmul_v4", "producer warp", "tensor core"],
    "v5": ["release tma.empty lag 1", "4 stages at K = 6 tiles", "tensor core"],
    "sg.diff(v4, v5)": ["3 -&gt; 4", "peeled"],
    "verdict": ["proved for every K", "obligations"],
    "verdict.certificate": ["judged one by one"],
    "refused": ["SG203 overwrite-before-retire", "mma of tile 0", "load of tile 4", "bad.sched:13"],
    "finding": ["SG203 overwrite-before-retire", "a witness of"],
    "fix": ["`wait 2` becomes `wait 1`", "proved for every K", "v5 (fixed)"],
    "sg.limits(v5)": ["least stages"],
    "sg.predict(v5, shape=(8192, 8192, 8192))": ["limited by"],
    "sg.emit(v5)": ["acquire_full", "tilus"],
    'sg.run(v5, m=256, n=512, k=320, device="cpu")': ["right", "relative error"],
    "sg.check(WaitLess().rewrite(v5)).findings[0]": ["SG203"],
}
DRAWN = ["v4", "v5", "refused"]


@cache
def notebook():
    return PAGE["executed"](PATH)


def cells():
    """The cells of code by their last line."""
    return {c.source.splitlines()[-1]: c for c in notebook().cells if c.cell_type == "code"}


def test_it_is_committed_without_outputs():
    committed = nbformat.read(PATH, as_version=4)
    nbformat.validate(committed)
    for cell in committed.cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_every_cell_that_ends_in_a_value_shows_it():
    for line, cell in cells().items():
        results = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert all(len(o.data["text/plain"]) > 15 for o in results), line
        indented = line.startswith((" ", "test_"))
        assert indented or results, line
        assert not any(o.output_type == "error" for o in cell.outputs)


@pytest.mark.parametrize("line", SHOWN)
def test_what_is_shown(line):
    (output,) = cells()[line].outputs
    page, plain = output.data["text/html"], output.data["text/plain"]
    for words in SHOWN[line]:
        assert words in page
    first = SHOWN[line][0].replace("&gt;", ">")
    assert first in plain
    assert ("<svg" in page) == (line in DRAWN)
    assert len(plain.splitlines()) > 10 or line not in DRAWN


def test_timelines_of_two_three_and_four_stages():
    (cell,) = (c for c in notebook().cells if "k_tiles=6" in c.source)
    assert len(cell.outputs) == 3
    for stages, output in zip((2, 3, 4), cell.outputs, strict=True):
        assert "<svg" in output.data["text/html"]
        assert f"with {stages} stages" in output.data["text/html"]


def test_page_has_every_cell_and_no_block_that_ends_early():
    page = PAGE["notebook_markdown"](notebook())
    for cell in notebook().cells:
        assert cell.source in page
    outputs = [
        part for part in page.rstrip().split("\n\n") if part.startswith('<div class="output">')
    ]
    assert len(outputs) == sum(len(c.get("outputs", [])) for c in notebook().cells)
    for part in outputs:
        assert part.endswith("</div>")
    assert page.count("<svg") == len(DRAWN) + 3
