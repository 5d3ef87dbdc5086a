"""The state of an execution as plain data, and the moves that lead from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from schedgen.machine.barrier import Mbarrier, NamedBarrier
from schedgen.machine.memory import Slab
from schedgen.machine.program import Program

BEFORE, INSIDE, RELEASED = 0, 1, 2
"""Where an actor stands at its instruction: not begun; in an ordinary access or entered into a
wait; let go by a named barrier."""


class Move(NamedTuple):
    """A choice of the scheduler.

    ``actor``: who = the actor, which makes its next step.  ``land``: who = the actor that
    issued the load, at = the load's place in its code.  ``retire``: who = the team.  ``drain``:
    who = the actor.
    """

    kind: Literal["actor", "land", "retire", "drain"]
    who: int
    at: int


@dataclass
class State:
    """Everything that changes, but for the numbers: those are in `Tensors`."""

    position: list[int]  # of each actor in its code
    phase: list[int]  # of each actor at its instruction: BEFORE, INSIDE or RELEASED
    barriers: list[Mbarrier]
    named: list[NamedBarrier]
    slabs: list[Slab]
    loads: list[tuple[int, int]]  # in flight: actor, place in its code
    retired: list[int]  # groups, of each team
    drained: list[int]  # batches of TMA stores, of each actor


def first_state(program: Program) -> State:
    """Before anybody moved."""
    actors = len(program.actors)
    return State(
        position=[0] * actors,
        phase=[BEFORE] * actors,
        barriers=[Mbarrier(count) for _, count in program.barriers],
        named=[NamedBarrier(threads) for _, threads in program.named],
        slabs=[Slab() for _ in program.places],
        loads=[],
        retired=[0] * len(program.teams),
        drained=[0] * actors,
    )
