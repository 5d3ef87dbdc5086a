"""Why a role of several warps is three actors: two are too few, and more find nothing more."""

import pytest

import schedgen as sg
from schedgen.happens_before import counting_run
from schedgen.ir.schedule import WARP_THREADS
from schedgen.machine import explore
from tests.benchmarks.break_checker import changed, samples

SISTERS_APART = """
schedule sisters_apart
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages 2 empty 1 full 1 {
  slot A : f16 64x64 = a rows 0
  slot B : f16 64x64 = b rows 0
}
barrier told count 1
barrier wrote count 4
buffer notes : f16 64x64
acc acc : f32 64x64 = c rows 0
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
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
role scribe warps 4 {
  write notes
  arrive told
  arrive wrote by all
  await told
  await wrote by elected
  read notes
}
"""
"""The elected warp waits for all that the others wrote, and all wait for what the elected warp
wrote; nobody but the elected warp waits for a sister's."""


def by_sisters(role):
    """One actor for all warps but the elected one."""
    rest = WARP_THREADS * (role.warps - 1)
    return [WARP_THREADS] + [rest] * (rest > 0)


def by_warps(role):
    return [WARP_THREADS] * role.warps


def codes(split, monkeypatch):
    monkeypatch.setattr(counting_run, "actor_threads", split)
    return [f.code for f in sg.check(sg.parse(SISTERS_APART), 0).findings]


def test_two_sisters_race():
    schedule = sg.parse(SISTERS_APART)
    assert [f.code for f in sg.check(schedule).findings] == ["SG212"]
    assert "overwrite" in explore(schedule, k_tiles=0, budget=20_000).reached


@pytest.mark.parametrize(("split", "expected"), [(by_sisters, []), (by_warps, ["SG212"])])
def test_other_numbers_of_actors(split, expected, monkeypatch):
    assert codes(split, monkeypatch) == expected


def test_an_actor_for_each_warp_finds_the_same():
    assert changed([(counting_run, "actor_threads", by_warps)], list(samples(late=False))) == []
