"""The explorer: every interleaving of a small case, breadth first, to each branch's first hazard.

It executes the machine of `moves` under every choice of who moves next (actors step by step, loads
land, mma groups retire, stores drain) and collects the kinds of hazards that can be reached, each
with a trace that `replay` follows.  Tile names stand for data.  A branch ends at its first hazard:
what comes after is undefined.  On demand it goes on past some kinds: past hazards of data, say,
since which barrier completes when does not depend on what is in memory.  States are remembered, so
that an interleaving that leads where another has been is not followed twice; `reduction` says which
moves need not be tried at all.

Without reduction a trace is as short as any.  With it every step of a trace is needed: one without
which the rest still goes wrong is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedgen.ir.schedule import Schedule
from schedgen.machine.compiler import compile_program
from schedgen.machine.ghosts import ghost_hazard
from schedgen.machine.hazard import Hazard, HazardKind, Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.moves import Moves, Trouble
from schedgen.machine.program import Program
from schedgen.machine.reduction import Reduction
from schedgen.machine.rows import State
from schedgen.machine.state import Move

DATA: frozenset[HazardKind] = frozenset(
    {"read-early", "wrong-tile", "wrong-box", "overwrite", "accumulator", "fence", "proxy"}
)
"""Hazards of what is in memory and registers: no barrier and no wait depends on that."""

COUNTING: frozenset[HazardKind] = frozenset({"count", "bytes", "phase"})
"""Hazards of barriers: what comes after them is what the counters make of it."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Steps that lead to a hazard."""

    steps: tuple[Step, ...]
    hazard: Hazard


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What can happen at one trip count.

    ``complete`` is False where the budget of states ran out: then ``reached`` may lack kinds.
    """

    reached: Mapping[HazardKind, Trace]
    states: int
    complete: bool

    @property
    def is_clean(self) -> bool:
        return self.complete and not self.reached


class _Reached(Mapping[HazardKind, Trace]):
    """Traces to the kinds that a search found, told when they are asked for."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._told: dict[HazardKind, Trace] = {}

    def __getitem__(self, kind: HazardKind) -> Trace:
        if kind not in self._told:
            self._told[kind] = self._search.trace(kind)
        return self._told[kind]

    def __iter__(self) -> Iterator[HazardKind]:
        return iter(sorted(self._search.ends))

    def __len__(self) -> int:
        return len(self._search.ends)


def explore(
    schedule: Schedule,
    *,
    k_tiles: int,
    budget: int,
    reduce: bool = True,
    past: frozenset[HazardKind] = frozenset(),
) -> Exploration:
    """Follow every execution of a well-formed schedule, visiting at most ``budget`` states.

    Hazards of the kinds in ``past`` do not end a branch.
    """
    program = compile_program(schedule, k_tiles=k_tiles)
    search = _Search(program, reduce=reduce, past=past)
    complete = search.run(budget)
    return Exploration(reached=_Reached(search), states=len(search.origin), complete=complete)


class _Search:
    """A breadth-first search; ``ends`` has the state and last move of each kind's first sight."""

    def __init__(self, program: Program, *, reduce: bool, past: frozenset[HazardKind]) -> None:
        self.program = program
        self.past = past
        self.moves = Moves(program)
        self.reduction = Reduction(self.moves)
        self.reduce = reduce
        self.origin: dict[State, tuple[State, Move] | None] = {}
        self.ends: dict[HazardKind, tuple[State, Move | None, Trouble]] = {}

    def run(self, budget: int) -> bool:
        """Visit states until none is new, or the budget is spent."""
        first = self._canonical(self.moves.tables.first_state())
        self.origin[first] = None
        queue, origin = deque([first]), self.origin
        while queue:
            if len(origin) > budget:
                return False
            state = queue.popleft()
            for move, after in self._successors(state):
                after = self._canonical(after)
                if after not in origin:
                    origin[after] = state, move
                    queue.append(after)
        return True

    def _canonical(self, state: State) -> State:
        return self.reduction.canonical(state) if self.reduce else state

    def _successors(self, state: State) -> list[tuple[Move, State]]:
        """Where the moves that suffice lead; those that go wrong are noted and lead nowhere."""
        if self.moves.has_ended(state):
            if self.moves.is_in_flight(state):
                self.ends.setdefault("exit", (state, None, Trouble("exit", None)))
            return []
        steppers = self.moves.steppers(state)
        if self.reduce:
            for chosen in self.reduction.sufficient(state, steppers):
                results = [(move, *self.moves.apply(state, move)) for move in chosen]
                going = [(m, after) for m, after, found in results if not self._stops(found)]
                if going:
                    for move, _, found in results:
                        self._note(state, move, found)
                    return going
        return self._all(state, steppers)

    def _stops(self, found: tuple[Trouble, ...]) -> bool:
        return any(trouble.kind not in self.past for trouble in found)

    def _note(self, state: State, move: Move, found: tuple[Trouble, ...]) -> None:
        for trouble in found:
            self.ends.setdefault(trouble.kind, (state, move, trouble))

    def _all(self, state: State, steppers: Sequence[int]) -> list[tuple[Move, State]]:
        moves = [Move("actor", a, 0) for a in steppers] + self.moves.completions(state)
        if not moves:
            self.ends.setdefault("deadlock", (state, None, Trouble("deadlock", None)))
        going: list[tuple[Move, State]] = []
        for move in moves:
            after, found = self.moves.apply(state, move)
            self._note(state, move, found)
            if not self._stops(found):
                going.append((move, after))
        return going

    # --- traces
    def trace(self, kind: HazardKind) -> Trace:
        """The way to the first sight of a kind, as steps of the machine."""
        state, last, trouble = self.ends[kind]
        moves = [] if last is None else [last]
        while (before := self.origin[state]) is not None:
            state, move = before
            moves.append(move)
        path = self._real(moves[::-1])
        if self.reduce:
            path = self._needed(path, trouble)
        return self._told(path, trouble)

    def _real(self, path: list[Move]) -> list[Move]:
        """The moves with sisters called by their own numbers again."""
        if not self.reduce:
            return path
        tables = self.moves.tables
        state, names = tables.first_state(), list(range(tables.actors))
        real: list[Move] = []
        for move in path:
            who = names[move.who] if move.kind in ("actor", "drain") else move.who
            real.append(Move(move.kind, who, move.at))
            state, _ = self.moves.apply(state, move)
            for first, second in tables.symmetric:
                if state[first] < state[second]:
                    names[first], names[second] = names[second], names[first]
            state = self._canonical(state)
        return real

    def _needed(self, path: list[Move], trouble: Trouble) -> list[Move]:
        """The path without the moves that the hazard does without, the latest tried first."""
        number = len(path) - 1
        while number >= 0:
            shorter = self._goes_wrong(path[:number] + path[number + 1 :], trouble)
            if shorter is not None:
                path = shorter
                number = min(number, len(path))
            number -= 1
        return path

    def _goes_wrong(self, path: list[Move], trouble: Trouble) -> list[Move] | None:
        """The path up to the hazard, if all of it is possible and it gets there."""
        state = self.moves.tables.first_state()
        for number, move in enumerate(path):
            if not self._is_possible(state, move):
                return None
            state, found = self.moves.apply(state, move)
            if trouble in found:
                return path[: number + 1]
            if self._stops(found):
                return None
        ended, moves = self.moves.has_ended(state), self.moves
        if trouble.kind == "exit" and ended and moves.is_in_flight(state):
            return path
        if trouble.kind == "deadlock" and not ended and not moves.enabled(state):
            return path
        return None

    def _is_possible(self, state: State, move: Move) -> bool:
        if move.kind == "actor":
            return self.moves.can_step(state, move.who)
        if move.kind == "land":
            return bool(state[-1] >> move.who & 1)
        if move.kind == "retire":
            return self.moves.can_retire(state, move.who)
        return self.moves.can_drain(state, move.who)

    def _told(self, path: list[Move], trouble: Trouble) -> Trace:
        """What the machine itself makes of the moves."""
        machine = Machine(self.program, None)
        for actor in range(len(self.program.actors)):
            machine.skip_silent(actor)
        for move in path:
            if move.kind == "land":
                load = self.moves.tables.loads[move.who]
                move = Move("land", load.actor, load.at)
            machine.apply(move)
            if move.kind == "actor":
                machine.skip_silent(move.who)
        if trouble.kind in ("exit", "deadlock"):
            machine.report_end()
        hazard = next((h for h in machine.hazards if h.kind == trouble.kind), None)
        if hazard is None:
            hazard = ghost_hazard(self.moves, path[-1], machine.steps[-1], trouble)
        return Trace(steps=tuple(machine.steps), hazard=hazard)
