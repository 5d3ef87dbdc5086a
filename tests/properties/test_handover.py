"""The producer never re-acquires a stage before every consumer has released it."""

from hypothesis import given, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.happens_before.unroll import unroll
from schedgen.ir.ops import Acquire, Release
from schedgen.machine import adversaries, execute, seeded
from tests.strategies import serials


def instances(schedule, k_tiles):
    """Role, replica and ordinal of each op instance, with the instance."""
    return {
        (role.name, replica, i.seq): i
        for role in schedule.roles
        for replica in range(role.replica_count)
        for i in unroll(schedule, role, replica, k_tiles, 100_000)
    }


def handovers(schedule, k_tiles, policy):
    """Each use that the producer got back, with the consumers that had released it by then."""
    known = instances(schedule, k_tiles)
    released: dict[tuple[str, int], set[int]] = {}
    run = execute(schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=False)
    for step in run.steps:
        i = known[step.role, step.replica, step.seq]
        if isinstance(i.op, Release) and step.event == "issue":
            use = i.use(i.op.barrier.ring, i.op.offset)
            released.setdefault((i.op.barrier.ring, use), set()).add(step.replica)
        if isinstance(i.op, Acquire) and i.op.barrier.side == "empty" and step.event == "return":
            ring = i.op.barrier.ring
            before = i.use(ring, 0) - schedule.ring(ring).stages
            if before >= 0:
                yield ring, before, released.get((ring, before), set())


policies = st.one_of(st.integers(0, 10_000), st.none())


@given(st.data(), serials(), st.integers(0, 2), st.integers(1, 9))
def test_stage_is_taken_again_only_when_all_gave_it_back(data, serial, steps, k_tiles):
    schedule = serial.schedule()
    if steps < min(serial.stages):
        schedule = sg.apply(schedule, f"overlap-wgmma{{in-flight={steps}}}")
    seed = data.draw(policies)
    policy = seeded(seed) if seed is not None else data.draw(
        st.sampled_from(adversaries(schedule))
    )  # fmt: skip
    note(f"{policy}\n{sg.show(schedule)}")
    got = list(handovers(schedule, k_tiles, policy))
    assert {who == set(range(serial.consumers)) for _, _, who in got} <= {True}
    uses = {ring: max(k_tiles - schedule.ring(ring).stages, 0) for ring in serial.rings}
    assert all(sum(r == ring for r, _, _ in got) >= count for ring, count in uses.items())


def test_v5_hands_every_use_back():
    v5 = sg.load("hopper_matmul_v5")
    got = list(handovers(v5, 9, seeded(3)))
    assert [(use, who) for _, use, who in got] == [(use, {0, 1}) for use in range(9)]
