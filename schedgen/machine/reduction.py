"""Which moves of a state suffice: stubborn sets, and sisters that change places.

A search that tries every move in every state visits each order of moves that do not matter to each
other.  This module picks a set T of moves such that following the possible ones of T alone reaches
every kind of hazard and every deadlock (Valmari's strong stubborn sets; programs have no cycles, so
nothing is put off for ever).  T is closed under two rules:

- If T has a move that is possible, then whatever any other agent may still do and whose order
  against it matters (`rows.Masks`) cannot happen before some move of T does.
- If T has a move that is not possible, it cannot become so before some move of T does.

Agents are the actors, the loads in flight, and the queues of mma groups and of TMA stores.  What an
actor may still do is split at its *wall*, its first wait that is not satisfied now: what lies
before the wall may happen as it likes, so the actor's next move joins T if something there
matters; what lies beyond happens only after the wall fell, so it is enough that those who can make
it fall are in T.  A barrier that lacks arrivals falls by an arrival, one that lacks only bytes by a
landing or an announcement; a group wait by the retirement, which waits for any one actor that is
behind.  Landings that a phase needs each do not matter to each other: none of them completes it
before the last.

Why every hazard is kept.  Say w leads from here to a move m that goes wrong.  If a move of T occurs
in w m, the first such is independent of all before it, so it may come first, and what m finds is
the same.  If none does, every possible move t of T is independent of w m: t w m goes wrong at m,
too.  That fails only if t itself goes wrong and ends the branch: then another T is taken, or all
moves are tried.  A move that goes wrong only because of what others did depends on them, by its
footprint; a write that meets an *open* read goes wrong at once, so ends of reads need not be looked
for.

Why exits are kept.  All roles ending with something in flight is a property of a state, and a
landing changes it.  But T always holds the next move of an actor, which occurs on the way to every
such state.

Two sisters that run the same code, and that neither barriers by threads, stores nor fences tell
apart, are interchangeable: the one that is further comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.machine.moves import Moves
from schedgen.machine.rows import State, unpacked
from schedgen.machine.state import INSIDE, Move


class Reduction:
    """Stubborn sets for the states of one program.

    A set is a number with one bit for each actor's next move, each actor's wall (those who can make
    it fall), each queue of mma groups, each queue of stores, and each load.
    """

    def __init__(self, moves: Moves) -> None:
        self.moves, self.tables = moves, moves.tables
        actors, teams = self.tables.actors, len(self.tables.groups)
        self.wall, self.retire, self.drain = actors, 2 * actors, 2 * actors + teams
        self.land = self.drain + actors
        masks = self.tables.masks
        bits = [1 << b for b in range(len(self.tables.program.barriers))]
        self.arrivals = [masks.foot(arrives=bit) for bit in bits]
        self.bytes = [masks.foot(fills=bit) for bit in bits]
        named = range(len(bits), len(bits) + len(self.tables.program.named))
        self.entries = [masks.foot(signals=1 << b) for b in named]
        self._near: dict[tuple[int, int, int], int] = {}
        self._far = [_suffixes([row.foot for row in rows]) for rows in self.tables.rows]

    def canonical(self, state: State) -> State:
        """The state with each pair of interchangeable sisters in order."""
        for first, second in self.tables.symmetric:
            if state[first] < state[second]:
                new = list(state)
                new[first], new[second] = new[second], new[first]
                state = tuple(new)
        return state

    def sufficient(self, state: State, steppers: list[int]) -> Iterator[list[Move]]:
        """The possible moves of some T, small ones first."""
        for actor in steppers:
            if self.tables.rows[actor][state[actor] // 3].clash == 0:
                yield [Move("actor", actor, 0)]
        look = _Look(self, state, steppers)
        found: set[int] = set()
        for actor in steppers or look.walls:
            chosen = look.closure(actor) & look.possible
            if chosen.bit_count() == 1:
                yield [self._move(chosen.bit_length() - 1)]
            elif chosen:
                found.add(chosen)
        for chosen in sorted(found, key=_size):
            yield [self._move(bit) for bit in _bits(chosen)]

    def _move(self, bit: int) -> Move:
        if bit < self.wall:
            return Move("actor", bit, 0)
        if bit >= self.land:
            return Move("land", bit - self.land, 0)
        if bit >= self.drain:
            return Move("drain", bit - self.drain, 0)
        return Move("retire", bit - self.retire, 0)

    def near(self, actor: int, start: int, end: int) -> int:
        """Everything that an actor touches from one position to another."""
        key = (actor, start, end)
        found = self._near.get(key)
        if found is None:
            found = 0
            for row in self.tables.rows[actor][start:end]:
                found |= row.foot
            self._near[key] = found
        return found

    def far(self, actor: int, start: int) -> int:
        """Everything that an actor touches from a position on."""
        return self._far[actor][start]


class _Look:
    """One state: the walls, and what each member of a set brings into it."""

    def __init__(self, reduction: Reduction, state: State, steppers: list[int]) -> None:
        self.reduction, self.state, self.tables = reduction, state, reduction.tables
        tables = self.tables
        self.walls: dict[int, int] = {}
        self.feet: list[tuple[int, int, int]] = []  # actor, what it touches before its wall, beyond
        for actor in range(tables.actors):
            if state[actor] < tables.ends[actor]:
                wall = self.walls[actor] = self._find_wall(actor)
                near = reduction.near(actor, state[actor] // 3, wall)
                self.feet.append((actor, near, reduction.far(actor, wall)))
        self.loads = [(n, tables.loads[n].foot) for n in _bits(state[-1])]
        self.stepping = sum(1 << actor for actor in steppers)
        self.possible = self.stepping | self._completions()
        self.brought: dict[int, int] = {}

    def _completions(self) -> int:
        """What asynchronous may complete now."""
        reduction, state = self.reduction, self.state
        found = state[-1] << reduction.land
        for team in range(len(self.tables.groups)):
            if reduction.moves.can_retire(state, team):
                found |= 1 << (reduction.retire + team)
        for actor, batches in enumerate(self.tables.batches):
            if batches and reduction.moves.can_drain(state, actor):
                found |= 1 << (reduction.drain + actor)
        return found

    def _find_wall(self, actor: int) -> int:
        """The first wait that is not satisfied now, the end if there is none."""
        state, tables = self.state, self.tables
        at, rows, waits = state[actor] // 3, tables.rows[actor], tables.waits[actor]
        if rows[at].sync >= 0 and state[actor] % 3 == INSIDE:
            return at
        retired = state[tables.retired + tables.team_of[actor]]
        drained = state[tables.drained + actor]
        at = waits[at]
        while at < len(rows):
            row = rows[at]
            if row.fault is None and (
                (row.wait >= 0 and state[tables.barriers + row.wait] & 1 == row.parity)
                or row.groups > retired
                or row.stores > drained
            ):
                return at
            at = waits[at + 1]
        return at

    def closure(self, seed: int) -> int:
        """The smallest closed set with the actor's next move."""
        members = todo = 1 << seed
        while todo:
            low = todo & -todo
            todo ^= low
            bit = low.bit_length() - 1
            brought = self.brought.get(bit)
            if brought is None:
                brought = self.brought[bit] = self._brings(bit)
            todo |= brought & ~members
            members |= brought
        return members

    def _brings(self, bit: int) -> int:
        """The members that one member asks for."""
        reduction, state, tables = self.reduction, self.state, self.tables
        if bit < reduction.wall:
            if not self.stepping >> bit & 1:
                return self._fall(bit)
            return self._who(tables.rows[bit][state[bit] // 3].clash, bit)
        if bit < reduction.retire:
            return self._fall(bit - reduction.wall)
        if bit < reduction.drain:
            team = bit - reduction.retire
            return self._closes(team, state[tables.retired + team])
        if bit < reduction.land:
            actor = bit - reduction.drain
            batch = tables.batches[actor][state[tables.drained + actor]]
            return self._who(batch.clash, -1)
        return self._landing(bit - reduction.land)

    def _landing(self, number: int) -> int:
        """What matters to a landing: others on its barrier do not where all of them are needed."""
        load, loads = self.tables.loads[number], self.loads
        flying = self._flying_to(load.barrier)
        _, _, lacking = unpacked(self.state[self.tables.barriers + load.barrier])
        if sum(self.tables.loads[n].delivered for n in flying) <= lacking:
            loads = [pair for pair in loads if pair[0] not in flying]
        return self._actors(load.clash, -1) | self._loads(load.clash, loads)

    def _flying_to(self, barrier: int) -> list[int]:
        return [n for n, _ in self.loads if self.tables.loads[n].barrier == barrier]

    def _who(self, mask: int, own: int) -> int:
        """Everybody who may still do something of the mask."""
        return self._actors(mask, own) | self._loads(mask, self.loads)

    def _loads(self, mask: int, loads: list[tuple[int, int]]) -> int:
        found = 0
        for number, foot in loads:
            if mask & foot:
                found |= 1 << self.reduction.land + number
        return found

    def _actors(self, mask: int, own: int) -> int:
        """Actors that touch something of the mask: before the wall, or beyond it."""
        found, wall = 0, self.reduction.wall
        for actor, near, far in self.feet:
            if mask & near:
                if actor != own:
                    found |= 1 << actor
            elif mask & far and actor != own:
                found |= 1 << wall + actor
        return found

    def _closes(self, team: int, ordinal: int) -> int:
        """A queue's next group retires, or waits for any one actor that is behind."""
        groups = self.tables.groups[team]
        if ordinal >= len(groups):
            return 0
        for actor, least in groups[ordinal].passed:
            if self.state[actor] < 3 * least:
                beyond = self.walls[actor] < least
                return 1 << (actor + self.reduction.wall if beyond else actor)
        return self._who(groups[ordinal].clash, -1)

    def _fall(self, actor: int) -> int:
        """Everything that could make the actor's wall fall."""
        reduction, state, tables = self.reduction, self.state, self.tables
        row = tables.rows[actor][self.walls[actor]]
        if row.sync >= 0:
            return self._who(reduction.entries[row.sync], -1)
        if row.wait >= 0 and state[tables.barriers + row.wait] & 1 == row.parity:
            return self._lacks(row.wait)
        if row.groups > state[tables.retired + tables.team_of[actor]]:
            return 1 << reduction.retire + tables.team_of[actor]
        if reduction.moves.can_drain(state, actor):
            return 1 << reduction.drain + actor
        return 1 << actor

    def _lacks(self, barrier: int) -> int:
        """A phase needs one more arrival; or if it has all of them, bytes.

        Bytes that are in flight and do not suffice need others to be issued; those that just
        suffice are needed each, unless others are issued.
        """
        reduction = self.reduction
        _, pending, lacking = unpacked(self.state[self.tables.barriers + barrier])
        if pending:
            return self._who(reduction.arrivals[barrier], -1)
        flying = self._flying_to(barrier)
        total = sum(self.tables.loads[n].delivered for n in flying)
        if total > lacking:
            return self._who(reduction.bytes[barrier], -1)
        first = flying[:1] if total == lacking else []
        issued = self._actors(reduction.bytes[barrier], -1)
        return issued | sum(1 << reduction.land + n for n in first)


def _size(members: int) -> tuple[int, int]:
    return members.bit_count(), members


def _suffixes(feet: list[int]) -> list[int]:
    """What is touched from each position on."""
    found = [0]
    for foot in reversed(feet):
        found.append(found[-1] | foot)
    return found[::-1]


def _bits(mask: int) -> list[int]:
    found: list[int] = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
