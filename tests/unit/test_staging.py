"""Results on their way through shared memory: parts, buffers in a ring, boxes that are named."""

from pathlib import Path

import numpy as np
import pytest

import schedgen as sg
from schedgen.happens_before.kept import KEEPS, unrolled
from schedgen.happens_before.limits import shared_bytes
from schedgen.ir.effects import BufferRef, OutRef
from schedgen.ir.expr import Binary, Int, Name
from schedgen.ir.schedule import Alias
from schedgen.machine import Operands, adversaries, execute, seeded
from schedgen.running import error_limit, relative_error

GOOD = Path(__file__).parents[1] / "known_good"
FORMS = ["staged_in_parts", "staged_in_the_ring", "staged_in_turns"]
PRODUCTS = next(p for p in KEEPS if p.name == "products")


def text_of(name):
    return (GOOD / f"{name}.sched").read_text(encoding="utf-8")


def changed(name, *edits):
    text = text_of(name)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return sg.parse(text)


def codes(schedule):
    return {f.code for f in sg.check(schedule).findings}


def product(schedule, k_tiles, policy):
    """What the machine computes, and float64."""
    tile, source = schedule.tile, np.random.default_rng(k_tiles)
    left, right = (
        source.standard_normal((rows, tile.k * k_tiles)).astype(np.float16)
        for rows in (tile.m, tile.n)
    )
    run = execute(
        schedule, k_tiles=k_tiles, policy=policy, operands=Operands(left=left, right=right),
        stop_at_first=False,
    )  # fmt: skip
    return run, left.astype(np.float64) @ right.astype(np.float64).T


# --- the language
def test_a_buffer_says_where_it_lies():
    schedule = sg.load(GOOD / "staged_in_the_ring.sched")
    buffer = schedule.buffer("out")
    assert (buffer.parts, buffer.part_bytes, buffer.bytes) == (2, 8192, 0)
    assert buffer.alias == Alias("tma", "B", Name("i"))
    assert [buffer.stage_of(part, schedule.stages) for part in range(2)] == [0, 1]
    assert schedule.storage(BufferRef("out", Int(1))) is buffer


def test_a_corner_that_is_left_out_is_zero():
    assert OutRef("c").corner is None
    assert OutRef("c", None, Int(64)).corner == (Int(0), Int(64))
    rows = Binary("*", Int(64), Name("self"))
    assert str(OutRef("c", rows, None)) == "c rows 64*self"


@pytest.mark.parametrize(("old", "new", "code", "words"), [
    ("-> out[self]", "-> out", "SG106", "has 2 parts"),
    ("-> out[self]", "-> out[2]", "SG106", "`out[2]` is part 2"),
    ("store acc -> out[self]", "store acc -> c[0]", "SG106", "takes no index"),
    ("arrive done", "arrive done[0]", "SG106", "single one"),
    ("in tma.B", "in tma.A", "SG120", "has slabs"),
    ("in tma.B", "in tma.C", "SG120", "no slot `tma.C`"),
    ("out[2] : f16 64x64", "out[2] : f16 64x128", "SG120", "has 16384 bytes"),
    ("stage i", "stage i - 1", "SG120", "part 0 of `out` lies in stage -1"),
    ("stage i", "stage self", "SG107", "`self`"),
    ("rows 64*self", "rows 64*i", "SG107", "`i`"),
    ("out[2] :", "out[0] :", "SG110", "1 to 1024"),
])  # fmt: skip
def test_what_is_no_staging_is_refused(old, new, code, words):
    with pytest.raises(sg.IllFormed) as refused:
        changed("staged_in_the_ring", (old, new))
    assert refused.value.code == code
    assert words in str(refused.value)


def test_barriers_of_an_array_and_parts_need_memory_and_a_buffer_in_a_ring_does_not():
    turns, ring, parts = (shared_bytes(sg.load(GOOD / f"{name}.sched")) for name in reversed(FORMS))
    slots, barrier = 2 * 3 * 8192, 8
    assert turns == slots + (4 + 2 + 2) * barrier + 8192
    assert ring == slots + (4 + 1) * barrier
    assert parts == slots + 4 * barrier + 2 * 8192


# --- the numbers
@pytest.mark.parametrize("name", [*FORMS, "v6"])
@pytest.mark.parametrize("k_tiles", [0, 1, 4])
def test_the_product_is_right(name, k_tiles):
    schedule = sg.load(GOOD / f"{name}.sched")
    for policy in (seeded(0), adversaries(schedule)[0], adversaries(schedule)[-1]):
        run, exact = product(schedule, k_tiles, policy)
        assert run.is_clean
        error = relative_error(run.product, exact)
        assert error <= error_limit(schedule, k_tiles * schedule.tile.k)


def test_sums_in_fp16_lose_more_and_grow_like_a_random_walk():
    wide, narrow = (sg.load(GOOD / f"{name}.sched") for name in ("v5_own", "v6"))
    errors = [relative_error(*_pair(narrow, k_tiles)) for k_tiles in (4, 16)]
    assert relative_error(*_pair(wide, 16)) < error_limit(wide, 1024) < errors[0]
    assert errors[1] <= error_limit(narrow, 1024)
    assert errors[1] / errors[0] == pytest.approx(2, rel=0.1)


def _pair(schedule, k_tiles):
    run, exact = product(schedule, k_tiles, seeded(0))
    return run.product, exact


def test_a_slot_that_is_read_as_a_buffer_is_no_number():
    """Nothing was staged: what the TMA store ships is the last tile, in another shape."""
    shape = ("out[2] : f16 64x64", "out[2] : f16 32x128")
    schedule = changed("staged_in_the_ring", shape, ("  store acc -> out[self]\n", ""))
    run, _ = product(schedule, 2, seeded(0))
    assert {h.kind for h in run.hazards} == {"wrong-box"}
    assert np.isnan(run.product).all()


# --- the checker
@pytest.mark.parametrize("name", FORMS)
def test_what_is_computed_does_not_depend_on_how_it_is_staged(name):
    staged = sg.load(GOOD / f"{name}.sched")
    plain = changed("staged_in_parts", ("buffer out[2] : f16 64x64\n", ""), (
        "  store acc -> out[self]\n  fence proxy\n  sync group[self]\n"
        "  tma-store out[self] -> c rows 64*self cols 0\n  store-commit\n  store-wait 0 read\n",
        "  store acc -> c\n",
    ))  # fmt: skip
    for k_tiles in range(4):
        pair = unrolled(plain, k_tiles), unrolled(staged, k_tiles)
        assert PRODUCTS.difference(*pair) is None


def test_a_box_is_the_output_of_one_replica_alone():
    """Both stage and ship the same box: it is stored twice, and the other never."""
    everybody = ("rows 64*self\nbuffer", "rows 0\nbuffer")
    schedule = changed("staged_in_parts", everybody, ("rows 64*self cols 0", "rows 0"))
    assert codes(schedule) == {"SG211", "SG215"}


def test_a_part_that_was_staged_twice_is_shipped_once_too_often():
    turn = "  await free[self]\n"
    again = turn + "  store acc -> out\n  sync group[self]\n"
    assert codes(changed("staged_in_turns", (turn, again))) == {"SG215"}


def test_a_finding_about_an_alias_shows_the_line_of_the_buffer():
    edits = (("  arrive done\n  await done\n", ""),)
    finding = sg.check(changed("staged_in_the_ring", *edits)).findings[0]
    assert [(r.label, r.text) for r in finding.rows][:2] == [
        ("ring", "tma.B, 2 stages"), ("buffer", "out in tma.B"),
    ]  # fmt: skip


def test_the_proof_looks_at_every_remainder_of_a_buffer_in_a_ring():
    """A buffer names a stage: which of the last uses meets it depends on K modulo the stages."""
    own = changed("staged_in_the_ring", (" in tma.B stage i", ""))
    lap = own.ring("tma").stages
    alias = sg.load(GOOD / "staged_in_the_ring.sched")
    explicit = [sg.check(s).certificate.explicit for s in (own, alias)]
    assert explicit[1] == explicit[0] + lap


LATE = """schedule late
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages 5 empty 1 full 1 {
  slot A : f16 64x64 = a rows 0
  slot B : f16 64x64 = b rows 0
}
named group threads 128
acc acc : f32 64x64 = c rows 0
acc none : f32 64x64 = c rows 0
buffer out : f16 64x64 in tma.B stage STAGE
role producer warp {
  for k in 0..K {
    acquire tma.empty
    expect tma.full bytes 16384
    load tma.A k
    load tma.B k
    advance tma
  }
}
role consumer warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A, tma.B, k
    commit
    wait 1
    if k > 0 { release tma.empty lag 1 }
    advance tma
  }
  if K > 7 { fence proxy store none -> out sync group }
  wait 0
  store acc -> c
}
"""


@pytest.mark.parametrize("stage", range(5))
def test_only_the_k_whose_last_use_lies_there_is_wrong(stage):
    schedule = sg.parse(LATE.replace("STAGE", str(stage)))
    wrong = {k for k in range(30) if sg.check(schedule, k).findings}
    assert wrong == {k for k in range(8, 30) if (k - 1) % 5 == stage}
    assert min(f.k for f in sg.check(schedule).findings) == min(wrong)
