"""The schedulers of the abstract machine keep what their names promise."""

import pytest

from schedgen.ir.parser import parse
from schedgen.machine import adversaries, seeded
from schedgen.machine.compiler import compile_program
from schedgen.machine.interpreter import Machine
from schedgen.machine.policy import scheduler
from schedgen.machine.state import INSIDE

TEXT = """
schedule small
problem c[m, n] f32 = a[m, k] f16 * b[n, k] f16
tile m 16, n 16, k 16, raster n 1
ring r stages 2 empty 2 full 1 { slot S : f16 16x16 = a rows 0 }
acc acc : f32 16x16 = c rows 0
role consumer[2] warpgroup {
  for k in 0..K {
    acquire r.full  read r.S  fence  mma acc, r.S, r.S, k  commit  wait 1
    release r.empty lag 0  advance r
  }
  wait 0
}
role producer warp {
  for k in 0..K { acquire r.empty  expect r.full bytes 512  load r.S k  advance r }
}
"""
SMALL = parse(TEXT, file="small.sched")


def moves(policy):
    """Each move of an execution, with the machine as it was when the move was chosen."""
    machine = Machine(compile_program(SMALL, k_tiles=5), None)
    choose = scheduler(policy, machine)
    while not machine.has_ended:
        move = choose(machine)
        if move is None:
            return
        yield machine, move
        machine.apply(move)


def late(**wanted):
    return [
        p
        for p in adversaries(SMALL)
        if p.manner == "late" and all(getattr(p, k) == v for k, v in wanted.items())
    ]


def eager(machine):
    """Actors that can do something other than close an ordinary access."""
    actors = range(len(machine.program.actors))
    return [a for a in actors if machine.can_step(a) and machine.state.phase[a] != INSIDE]


def label(machine, actor):
    return machine.program.teams[machine.program.actors[actor].team].label


@pytest.mark.parametrize("policy", late(), ids=str)
def test_late_completes_and_closes_only_when_nobody_else_can_move(policy):
    for machine, move in moves(policy):
        if move.kind != "actor":
            assert not any(machine.can_step(a) for a in range(len(machine.program.actors)))
        elif machine.state.phase[move.who] == INSIDE:
            assert not eager(machine)


@pytest.mark.parametrize("policy", late(), ids=str)
def test_late_starves_one_role(policy):
    starved = 0
    for machine, move in moves(policy):
        if move.kind == "actor" and label(machine, move.who) == policy.starve:
            if machine.state.phase[move.who] != INSIDE:
                assert {label(machine, a) for a in eager(machine)} == {policy.starve}
            starved += 1
    assert starved


@pytest.mark.parametrize("policy", late(starve="consumer[1]"), ids=str)
def test_producers_run_as_far_ahead_as_they_can(policy):
    for machine, move in moves(policy):
        if "producer" in {label(machine, a) for a in eager(machine)}:
            assert label(machine, move.who) == "producer"


@pytest.mark.parametrize("policy", late(starve="producer"), ids=str)
def test_leader_or_sisters_run_ahead_across_roles(policy):
    leads = min if policy.ahead == "elected" else max
    for machine, move in moves(policy):
        able = [a for a in eager(machine) if label(machine, a) != "producer"]
        if able and move.kind == "actor":
            ranks = [machine.program.actors[a].rank for a in able]
            assert machine.program.actors[move.who].rank == leads(ranks)


@pytest.mark.parametrize("completes", ["oldest-load", "newest-load", "group"])
def test_what_completes_first(completes):
    (policy,) = late(starve="consumer[1]", ahead="elected", completes=completes)
    seen = set()
    for machine, move in moves(policy):
        if move.kind == "land" and completes != "group":
            age = -1 if completes == "newest-load" else 0
            assert (move.who, move.at) == machine.state.loads[age]
        favoured = [m for m in machine.completions() if m.kind == "land"]
        if completes == "group":
            favoured = [m for m in machine.completions() if (m.kind, m.who) == ("retire", 0)]
        if move.kind != "actor" and favoured:
            assert move in favoured
        seen.add(move.kind)
    assert {"land", "retire", "actor"} <= seen


def test_early_completes_at_once():
    for policy in adversaries(SMALL):
        if policy.manner == "early":
            for machine, move in moves(policy):
                assert move.kind != "actor" or not machine.completions()


def test_every_role_replica_is_starved_in_turn():
    labels = {"producer", "consumer[0]", "consumer[1]"}
    for manner in ("late", "early"):
        assert {p.starve for p in adversaries(SMALL) if p.manner == manner} == labels


def test_only_early_and_odd_seeds_read_at_issue():
    assert [seeded(n).reads_at_issue for n in range(3)] == [False, True, False]
    assert {p.reads_at_issue for p in adversaries(SMALL) if p.manner == "early"} == {True}
    assert {p.reads_at_issue for p in late()} == {False}
