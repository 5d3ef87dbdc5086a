"""Who moves next: seeded schedulers and two families of adversaries.

*late*: what is asynchronous completes only when no actor can move, ordinary accesses stay open as
long as possible, producers run as far ahead as they can, and one role replica is starved: it
moves, and its copies and mma complete, only when nothing else can.  *early*: everything
asynchronous completes at once, which hides no wait but laps the waiters of a starved role.

Inside a role the elected actor runs ahead of its sisters or the sisters ahead of it, across all
roles at once: a leader that hands on too early is answered by the others before its sisters move.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from schedgen.ir.effects import Engine
from schedgen.ir.schedule import Schedule, ops_of
from schedgen.machine.interpreter import Machine
from schedgen.machine.state import INSIDE, Move

Scheduler = Callable[[Machine], Move | None]
"""Picks one of the moves that are possible, None if there is none."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How an execution is scheduled.

    ``seed`` belongs to the manner "seeded", all else to the adversaries: ``starve`` is the label
    of a role replica, ``ahead`` says who leads inside a role, ``completes`` what completes first
    when nobody can move: the oldest load, the newest load, or an mma group.
    """

    manner: Literal["seeded", "late", "early"]
    seed: int
    starve: str | None
    ahead: Literal["elected", "sisters"]
    completes: Literal["oldest-load", "newest-load", "group"]

    @property
    def reads_at_issue(self) -> bool:
        """Whether asynchronous readers read their data when issued, or when they complete."""
        return self.manner == "early" or (self.manner == "seeded" and self.seed % 2 == 1)

    def __str__(self) -> str:
        if self.manner == "seeded":
            return f"seed {self.seed}"
        starved = self.starve or "nobody"
        text = f"{self.manner}, {starved} starved, {self.ahead} ahead"
        return text if self.manner == "early" else f"{text}, {self.completes} first"


def seeded(seed: int) -> Policy:
    """A random scheduler, always the same for the same seed."""
    return Policy(manner="seeded", seed=seed, starve=None, ahead="elected", completes="oldest-load")


def adversaries(schedule: Schedule) -> list[Policy]:
    """Every late and early policy: each role replica starved, either leader, each completion."""
    labels = [role.label(r) for role in schedule.roles for r in range(role.replica_count)]
    policies: list[Policy] = []
    for starve in labels:
        for ahead in ("elected", "sisters"):
            for completes in ("oldest-load", "newest-load", "group"):
                policies.append(
                    Policy(manner="late", seed=0, starve=starve, ahead=ahead, completes=completes)
                )
            policies.append(
                Policy(manner="early", seed=0, starve=starve, ahead=ahead, completes="oldest-load")
            )
    return policies


def scheduler(policy: Policy, machine: Machine) -> Scheduler:
    """The scheduler of a policy for one execution."""
    if policy.manner == "seeded":
        return _random(policy.seed)
    order = _order(policy, machine)
    starved = {t for t, team in enumerate(machine.program.teams) if team.label == policy.starve}
    return _late(policy, order, starved) if policy.manner == "late" else _early(order)


def _order(policy: Policy, machine: Machine) -> list[int]:
    """All actors, the one that goes first first: the starved last, producers before the rest."""
    teams = machine.program.teams
    produces = [
        any(op.effects().engine is Engine.TMA for op in ops_of(team.role.body)) for team in teams
    ]

    def key(actor: int) -> tuple[bool, bool, int, int]:
        known = machine.program.actors[actor]
        rank = known.rank if policy.ahead == "elected" else -known.rank
        starved = teams[known.team].label == policy.starve
        return starved, not produces[known.team], rank, actor

    return sorted(range(len(machine.program.actors)), key=key)


def _late(policy: Policy, order: list[int], starved: set[int]) -> Scheduler:
    def choose(machine: Machine) -> Move | None:
        phases, closing = machine.state.phase, None
        for actor in order:
            if machine.can_step(actor):
                if phases[actor] != INSIDE:
                    return Move("actor", actor, 0)
                closing = actor if closing is None else closing
        if closing is not None:
            return Move("actor", closing, 0)
        return min(machine.completions(), key=rank(machine), default=None)

    def rank(machine: Machine) -> Callable[[Move], tuple[bool, int, int]]:
        loads = machine.state.loads

        def of(move: Move) -> tuple[bool, int, int]:
            team = move.who
            if move.kind != "retire":
                team = machine.program.actors[move.who].team
            age = 0
            if move.kind == "land":
                age = loads.index((move.who, move.at))
                age = -age if policy.completes == "newest-load" else age
            kinds = ("retire", "drain", "land")
            if policy.completes != "group":
                kinds = ("land", "drain", "retire")
            return team in starved, kinds.index(move.kind), age

        return of

    return choose


def _early(order: list[int]) -> Scheduler:
    def choose(machine: Machine) -> Move | None:
        for move in machine.completions():
            return move
        for actor in order:
            if machine.can_step(actor):
                return Move("actor", actor, 0)
        return None

    return choose


def _random(seed: int) -> Scheduler:
    """Every actor and every kind of completion gets a speed of its own, drawn once per seed."""
    source = random.Random(seed)
    speeds: dict[tuple[str, int], float] = {}

    def speed(move: Move) -> float:
        key = (move.kind, move.who)
        if key not in speeds:
            speeds[key] = 10 ** -source.uniform(0, 2)
        return speeds[key]

    def choose(machine: Machine) -> Move | None:
        moves = machine.enabled()
        if not moves:
            return None
        return source.choices(moves, [speed(move) for move in moves])[0]

    return choose
