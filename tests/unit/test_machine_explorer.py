"""The explorer: every interleaving of small cases, and the reduction that makes them small."""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.machine import adversaries, execute, explore, replay

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"

RING = """schedule ring
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m {rows}, n 64, k 64, raster n 1
ring tma stages {stages} empty {consumers} full 1 {{
  slot A[{consumers}] : f16 64x64 = a rows 64*i
  slot B : f16 64x64 = b rows 0
}}
acc acc : f32 64x64 = c rows 64*self
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes {bytes}
    {loads}
    advance tma
  }}
}}
role consumer[{consumers}] warpgroup {{
  for k in 0..K {{
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, k
    commit
    wait {depth}
    if k >= {lag} {{ release tma.empty lag {lag} }}
    advance tma
  }}
  wait 0
  store acc -> c
}}
"""

BARE = """schedule bare
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
{barriers}
acc acc : f32 64x64 = c rows 0
{roles}
"""


def ring(*, stages, consumers=1, depth=0, lag=0):
    """V5's loop with any wait depth and lag; the last releases are left out."""
    loads = [f"load tma.A[{i}] k" for i in range(consumers)] + ["load tma.B k"]
    return sg.parse(
        RING.format(
            stages=stages, consumers=consumers, depth=depth, lag=lag, rows=64 * consumers,
            bytes=8192 * len(loads), loads="  ".join(loads),
        )
    )  # fmt: skip


def bare(barriers, *bodies):
    """Roles of one warp that share plain barriers."""
    declared = "\n".join(f"barrier {name} count {count}" for name, count in barriers.items())
    roles = "\n".join(f"role r{i} warp {{ {body} }}" for i, body in enumerate(bodies))
    return sg.parse(BARE.format(barriers=declared, roles=roles))


def known_bad(name):
    return sg.load(KNOWN_BAD / f"{name}.sched")


def kinds(schedule, k_tiles, *, budget=50_000, reduce=True):
    found = explore(schedule, k_tiles=k_tiles, budget=budget, reduce=reduce)
    assert found.complete
    return set(found.reached)


@pytest.mark.parametrize("k_tiles", range(6))
def test_v5_of_two_stages_is_clean(k_tiles):
    assert kinds(ring(stages=2, depth=1, lag=1), k_tiles) == set()


def test_v5_itself_is_clean_one_tile_beyond_its_stages():
    assert kinds(sg.load("hopper_matmul_v5"), 5) == set()


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("lag", [0, 1, 2, 3])
def test_grid_of_lag_and_depth(stages, depth, lag):
    """Clean iff depth <= lag < stages; both hazards show first at K = stages + 1."""
    schedule = ring(stages=stages, depth=depth, lag=lag)
    wanted = {"overwrite"} if lag < depth else set()
    wanted |= {"deadlock"} if lag >= stages else set()
    seen = kinds(schedule, stages + 1)
    assert seen <= wanted
    assert bool(seen) == bool(wanted)
    assert kinds(schedule, stages) == set()


@pytest.mark.parametrize(
    ("name", "k_tiles", "wanted"),
    [
        ("sg201_no_acquire_of_full", 1, {"read-early"}),
        ("sg202_load_of_the_next_tile", 1, {"wrong-tile"}),
        ("sg206_touch_in_loop", 2, {"accumulator"}),
        ("sg208_no_fence", 1, {"fence"}),
        ("sg210_proxy_fence_by_the_leader_alone", 0, {"proxy"}),
        ("sg213_store_wait_by_the_leader_alone", 0, {"overwrite", "read-early", "proxy"}),
        ("sg214_no_store_wait", 0, {"exit"}),
        ("sg214_two_tiles_too_many", 0, {"exit"}),
        ("sg301_release_twice", 2, {"phase"}),
        ("sg302_bytes_after_the_arrival", 1, {"bytes"}),
        ("sg303_two_roles_arrive", 0, {"phase"}),
        ("sg304_second_phase_awaited_first", 0, {"phase"}),
        ("sg305_leader_releases_before_its_sisters_waited", 3, {"deadlock"}),
        ("sg306_nobody_waits", 2, {"phase"}),
        ("sg308_lost_release", 1, {"deadlock"}),
        ("sg309_lag_in_the_first_step", 1, {"negative-use"}),
    ],
)
def test_kinds_of_known_bad_schedules(name, k_tiles, wanted):
    assert kinds(known_bad(name), k_tiles) == wanted


def test_count_is_an_arrival_on_a_phase_that_lacks_only_bytes():
    schedule = bare({"b": 1}, "expect-tx b bytes 16  arrive b  arrive b")
    assert kinds(schedule, 0) == {"count"}


def test_a_wait_that_passes_too_early():
    """The smallest schedule that P4 alone refuses."""
    schedule = bare(
        {"b0": 3, "b1": 1},
        "arrive b0  await b1 parity (1)  arrive b1",
        "arrive b1  arrive b0  arrive b0  await b1 parity (0)  arrive b1",
    )
    assert "phase" in kinds(schedule, 0)


def test_a_group_of_nothing_is_not_in_flight():
    role = "role r warpgroup { commit  store acc -> c }"
    assert kinds(sg.parse(BARE.format(barriers="", roles=role)), 0) == set()


TRACED = [
    ("sg201_no_acquire_of_full", 1, "read-early"),
    ("sg202_mma_of_the_previous_tile", 2, "wrong-tile"),
    ("sg203_early_release", 4, "overwrite"),
    ("sg206_touch_in_loop", 2, "accumulator"),
    ("sg213_store_wait_by_the_leader_alone", 0, "overwrite"),
    ("sg214_no_store_wait", 0, "exit"),
    ("sg305_leader_releases_before_its_sisters_waited", 3, "deadlock"),
    ("sg307_lag_of_all_stages", 5, "deadlock"),
]


@pytest.mark.parametrize(("name", "k_tiles", "kind"), TRACED)
def test_a_trace_replays_to_its_hazard(name, k_tiles, kind):
    schedule = known_bad(name)
    found = explore(schedule, k_tiles=k_tiles, budget=20_000).reached[kind]
    run = replay(schedule, k_tiles=k_tiles, steps=found.steps)
    assert found.hazard in run.hazards
    assert found.hazard.kind == kind


def test_trace_of_the_early_release_shows_the_tile_that_overwrites():
    found = explore(known_bad("sg203_early_release"), k_tiles=4, budget=20_000)
    hazard = found.reached["overwrite"].hazard
    assert hazard.op.startswith("load tma.")
    assert hazard.k == 3
    assert hazard.other is not None
    assert hazard.other.op.startswith("mma")


def test_a_reduced_trace_is_as_short_as_any():
    schedule = ring(stages=2, depth=1, lag=0)
    reduced = explore(schedule, k_tiles=3, budget=50_000)
    full = explore(schedule, k_tiles=3, budget=50_000, reduce=False)
    lengths = [{kind: len(t.steps) for kind, t in x.reached.items()} for x in (reduced, full)]
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize(("depth", "lag"), [(0, 0), (1, 0), (1, 1), (0, 2)])
def test_reduction_reaches_the_same_kinds_in_fewer_states(stages, depth, lag):
    schedule = ring(stages=stages, depth=depth, lag=lag)
    reduced = explore(schedule, k_tiles=stages + 1, budget=50_000)
    full = explore(schedule, k_tiles=stages + 1, budget=50_000, reduce=False)
    assert full.complete
    assert reduced.reached.keys() == full.reached.keys()
    assert reduced.states * 2 < full.states


def test_a_spent_budget_is_said():
    found = explore(ring(stages=2, consumers=2), k_tiles=5, budget=100)
    assert not found.complete
    assert not found.is_clean
    assert found.states > 100


@pytest.mark.parametrize("name", ["sg203_early_release", "sg212_write_and_read_without_sync"])
def test_whatever_an_adversary_finds_is_reached(name):
    schedule, k_tiles = known_bad(name), 4 if "203" in name else 0
    seen = set()
    for policy in adversaries(schedule):
        run = execute(
            schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
        )  # fmt: skip
        seen |= {hazard.kind for hazard in run.hazards}
    assert seen
    assert seen <= kinds(schedule, k_tiles)
