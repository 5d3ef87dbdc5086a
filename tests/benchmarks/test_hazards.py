"""The quick part of the hazard benchmark: every edit of one schedule, for a few K, by single runs.

The whole of it is ``python -m tests.benchmarks.hazards``.
"""

from collections import Counter

import pytest

import schedgen as sg
from tests.benchmarks.evidence import judged
from tests.benchmarks.hazards import KERNELS, base_of, written
from tests.benchmarks.mutations import LEFT_OUT, OPERATORS, mutants

K = (0, LEFT_OUT + 2)


@pytest.fixture(scope="module")
def verdicts():
    base = base_of("plain_barrier_handover")
    harmless = list(OPERATORS)[-1]
    some = [m for i, m in enumerate(mutants(base)) if m.operator != harmless or i % 3 == 0]
    return [judged(base, mutant, explored=False, k=K) for mutant in some]


def test_no_mutant_is_missed(verdicts):
    assert [(j.label, j.how) for j in verdicts if j.result == "missed"] == []


def test_every_refusal_is_shown(verdicts):
    """By a run that goes wrong, another product, or a static fact; some only the explorer shows."""
    unshown = {code for j in verdicts if j.how == "not shown" for code in j.codes}
    assert unshown <= {"SG301", "SG303", "SG304", "SG306"}


def test_mutants_are_of_both_kinds(verdicts):
    results = Counter(j.result for j in verdicts)
    assert results["killed"] > 100
    assert results["equivalent"] > 30


@pytest.mark.parametrize("name", KERNELS.values())
def test_what_is_mutated_is_accepted(name):
    assert sg.check(base_of(name), K).ok


def test_every_operator_finds_something_to_edit():
    made = {m.operator for name in ("hopper_matmul_v5", "three_consumers_two_in_flight")
            for m in mutants(base_of(name))}  # fmt: skip
    assert made == set(OPERATORS)


def test_a_page_is_rewritten_between_its_markers():
    page = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
    new = written(page, "x", ["new"])
    assert new == "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n"
    with pytest.raises(SystemExit):
        written("no markers", "x", ["new"])
