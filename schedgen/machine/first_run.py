"""The first run of a program, which says for which phase each contribution and wait is meant.

In rounds: everybody executes one instruction, and everything asynchronous completes at once.
"""

from __future__ import annotations

from typing import Protocol

from schedgen.machine.rows import State
from schedgen.machine.state import Move
from schedgen.machine.tables import Tables


class Moving(Protocol):
    """What the run needs of `moves.Moves`, which makes notes as it goes."""

    tables: Tables

    def can_step(self, state: State, actor: int) -> bool: ...

    def apply(self, state: State, move: Move) -> tuple[State, object]: ...


class FirstRun:
    """The state of the run; instructions that are silent take their turns, too."""

    def __init__(self, moves: Moving) -> None:
        self._moves, self._tables = moves, moves.tables
        self._state = moves.tables.first_state()
        self._at = [0] * moves.tables.actors

    def complete(self) -> None:
        """Run until nobody can move."""
        moved = True
        while moved:
            moved = False
            for actor in range(self._tables.actors):
                moved = self._turn(actor) or moved

    def _turn(self, actor: int) -> bool:
        """Whether the actor could do something."""
        code = self._tables.program.actors[actor].code
        if self._at[actor] >= len(code):
            return False
        before = self._state
        if not code[self._at[actor]].silent:
            self._execute(actor)
            if self._state == before:
                return False
        if code[self._at[actor]].silent or self._state[actor] // 3 > before[actor] // 3:
            self._at[actor] += 1
        self._settle()
        return True

    def _execute(self, actor: int) -> None:
        """All of the instruction, or the part that does not wait for others."""
        start = self._state[actor] // 3
        while self._state[actor] // 3 == start and self._moves.can_step(self._state, actor):
            self._apply(Move("actor", actor, 0))

    def _settle(self) -> None:
        """Whatever is asynchronous completes, groups by their commits."""
        tables, program = self._tables, self._tables.program
        while flying := self._state[-1]:
            self._apply(Move("land", (flying & -flying).bit_length() - 1, 0))
        for number, team in enumerate(program.teams):
            for group in team.groups[self._state[tables.retired + number] :]:
                if any(self._at[a] < least for a, least in group.passed):
                    break
                self._apply(Move("retire", number, 0))
        for actor, known in enumerate(program.actors):
            for batch in known.batches[self._state[tables.drained + actor] :]:
                if self._at[actor] > known.index[batch.commit]:
                    self._apply(Move("drain", actor, 0))

    def _apply(self, move: Move) -> None:
        self._state, _ = self._moves.apply(self._state, move)
