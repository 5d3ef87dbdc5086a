"""Replaying step lists on the abstract machine."""

import pytest

from schedgen.ir.parser import parse
from schedgen.machine import ReplayError, Step, adversaries, execute, replay, seeded

TEXT = """
schedule small
problem c[m, n] f32 = a[m, k] f16 * b[n, k] f16
tile m 16, n 16, k 16, raster n 1
ring r stages 1 empty 1 full 1 { slot S : f16 16x16 = a rows 0 }
acc acc : f32 16x16 = c rows 0
role producer warp {
  for k in 0..K {
    acquire r.empty
    expect r.full bytes 512
    load r.S k
    advance r
  }
}
"""
READER = """
role reader warp {
  for k in 0..K { acquire r.full  %s  advance r }
}
"""
TENSOR = """
role mma_role warpgroup {
  for k in 0..K { acquire r.full  fence  mma acc, r.S, r.S, k  commit  wait %d  release r.empty
    advance r }
  wait 0
}
"""


def produce(use):
    first = 4 * use
    steps = [("return", first), ("issue", first + 1), ("issue", first + 2)]
    return [Step("producer", 0, 0, event, seq) for event, seq in steps]


def landing(use):
    return Step("producer", 0, None, "land", 4 * use + 2)


def reads(*events):
    return [Step("reader", 0, 0, event, seq) for event, seq in events]


def small(consumer):
    return parse(TEXT + consumer, file="small.sched")


def test_a_release_before_the_read_is_seen_to_be_overwritten():
    steps = [*produce(0), landing(0), *reads(("return", 0), ("issue", 1), ("issue", 2))]
    s = small(READER % "release r.empty  read r.S")
    run = replay(s, k_tiles=2, steps=[*steps, *produce(1)])
    (hazard,) = run.hazards
    assert (hazard.kind, hazard.op, hazard.k) == ("overwrite", "load r.S k", 1)
    assert (hazard.other.op, hazard.other.role) == ("read r.S", "reader")
    assert not run.finished
    closed = replay(s, k_tiles=2, steps=[*steps, *reads(("close", 2)), *produce(1)])
    assert closed.hazards == ()


def test_start_of_a_wait_may_be_listed_and_advance_need_not():
    s = small(READER % "read r.S  release r.empty")
    steps = [Step("producer", 0, 0, "start", 0), *produce(0), *reads(("start", 0)), landing(0)]
    steps += reads(("return", 0), ("issue", 2), ("issue", 3))
    run = replay(s, k_tiles=1, steps=[*steps, Step("producer", 0, 0, "issue", 3)])
    assert run.finished
    assert run.hazards == ()


def actors(event, seq):
    return [Step("mma_role", 0, actor, event, seq) for actor in range(3)]


def test_early_release_of_a_pending_mma():
    steps = [*produce(0), landing(0)]
    for event, seq in (("return", 0), ("issue", 2), ("return", 4)):
        steps += actors(event, seq)
    steps.append(Step("mma_role", 0, 0, "issue", 5))
    run = replay(small(TENSOR % 1), k_tiles=2, steps=[*steps, *produce(1)])
    assert [h.kind for h in run.hazards] == ["overwrite"]
    with pytest.raises(ReplayError, match="1 mma groups must retire, 0 did"):
        replay(small(TENSOR % 0), k_tiles=2, steps=[*steps, *produce(1)])


def test_collective_step_without_actor_is_made_by_all_and_the_group_retires():
    steps = [*produce(0), landing(0)]
    events = [("return", 0), ("issue", 2), ("issue", 3), ("retire", 3), ("return", 4)]
    steps += [Step("mma_role", 0, None, event, seq) for event, seq in events]
    assert replay(small(TENSOR % 0), k_tiles=1, steps=steps).hazards == ()
    with pytest.raises(ReplayError, match="not every actor has issued"):
        replay(small(TENSOR % 0), k_tiles=1, steps=[*steps[:5], *steps[7:8], *steps[:0]])


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([landing(0)], "no such load is in flight"),
        ([*produce(0), landing(0), landing(0)], "no such load is in flight"),
        (reads(("return", 0)), "r.full[0] stays in a phase of parity 0"),
        (reads(("issue", 1)), "has not returned from `acquire r.full`"),
        (produce(0)[:1] * 2, "is past it already"),
        (reads(("issue", 0)), "has start and return, not issue"),
        (reads(("issue", 99)), "no such op instance"),
        ([Step("reader", 1, 0, "issue", 0)], "no such role replica"),
        ([Step("reader", 0, 2, "issue", 0)], "the replica has 1 actors"),
        ([Step("reader", 0, None, "retire", 0)], "no wgmma group is closed"),
        ([Step("reader", 0, None, "drain", 0)], "no group of stores"),
    ],
)
def test_an_impossible_step_is_named(steps, reason):
    with pytest.raises(ReplayError) as caught:
        replay(small(READER % "read r.S"), k_tiles=2, steps=steps)
    assert reason in caught.value.reason
    assert caught.value.number == len(steps) - 1


def test_a_missing_release_is_stuck_at_the_end_of_the_list():
    steps = [*produce(0), landing(0), *reads(("return", 0), ("issue", 1), ("start", 3))]
    steps.append(Step("producer", 0, 0, "start", 4))
    run = replay(small(READER % "read r.S"), k_tiles=2, steps=steps)
    assert [(h.kind, h.role, h.where) for h in run.hazards] == [
        ("deadlock", "producer", "r.empty[0]"), ("deadlock", "reader", "r.full[0]"),
    ]  # fmt: skip


@pytest.mark.parametrize("consumer", [TENSOR % 1, TENSOR % 0, READER % "release r.empty read r.S"])
def test_every_execution_replays_to_its_own_hazards(consumer):
    s = small(consumer)
    for policy in [*adversaries(s), *(seeded(n) for n in range(10))]:
        run = execute(s, k_tiles=4, policy=policy, operands=None, stop_at_first=False)
        again = replay(s, k_tiles=4, steps=run.steps)
        assert again.hazards == run.hazards
        assert again.steps == run.steps
