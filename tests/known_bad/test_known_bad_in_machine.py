"""What is refused really goes wrong in the machine: without a seed, and by its witness."""

from pathlib import Path

import numpy as np
import pytest

import schedgen as sg
from schedgen.machine import Operands, Step, UnfitOperands, adversaries, execute, explore, replay

HERE = Path(__file__).parent

SHOWS = {
    "SG201": {"read-early"},
    "SG202": {"wrong-tile"},
    "SG203": {"overwrite"},
    "SG204": {"overwrite"},
    "SG205": {"count", "overwrite"},
    "SG206": {"accumulator"},
    "SG207": {"accumulator", "exit"},
    "SG208": {"fence"},
    "SG210": {"proxy"},
    "SG212": {"overwrite", "read-early"},
    "SG213": {"overwrite"},
    "SG214": {"exit"},
    "SG301": {"deadlock"},
    "SG302": {"deadlock", "read-early"},
    "SG303": {"deadlock"},
    "SG305": {"deadlock"},
    "SG307": {"deadlock"},
    "SG308": {"deadlock"},
    "SG309": {"negative-use"},
    "SG310": {"deadlock"},
}
"""Hazards of the machine by which each code shows itself."""

WRONG_PRODUCT = {"SG209", "SG211", "SG215"}
"""Codes of what is computed: no hazard, but another result."""

SILENT = {"SG304", "SG306"}
"""PTX leaves these undefined; the machine does one of the things that may happen."""

REPLAYED = set(SHOWS) - {"SG207", "SG301", "SG302", "SG303", "SG305"}
"""Codes whose witness leads to the hazard: all races, and the deadlocks with one cause."""

ACTS = {"issue", "close", "start", "return", "land", "retire", "drain"}


def cases(codes):
    """File and code of every expectation of these codes."""
    for file in sorted(HERE.glob("sg[23]*.sched")):
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        for item in first.removeprefix("# expect: ").split(", "):
            code, _, k = item.partition(" K=")
            if code in codes:
                yield pytest.param(file, code, int(k or 1), id=f"{file.stem}-{code}")


def finding_of(file, code):
    schedule = sg.load(file)
    return schedule, next(f for f in sg.check(schedule).findings if f.code == code)


def test_every_code_is_of_one_kind():
    from schedgen.diagnostics.catalog import CATALOG

    kinds = [set(SHOWS), WRONG_PRODUCT, SILENT]
    judged = {code for code in CATALOG if code[2] in "23"} - {"SG216"}
    assert set().union(*kinds) == judged
    assert sum(map(len, kinds)) == len(judged)


@pytest.mark.parametrize(("file", "code", "k"), list(cases(SHOWS)))
def test_misbehaves_under_an_adversary(file, code, k):
    schedule = sg.load(file)
    if file.stem == "sg302_bytes_left_over":  # its barrier differs between runs; nobody looks at it
        assert "bytes" in explore(schedule, k_tiles=k, budget=10_000).reached
        return
    seen = set()
    for policy in adversaries(schedule):
        run = execute(schedule, k_tiles=k, policy=policy, operands=None, stop_at_first=False)
        seen |= {hazard.kind for hazard in run.hazards}
    assert seen & SHOWS[code], seen


@pytest.mark.parametrize(("file", "code", "k"), list(cases({"SG203", "SG205", "SG307"})))
def test_is_clean_below_its_smallest_k(file, code, k):
    if "peeled_commit" in file.stem:
        pytest.skip("its other cause shows from K = 1 on")
    schedule = sg.load(file)
    for below in range(k):
        for policy in adversaries(schedule):
            run = execute(schedule, k_tiles=below, policy=policy, operands=None, stop_at_first=True)
            assert run.is_clean, (below, str(policy), run.hazards)


@pytest.mark.parametrize(("file", "code", "k"), list(cases(REPLAYED)))
def test_witness_replays_to_the_hazard(file, code, k):
    schedule, finding = finding_of(file, code)
    steps = [
        Step(w.role, w.replica, w.actor, w.event, w.seq) for w in finding.witness if w.event in ACTS
    ]
    run = replay(schedule, k_tiles=k, steps=steps)
    assert {h.kind for h in run.hazards} & SHOWS[code], run.hazards


@pytest.mark.parametrize(("file", "code", "k"), list(cases(WRONG_PRODUCT)))
def test_product_is_wrong(file, code, k):
    schedule = sg.load(file)
    k = max(k, 1)
    tile, source = schedule.tile, np.random.default_rng(3)
    left = source.standard_normal((tile.m, tile.k * k)).astype(np.float16).astype(np.float32)
    right = source.standard_normal((tile.n, tile.k * k)).astype(np.float16).astype(np.float32)
    wrong = False
    if code == "SG215" and "two_stores" in file.stem:
        return  # the same values twice: work done double, and a race of stores on the real machine
    for policy in adversaries(schedule)[:2]:
        try:
            run = execute(
                schedule, k_tiles=k, policy=policy, operands=Operands(left=left, right=right),
                stop_at_first=False,
            )  # fmt: skip
        except UnfitOperands:
            return
        exact = left.astype(float) @ right.astype(float).T
        wrong = wrong or not np.allclose(run.product, exact, atol=0.05)
    assert wrong
