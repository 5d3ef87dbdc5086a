"""The proof for every K: where it applies, where it says why not, and that it is not fooled."""

import time

import networkx as nx
import pytest

import schedgen as sg
from schedgen.happens_before.proof.folded import descent, folded
from schedgen.happens_before.proof.text import Obstacle

V4 = sg.show(sg.load("hopper_matmul_v4"))
V5 = sg.show(sg.load("hopper_matmul_v5"))


def check(text, *edits):
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return sg.check(sg.parse(text, name="edited.sched"))


@pytest.mark.parametrize("name", ["hopper_matmul_v4", "hopper_matmul_v5"])
def test_kernels_are_proved(name):
    verdict = sg.check(sg.load(name))
    assert verdict.outcome is sg.Outcome.PROVED
    assert verdict.certificate is not None
    assert verdict.scope == (0, verdict.certificate.explicit)


def test_the_numbers_of_v5():
    """One peeled step; an order reaches over 3 steps; nothing leads back."""
    proof = sg.check(sg.load("hopper_matmul_v5")).certificate
    assert proof is not None
    assert (proof.constant, proof.distance, proof.descent) == (1, 3, 0)
    (stretch,) = proof.stretches
    assert stretch.columns == proof.explicit - 1  # the peeled step is no column
    assert stretch.left + stretch.right <= stretch.columns


OBSTACLES = [
    ([("for k in 0..K {\n    acquire tma.empty", "for k in 0..2*K {\n    acquire tma.empty")],
     "are not K plus a constant"),
    ([("    wait 0\n", "    if k < K / 2 {\n wait 0\n }\n if k >= K / 2 {\n wait 0\n }\n")],
     "`K / 2` is not of the form a*k + b*K + c"),
    ([("    wait 0\n", "    if k + k < K {\n wait 0\n }\n if k + k >= K {\n wait 0\n }\n")],
     "changes somewhere in the middle of a loop over K"),
    ([("    wait 0\n", "    for j in 0..K {\n wait 0\n }\n wait 0\n")],
     "grows with K inside a loop over K"),
    ([("role consumer[2] warpgroup {\n", "role consumer[2] warpgroup {\n  reset tma\n"),
      ("  store acc", "  set tma = K\n  store acc")],
     "moves a cursor back"),
    ([("acquire tma.full", "acquire tma.full parity (k / 3 + K - K)")],
     "tests a parity that is more than a function of k"),
]  # fmt: skip


@pytest.mark.parametrize(("edits", "reason"), OBSTACLES, ids=[r for _, r in OBSTACLES])
def test_where_it_does_not_apply_it_says_why(edits, reason):
    verdict = check(V4, *edits)
    if verdict.outcome is sg.Outcome.REFUTED:  # twice as many loads
        assert "2*K" in edits[0][1]
        return
    assert verdict.outcome is sg.Outcome.UNSUPPORTED
    assert verdict.certificate is None
    assert reason in (verdict.reason or "")


@pytest.mark.parametrize("parity", ["k / 3 % 2", "k % 6 / 3", "k / 3", "(k + 6) / 3 + 4"])
def test_a_parity_that_is_the_cursor_s(parity):
    verdict = check(V4, ("acquire tma.full", f"acquire tma.full parity ({parity})"))
    assert verdict.outcome is sg.Outcome.PROVED


def test_a_parity_in_the_last_turns():
    """The last two turns are no columns: there k is K less a constant."""
    text = "acquire tma.full parity (k / 3 % 2)"
    turns = f"if k < K - 2 {{\n acquire tma.full\n }}\n if k >= K - 2 {{\n {text}\n }}"
    assert check(V4, ("acquire tma.full", turns)).outcome is sg.Outcome.PROVED


def test_a_parity_that_is_wrong_in_the_twentieth_turn():
    """Right for K <= 19, and the explicit range without a proof comes to it."""
    parity = "k / 3 + k / 19 - k / 20"
    verdict = check(V4, ("acquire tma.full", f"acquire tma.full parity ({parity})"))
    assert verdict.outcome in (sg.Outcome.UNSUPPORTED, sg.Outcome.REFUTED)


def test_a_fault_that_no_explicit_range_reaches():
    """The wait is left out from K = 1001 on: never proved, and no long search."""
    started = time.perf_counter()
    verdict = check(V4, ("    wait 0\n", "    if K < 1001 {\n      wait 0\n    }\n"))
    assert verdict.outcome is sg.Outcome.UNSUPPORTED
    assert "the constant 1001" in (verdict.reason or "")
    assert time.perf_counter() - started < 10  # a second on an idle machine


def test_a_fault_at_one_turn():
    """The wait is left out at k = 15 alone: tile 15 is stored too early, or overwritten by 18."""
    verdict = check(V4, ("    wait 0\n", "    if k != 3*5 {\n      wait 0\n    }\n"))
    assert [(f.code, f.k) for f in verdict.findings] == [("SG206", 16), ("SG203", 19)]


def edges_of(*edges):
    return edges


def test_descent_of_a_graph_without_backward_edges():
    assert descent(edges_of((0, 1, 0), (1, 0, 1))) == 0


def test_descent_is_the_least_weight_of_a_path():
    assert descent(edges_of((0, 1, -2), (1, 2, -1), (2, 0, 4))) == 3


@pytest.mark.parametrize("last", [3, 2])
def test_a_cycle_that_does_not_move_on_is_a_deadlock(last):
    with pytest.raises(Obstacle, match="in a circle"):
        descent(edges_of((0, 1, -2), (1, 2, -1), (2, 0, last)))


def test_a_cycle_within_one_turn_is_a_deadlock():
    with pytest.raises(Obstacle, match="in a circle"):
        descent(edges_of((0, 1, 0), (1, 0, 0), (1, 1, 1)))


def test_folding_keeps_the_least_weight():
    graph = folded([(0, 1, 2), (0, 1, 1), (1, 0, 3)])
    assert isinstance(graph, nx.DiGraph)
    assert graph[0][1]["weight"] == 1
