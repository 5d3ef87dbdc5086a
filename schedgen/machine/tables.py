"""A program as the explorer needs it: what concerns others, in small numbers.

Instructions that are silent are left out (as `Machine.skip_silent` passes them at once), so that a
position counts what is left.  What each instruction touches is a few bit masks; the state of an
execution is one flat tuple, and the offsets of its parts are here:

    actors     3 * position + stage (BEFORE, INSIDE, RELEASED)
    barriers   parity, pending arrivals and pending bytes: all that decides behaviour
    phases     2 * completed phases + whether somebody saw the last of them: ghosts, for judging
    rounds     how often each named barrier let its threads go: ghosts, too
    contents   number of what a place holds (filler and tile)
    unfenced   of each place: actors whose ordinary stores no proxy fence of theirs has followed
    retired    groups, of each team
    drained    groups of stores, of each actor
    flying     loads in flight, as bits

Open accesses are no part of it: who is at which place follows from positions, loads in flight and
retired groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate

from schedgen.ir.effects import Engine
from schedgen.machine.hazard import HazardKind
from schedgen.machine.program import NEVER, Instruction, OutputBox, Program, Touch
from schedgen.machine.rows import Closing, Load, Masks, Reader, Row, State, packed


class Tables:
    """All that does not change during a search."""

    def __init__(self, program: Program) -> None:
        self.program = program
        actors, teams = program.actors, program.teams
        self.actors = len(actors)
        self.team_of = [actor.team for actor in actors]
        places, barriers = len(program.places), len(program.barriers)
        self.barriers = self.actors
        self.phases = self.barriers + barriers
        self.rounds = self.phases + barriers
        self.contents = self.rounds + len(program.named)
        self.unfenced = self.contents + places
        self.retired = self.unfenced + places
        self.drained = self.retired + len(teams)
        self.flying = self.drained + self.actors
        self.masks = Masks(barriers, len(program.named), places + len(teams))
        self.loads: list[Load] = []
        self.keys: dict[tuple[int, int], int] = {}
        self.boxes: dict[int, OutputBox] = {}  # what the op instance of that key stores
        self._shown: list[list[int]] = [
            [n for n, i in enumerate(actor.code) if not i.silent] for actor in actors
        ]
        self.symmetric = [pair for team in teams for pair in self._sisters(team.actors)]
        self._written = [self._stores(a) for a in range(self.actors)]
        self.rows = [self._rows(a) for a in range(self.actors)]
        self.ends = [3 * len(rows) for rows in self.rows]
        self.groups = [self._groups(t) for t in range(len(teams))]
        self.batches = [self._batches(a) for a in range(self.actors)]
        self.readers: list[list[Reader]] = [[] for _ in program.places]
        self._add_readers()
        self.loads_at = [
            sum(1 << n for n, load in enumerate(self.loads) if load.place == place)
            for place in range(places)
        ]
        self.same_key = [
            sum(1 << n for n, other in enumerate(self.loads) if other.key == load.key)
            for load in self.loads
        ]
        self._loads_on = [
            sum(1 << n for n, load in enumerate(self.loads) if load.barrier == barrier)
            for barrier in range(barriers)
        ]
        self._contributors = [self._signals(barrier) for barrier in range(barriers)]
        self.visitors = [self._visitors(place) for place in range(places)]
        self.last_groups = [_last([g.mma for g in t.groups]) for t in teams]
        self.last_batches = [_last([b.stores for b in a.batches]) for a in actors]
        self.loose = any(t.loose for t in teams) or any(a.loose for a in actors)
        self.mates = [[self._mates(a, row) for row in rows] for a, rows in enumerate(self.rows)]
        self.waits = [_next(rows, lambda r: r.blocking and r.sync < 0) for rows in self.rows]

    def first_state(self) -> State:
        """Before anybody moved."""
        program = self.program
        barriers = [packed(0, count, 0) for _, count in program.barriers]
        seen = [1] * len(barriers)  # of phase -1 there is nothing to see
        rest = len(program.named) + len(program.places) * 2 + len(program.teams) + self.actors
        return (*[0] * self.actors, *barriers, *seen, *[0] * rest, 0)

    def contributions(self, state: list[int], barrier: int) -> int:
        """How often a barrier has counted something so far."""
        made = sum(counts[state[actor] // 3] for actor, counts in self._contributors[barrier])
        return made - (state[-1] & self._loads_on[barrier]).bit_count()

    # --- numbers
    def _key(self, actor: int, seq: int) -> int:
        return self.keys.setdefault((self.team_of[actor], seq), len(self.keys) + 1)

    def position(self, actor: int, least: int) -> int:
        """How many shown instructions stand before a place in the whole code."""
        return sum(1 for n in self._shown[actor] if n < least)

    def _sisters(self, actors: range) -> list[tuple[int, int]]:
        """Sisters that can change places: nothing in the state or in others tells them apart."""
        if len(actors) < 3:
            return []
        first, second = (self.program.actors[a] for a in actors[1:3])
        plain = all(
            i.sync is None and i.effects.fence != "proxy"
            and (not i.touches or i.effects.engine is Engine.TENSOR)
            and (i.signalled is None or first.threads == second.threads)
            for i in first.code
        )  # fmt: skip
        return [(actors[1], actors[2])] if plain else []

    def _stores(self, actor: int) -> int:
        """Places that the actor writes by ordinary stores."""
        code = self.program.actors[actor].code
        touched = {t.place for i in code for t in i.touches if t.writes and not t.asynchronous}
        return sum(1 << place for place in touched)

    # --- instructions
    def _rows(self, actor: int) -> list[Row]:
        code = self.program.actors[actor].code
        return [self._row(actor, at, code[at]) for at in self._shown[actor]]

    def _row(self, actor: int, at: int, here: Instruction) -> Row:
        known = self.program.actors[actor]
        signal, engine = here.effects.signal, here.effects.engine
        twin = next((pair[0] for pair in self.symmetric if actor in pair), actor)
        wait, parity = here.wait or (-1, 0)
        fault: HazardKind | None = "fence" if here.unfenced else None
        if here.negative:
            fault = "negative-use"
        foot, clash = self._footprint(actor, here)
        for touch in here.touches:
            if touch.writes and touch.box is not None:
                self.boxes[self._key(actor, here.seq)] = touch.box
        load = -1
        if engine is Engine.TMA and not here.negative:
            load = len(self.loads)
            self.loads.append(self._load(actor, at, here, (-1 - load, 0)))
        return Row(
            at=at, key=self._key(actor, here.seq), twin=(twin, at), wait=wait, parity=parity,
            groups=here.groups, stores=here.stores, sync=-1 if here.sync is None else here.sync,
            blocking=here.blocking, fault=fault, free_after=here.free_after,
            touches=tuple(dict.fromkeys(here.touches)),
            ordinary=engine is Engine.WARP and bool(here.touches), load=load,
            collective=engine is Engine.TENSOR, fences=here.effects.fence == "proxy",
            signal=-1 if here.signalled is None else here.signalled,
            arrivals=0 if signal is None else signal.arrivals * len(known.warps),
            expected=0 if signal is None else signal.expected * len(known.warps),
            threads=known.threads, foot=foot, clash=clash,
        )  # fmt: skip

    def _load(self, actor: int, at: int, here: Instruction, twin: tuple[int, int]) -> Load:
        (touch,) = here.touches
        assert here.signalled is not None
        bit = 1 << here.signalled
        foot = self.masks.foot(fills=bit, writes=1 << touch.place)
        clash = self.masks.clash(writes=1 << touch.place)
        return Load(
            actor, at, self._key(actor, here.seq), touch.place, touch.tile, here.signalled,
            here.delivered, twin, foot, clash,
        )  # fmt: skip

    def _footprint(self, actor: int, here: Instruction) -> tuple[int, int]:
        reads = sum(1 << p for p in {t.place for t in here.touches if not t.writes})
        writes = sum(1 << p for p in {t.place for t in here.touches if t.writes})
        if here.free_after:
            reads |= self._registers(self.team_of[actor])
        if here.effects.fence == "proxy":
            writes |= self._written[actor]
        tests = 0 if here.wait is None else 1 << 2 * here.wait[0] + here.wait[1]
        signal = here.effects.signal
        arrives = fills = 0
        if signal is not None and here.signalled is not None:
            arrives = 1 << here.signalled if signal.arrivals else 0
            fills = 1 << here.signalled if signal.expected or signal.delivered else 0
        entries = 0 if here.sync is None else 1 << here.sync
        foot = self.masks.foot(
            tests=tests, arrives=arrives, fills=fills, entries=entries, reads=reads, writes=writes
        )
        return foot, self.masks.clash(entries=entries, reads=reads, writes=writes)

    def _registers(self, team: int) -> int:
        """The bit of a team's accumulators."""
        return 1 << (len(self.program.places) + team)

    # --- groups
    def _groups(self, team: int) -> list[Closing]:
        known = self.program.teams[team]
        closings: list[Closing] = []
        for group in known.groups:
            passed = tuple((a, self.position(a, least)) for a, least in group.passed)
            places = {t.place for a in known.actors for t in self._touches(a, group.mma)}
            read = sum(1 << p for p in places)
            clash = self.masks.foot(reads=self._registers(team), writes=read)
            closings.append(Closing(passed, clash))
        return closings

    def _batches(self, actor: int) -> list[Closing]:
        known = self.program.actors[actor]
        closings: list[Closing] = []
        for batch in known.batches:
            passed = ((actor, self.position(actor, known.index[batch.commit] + 1)),)
            places = {t.place for t in self._touches(actor, batch.stores)}
            clash = self.masks.foot(writes=sum(1 << p for p in places))
            closings.append(Closing(passed, clash))
        return closings

    def _touches(self, actor: int, seqs: Iterable[int]) -> Iterable[Touch]:
        known = self.program.actors[actor]
        code = [known.code[known.index[seq]] for seq in seqs if seq in known.index]
        return [touch for here in code if not here.negative for touch in here.touches]

    def _add_readers(self) -> None:
        for number, team in enumerate(self.program.teams):
            listed = [(g, seq) for g, group in enumerate(team.groups) for seq in group.mma]
            for group, seq in [*listed, *((NEVER, seq) for seq in team.loose)]:
                self._add_reader(list(team.actors), seq, self.retired + number, group)
        for actor, known in enumerate(self.program.actors):
            listed = [(b, seq) for b, batch in enumerate(known.batches) for seq in batch.stores]
            for batch, seq in [*listed, *((NEVER, seq) for seq in known.loose)]:
                self._add_reader([actor], seq, self.drained + actor, batch)

    def _add_reader(self, actors: list[int], seq: int, queue: int, group: int) -> None:
        index = {a: self.program.actors[a].index[seq] for a in actors
                 if seq in self.program.actors[a].index}  # fmt: skip
        starts = tuple((a, self.position(a, at)) for a, at in index.items())
        reader = Reader(self._key(actors[0], seq), starts, queue, group)
        for place in {t.place for a in index for t in self._touches(a, [seq])}:
            self.readers[place].append(reader)

    def _mates(self, actor: int, row: Row) -> tuple[tuple[int, int], ...]:
        """Where sisters stand that have issued the same mma: actor, offset in the state."""
        if not row.collective:
            return ()
        sisters = self.program.teams[self.team_of[actor]].actors
        return tuple(
            (other, 3 * position + 3)
            for other in sisters
            for position, mate in enumerate(self.rows[other])
            if other != actor and mate.key == row.key
        )

    def _signals(self, barrier: int) -> list[tuple[int, list[int]]]:
        """Who contributes to a barrier, and how often before each position."""
        found: list[tuple[int, list[int]]] = []
        for actor, rows in enumerate(self.rows):
            counts = [
                int(r.signal == barrier and bool(r.arrivals or r.expected or r.load >= 0))
                for r in rows
            ]
            if any(counts):
                found.append((actor, list(accumulate(counts, initial=0))))
        return found

    def _visitors(self, place: int) -> list[int]:
        """Actors with ordinary accesses of a place."""
        return [
            a for a, rows in enumerate(self.rows)
            if any(r.ordinary and any(t.place == place for t in r.touches) for r in rows)
        ]  # fmt: skip


def _last(members: list[tuple[int, ...]]) -> int:
    """How many groups must have ended for nothing to be in flight: empty ones do not matter."""
    return max((n for n, group in enumerate(members, start=1) if group), default=0)


def _next(rows: list[Row], wanted: Callable[[Row], bool]) -> list[int]:
    """For each position, the next one at or after it with a wanted row; the length if none."""
    found, ahead = [len(rows)] * (len(rows) + 1), len(rows)
    for number in range(len(rows) - 1, -1, -1):
        if wanted(rows[number]):
            ahead = number
        found[number] = ahead
    return found
