"""The abstract machine on whole schedules: V4 and V5 compute the product, broken ones show it."""

import numpy as np
import pytest

from schedgen.ir.parser import parse
from schedgen.machine import Operands, adversaries, estimate_seconds, execute, multiply, seeded

HEAD = """
schedule {name}
problem c[m, n] {out} = a[m, k] f16 * b[n, k] f16
tile m 128, n 256, k 64, raster n 4
ring tma stages {stages} empty 2 full 1 {{
  slot A[2] : f16 64x64  = a rows 64*i
  slot B    : f16 256x64 = b rows 0
}}
acc acc : {acc} 64x256 = c rows 64*self
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes 49152
    load tma.A[0] k
    load tma.A[1] k
    load tma.B k
    advance tma
  }}
"""
V4_CONSUMER = """
role consumer[2] warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, k
    commit
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
"""
V5_CONSUMER = """
role consumer[2] warpgroup {
  if K > 0 {
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, 0
    commit
    advance tma
  }
  for k in 1..K {
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, k
    commit
    wait 1
    release tma.empty lag 1
    advance tma
  }
  wait 0
  if K > 0 {
    release tma.empty lag 1
  }
  store acc -> c
}
"""
DRAIN = "  for _ in 0..tma.stages { acquire tma.empty  advance tma }\n"
V4 = HEAD.format(name="v4", stages=3, out="f16", acc="f32") + "}" + V4_CONSUMER
V5 = HEAD.format(name="v5", stages=4, out="f16", acc="f32") + DRAIN + "}" + V5_CONSUMER
EARLY = V4.replace("wait 0", "wait 1").replace("  store acc", "  wait 0\n  store acc")


def schedule(text):
    return parse(text, file="test.sched")


def operands(m, n, k):
    source = np.random.default_rng(7)
    return source.standard_normal((m, k)), source.standard_normal((n, k))


def reference(a, b):
    return a.astype(np.float16).astype(float) @ b.astype(np.float16).astype(float).T


def error(product, exact):
    """Relative error norm; summed without a BLAS, whose threads crawl on a busy machine."""
    return np.sqrt(np.square(product - exact).sum() / (np.square(exact).sum() or 1.0))


def kinds(text, k_tiles):
    """The kinds of hazard that the adversaries see."""
    s = schedule(text)
    runs = [
        execute(s, k_tiles=k_tiles, policy=p, operands=None, stop_at_first=False)
        for p in adversaries(s)
    ]
    return {hazard.kind for run in runs for hazard in run.hazards}


def changed(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize("k_tiles", range(10))
@pytest.mark.parametrize("text", [V4, V5], ids=["v4", "v5"])
def test_product_is_right_and_clean_under_every_policy(text, k_tiles):
    s = schedule(text)
    a, b = operands(128, 256, 64 * k_tiles)
    exact = reference(a, b)
    for policy in [*adversaries(s), *(seeded(seed) for seed in range(4))]:
        run = execute(
            s, k_tiles=k_tiles, policy=policy, operands=Operands(left=a, right=b),
            stop_at_first=False,
        )  # fmt: skip
        assert run.hazards == (), str(policy)
        assert run.finished
        assert error(run.product, exact) < 3e-4, str(policy)


def test_early_release_overwrites_first_at_stages_plus_one():
    assert [kinds(EARLY, k) for k in range(4)] == [set()] * 4
    assert "overwrite" in kinds(EARLY, 4)


def test_early_release_names_both_accesses_and_spoils_the_product():
    s = schedule(EARLY)
    a, b = operands(128, 256, 256)
    late = next(p for p in adversaries(s) if p.manner == "late" and p.starve == "consumer[0]")
    run = execute(
        s, k_tiles=4, policy=late, operands=Operands(left=a, right=b), stop_at_first=False
    )
    first = run.hazards[0]
    assert (first.kind, first.op, first.k, first.role) == (
        "overwrite", "load tma.A[0] k", 3, "producer",
    )  # fmt: skip
    assert first.where == "tma.A[0] stage 0"
    assert (first.other.role, first.other.k) == ("consumer[0]", 0)
    assert s.source == first.place.file
    assert error(run.product, reference(a, b)) > 0.1


@pytest.mark.parametrize("k_tiles", [1, 2, 5, 9])
def test_lost_release_deadlocks(k_tiles):
    s = schedule(V5.replace(" lag 1", ""))
    run = execute(s, k_tiles=k_tiles, policy=seeded(1), operands=None, stop_at_first=False)
    assert not run.finished
    assert {h.kind for h in run.hazards} == {"deadlock"}
    assert run.hazards[0].where == "tma.empty[0]"
    assert "2 of 2 arrivals: use 0 is not released" in run.hazards[0].message


@pytest.mark.parametrize(
    ("old", "new", "k_tiles", "kind"),
    [
        ("wait 1", "wait 2", 5, "overwrite"),
        ("    acquire tma.empty\n    expect", "    expect", 5, "overwrite"),
        ("empty 2", "empty 1", 5, "overwrite"),
        ("empty 2", "empty 3", 1, "deadlock"),
        ("49152", "40960", 1, "read-early"),
        ("49152", "49154", 1, "deadlock"),
        ("    release tma.empty lag 1\n    adv", "    adv", 2, "deadlock"),
        ("    acquire tma.full\n    fence\n    mma acc, tma.A[self], tma.B, k",
         "    fence\n    mma acc, tma.A[self], tma.B, k", 2, "read-early"),
        ("    commit\n", "", 1, "exit"),
        ("    commit\n", "", 5, "overwrite"),
        ("  wait 0\n", "", 1, "accumulator"),
        ("    fence\n", "", 1, "fence"),
        ("tma.B, k", "tma.B, k - 1", 2, "wrong-tile"),
        ("load tma.B k", "load tma.B k + 1", 1, "wrong-tile"),
        ("lag 1\n  }\n  store", "lag 3\n  }\n  store", 2, "negative-use"),
        ("if K > 0", "if K >= 0", 0, "deadlock"),
        ("    commit\n    wait 1", "    commit\n    touch acc\n    wait 1", 2, "accumulator"),
    ],
)  # fmt: skip
def test_edits_of_v5_misbehave_without_a_seed(old, new, k_tiles, kind):
    assert kind in kinds(changed(V5, old, new), k_tiles)


def test_stopping_at_the_first_hazard_stops_there():
    s = schedule(EARLY)
    late = adversaries(s)[0]
    first = execute(s, k_tiles=6, policy=late, operands=None, stop_at_first=True)
    every = execute(s, k_tiles=6, policy=late, operands=None, stop_at_first=False)
    assert len(every.steps) > len(first.steps)
    assert first.hazards[0] == every.hazards[0]


def test_same_seed_same_steps():
    s = schedule(V5)
    runs = [
        execute(s, k_tiles=5, policy=seeded(seed), operands=None, stop_at_first=False).steps
        for seed in (3, 3, 4)
    ]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 128), (130, 300, 72), (5, 3, 0), (1, 1, 8)])
def test_whole_problem_with_ragged_edges(m, n, k):
    a, b = operands(m, n, k)
    seen = []
    product, hazards = multiply(
        schedule(V5), a, b, policy=seeded(2), progress=lambda *x: seen.append(x)
    )
    ctas = -(-m // 128) * -(-n // 256)
    assert hazards == ()
    assert product.shape == (m, n)
    assert error(product, reference(a, b)) < 4e-4
    assert seen == [(i + 1, ctas) for i in range(ctas)]


def test_a_hazard_of_every_cta_is_told_once():
    a, b = operands(256, 256, 320)
    policy = adversaries(schedule(EARLY))[0]
    _, hazards = multiply(schedule(EARLY), a, b, policy=policy, progress=None)
    assert hazards
    assert len(hazards) == len(set(hazards))


@pytest.mark.parametrize(
    ("acc", "out", "low", "high"), [("f16", "f16", 4e-4, 4e-3), ("f32", "bf16", 1e-3, 3e-3)]
)
def test_element_types_round_as_declared(acc, out, low, high):
    head = HEAD.format(name="typed", stages=4, out=out, acc=acc)
    a, b = operands(128, 256, 512)
    product, hazards = multiply(
        schedule(head + "}" + V5_CONSUMER), a, b, policy=seeded(0), progress=None
    )
    assert hazards == ()
    assert low < error(product, reference(a, b)) < high


def test_estimate_grows_with_the_problem():
    s = schedule(V5)
    small = estimate_seconds(s, m=128, n=256, k=512)
    large = estimate_seconds(s, m=1280, n=2560, k=512)
    assert 0 < small < large
