"""Which moves of a state suffice: stubborn sets, and sisters that change places.

A search that tries every move in every state visits each order of moves that do not matter to each
other.  This module picks a set T of moves such that following the possible ones of T alone reaches
every kind of hazard and every deadlock (Valmari's strong stubborn sets; programs have no cycles, so
nothing is put off for ever).  T is closed under two rules; w is any sequence of moves without T:

- A possible move of T is as possible after w, w is as possible after it, and the two orders lead to
  the same state and find the same.
- A move of T that is not possible does not become so by w.

`stubborn` closes sets.

Why every hazard is kept.  Say w leads from here to a move m that goes wrong.  If a move of T occurs
in w m, the first such is independent of all before it, so it may come first, and what m finds is
the same.  If none does, every possible move t of T is independent of w m: t w m goes wrong at m,
too.  That fails only if each t itself goes wrong and ends the branch: then another T is taken, or
all moves are tried.  A move that goes wrong only because of what others did depends on them; a
write that meets an *open* read goes wrong at once, so ends of reads need not be looked for.

Why exits are kept.  All roles ending with something in flight is a property of a state, and a
completion changes it.  But w does not lead there: T keeps some actor from its end.

Two sisters that run the same code, and that neither barriers by threads, stores nor fences tell
apart, are interchangeable: the one that is further comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.machine.agents import Agents, bits
from schedgen.machine.moves import Moves
from schedgen.machine.rows import State
from schedgen.machine.state import Move
from schedgen.machine.stubborn import Closure


class Reduction:
    """Sufficient moves for the states of one program."""

    def __init__(self, moves: Moves) -> None:
        self.moves, self.tables = moves, moves.tables
        self.agents = Agents(moves.tables)
        self._free = [
            [
                not row.clash and row.wait < 0 and row.signal < 0 and row.sync < 0
                for row in rows[:-1]  # the last move may be the last of all
            ] + [False]
            for rows in self.tables.rows
        ]  # fmt: skip

    def canonical(self, state: State) -> State:
        """The state with each pair of interchangeable sisters in order."""
        for first, second in self.tables.symmetric:
            if state[first] < state[second]:
                new = list(state)
                new[first], new[second] = new[second], new[first]
                state = tuple(new)
        return state

    def sufficient(self, state: State, steppers: list[int]) -> Iterator[list[Move]]:
        """The possible moves of some T, single ones first, then small ones."""
        for actor in steppers:
            if self._free[actor][state[actor] // 3]:
                yield [Move("actor", actor, 0)]
        agents = self.agents
        possible = self._possible(state, steppers)
        closure = Closure(agents, state, steppers)
        found: set[int] = set()
        for seed in bits(possible):
            chosen = closure.of(seed, possible)
            if chosen.bit_count() == 1:
                yield [agents.move(chosen.bit_length() - 1)]
            else:
                found.add(chosen)
        for chosen in sorted(found, key=_size):
            yield [agents.move(bit) for bit in bits(chosen)]

    def _possible(self, state: State, steppers: list[int]) -> int:
        """The agents that can move now."""
        agents, moves = self.agents, self.moves
        found = state[-1] << agents.land
        for actor in steppers:
            found |= 1 << actor
        for team in range(len(self.tables.groups)):
            if moves.can_retire(state, team):
                found |= 1 << agents.retire + team
        for actor, batches in enumerate(self.tables.batches):
            if batches and moves.can_drain(state, actor):
                found |= 1 << agents.drain + actor
        return found


def _size(members: int) -> tuple[int, int]:
    return members.bit_count(), members
