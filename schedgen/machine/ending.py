"""How executions end: in a deadlock, or with something still in flight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schedgen.machine.hazard import HazardKind
from schedgen.machine.program import Instruction, Program
from schedgen.machine.state import State


class Remark(NamedTuple):
    """A hazard of an actor at an instruction of its code, found at the end."""

    kind: HazardKind
    message: str
    actor: int
    at: int
    where: str | None


def stuck(program: Program, state: State) -> Iterator[Remark]:
    """What each actor waits for that has not come to its end."""
    for actor, known in enumerate(program.actors):
        index = state.position[actor]
        if index < len(known.code):
            what, where = waits_for(program, state, actor)
            label = program.teams[known.team].label
            yield Remark("deadlock", f"{label} waits for ever: {what}", actor, index, where)


def waits_for(program: Program, state: State, actor: int) -> tuple[str, str | None]:
    """What keeps an actor at its instruction, and the barrier's name where there is one."""
    here = program.actors[actor].code[state.position[actor]]
    if here.sync is not None:
        name, threads = program.named[here.sync]
        return f"{state.named[here.sync].entered} of {threads} threads came to {name}", name
    if here.wait is not None:
        number, parity = here.wait
        name, barrier = program.barriers[number][0], state.barriers[number]
        lacks = [f"{barrier.pending} of {barrier.count} arrivals"] if barrier.pending else []
        lacks += [f"{barrier.bytes} bytes"] if barrier.bytes > 0 else []
        why = [f"lacks {' and '.join(lacks)}"] if lacks else []
        if barrier.bytes < 0:
            why.append(f"got {-barrier.bytes} bytes more than were announced")
        text = f"{name} stays in a phase of parity {parity}, which {' and '.join(why)}"
        return text + _unreleased(here), name
    if here.groups:
        retired = state.retired[program.actors[actor].team]
        return f"{here.groups} mma groups must retire, {retired} did", None
    return f"{here.stores} groups of stores must drain, {state.drained[actor]} did", None


def _unreleased(here: Instruction) -> str:
    return "" if here.lacking is None else f": use {here.lacking} is not released"


def in_flight(program: Program, state: State) -> Iterator[Remark]:
    """Everything asynchronous that the last role to end leaves behind."""
    for actor, index in state.loads:
        yield _left(program, actor, index, "has not landed")
    for number, team in enumerate(program.teams):
        pending = [seq for group in team.groups[state.retired[number] :] for seq in group.mma]
        for seq, state_of in [(s, "has not retired") for s in pending] + [
            (s, "was never committed") for s in team.loose
        ]:
            actor = next(a for a in team.actors if seq in program.actors[a].index)
            yield _left(program, actor, program.actors[actor].index[seq], state_of)
    for actor, known in enumerate(program.actors):
        for batch in known.batches[state.drained[actor] :]:
            for seq in batch.stores:
                yield _left(program, actor, known.index[seq], "still reads its source")
        for seq in known.loose:
            yield _left(program, actor, known.index[seq], "was never committed")


def _left(program: Program, actor: int, index: int, how: str) -> Remark:
    here = program.actors[actor].code[index]
    where = program.places[here.touches[0].place].name if here.touches else None
    message = f"`{here.op.text}` {how} when the last role ends"
    return Remark("exit", message, actor, index, where)
