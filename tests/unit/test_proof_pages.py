"""What docs/model.md and docs/proof.md say of the checker is what the checker says."""

import re

import pytest

import schedgen as sg
from schedgen.diagnostics.catalog import CATALOG
from schedgen.happens_before.proof.certificate import _Prover
from schedgen.happens_before.proof.text import read_text
from schedgen.happens_before.proof.windows import Windows
from schedgen.happens_before.record import EventKind
from tests.benchmarks.hazards import written
from tests.benchmarks.proof_pages import DOCS, PAGES, broken, chain
from tests.unit.test_counting_rules import ALONE

MODEL, PROOF = ((DOCS / page).read_text(encoding="utf-8") for page in PAGES)
SECTIONS = [(page, name) for page, sections in PAGES.items() for name in sections]


@pytest.mark.parametrize(("page", "name"), SECTIONS)
def test_page_is_what_the_checker_gives(page, name):
    """If not: ``python -m tests.benchmarks.proof_pages --write``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    assert written(text, name, PAGES[page][name]()) == text


@pytest.mark.parametrize("page", PAGES)
def test_every_marker_is_made(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- (.*): begin -->", text)) == sorted(PAGES[page])


def test_the_edge_that_is_missing():
    assert "no path" not in "\n".join(chain())
    assert "\n".join(broken()).count("no path") == 1


def test_every_hazard_has_a_line():
    told = re.findall(r"^\| (SG\d+) \|", MODEL, flags=re.MULTILINE)
    assert told == sorted(code for code in CATALOG if code[2] in "23")


def test_every_kind_of_event_is_explained():
    table = MODEL[MODEL.index("| event | of |") : MODEL.index("An edge u -> v")]
    cells = re.findall(r"^\| ([a-z, ]+) \|", table, flags=re.MULTILINE)
    assert {word for cell in cells for word in cell.split(", ")} - {"event"} == set(EventKind)


@pytest.mark.parametrize("rule", ALONE)
def test_every_rule_has_its_example(rule):
    _, _, name, code, k, _ = ALONE[rule]
    assert f"| {rule} | `{name}`, {code}, K={k} |" in PROOF


def settled(state):
    """The least n from which on the states of n columns are the same."""
    states = [state(n) for n in range(1, 15)]
    return max(n for n in range(1, 15) if n == 1 or states[n - 2] != states[-1])


def test_where_the_order_of_v5_settles():
    """The fifth column from the left and the sixth from the right are as all later ones."""
    v5 = sg.load("hopper_matmul_v5")
    texts = [read_text(v5, role, i) for role in v5.roles for i in range(role.replica_count)]
    columns = _Prover(v5, texts, 1)._columns(30)
    one = Windows(columns, 0, 1)
    assert (settled(one.left), settled(one.right)) == (5, 6)
    (loop,) = sg.check(v5).certificate.stretches
    assert (loop.left, loop.right) == (5 + 4 - 1, 6 + 4 - 1)
    for text in ("first four columns", "in the fifth none", "the sixth from the right"):
        assert text in PROOF


def test_length_of_the_script():
    lines = (DOCS.parent / "tests" / "recheck.py").read_text(encoding="utf-8").count("\n")
    assert f"`tests/recheck.py` ({lines} lines)" in PROOF
