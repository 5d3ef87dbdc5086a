"""From a witness to a story that needs each of its steps.

*Telling*: the witness is followed strictly.  Where nothing is wrong at its end, the machine goes
on: everybody who can move moves, and what is asynchronous completes last.  Where that shows nothing
either, the last step of the witness is held back until nobody else can move: an order that is
missing shows by the other order.

*Shortening*: a step is left out, with the steps that are then impossible, if what remains still
leads to the same hazard before any other.  So without any one step of the story the hazard is not
reached.  The witness of a race is the ancestors of two events, and all of them are needed; what
goes is the issue of a collective op by a second warp, and what one of the two events needs but the
hazard does not.  A deadlock is a state in which nobody can move: who waits, at which op.  Each step
of the way there is needed, since its actor, or whoever waits for it, could move else; a story
without a step does not come to that state.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedgen.machine.ghosts import first_ghost
from schedgen.machine.hazard import Hazard, Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.moves import Moves
from schedgen.machine.program import Program
from schedgen.machine.replay import follow, follow_possible, pass_cursor_moves
from schedgen.machine.state import BEFORE, Move

FURTHER = 4_000
"""Moves that the machine makes on its own after a witness."""

SHORTENING = 400_000
"""Steps that are executed, in all, to find those that the hazard does without."""


def tell(
    program: Program, witness: Sequence[Step], *, go_on: bool
) -> tuple[tuple[Step, ...], int, Hazard | None]:
    """Steps that lead to a hazard, how many of them are the witness's, and the first hazard.

    Raises `ReplayError` where the witness is impossible.
    """
    moves = Moves(program)
    machine = follow(Machine(program, None), witness, strict=True)
    given = len(machine.steps)
    found = _first_hazard(machine, moves)
    if found is None and go_on:
        _go_on(machine, None)
        found = _first_hazard(machine, moves)
    if found is None and go_on and witness and witness[-1].actor is not None:
        other = follow(Machine(program, None), witness[:-1], strict=True)
        given = len(other.steps)
        _go_on(other, _actor_of(program, witness[-1]))
        found = _first_hazard(other, moves)
    if found is None:
        return tuple(witness), len(witness), None
    steps, hazard = found
    return steps, given, hazard


def _first_hazard(machine: Machine, moves: Moves) -> tuple[tuple[Step, ...], Hazard] | None:
    """What the machine saw, or what only phase numbers show, with the steps up to there."""
    steps = tuple(machine.steps)
    if machine.hazards:
        return steps, machine.hazards[0]
    number, hazard = first_ghost(moves, steps)
    return None if hazard is None else (steps[: number + 1], hazard)


def _actor_of(program: Program, step: Step) -> int:
    team = next(
        t for t in program.teams if (t.role.name, t.replica) == (step.role, step.replica)
    )  # fmt: skip
    assert step.actor is not None
    return team.actors[step.actor]


def _go_on(machine: Machine, held: int | None) -> None:
    """Everybody moves in turn, until something goes wrong or nothing is left; an actor that is held
    back moves only where nobody else can."""
    actors = range(len(machine.program.actors))
    for _ in range(FURTHER):
        for actor in actors:
            _come_to(machine, actor)
        able = [a for a in actors if machine.can_step(a)]
        free = [a for a in able if a != held]
        moves = [Move("actor", a, 0) for a in free[:1]] or machine.completions()[:1]
        if not moves and able:
            moves, held = [Move("actor", able[0], 0)], None
        if not moves:
            machine.report_end()
            return
        machine.apply(moves[0])
        if machine.hazards:
            return


def _come_to(machine: Machine, actor: int) -> None:
    """Begin the wait that the actor comes to next, if it is one."""
    pass_cursor_moves(machine, actor)
    here = machine.instruction(actor)
    if here is None or not here.blocking or here.sync is not None:
        return
    if machine.state.phase[actor] == BEFORE:
        machine.enter(actor)


# --- shortening


def shortened(program: Program, steps: Sequence[Step], hazard: Hazard) -> list[int]:
    """The numbers of the steps without which the hazard is not reached; the latest tried first."""
    return _Shortening(program, steps, hazard).run()


class _Shortening:
    """Steps by number; a step that a later step of its actor needs is not tried."""

    def __init__(self, program: Program, steps: Sequence[Step], hazard: Hazard) -> None:
        self.program = program
        self.steps = steps
        self.hazard = hazard
        end = follow(Machine(program, None), steps, strict=True)
        self.wanted = {_site(h) for h in end.hazards} or {_site(hazard)}
        self.moves = Moves(program)
        self.left = SHORTENING

    def run(self) -> list[int]:
        kept, shorter = list(range(len(self.steps))), True
        while shorter:
            shorter = False
            position = len(kept) - 1
            while position >= 0:
                if self._may_go(kept, position) and self.left > 0:
                    found = self._reaching(kept[:position] + kept[position + 1 :])
                    if found is not None:
                        kept, shorter = found, True
                        position = min(position, len(kept))
                position -= 1
        return kept

    def _may_go(self, kept: list[int], position: int) -> bool:
        """Whether nothing says from the start that the step is needed."""
        step = self.steps[kept[position]]
        if step.event == "close":
            return True
        if self.hazard.kind == "deadlock":
            return False
        later = (self.steps[n] for n in kept[position + 1 :])
        return step.actor is None or not any(_same_actor(step, other) for other in later)

    def _reaching(self, numbers: list[int]) -> list[int] | None:
        """Those of the steps that can be made, if they come to the hazard and to no other."""
        self.left -= len(numbers)
        machine = Machine(self.program, None)
        made = [numbers[n] for n in follow_possible(machine, [self.steps[n] for n in numbers])]
        known = {_site(h) for h in machine.hazards}
        if self.hazard.kind in ("phase", "bytes") and not known:
            _, ghost = first_ghost(self.moves, machine.steps)
            known = {_site(g) for g in (ghost,) if g is not None}
        whole = self.hazard.kind == "deadlock"
        reached = known == self.wanted if whole else _site(self.hazard) in known
        return made if reached else None


def _same_actor(one: Step, other: Step) -> bool:
    return one[:3] == other[:3]


def _site(hazard: Hazard) -> tuple[object, ...]:
    """What makes two hazards the same.  Which warp of a replica is the first to come there does not
    matter, but who of them is stuck does."""
    sites = (hazard,) if hazard.other is None else (hazard, hazard.other)
    actor = hazard.actor if hazard.kind == "deadlock" else None
    return (hazard.kind, hazard.where, actor, *((s.role, s.op, s.k) for s in sites))
