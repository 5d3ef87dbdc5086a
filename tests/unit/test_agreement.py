"""What checker and explorer once saw differently, one case for each class, and why."""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.diagnostics.catalog import CATALOG
from schedgen.machine import explore
from tests.agreement import ALL_KINDS, KINDS, MISCOUNTS_THEN_HANGS, RESULTS, compare

GOOD = Path(__file__).parents[1] / "known_good"

HEAD = """schedule case
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages {stages} empty 1 full 1 {{
  slot A : f16 64x64 = a rows 0
  slot B : f16 64x64 = b rows 0
}}
acc acc : f32 64x64 = c rows 0
"""

CONSUMER = """role consumer warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A, tma.B, k
    commit
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
"""

PRODUCER = """role producer warp {
  for k in 0..K {
    acquire tma.empty
    expect tma.full bytes 16384
    load tma.A k
    load tma.B k
    advance tma
  }
}
"""


UNANNOUNCED = PRODUCER.replace("bytes 16384", "bytes 0").removeprefix("role producer warp {")


def ring(*roles, stages=1):
    """Roles on one ring of A and B."""
    return sg.parse(HEAD.format(stages=stages) + "".join(roles))


def worked_on(code, producer=PRODUCER):
    """A consumer that does something to the stage before it multiplies."""
    declared = "named group threads 128\nbuffer out : f16 64x64 in tma.A stage 0\n"
    before = f"{code}\n fence proxy\n sync group\n fence\n"
    return ring(declared, producer, CONSUMER.replace("    fence\n", before))


def staged(*edits):
    """A staged epilogue with edits: what goes, what comes for it, and so on."""
    text = (GOOD / "staged_buffer_used_again.sched").read_text()
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    return sg.parse(text)


LATE_BYTES = PRODUCER.replace(
    "expect tma.full bytes 16384", "arrive tma.full\n expect-tx tma.full bytes 8192"
)
SURPLUS = """ring other stages 1 empty 1 full 1 {
  slot X : f16 64x64 = a rows 0
}
role producer warp { load tma.A 0 load tma.B 0 expect tma.full bytes 8192 }
role consumer warpgroup { acquire other.full acquire tma.full store acc -> c }
"""


TWO_RINGS = sg.parse("""schedule the_tile_of_another_use
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 128, n 64, k 64, raster n 1
ring left stages 1 empty 2 full 1 {
  slot A[2] : f16 64x64 = a rows 64*i
}
ring right stages 2 empty 2 full 1 {
  slot B : f16 64x64 = b rows 0
}
acc acc : f32 64x64 = c rows 64*self
role producer warp {
  for k in 0..K {
    acquire left.empty
    expect left.full bytes 16384
    load left.A[0] k
    load left.A[1] k
    advance left
    acquire right.empty
    expect right.full bytes 8192
    load right.B k
    advance right
  }
}
role consumer[2] warpgroup {
  for k in 0..K {
    acquire left.full
    acquire right.full
    fence
    mma acc, left.A[self], right.B, k
    commit
    wait 0
    release left.empty
    release right.empty
    advance right
  }
  store acc -> c
}
""")
"""The consumers never advance `left`: they read tile 1 as use 0."""

CASES = {
    # a phase that gets more bytes than announced may complete early
    "landings left behind": (
        ring(PRODUCER.replace("bytes 16384", "bytes 0"), CONSUMER), 2, {"bytes", "read-early"},
    ),
    # the producer's last wait is stuck in one execution and returns too early in another
    "stuck or too early": (
        ring(PRODUCER.replace("}\n}", "}\n acquire tma.full\n}"), CONSUMER, stages=3), 7,
        {"deadlock", "phase"},
    ),
    # of 128 threads any 96 may be the first
    "some threads of a named barrier": (
        staged("threads 128", "threads 96"), 1, {"phase"},
    ),
    # more threads enter than are counted
    "too many threads at once": (staged("threads 128", "threads 32"), 0, {"count"}),
    # an announcement without an acquire counts bytes of another use
    "announced unacquired": (
        ring(PRODUCER.replace("}\n}", "}\n expect-tx tma.full bytes 16\n}"), CONSUMER), 1,
        {"bytes"},
    ),
    # an mma without a commit shows as nothing else in a program that hangs
    "uncommitted and stuck": (
        ring(PRODUCER, CONSUMER.replace("    commit\n", "").replace("    release tma.empty\n", "")),
        2, {"deadlock"},
    ),
    # the reader may find the old tile, a tile in the making, or none
    "filled while it is read": (
        ring(PRODUCER, CONSUMER.replace("    acquire tma.full\n", "")), 2,
        {"read-early", "wrong-tile", "overwrite"},
    ),
    # a race with an ordinary store may show as a store that is not fenced
    "stored while it is read": (
        ring(PRODUCER, CONSUMER.replace("    fence\n", "    fence\n    write tma.A\n")), 1,
        {"overwrite", "proxy"},
    ),
    # every step goes wrong before the epilogue does
    "wrong tiles, then a pending mma": (
        ring(
            PRODUCER.replace("load tma.A k", "load tma.A k + 1"), CONSUMER.replace("wait 0", ""),
            stages=3,
        ),
        1, {"wrong-tile", "accumulator"},
    ),
    # the phase that lacks a release is miscounted before anybody hangs
    "miscounts, then hangs": (sg.parse(MISCOUNTS_THEN_HANGS), 4, {"phase"}),
    # an announcement is the last contributor of a phase
    "bytes announced late": (
        ring(LATE_BYTES, CONSUMER, stages=2), 4, {"read-early", "wrong-tile", "bytes", "exit"}
    ),
    # the stage is filled first and acquired then: the late acquire may be lapped
    "acquired behind the loads": (
        ring(
            PRODUCER.replace("    acquire tma.empty\n", "").replace(
                "advance tma", "acquire tma.empty\n advance tma"
            ),
            CONSUMER, stages=2,
        ), 1, {"deadlock"},
    ),
    # the tile that is meant is always on its way when it is read, as another use
    "the tile of another use": (TWO_RINGS, 2, {"read-early"}),
    # nobody waits for the phase that more bytes land on than it expects
    "a surplus of bytes": (ring(SURPLUS), 1, {"bytes", "deadlock"}),
    "a surplus of bytes in a load too many": (
        ring(
            PRODUCER.replace("16384", "0").replace("0..K", "0..K + 1"), CONSUMER, stages=2
        ), 2, {"bytes", "exit"},
    ),
    # a named barrier counts three warps of four: which three, and the fourth need never come
    "a warp more than a named barrier counts": (
        sg.parse(sg.show(staged("store-wait 0 read", "store-wait 0 by all"))
                 .replace("group threads 128", "group threads 96")
                 .replace("  sync group\n  write out\n", "")), 1, {"count", "phase"}
    ),
    # bytes that nobody waits for, behind two loads in either order
    "filled twice": (
        ring("role producer warp {" + UNANNOUNCED.removesuffix("}\n") + UNANNOUNCED, CONSUMER), 1,
        {"bytes", "read-early"},
    ),
    # ordinary code works on what it finds: it makes no other tile of it
    "another tile, written to": (
        worked_on("write tma.A", PRODUCER.replace("load tma.A k", "load tma.A k + 1")), 1,
        {"wrong-tile"},
    ),
    "results, written to": (
        worked_on("store acc -> out\n sync group\n write out"), 1, {"wrong-tile"},
    ),
    # the buffer lies in the ring, and nobody stored results there: an operand is shipped
    "an operand is shipped": (
        staged("buffer out : f16 64x64", "buffer out : f16 64x64 in tma.B stage 0", "acc -> out",
               "acc -> c"), 1, {"wrong-box"},
    ),
    # of the arrivals of several warps some end a phase, and the rest count in the next
    "arrivals of one role in two phases": (
        sg.parse(
            (GOOD / "b29_one_arrival_by_each_warp_group.sched").read_text()
            .replace("empty 5", "empty 6")
            .replace("release tma.empty\n", "release tma.empty by all\n")
        ), 5, {"count"},
    ),
    # nothing is in flight but what the last role leaves
    "left at the exit": (staged("  store-wait 0 read\n", ""), 0, {"overwrite", "exit"}),
}  # fmt: skip
"""Schedule, K, and kinds that are reached first or past hazards of data."""


@pytest.mark.parametrize("name", CASES)
def test_both_say_the_same(name):
    schedule, k_tiles, kinds = CASES[name]
    found = compare(schedule, k_tiles, budget=20_000)
    assert kinds <= found.first.kinds | found.further.kinds, str(found)
    assert found.complete
    assert (found.unnamed, found.unreached) == ((), ()), str(found)
    assert found.causes


def test_a_hang_that_a_miscount_hides_is_found_beyond():
    found = compare(sg.parse(MISCOUNTS_THEN_HANGS), 4, budget=20_000)
    assert "SG308" in found.causes
    assert "deadlock" not in found.first.kinds
    assert "deadlock" in found.beyond.kinds


def test_the_last_move_of_all_ends_what_is_in_flight():
    """With the acquire and the mma gone, loads land when they like: before the end, or never."""
    text = CONSUMER.replace("    mma acc, tma.A, tma.B, k\n", "").replace("acquire tma.full", "")
    schedule = ring(PRODUCER, text, stages=2)
    kinds = [
        set(explore(schedule, k_tiles=3, budget=50_000, past=ALL_KINDS, reduce=reduce).reached)
        for reduce in (True, False)
    ]
    assert kinds[0] == kinds[1]
    assert "bytes" in kinds[0]


def test_sisters_of_unequal_size_are_not_interchangeable():
    """Of three sister warps two arrive as one actor, so two arrivals come at once."""
    schedule = ring(PRODUCER, CONSUMER.replace("release tma.empty", "release tma.empty by all"))
    kinds = [
        set(explore(schedule, k_tiles=3, budget=50_000, past=ALL_KINDS, reduce=reduce).reached)
        for reduce in (True, False)
    ]
    assert kinds[0] == kinds[1]


def test_every_kind_and_code_of_an_interleaving_has_its_row():
    kinds = {kind for names in KINDS.values() for kind in names.shows | names.also}
    assert kinds == set(ALL_KINDS)
    order = {code for code in CATALOG if code[:3] in ("SG2", "SG3")}
    assert order - RESULTS - {"SG307", "SG308", "SG310"} == set(KINDS)
