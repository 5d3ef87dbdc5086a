"""Follow a given list of steps exactly, and see what it comes to.

A step that is listed must be possible when its turn comes.  What an actor executes before a
listed step of its own without being listed itself is performed on the way, if it cannot block:
an ordinary access then closes when its actor goes on, and one that begins last stays open.

*Strictly*, nothing is performed on the way but moves of the cursor and the end of an access, a wait
returns only after its start, and a deadlock needs everybody to have begun to wait: so every step of
a list counts.  `follow_possible` strictly makes what it can of a list from which a step was taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedgen.ir.schedule import Schedule
from schedgen.machine.compiler import compile_program
from schedgen.machine.execution import Outcome, outcome_of
from schedgen.machine.hazard import Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.program import Program
from schedgen.machine.state import BEFORE, INSIDE, Move
from schedgen.machine.tensors import Operands, Tensors


class ReplayError(ValueError):
    """A step that is impossible: which one, and why."""

    def __init__(self, number: int, step: Step, reason: str) -> None:
        who = f"{step.role}[{step.replica}]"
        who += "" if step.actor is None else f" actor {step.actor}"
        super().__init__(f"step {number} ({step.event} {step.seq} of {who}): {reason}")
        self.number = number
        self.step = step
        self.reason = reason


class _Impossible(Exception):
    """Why the step at hand cannot be made."""


def replay(
    schedule: Schedule,
    *,
    k_tiles: int,
    steps: Sequence[Step],
    operands: Operands | None = None,
    strict: bool = False,
) -> Outcome:
    """Execute just these steps; raises `ReplayError` for one that is impossible.

    If nothing is possible after the last step that is a deadlock; if every role has ended, what
    is in flight is reported.  Otherwise the execution just stops there.
    """
    program = compile_program(schedule, k_tiles=k_tiles)
    tensors = None if operands is None else Tensors(program, operands, read_at_issue=False)
    return outcome_of(follow(Machine(program, tensors), steps, strict=strict))


def follow(machine: Machine, steps: Sequence[Step], *, strict: bool) -> Machine:
    """The machine after these steps; see `replay`."""
    for number, step in enumerate(steps):
        try:
            _follow(machine, step, strict=strict)
        except _Impossible as why:
            raise ReplayError(number, step, str(why)) from None
    _conclude(machine, strict=strict)
    return machine


def follow_possible(machine: Machine, steps: Sequence[Step]) -> list[int]:
    """Make the steps strictly, without those that are impossible, up to the first hazard; the
    numbers of those that were made."""
    made: list[int] = []
    for number, step in enumerate(steps):
        try:
            _follow(machine, step, strict=True)
        except _Impossible:
            continue
        made.append(number)
        if machine.hazards:
            return made
    _conclude(machine, strict=True)
    return made


def _conclude(machine: Machine, *, strict: bool) -> None:
    """Say what is stuck or in flight, if this is the end."""
    actors = range(len(machine.program.actors))
    for actor in actors:
        _skip(machine, actor, None, strict=strict)
    waiting = not strict or all(
        machine.instruction(a) is None or machine.state.phase[a] == INSIDE for a in actors
    )
    if machine.has_ended or (waiting and not machine.enabled()):
        machine.report_end()


def _skip(machine: Machine, actor: int, until: int | None, *, strict: bool) -> None:
    """Go past what concerns nobody else; strictly, past moves of the cursor alone."""
    if not strict:
        machine.skip_silent(actor, until)
    else:
        pass_cursor_moves(machine, actor, until)


def pass_cursor_moves(machine: Machine, actor: int, until: int | None = None) -> None:
    """Go past moves of the cursor, which nobody can be said to make."""
    position, here = machine.state.position, machine.instruction(actor)
    while here is not None and here.effects.cursor is not None and position[actor] != until:
        position[actor] += 1
        here = machine.instruction(actor)


def _follow(machine: Machine, step: Step, *, strict: bool) -> None:
    team = _team(machine.program, step)
    if step.event == "land":
        _land(machine, team, step)
    elif step.event == "retire":
        _retire(machine, team, step, strict=strict)
    elif step.event == "drain":
        _drain(machine, team, step, strict=strict)
    else:
        for actor in _executors(machine.program, team, step):
            _advance(machine, actor, step, strict=strict)


def _team(program: Program, step: Step) -> int:
    for number, team in enumerate(program.teams):
        if (team.role.name, team.replica) == (step.role, step.replica):
            return number
    raise _Impossible("there is no such role replica")


def _executors(program: Program, team: int, step: Step) -> list[int]:
    """The actor that the step names, or everyone who executes the op if it names none."""
    actors = program.teams[team].actors
    if step.actor is not None and step.actor >= len(actors):
        raise _Impossible(f"the replica has {len(actors)} actors")
    named = actors if step.actor is None else [actors[step.actor]]
    able = [a for a in named if step.seq in program.actors[a].index]
    if not able:
        raise _Impossible("the program of that actor has no such op instance")
    return able


def _text(machine: Machine, actor: int) -> str:
    here = machine.instruction(actor)
    return "the end" if here is None else f"`{here.op.text}` (seq {here.seq})"


def _catch_up(machine: Machine, actor: int, target: int, *, strict: bool) -> None:
    """Perform what comes before the target and cannot block."""
    state = machine.state
    _skip(machine, actor, target, strict=strict)
    while state.position[actor] < target:
        here = machine.instruction(actor)
        if here is not None and here.blocking:
            raise _Impossible(f"the actor has not returned from {_text(machine, actor)}")
        if strict and state.phase[actor] != INSIDE:
            raise _Impossible(f"the actor has not executed {_text(machine, actor)}")
        if strict:
            _require_last(machine, actor, target)
        machine.apply(Move("actor", actor, 0))
        _skip(machine, actor, target, strict=strict)
    if state.position[actor] > target:
        raise _Impossible(f"the actor is past it already, at {_text(machine, actor)}")


def _require_last(machine: Machine, actor: int, target: int) -> None:
    """Nothing but moves of the cursor lies between the access that the actor is in and the
    target: refused before the access is closed."""
    for at in range(machine.state.position[actor] + 1, target):
        between = machine.program.actors[actor].code[at]
        if between.effects.cursor is None:
            raise _Impossible(f"the actor has not executed `{between.op.text}` (seq {between.seq})")


def _advance(machine: Machine, actor: int, step: Step, *, strict: bool) -> None:
    _catch_up(machine, actor, machine.program.actors[actor].index[step.seq], strict=strict)
    here, phase = machine.instruction(actor), machine.state.phase[actor]
    assert here is not None
    if here.blocking != (step.event in ("start", "return")):
        has = "start and return" if here.blocking else "issue"
        raise _Impossible(f"{_text(machine, actor)} has {has}, not {step.event}")
    if step.event in ("start", "issue") and phase != BEFORE:
        raise _Impossible(f"{_text(machine, actor)} has begun already")
    if step.event == "close" and phase != INSIDE:
        raise _Impossible(f"{_text(machine, actor)} is no open access")
    if step.event == "start":
        machine.enter(actor)
        return
    if step.event == "return":
        if strict and phase == BEFORE:
            raise _Impossible(f"{_text(machine, actor)} has not begun")
        if phase == BEFORE and here.sync is not None:
            machine.enter(actor)
        if not machine.can_step(actor):
            raise _Impossible(machine.why_blocked(actor))
    machine.apply(Move("actor", actor, 0))


def _land(machine: Machine, team: int, step: Step) -> None:
    for actor, at in machine.state.loads:
        known = machine.program.actors[actor]
        named = step.actor is None or step.actor == known.rank
        if known.team == team and known.code[at].seq == step.seq and named:
            machine.apply(Move("land", actor, at))
            return
    raise _Impossible("no such load is in flight")


def _retire(machine: Machine, team: int, step: Step, *, strict: bool) -> None:
    groups, ordinal = machine.program.teams[team].groups, machine.state.retired[team]
    number = next((n for n, g in enumerate(groups) if g.commit == step.seq), None)
    if number is None:
        raise _Impossible("no wgmma group is closed by that op instance")
    if number != ordinal:
        why = "has retired already" if number < ordinal else "an earlier group is pending"
        raise _Impossible(f"the group cannot retire: {why}")
    for actor, least in groups[number].passed:
        _pass(machine, actor, least, strict=strict)
    if not machine.can_retire(team):
        raise _Impossible("not every actor has issued the mma and the commit of the group")
    machine.apply(Move("retire", team, 0))


def _drain(machine: Machine, team: int, step: Step, *, strict: bool) -> None:
    for actor in machine.program.teams[team].actors:
        known = machine.program.actors[actor]
        named = step.actor is None or step.actor == known.rank
        batches, ordinal = known.batches, machine.state.drained[actor]
        if named and ordinal < len(batches) and batches[ordinal].commit == step.seq:
            _pass(machine, actor, known.index[step.seq] + 1, strict=strict)
            if machine.can_drain(actor):
                machine.apply(Move("drain", actor, 0))
                return
    raise _Impossible("no group of stores that may drain is closed by that op instance")


def _pass(machine: Machine, actor: int, least: int, *, strict: bool) -> None:
    """A commit that is not listed itself happens when something depends on it."""
    if machine.state.position[actor] < least:
        _skip(machine, actor, None, strict=strict)
