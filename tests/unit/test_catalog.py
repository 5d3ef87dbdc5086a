"""Every code has one class, one page of four headings, and something that provokes it."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

from schedgen import diagnostics
from schedgen.diagnostics.catalog import CATALOG, HEADINGS, page
from schedgen.ir.spec import SPEC
from tests.refusals import PASS_REFUSALS

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
ELSEWHERE = {
    "SG114": "unit/test_pipeline.py",
    "SG115": "unit/test_cli_input.py",
    "SG116": "unit/test_cli_input.py",
    "SG121": "unit/test_plugins.py",
    "SG504": "unit/test_cli.py",
    "SG901": "unit/test_lying_passes.py",
    "SG902": "unit/test_plugins.py",
}
"""Codes that no schedule's text provokes, and the tests that do."""


def provoked():
    """Codes with a known-bad schedule, a refusal of a pass, or a test of another kind."""
    firsts = [f.read_text(encoding="utf-8").partition("\n")[0] for f in KNOWN_BAD.glob("*.sched")]
    bad = {item.partition(" ")[0] for f in firsts for item in f[len("# expect: ") :].split(", ")}
    return bad | {code for code, _, _ in PASS_REFUSALS} | set(ELSEWHERE)


def test_every_code_is_provoked():
    assert set(CATALOG) - provoked() == set()


def test_every_provoked_code_is_in_the_catalog():
    assert provoked() - set(CATALOG) == set()


@pytest.mark.parametrize("code", ELSEWHERE)
def test_the_test_elsewhere_names_the_code(code):
    text = (KNOWN_BAD.parent / ELSEWHERE[code]).read_text(encoding="utf-8")
    assert code in text


@pytest.mark.parametrize("code", CATALOG)
def test_page_has_the_four_headings_in_order(code):
    lines = page(code).splitlines()
    entry = CATALOG[code]
    assert lines[0].startswith(f"{code} {entry.name}: ")
    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)
    for heading in HEADINGS:
        text = lines[lines.index(heading) + 1]
        assert text.startswith("    "), f"nothing under {heading}"
        assert text.strip()


def declared():
    """Every class of the diagnostics that has a code of its own."""
    for module in pkgutil.iter_modules(diagnostics.__path__, "schedgen.diagnostics."):
        for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if cls.__module__ == module.name and isinstance(vars(cls).get("code"), str):
                yield cls


def test_codes_and_names_are_given_once():
    codes, names = [c.code for c in declared()], [c.name for c in declared()]
    assert sorted(set(codes)) == sorted(codes)
    assert sorted(set(names)) == sorted(names)


def test_every_class_with_a_code_is_in_the_catalog():
    assert {c.code: c for c in declared()} == CATALOG


def test_every_row_of_the_spec_has_a_page():
    assert {row.code for row in SPEC} - set(CATALOG) == set()


def test_page_of_an_unknown_code_is_none():
    assert page("SG999") is None
    assert page("sg203") == page("SG203")
