"""Agents of the explorer, by number, and what they do that does not depend on a state.

Agents are the actors, the loads in flight, the queues of mma groups and of TMA stores: whoever can
make a move.  Two more kinds of numbers stand for what may be kept from happening: that an actor is
let go by the named barrier that it waits in, and that an mbarrier completes its phase.  A set of
them is a number with a bit for each.
"""

from __future__ import annotations

from itertools import accumulate

from schedgen.machine.rows import Row, State
from schedgen.machine.state import Move
from schedgen.machine.tables import Tables


class Agents:
    """Numbers for the members of sets, and what does not depend on a state.

    In this order: each actor; each actor inside of a named barrier; each mbarrier whose phase is
    kept; each team's queue of groups; each actor's queue of stores; each load.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        actors, barriers = tables.actors, len(tables.program.barriers)
        self.inside, self.keep = actors, 2 * actors
        self.retire = self.keep + barriers
        self.drain = self.retire + len(tables.groups)
        self.land = self.drain + actors
        masks = tables.masks
        named = range(len(tables.program.named))
        self.arrivals = [masks.foot(arrives=1 << b) for b in range(barriers)]
        self.bytes = [masks.foot(fills=1 << b) for b in range(barriers)]
        self.tests = [masks.foot(tests=1 << key) for key in range(2 * barriers)]
        self.entries = [masks.foot(entries=1 << n) for n in named]
        self.comers = [self._comers(b) for b in range(barriers)]
        self.waits = [Waits(rows) for rows in tables.rows]
        self._feet: dict[tuple[int, int, int], list[int]] = {}
        self._mma = [[n for n, row in enumerate(rows) if row.collective] for rows in tables.rows]

    def move(self, bit: int) -> Move:
        """The next move of an agent."""
        if bit < self.inside:
            return Move("actor", bit, 0)
        if bit >= self.land:
            return Move("land", bit - self.land, 0)
        if bit >= self.drain:
            return Move("drain", bit - self.drain, 0)
        return Move("retire", bit - self.retire, 0)

    def feet(self, actor: int, start: int, begun: int) -> list[int]:
        """Everything that an actor touches from a position to each later one.

        An mma that a sister has begun touches nothing any more; those before ``begun`` are.
        """
        found = self._feet.get((actor, start, begun))
        if found is None:
            found = [0]
            for number, row in enumerate(self.tables.rows[actor][start:], start=start):
                is_begun = row.collective and number < begun
                found.append(found[-1] | (0 if is_begun else row.foot))
            self._feet[actor, start, begun] = found
        return found

    def begun(self, actor: int, state: State) -> int:
        """The position before which all mma of an actor have been begun by a sister."""
        mates, at = self.tables.mates[actor], state[actor] // 3
        for number in self._mma[actor]:
            if number >= at and not any(state[a] >= passed for a, passed in mates[number]):
                return number
        return len(mates)

    def _comers(self, barrier: int) -> list[tuple[int, list[int]]]:
        """Who arrives on a barrier, and how often before each position."""
        found: list[tuple[int, list[int]]] = []
        for actor, rows in enumerate(self.tables.rows):
            counts = [row.arrivals if row.signal == barrier else 0 for row in rows]
            if any(counts):
                found.append((actor, list(accumulate(counts, initial=0))))
        return found


class Waits:
    """The waits of an actor, by what they wait for; those on named barriers apart."""

    def __init__(self, rows: list[Row]) -> None:
        self.all: list[int] = []
        self.of_key: dict[int, list[int]] = {}  # mbarrier and parity
        self.groups: list[tuple[int, int]] = []  # position, retired groups that it needs
        self.stores: list[tuple[int, int]] = []
        for number, row in enumerate(rows):
            if not row.blocking or row.sync >= 0 or row.fault is not None:
                continue
            self.all.append(number)
            if row.wait >= 0:
                self.of_key.setdefault(2 * row.wait + row.parity, []).append(number)
            if row.groups:
                self.groups.append((number, row.groups))
            if row.stores:
                self.stores.append((number, row.stores))


def bits(mask: int) -> list[int]:
    """The numbers of the bits that are set."""
    found: list[int] = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
