"""Each counting rule P1-P6 is needed: without it a schedule passes that really goes wrong.

P6 implies P3 for arrivals: a wait for b.j that returned has all of b.j before it, so an arrival
that comes after such a return comes after b.j.  What P3 alone refuses are bytes: announcements and
landings, which nobody needs to have observed anything for.
"""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.happens_before import counting, judge
from schedgen.machine import explore

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
RANGE = (0, 9)

ALONE = {
    "P1": (counting, "_too_many", "sg301_arrival_beside_the_expect", "SG301", 1, "count"),
    "P1 lack": (judge, "progress_violations", "sg301_full_count_two", "SG301", 1, "deadlock"),
    "P2 lack": (judge, "progress_violations", "sg302_load_missing", "SG302", 1, "deadlock"),
    "P2": (counting, "_late_expects", "sg302_arrival_by_another_loader", "SG302", 1, "bytes"),
    "P3": (counting, "_overtaken", "sg303_bytes_announced_above_the_acquire", "SG303", 2, "bytes"),
    "P4": (counting, "_early", "sg304_wait_passes_too_early", "SG304", 0, "phase"),
    "P5": (
        counting, "_lapped", "sg305_leader_releases_before_its_sisters_waited", "SG305", 3,
        "deadlock",
    ),
    "P6": (counting, "_unobserved", "sg306_nobody_waits", "SG306", 2, "phase"),
}  # fmt: skip
"""A rule: where it stands, and a schedule that no other rule refuses, with its code, its smallest K
and what the explorer reaches there.  A phase that lacks arrivals or bytes shows as a wait that
never returns: that half of P1 and P2 is in `progress`."""


def found(schedule):
    """The codes of a verdict, each with its smallest K."""
    return {(f.code, f.k) for f in sg.check(schedule, RANGE).findings}


@pytest.mark.parametrize("rule", ALONE)
def test_without_the_rule_a_bad_schedule_passes(rule, monkeypatch):
    module, function, name, code, k, _ = ALONE[rule]
    schedule = sg.load(KNOWN_BAD / f"{name}.sched")
    assert found(schedule) == {(code, k)}
    monkeypatch.setattr(module, function, lambda *_a, **_k: iter(()))
    verdict = sg.check(schedule, RANGE)
    assert verdict.findings == ()
    assert verdict.ok


@pytest.mark.parametrize("rule", ALONE)
def test_the_other_rules_do_not_refuse_it(rule, monkeypatch):
    """Whatever other rule goes, the verdict on the schedule stays."""
    _, removed, name, code, k, _ = ALONE[rule]
    schedule = sg.load(KNOWN_BAD / f"{name}.sched")
    for module, function, *_ in ALONE.values():
        if function != removed:
            monkeypatch.setattr(module, function, lambda *_a, **_k: iter(()))
    assert found(schedule) == {(code, k)}


@pytest.mark.parametrize("rule", ALONE)
def test_what_the_rule_refuses_can_happen(rule):
    """At the smallest K the explorer reaches it, below that nothing."""
    _, _, name, _, k, kind = ALONE[rule]
    schedule = sg.load(KNOWN_BAD / f"{name}.sched")
    assert kind in explore(schedule, k_tiles=k, budget=20_000).reached
    for below in range(k):
        assert explore(schedule, k_tiles=below, budget=20_000).is_clean


def test_the_smallest_wait_that_passes_too_early():
    """Its waiter sees the phase before the one that it waits for, and goes on at once."""
    schedule = sg.load(KNOWN_BAD / "sg304_wait_passes_too_early.sched")
    message = sg.check(schedule, 0).findings[0].message
    assert "waits for phase 1 of b1, but may start before phase 0 is past" in message
    steps = explore(schedule, k_tiles=0, budget=20_000).reached["phase"].steps
    assert [(s.role, s.event) for s in steps if s.event == "return"] == [("first", "return")]
