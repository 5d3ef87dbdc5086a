"""Phase numbers beside a run of the machine: what goes wrong that no barrier can see."""

from __future__ import annotations

from collections.abc import Sequence

from schedgen.machine.hazard import Hazard, Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.moves import Moves, Trouble
from schedgen.machine.state import Move


def first_ghost(moves: Moves, steps: Sequence[Step]) -> tuple[int, Hazard | None]:
    """The first step that is bound to another phase than meant, or that nobody's wait precedes."""
    state = moves.tables.first_state()
    for number, step in enumerate(steps):
        move = _move_of(moves, step)
        if move is None:
            continue
        state, found = moves.apply(state, move)
        for trouble in found:
            if trouble.message is not None:
                return number, ghost_hazard(moves, move, step, trouble)
    return len(steps), None


def ghost_hazard(moves: Moves, move: Move, step: Step, trouble: Trouble) -> Hazard:
    """A hazard that the machine cannot see: only phase numbers show it."""
    assert trouble.message is not None, f"the machine does not see {trouble}"
    program = moves.tables.program
    machine = Machine(program, None)
    if move.kind == "land":
        load = moves.tables.loads[move.who]
        site = machine.site(load.actor, load.at)
    else:
        site = machine.site(move.who, program.actors[move.who].index[step.seq])
    return Hazard(
        kind=trouble.kind, message=trouble.message, role=site.role, actor=site.actor, op=site.op,
        place=site.place, k=site.k, where=None, other=None,
    )  # fmt: skip


def _move_of(moves: Moves, step: Step) -> Move | None:
    """The explorer's move of a step; None for what concerns nobody else."""
    tables, program = moves.tables, moves.tables.program
    team = next(
        n
        for n, t in enumerate(program.teams)
        if (t.role.name, t.replica) == (step.role, step.replica)
    )
    actors = program.teams[team].actors
    if step.event == "retire":
        return Move("retire", team, 0)
    if step.event == "land":
        key = tables.keys[team, step.seq]
        return Move("land", next(n for n, load in enumerate(tables.loads) if load.key == key), 0)
    if step.event == "drain":
        owner = next(
            a for a in actors if any(b.commit == step.seq for b in program.actors[a].batches)
        )
        return Move("drain", owner, 0)
    actor = actors[step.actor or 0]
    here = program.actors[actor].code[program.actors[actor].index[step.seq]]
    if here.silent or (step.event == "start" and here.sync is None):
        return None
    return Move("actor", actor, 0)
