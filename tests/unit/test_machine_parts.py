"""The abstract machine part by part: barriers, actors, proxies, stores, named barriers."""

import ast
from pathlib import Path

import numpy as np
import pytest

import schedgen.machine
from schedgen.ir.parser import parse
from schedgen.machine import Operands, UnfitOperands, adversaries, execute, seeded
from schedgen.machine.barrier import Mbarrier, NamedBarrier
from schedgen.machine.compiler import compile_program
from schedgen.machine.program import unroll, warps_of_actors
from schedgen.machine.tensors import rounded

HEAD = """
schedule small
problem c[m, n] f32 = a[m, k] f16 * b[n, k] f16
tile m 16, n 16, k 16, raster n 1
acc acc : f32 16x16 = c rows 0
"""
RING = "ring r stages 1 empty 1 full 1 { slot S : f16 16x16 = a rows 0 }\n"
PRODUCER = """
role producer warp {
  for k in 0..K { acquire r.empty  expect r.full bytes 512  load r.S k  advance r }
}
"""


def schedule(text):
    return parse(HEAD + text, file="small.sched")


def outcomes(text, k_tiles):
    s = schedule(text)
    policies = [*adversaries(s), *(seeded(seed) for seed in range(8))]
    return [
        execute(s, k_tiles=k_tiles, policy=p, operands=None, stop_at_first=False) for p in policies
    ]


def kinds(text, k_tiles=1):
    return {h.kind for run in outcomes(text, k_tiles) for h in run.hazards}


# --- barriers
def test_mbarrier_flips_when_arrivals_and_bytes_are_complete():
    barrier = Mbarrier(2)
    assert barrier.has_passed(1)
    assert not barrier.has_passed(0)
    barrier.deliver(8)  # before the expect: legal
    barrier.arrive(1)
    barrier.expect(8)
    assert not barrier.has_passed(0)
    barrier.arrive(1)
    assert barrier.has_passed(0)
    assert (barrier.pending, barrier.bytes) == (2, 0)


def test_mbarrier_phase_waits_for_late_bytes():
    barrier = Mbarrier(1)
    barrier.expect(8)
    barrier.arrive(1)
    assert not barrier.has_passed(0)
    barrier.deliver(8)
    assert barrier.has_passed(0)


def test_mbarrier_cannot_tell_a_lap():
    barrier = Mbarrier(1)
    barrier.arrive(2)
    assert not barrier.has_passed(0)


def test_named_barrier_lets_all_go_at_once_and_starts_again():
    barrier = NamedBarrier(96)
    assert barrier.enter(0, 32) == []
    assert barrier.enter(1, 64) == [0, 1]
    assert barrier.enter(1, 64) == []


@pytest.mark.parametrize(
    ("warps", "sizes"), [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (4, [1, 2, 1]), (8, [1, 4, 3])]
)
def test_actors_share_the_warps(warps, sizes):
    ranges = warps_of_actors(warps)
    assert [len(r) for r in ranges] == sizes
    assert [w for r in ranges for w in r] == list(range(warps))


# --- programs
def test_unrolling_counts_executed_ops_alone():
    s = schedule(RING + "role x warp { if K > 5 { fence } for k in 1..K { load r.S k advance r } }")
    turns = unroll(s.roles[0], 0, k_tiles=3, stages=s.stages)
    assert [(t.op.keyword, t.k) for t in turns] == [
        ("load", 1), ("advance", 1), ("load", 2), ("advance", 2),
    ]  # fmt: skip


def test_cursors_uses_and_parities():
    ring = RING.replace("stages 1", "stages 2")
    body = "acquire r.full acquire r.empty advance r advance r acquire r.full acquire r.empty "
    body += "set r = 5 acquire r.full acquire r.full lag 1 acquire r.full parity (3)"
    program = compile_program(schedule(ring + "role x warp {" + body + "}"), k_tiles=0)
    full0, empty0, full1 = 0, 1, 2
    waits = [i.wait for i in program.actors[0].code if i.wait is not None]
    assert waits == [
        (full0, 0), (empty0, 1), (full0, 1), (empty0, 0), (full1, 0), (full0, 0), (full1, 1),
    ]  # fmt: skip


def test_each_actor_counts_its_own_awaits():
    text = "barrier b count 1\nrole x warps 2 { await b by elected await b await b }"
    program = compile_program(schedule(text), k_tiles=0)
    assert [[i.wait[1] for i in actor.code] for actor in program.actors] == [[0, 1, 0], [0, 1]]


def test_groups_hold_what_was_issued_since_the_last_commit():
    text = RING + "role x warpgroup { mma acc, r.S, r.S, 0 mma acc, r.S, r.S, 0 commit commit"
    text += " mma acc, r.S, r.S, 0 }"
    team = compile_program(schedule(text), k_tiles=0).teams[0]
    assert [(g.commit, g.mma) for g in team.groups] == [(2, (0, 1)), (3, ())]
    assert team.loose == (4,)


# --- one actor is not enough
def test_leader_that_releases_before_its_sisters_waited_laps_them():
    consumer = "role consumer warpgroup { for k in 0..K { acquire r.full %s release r.empty "
    consumer += "advance r } }"
    named = "named all threads 128\n"
    assert kinds(named + RING + PRODUCER + consumer % "sync all", 2) == set()
    assert "deadlock" in kinds(RING + PRODUCER + consumer % "", 2)


def test_sisters_still_read_what_their_leader_released():
    bad = "role consumer warpgroup { for k in 0..K { acquire r.full sync all release r.empty "
    bad += "read r.S advance r } }"
    assert "overwrite" in kinds("named all threads 128\n" + RING + PRODUCER + bad, 2)


STAGED = """
buffer out : f32 16x16
named all threads 128
role x warpgroup {
  store acc -> out
  fence proxy %s
  sync all
  tma-store out -> c
  store-commit
  store-wait 0 read
  %s
  write out
}
"""


def test_elected_store_wait_does_not_hold_back_the_sisters():
    assert kinds(STAGED % ("", "sync all")) == set()
    assert kinds(STAGED % ("", "")) >= {"overwrite", "proxy"}


def test_proxy_fence_must_come_from_those_who_stored():
    late_fence = "by elected sync all fence proxy by elected"
    assert kinds(STAGED % (late_fence, "sync all")) == {"proxy"}
    everybody = "by elected sync all fence proxy"
    assert kinds(STAGED % (everybody, "sync all")) == set()


def test_data_that_landed_over_an_unfenced_store_needs_no_fence():
    text = RING + "role x warp { write r.S expect r.full bytes 512 load r.S 0 acquire r.full "
    text += "tma-store r.S -> c store-commit store-wait 0 }"
    for run in outcomes(text, 1):
        ship = ("wrong-box", "tma-store r.S -> c")  # an operand, and nothing about proxies
        assert [(h.kind, h.op) for h in run.hazards] == [("proxy", "load r.S 0"), ship]


def test_staged_store_reaches_the_output():
    s = schedule(STAGED % ("", "sync all"))
    empty = Operands(left=np.zeros((16, 0)), right=np.zeros((11, 0)))
    run = execute(s, k_tiles=0, policy=seeded(0), operands=empty, stop_at_first=False)
    assert run.product.shape == (16, 11)
    assert not run.product.any()


# --- single hazards
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("release r.empty lag 1", {"negative-use"}),
        ("read r.S", {"read-early"}),
        ("write r.S read r.S", set()),
        ("load r.S 0", {"exit"}),
        ("expect r.full bytes 512 load r.S 0 acquire r.full read r.S", set()),
        ("expect r.full bytes 512 load r.S 0 read r.S acquire r.full", {"read-early"}),
        ("expect r.full bytes 512 load r.S 0 write r.S acquire r.full", {"overwrite"}),
        (
            "write r.S expect r.full bytes 512 load r.S 0 read r.S acquire r.full",
            {"overwrite", "proxy"},
        ),
        ("load r.S 0 expect r.full bytes 512 acquire r.full", set()),
        ("expect-tx r.full bytes 512 load r.S 0 arrive r.full acquire r.full", set()),
        ("arrive r.full acquire r.full lag 0 acquire r.full", set()),
        ("acquire r.full", {"deadlock"}),
        ("acquire r.full parity (1)", set()),
        ("expect r.full bytes 8 arrive r.full", {"count"}),
        ("write r.S advance r tma-store r.S -> c store-commit store-wait 0", {"proxy"}),
        ("write r.S fence proxy tma-store r.S -> c store-commit store-wait 0", set()),
        ("write r.S fence proxy tma-store r.S -> c store-commit store-wait 1", {"exit"}),
        ("write r.S fence proxy tma-store r.S -> c store-wait 0", {"exit"}),
    ],
)
def test_one_warp(body, expected):
    assert kinds(RING + "role x warp {" + body + "}") == expected


MMA = "write r.S fence proxy sync all fence %s mma acc, r.S, r.S, 0 commit %s wait %d %s"


@pytest.mark.parametrize(
    ("before", "pending", "depth", "after", "expected"),
    [
        ("", "", 0, "store acc -> c", set()),
        ("touch acc", "", 0, "", {"fence"}),
        ("touch acc fence", "", 0, "", set()),
        ("", "", 0, "mma acc, r.S, r.S, 0 touch acc", {"accumulator", "exit"}),
        ("", "store acc -> c", 0, "", {"accumulator"}),
        ("", "", 1, "", {"exit"}),
        ("", "mma acc, r.S, r.S, 0", 0, "", {"exit"}),
        ("", "write r.S", 0, "", {"overwrite"}),
        ("", "read r.S", 0, "", set()),
    ],
)
def test_one_mma(before, pending, depth, after, expected):
    body = MMA % (before, pending, depth, after)
    text = "named all threads 128\n" + RING + "role x warpgroup {" + body + "}"
    assert kinds(text) == expected


def test_groups_of_a_replica_retire_in_order():
    text = "named all threads 128\n" + RING + "role x warpgroup { write r.S fence proxy sync all "
    text += "fence mma acc, r.S, r.S, 0 commit mma acc, r.S, r.S, 0 commit wait 0 }"
    for run in outcomes(text, 1):
        assert [s.seq for s in run.steps if s.event == "retire"] == [5, 7]


def test_sync_that_lacks_threads_never_returns():
    text = "named n[2] threads 64\nrole x[2] warp { sync n[%s] }"
    assert kinds(text % "0") == set()
    assert kinds(text % "self") == {"deadlock"}
    run = outcomes(text % "self", 1)[0]
    assert "32 of 64 threads came to n[0]" in run.hazards[0].message


def test_op_by_elected_is_skipped_by_the_sisters():
    text = "barrier b count %d\nrole x warpgroup { arrive b by %s await b }"
    assert kinds(text % (1, "elected")) == set()
    assert kinds(text % (4, "all")) == set()  # each of the four warps
    assert kinds(text % (5, "all")) == {"deadlock"}


# --- numbers
def test_brain_floats_round_to_nearest_even():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, np.nan, -3.0], np.float32)
    assert rounded(values, "bf16").tolist()[:3] == [1.0, 1.0, 1 + 2**-6]
    assert np.isnan(rounded(values, "bf16")[3])


def test_output_that_nothing_stores_stays_poisoned():
    empty = Operands(left=np.zeros((16, 0)), right=np.zeros((16, 0)))
    s = schedule("role x warp { touch acc }")
    run = execute(s, k_tiles=0, policy=seeded(0), operands=empty, stop_at_first=False)
    assert np.isnan(run.product).all()


def test_operands_must_fit_the_trip_count():
    wrong = Operands(left=np.zeros((16, 40)), right=np.zeros((16, 40)))
    s = schedule("role x warp { touch acc }")
    with pytest.raises(UnfitOperands, match="k = 40 is not 2 tiles of 16"):
        execute(s, k_tiles=2, policy=seeded(0), operands=wrong, stop_at_first=False)


# --- independence
def test_machine_knows_the_ir_alone_and_no_op_by_its_class():
    folder = Path(schedgen.machine.__file__).parent
    imported = {
        (node.module, alias.name)
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("schedgen")
        for alias in node.names
    }
    assert {module.split(".")[1] for module, _ in imported} == {"ir", "machine"}
    assert {name for module, name in imported if module == "schedgen.ir.ops"} == {"Op", "Place"}
    text = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert ".keyword" not in text
