"""Closed sets of agents: who must be in a set so that nobody outside matters to its moves.

A set of `agents` stands for their next moves.  Two more kinds of members are promises about
everybody outside: no phase of some mbarrier completes, and some actor is not let go by the named
barrier that it waits in.

Whoever is outside comes no further than the first wait that a member keeps unsatisfied.  So where
something that an actor may still do matters to a move of the set, it is enough to stop the actor
before: at an unsatisfied wait on its way there, if there is one.  A phase that lacks arrivals does
not complete while all those outside can arrive less often than it lacks; one that lacks only bytes
needs a landing or an announcement; a group retires after every actor of its team is far enough, so
one that is behind and stopped will do.

What matters to what: entries of one named barrier, accesses of one place of which one writes, and
on one mbarrier:

- to a wait that is satisfied: the completion of the next phase; arrivals, if nobody has seen the
  last one complete
- to an arrival: more arrivals than the phase lacks; if it may complete the phase, bytes, and waits
  that would be lapped
- to bytes: nothing while the phase lacks arrivals anyway; else everything, but for landings of
  which each is needed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedgen.machine.agents import Agents, bits
from schedgen.machine.rows import Closing, Row, State, unpacked
from schedgen.machine.state import INSIDE


class Closure:
    """Closed sets of one state.

    While a set grows, ``reach`` has the position that each actor outside of it does not come past.
    """

    def __init__(self, agents: Agents, state: State, steppers: list[int]) -> None:
        self.agents, self.state, self.tables = agents, state, agents.tables
        self.at = [state[a] // 3 for a in range(self.tables.actors)]
        self.begun = [agents.begun(a, state) for a in range(self.tables.actors)]
        self.steppers = frozenset(steppers)
        self.loads = bits(state[-1])
        self.feet = [agents.feet(a, at, self.begun[a]) for a, at in enumerate(self.at)]
        self.members = self.todo = 0
        self.reach: list[int] = []
        self._coming: dict[int, int] = {}  # how often those outside arrive, by barrier

    def of(self, seed: int, possible: int) -> int:
        """A small closed set with the seed, or all that is possible."""
        self.members = self.todo = 0
        self.reach = [end // 3 for end in self.tables.ends]
        self._coming.clear()
        self._add(seed)
        while self.todo and possible & ~self.members:
            low = self.todo & -self.todo
            self.todo ^= low
            self._bring(low.bit_length() - 1)
        return self.members & possible

    # --- members
    def _add(self, bit: int) -> None:
        """A new member; it stops those who wait for what it keeps from happening."""
        if self.members >> bit & 1:
            return
        self.members |= 1 << bit
        self.todo |= 1 << bit
        agents, tables = self.agents, self.tables
        if bit < agents.inside:
            self._halt(bit, (self.at[bit],))
        elif bit < agents.keep:
            self._halt(bit - agents.inside, (self.at[bit - agents.inside],))
        elif bit < agents.retire:
            barrier = bit - agents.keep
            key = 2 * barrier + (self.state[tables.barriers + barrier] & 1)
            for actor, waits in enumerate(agents.waits):
                self._halt(actor, waits.of_key.get(key, ()))
        elif bit < agents.drain:
            team = bit - agents.retire
            done = self.state[tables.retired + team]
            for actor in tables.program.teams[team].actors:
                self._halt(actor, (n for n, least in agents.waits[actor].groups if least > done))
        elif bit < agents.land:
            actor = bit - agents.drain
            done = self.state[tables.drained + actor]
            self._halt(actor, (n for n, least in agents.waits[actor].stores if least > done))

    def _halt(self, actor: int, waits: Iterable[int]) -> None:
        """The actor comes no further than the first of the waits that is still ahead."""
        at = self.at[actor]
        for number in waits:
            if number >= at:
                if number < self.reach[actor]:
                    self.reach[actor] = number
                    self._coming.clear()
                return

    def _bring(self, bit: int) -> None:
        """Add what a member asks for."""
        agents, state, tables = self.agents, self.state, self.tables
        if bit < agents.inside:
            if bit in self.steppers:
                self._next(bit, tables.rows[bit][self.at[bit]])
                if 3 * self.at[bit] + 3 == tables.ends[bit]:
                    self._finish(bit)
            elif state[bit] < tables.ends[bit]:
                self._add(self._blocker(bit, self.at[bit]))
        elif bit < agents.keep:
            row = tables.rows[bit - agents.inside][self.at[bit - agents.inside]]
            self._who(agents.entries[row.sync])
        elif bit < agents.retire:
            self._keep(bit - agents.keep)
        elif bit < agents.drain:
            team = bit - agents.retire
            self._end(tables.groups[team], state[tables.retired + team])
        elif bit < agents.land:
            actor = bit - agents.drain
            self._end(tables.batches[actor], state[tables.drained + actor])
        else:
            self._land(bit - agents.land)

    def _next(self, actor: int, row: Row) -> None:
        """What matters to the next move of an actor."""
        if row.clash and not (row.collective and self.at[actor] < self.begun[actor]):
            self._who(row.clash)
        if row.wait >= 0:
            self._return(row.wait)
        elif row.arrivals:
            self._arrive(row.signal, row.arrivals)
        elif row.expected:
            self._fill(row.signal, self.loads)

    def _end(self, closings: list[Closing], ordinal: int) -> None:
        """A queue's next group ends, or some actor that is behind does not come far enough."""
        if ordinal >= len(closings):
            return
        behind = [(a, n) for a, n in closings[ordinal].passed if self.at[a] < n]
        if not behind:
            self._who(closings[ordinal].clash)
            self._stay()
        elif all(self.reach[a] >= n for a, n in behind):
            actor, least = behind[0]
            self._stop(actor, least - 1)

    def _land(self, number: int) -> None:
        """A load lands; others on its barrier do not matter where all of them are needed."""
        load, loads = self.tables.loads[number], self.loads
        flying = self._flying_to(load.barrier)
        _, _, lacking = self._counters(load.barrier)
        if sum(self.tables.loads[n].delivered for n in flying) <= lacking:
            loads = [n for n in loads if n not in flying]
        self._fill(load.barrier, loads)
        self._who(load.clash)
        if not self._is_kept(self._unfinished()):
            self._add(self.agents.keep + load.barrier)
            self._stay()

    # --- mbarriers
    def _return(self, barrier: int) -> None:
        """A satisfied wait returns."""
        self._add(self.agents.keep + barrier)
        if not self._is_seen(barrier):
            self._who(self.agents.arrivals[barrier])

    def _arrive(self, barrier: int, arrivals: int) -> None:
        """An actor arrives, perhaps with bytes."""
        agents = self.agents
        parity, pending, _ = self._counters(barrier)
        left, seen = pending - arrivals, self._is_seen(barrier)
        self._add(agents.keep + barrier)
        self._limit(barrier, left)
        if not seen or self._comes(barrier) >= left:
            self._who(agents.tests[2 * barrier + 1 - parity] | agents.bytes[barrier])
        if not seen or left < 0:
            self._who(agents.arrivals[barrier])

    def _fill(self, barrier: int, loads: Sequence[int]) -> None:
        """Bytes are announced or delivered; of the loads in flight these matter."""
        agents = self.agents
        parity, pending, _ = self._counters(barrier)
        if self._comes(barrier) >= pending:
            tests = agents.tests[2 * barrier + 1 - parity]
            mask = tests | agents.bytes[barrier] | agents.arrivals[barrier]
            self._actors(mask)
            self._flying(mask, loads)

    def _keep(self, barrier: int) -> None:
        """Nobody outside completes the phase.

        Bytes that are in flight and do not suffice need others to be issued; those that just
        suffice are needed each, unless others are issued.
        """
        agents = self.agents
        _, pending, lacking = self._counters(barrier)
        if pending > 0:
            self._limit(barrier, pending - 1)
        elif not pending:
            self._actors(agents.bytes[barrier])
            flying = self._flying_to(barrier)
            total = sum(self.tables.loads[n].delivered for n in flying)
            if total > lacking:
                self._flying(agents.bytes[barrier], flying)
            elif total == lacking and not any(self.members >> agents.land + n & 1 for n in flying):
                self._add(agents.land + flying[0])

    def _limit(self, barrier: int, most: int) -> None:
        """Leave those outside at most so many arrivals: at first, one each of those who wait for
        an mbarrier in between."""
        for actor, counts in self.agents.comers[barrier]:
            if self._comes(barrier) > most and self._mine(actor, counts) > 1:
                second = self._arrival(actor, counts, 1)
                blocker = self._blocked_before(actor, second)
                if self.agents.keep <= blocker < self.agents.retire:
                    self._add(blocker)
        for actor, counts in self.agents.comers[barrier]:
            while (excess := self._comes(barrier) - most) > 0 and self._mine(actor, counts):
                allowed = max(self._mine(actor, counts) - excess, 0)
                self._stop(actor, self._arrival(actor, counts, allowed))

    def _mine(self, actor: int, counts: list[int]) -> int:
        """How often an actor may still arrive."""
        return counts[self.reach[actor]] - counts[self.at[actor]]

    def _arrival(self, actor: int, counts: list[int], allowed: int) -> int:
        """The first arrival that is more than so many."""
        at = self.at[actor]
        return next(n for n in range(at, len(counts)) if counts[n + 1] > counts[at] + allowed)

    def _comes(self, barrier: int) -> int:
        """How often those outside may arrive at most."""
        known = self._coming.get(barrier)
        if known is None:
            reach, at, known = self.reach, self.at, 0
            for actor, counts in self.agents.comers[barrier]:
                known += counts[reach[actor]] - counts[at[actor]]
            self._coming[barrier] = known
        return known

    def _is_seen(self, barrier: int) -> bool:
        return bool(self.state[self.tables.phases + barrier] & 1)

    def _counters(self, barrier: int) -> tuple[int, int, int]:
        return unpacked(self.state[self.tables.barriers + barrier])

    def _flying_to(self, barrier: int) -> list[int]:
        return [n for n in self.loads if self.tables.loads[n].barrier == barrier]

    # --- those outside
    def _who(self, mask: int) -> None:
        """Everybody who may still do something of the mask."""
        self._actors(mask)
        self._flying(mask, self.loads)

    def _flying(self, mask: int, loads: Sequence[int]) -> None:
        for number in loads:
            if mask & self.tables.loads[number].foot:
                self._add(self.agents.land + number)

    def _actors(self, mask: int) -> None:
        """Stop the actors before they do something of the mask."""
        reach = self.reach
        for actor, (at, feet) in enumerate(zip(self.at, self.feet, strict=True)):
            length = reach[actor] - at
            if length > 0 and feet[length] & mask:
                self._stop(actor, at + _first(feet, mask))

    def _stop(self, actor: int, number: int) -> None:
        """Keep an actor from executing a row, by its next move if there is no other way."""
        if self.reach[actor] <= number:
            return
        blocker = self._blocked_before(actor, number)
        if blocker < 0:
            row = self.tables.rows[actor][self.at[actor]]
            is_inside = row.sync >= 0 and self.state[actor] % 3 == INSIDE
            blocker = self.agents.inside + actor if is_inside else actor
        self._add(blocker)

    def _blocked_before(self, actor: int, number: int) -> int:
        """What keeps an actor from coming past a row: the last unsatisfied wait on an mbarrier, or
        of other waits some; -1 if there is none."""
        agents, at, other = self.agents, self.at[actor], -1
        for wait in reversed(agents.waits[actor].all):
            if at <= wait <= number:
                blocker = self._blocker(actor, wait)
                if agents.keep <= blocker < agents.retire:
                    return blocker
                other = max(other, blocker)
        return other

    def _blocker(self, actor: int, number: int) -> int:
        """The member that keeps a wait unsatisfied; -1 if it is satisfied now."""
        agents, state, tables = self.agents, self.state, self.tables
        row, team = tables.rows[actor][number], tables.team_of[actor]
        if row.sync >= 0:
            return agents.inside + actor
        if row.wait >= 0 and state[tables.barriers + row.wait] & 1 == row.parity:
            return agents.keep + row.wait
        if row.groups > state[tables.retired + team]:
            return agents.retire + team
        if row.stores > state[tables.drained + actor]:
            return agents.drain + actor
        return -1

    def _stay(self) -> None:
        """Keep somebody from its end: what is in flight then goes wrong."""
        left = self._unfinished()
        if left and not self._is_kept(left):
            self._stop(left[0], self.tables.ends[left[0]] // 3 - 1)

    def _finish(self, actor: int) -> None:
        """The last move of an actor; after that of all actors nothing completes any more."""
        left = [a for a in self._unfinished() if a != actor]
        if not left:
            for number in self.loads:
                self._add(self.agents.land + number)
            for queue in range(self.agents.retire, self.agents.land):
                self._add(queue)
        elif not self._is_kept(left):
            self._stop(left[0], self.tables.ends[left[0]] // 3 - 1)

    def _unfinished(self) -> list[int]:
        return [a for a, end in enumerate(self.tables.ends) if self.state[a] < end]

    def _is_kept(self, actors: list[int]) -> bool:
        """Whether one of the actors does not come to its end."""
        return any(3 * self.reach[a] < self.tables.ends[a] for a in actors)


def _first(feet: list[int], mask: int) -> int:
    """The first row that touches something of the mask, of rows that do."""
    low, high = 0, len(feet) - 1
    while low + 1 < high:
        middle = (low + high) // 2
        if feet[middle] & mask:
            high = middle
        else:
            low = middle
    return low
