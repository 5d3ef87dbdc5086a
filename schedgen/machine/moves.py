"""The moves of the explorer: what is possible in a state, what comes of it, what goes wrong.

The same machine as `interpreter`, over flat tuples and without numbers.  Two kinds of hazards are
added that no state of the hardware shows, since a barrier has no phase numbers: each contribution
and each wait is *meant* for one phase, the one to which it is bound in a first run of the program,
if it comes so far.  One that another execution binds to another phase, or comes to alone, is a
hazard ("bytes" for bytes, "phase" for arrivals and waits, a lapped wait among them); so are a phase
that completes with other contributions, and an arrival on a phase whose predecessor nobody has
observed.  Turns of named barriers count like phases.  These ghosts stand beside the barriers and
decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schedgen.machine.first_run import FirstRun
from schedgen.machine.hazard import HazardKind
from schedgen.machine.program import RESULTS, Program, Touch
from schedgen.machine.rows import Row, State, packed, unpacked
from schedgen.machine.state import BEFORE, INSIDE, RELEASED, Move
from schedgen.machine.tables import Tables


class Trouble(NamedTuple):
    """A hazard of a move; ``message`` where the machine itself has no words for it."""

    kind: HazardKind
    message: str | None


class Moves:
    """Successors of states of one program."""

    def __init__(self, program: Program) -> None:
        self.tables = Tables(program)
        self.meant: dict[tuple[int, int], int] = {}
        self._made: dict[tuple[int, int], int] = {}  # contributions up to the end of a phase
        self._entered: dict[tuple[int, int], int] = {}  # threads in a turn of a named barrier
        self._knows = False  # whether the first run is over
        self._contents: dict[tuple[int, int | None], int] = {}  # filler's key, tile
        self._held: list[tuple[int, int | None]] = [(0, None)]
        FirstRun(self).complete()
        self._knows = True

    # --- what is possible
    def can_step(self, state: State, actor: int) -> bool:
        tables, at = self.tables, state[actor]
        if at >= tables.ends[actor]:
            return False
        row = tables.rows[actor][at // 3]
        if not row.blocking:
            return True
        if row.sync >= 0:
            return at % 3 != INSIDE
        if row.fault is not None:
            return True
        if row.wait >= 0 and state[tables.barriers + row.wait] & 1 == row.parity:
            return False
        return (
            state[tables.retired + tables.team_of[actor]] >= row.groups
            and state[tables.drained + actor] >= row.stores
        )

    def can_retire(self, state: State, team: int) -> bool:
        groups, ordinal = self.tables.groups[team], state[self.tables.retired + team]
        return ordinal < len(groups) and all(
            state[a] >= 3 * least for a, least in groups[ordinal].passed
        )

    def can_drain(self, state: State, actor: int) -> bool:
        batches, ordinal = self.tables.batches[actor], state[self.tables.drained + actor]
        return ordinal < len(batches) and all(
            state[a] >= 3 * least for a, least in batches[ordinal].passed
        )

    def completions(self, state: State) -> list[Move]:
        """Everything asynchronous that may complete now."""
        tables, flying = self.tables, state[-1]
        moves: list[Move] = []
        while flying:
            number = (flying & -flying).bit_length() - 1
            flying &= flying - 1
            moves.append(Move("land", number, 0))
        moves += [
            Move("retire", t, 0) for t in range(len(tables.groups)) if self.can_retire(state, t)
        ]
        for actor, batches in enumerate(tables.batches):
            if batches and self.can_drain(state, actor):
                moves.append(Move("drain", actor, 0))
        return moves

    def steppers(self, state: State) -> list[int]:
        """The actors that can move now."""
        return [a for a in range(self.tables.actors) if self.can_step(state, a)]

    def enabled(self, state: State) -> list[Move]:
        """Every move that is possible now; landings name the load."""
        return [Move("actor", a, 0) for a in self.steppers(state)] + self.completions(state)

    def has_ended(self, state: State) -> bool:
        return all(state[a] >= end for a, end in enumerate(self.tables.ends))

    def is_in_flight(self, state: State) -> bool:
        """Whether something asynchronous is open, or can never end."""
        tables = self.tables
        return (
            bool(state[-1]) or tables.loose
            or any(state[tables.retired + t] < last for t, last in enumerate(tables.last_groups))
            or any(state[tables.drained + a] < last for a, last in enumerate(tables.last_batches))
        )  # fmt: skip

    # --- what happens
    def apply(self, state: State, move: Move) -> tuple[State, tuple[Trouble, ...]]:
        """The state after a possible move, and what is wrong with it."""
        new = list(state)
        found: tuple[Trouble, ...] = ()
        if move.kind == "actor":
            found = self._step(state, new, move.who)
        elif move.kind == "land":
            found = self._land(new, move.who)
        else:
            base = self.tables.retired if move.kind == "retire" else self.tables.drained
            new[base + move.who] += 1
        return tuple(new), found

    def _step(self, state: State, new: list[int], actor: int) -> tuple[Trouble, ...]:
        tables, at = self.tables, state[actor]
        row, stage = tables.rows[actor][at // 3], at % 3
        if row.sync >= 0 and stage == BEFORE:
            return self._enter(new, actor, row)
        if row.ordinary and stage == BEFORE and row.fault != "negative-use":
            new[actor] = at + INSIDE
            return self._begin(state, new, actor, row)
        new[actor] = at - stage + 3
        if row.fault == "negative-use":
            return (Trouble(row.fault, None),)
        if row.ordinary:
            for touch in row.touches:
                if touch.writes:
                    content = tables.contents + touch.place
                    tile = RESULTS if touch.box else self._held[state[content]][1]
                    new[content] = self._content(row.key, tile)
            return self._signal(new, row)
        if row.wait >= 0:
            return self._returned(new, row)
        return self._begin(state, new, actor, row) + self._signal(new, row)

    def _enter(self, new: list[int], actor: int, row: Row) -> tuple[Trouble, ...]:
        """Enter a named barrier; the last to come lets everybody go."""
        tables = self.tables
        name, limit = tables.program.named[row.sync]
        found = self._meets(
            row.twin, new[tables.rounds + row.sync], f"turn {{}} of {name}", "phase"
        )
        new[actor] += INSIDE
        inside = [
            other for other in range(tables.actors)
            if new[other] % 3 == INSIDE and tables.rows[other][new[other] // 3].sync == row.sync
        ]  # fmt: skip
        threads = sum(tables.rows[other][new[other] // 3].threads for other in inside)
        if threads > limit:
            found += (
                Trouble("count", f"is one of {threads} threads in {name}, which counts {limit}"),
            )
        if threads >= limit:
            turn = row.sync, new[tables.rounds + row.sync]
            if not self._knows:
                self._entered[turn] = threads
            elif self._entered.get(turn) != threads and threads <= limit:
                text = f"completes turn {turn[1]} of {name}, where another execution has others"
                found += (Trouble("count", f"{text} in it"),)
            new[tables.rounds + row.sync] += 1
            for other in inside:
                new[other] += RELEASED - INSIDE
        return found

    def _begin(self, state: State, new: list[int], actor: int, row: Row) -> tuple[Trouble, ...]:
        tables = self.tables
        found: list[Trouble] = []
        if row.fault is not None:
            found.append(Trouble(row.fault, None))
        if row.free_after > state[tables.retired + tables.team_of[actor]]:
            found.append(Trouble("accumulator", None))
        if row.fences:
            for place in range(tables.unfenced, tables.retired):
                new[place] &= ~(1 << actor)
        if not row.touches:
            return tuple(found)
        if any(state[other] >= passed for other, passed in tables.mates[actor][state[actor] // 3]):
            return tuple(found)  # a sister has begun this mma
        for touch in row.touches:
            found += self._objections(state, row, touch)
        for touch in row.touches:
            if touch.writes and not touch.asynchronous:
                new[tables.unfenced + touch.place] |= 1 << actor
        if row.load >= 0:
            new[-1] |= 1 << row.load
        return tuple(dict.fromkeys(found))

    def _objections(self, state: State, row: Row, touch: Touch) -> list[Trouble]:
        """What is wrong with an access that begins; where it collides that says enough."""
        tables, place = self.tables, touch.place
        filler, tile = self._held[state[tables.contents + place]]
        found: list[Trouble] = []
        for key, writes, other in self._open(state, row, touch):
            if touch.writes or not self._is_fill(touch, other, filler, key):
                found.append(_OVERWRITE)
            else:
                assert writes
                found.append(_EARLY)
        if not found and not touch.writes:
            if not filler:
                found.append(_EARLY)
            elif touch.ships and self._is_other(touch, filler, tile):
                found.append(_WRONG_BOX)
            elif touch.tile is not None and tile is not None and tile != touch.tile:
                found.append(_WRONG)
        if touch.asynchronous and state[tables.unfenced + place]:
            found.append(_PROXY)
        return found

    def _is_other(self, ship: Touch, filler: int, tile: int | None) -> bool:
        """Whether a TMA store ships another part of the output than it names, or an operand."""
        is_elsewhere = ship.box is not None and ship.box != self.tables.boxes.get(filler)
        return is_elsewhere or tile not in (None, RESULTS)

    def _is_fill(self, read: Touch, tile: int | None, filler: int, key: int) -> bool:
        """Whether the reader means what the open write brings, not what was there before."""
        if tile is not None and read.tile is not None:
            return tile == read.tile
        return filler in (0, key)

    def _open(self, state: State, row: Row, touch: Touch) -> Iterator[tuple[int, bool, int | None]]:
        """Accesses of other op instances that are open at the place and conflict: the key,
        whether it writes, and the tile it brings."""
        tables, place = self.tables, touch.place
        flying = state[-1] & tables.loads_at[place]
        while flying:
            load = tables.loads[(flying & -flying).bit_length() - 1]
            flying &= flying - 1
            if load.key != row.key:
                yield load.key, True, load.tile
        for other in tables.visitors[place]:
            at = state[other]
            if at % 3 == INSIDE and at < tables.ends[other]:
                there = tables.rows[other][at // 3]
                if there.ordinary and there.key != row.key:
                    for old in there.touches:
                        if old.place == place and (old.writes or touch.writes):
                            yield there.key, old.writes, old.tile
        if touch.writes:
            for reader in tables.readers[place]:
                if (
                    state[reader.queue] <= reader.group and reader.key != row.key
                    and any(state[a] > 3 * position for a, position in reader.starts)
                ):  # fmt: skip
                    yield reader.key, False, None

    # --- barriers
    def _signal(self, new: list[int], row: Row) -> tuple[Trouble, ...]:
        """Bytes are announced, then each arrival counts."""
        if row.signal < 0 or not (row.arrivals or row.expected):
            return ()
        found = self._bound(new, row.twin, row.signal, "phase" if row.arrivals else "bytes")
        barrier, before = self.tables.barriers + row.signal, new[self.tables.phases + row.signal]
        if row.expected:
            self._count(new, row.signal, 0, row.expected)
        if row.arrivals and unpacked(new[barrier])[1] <= 0:
            found += (Trouble("count", None),)
        if row.arrivals and not new[self.tables.phases + row.signal] & 1:
            name = self.tables.program.barriers[row.signal][0]
            message = f"arrives on {name} although nobody saw its last phase complete"
            found += (Trouble("phase", message),)
        return found + self._arrive(new, row) + self._completed_as_meant(new, row.signal, before)

    def _arrive(self, new: list[int], row: Row) -> tuple[Trouble, ...]:
        """Arrivals count one by one; those of one actor are meant for one phase."""
        ghost = self.tables.phases + row.signal
        phase, is_split = new[ghost] >> 1, False
        for _ in range(row.arrivals):
            is_split = is_split or new[ghost] >> 1 != phase
            self._count(new, row.signal, 1, 0)
        if not is_split:
            return ()
        name = self.tables.program.barriers[row.signal][0]
        text = f"completes phase {phase} of {name}, and counts in the next one, too"
        return (Trouble("count", text),)

    def _land(self, new: list[int], number: int) -> tuple[Trouble, ...]:
        load = self.tables.loads[number]
        new[-1] &= ~(1 << number)
        new[self.tables.contents + load.place] = self._content(load.key, load.tile)
        new[self.tables.unfenced + load.place] = 0
        found = self._bound(new, load.twin, load.barrier, "bytes")
        before = new[self.tables.phases + load.barrier]
        self._count(new, load.barrier, 0, -load.delivered)
        return found + self._completed_as_meant(new, load.barrier, before)

    def _count(self, new: list[int], number: int, arrivals: int, amount: int) -> None:
        at = self.tables.barriers + number
        parity, pending, byte_count = unpacked(new[at])
        pending, byte_count = pending - arrivals, byte_count + amount
        if pending or byte_count:
            new[at] = packed(parity, pending, byte_count)
        else:
            new[at] = packed(parity ^ 1, self.tables.program.barriers[number][1], 0)
            ghost = self.tables.phases + number
            new[ghost] = (new[ghost] | 1) + 1  # one phase more, and nobody has seen it

    def _returned(self, new: list[int], row: Row) -> tuple[Trouble, ...]:
        """A wait: by which phase it returned is nothing that it can see."""
        new[self.tables.phases + row.wait] |= 1
        return self._bound(new, row.twin, row.wait, "phase")

    def _bound(
        self, new: list[int], twin: tuple[int, int], barrier: int, kind: HazardKind
    ) -> tuple[Trouble, ...]:
        what = f"phase {{}} of {self.tables.program.barriers[barrier][0]}"
        return self._meets(twin, new[self.tables.phases + barrier] >> 1, what, kind)

    def _meets(
        self, twin: tuple[int, int], phase: int, what: str, kind: HazardKind
    ) -> tuple[Trouble, ...]:
        """Whether something is bound to the same phase as in the first run."""
        meant = self.meant.get(twin, None if self._knows else phase)
        if meant == phase:
            self.meant[twin] = phase
            return ()
        if meant is None:
            text = f"meets {what.format(phase)}, where another execution never comes to it"
            return (Trouble("phase", text),)
        text = f"meets {what.format(phase)}, where another execution has it in {what.format(meant)}"
        return (Trouble(kind, text),)

    def _completed_as_meant(self, new: list[int], barrier: int, before: int) -> tuple[Trouble, ...]:
        """Whether a phase that completes does so in the first run, by the same contributions."""
        phase = before >> 1
        if new[self.tables.phases + barrier] >> 1 == phase:
            return ()
        made = self.tables.contributions(new, barrier)
        if not self._knows:
            self._made[barrier, phase] = made
        meant = self._made.get((barrier, phase))
        if meant == made:
            return ()
        name = self.tables.program.barriers[barrier][0]
        other = "never completes it" if meant is None else "has other bytes in it"
        text = f"completes phase {phase} of {name}, where another execution {other}"
        return (Trouble("bytes", text),)

    def _content(self, key: int, tile: int | None) -> int:
        """The number of what a place holds."""
        found = self._contents.get((key, tile))
        if found is None:
            found = self._contents[key, tile] = len(self._held)
            self._held.append((key, tile))
        return found


_OVERWRITE = Trouble("overwrite", None)
_EARLY = Trouble("read-early", None)
_WRONG = Trouble("wrong-tile", None)
_WRONG_BOX = Trouble("wrong-box", None)
_PROXY = Trouble("proxy", None)
