"""From a schedule and a trip count to a `Program`: the walk of every actor.

Driven by declared effects alone: nothing here knows an op by its class or keyword.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schedgen.ir.effects import (
    Access,
    AccRef,
    BarrierRef,
    BufferRef,
    Effects,
    Engine,
    Executor,
    OutRef,
    Proxy,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import evaluate
from schedgen.ir.ops import Op
from schedgen.ir.schedule import Buffer, Role, Schedule
from schedgen.machine.program import (
    NEVER,
    Actor,
    Batch,
    Group,
    Instruction,
    OutputBox,
    Program,
    StorePlace,
    Team,
    Touch,
    Turn,
    unroll,
    warps_of_actors,
)


def compile_program(schedule: Schedule, *, k_tiles: int) -> Program:
    """The program of a well-formed schedule at ``k_tiles`` K tiles."""
    layout = _Layout(schedule)
    teams: list[Team] = []
    actors: list[Actor] = []
    for role in schedule.roles:
        for replica in range(role.replica_count):
            turns = unroll(role, replica, k_tiles=k_tiles, stages=layout.stages)
            team, members = _team(layout, role, replica, turns, len(teams), len(actors))
            teams.append(team)
            actors += members
    return Program(
        schedule, k_tiles, tuple(teams), tuple(actors), tuple(layout.barriers),
        tuple(layout.named), tuple(layout.places),
    )  # fmt: skip


class _Layout:
    """Numbers for the barriers and places of a schedule, and its effects, looked up once."""

    def __init__(self, schedule: Schedule) -> None:
        self.stages = schedule.stages
        self.barriers: list[tuple[str, int]] = []
        self.named: list[tuple[str, int]] = []
        self.places: list[StorePlace] = []
        self.barrier_of: dict[tuple[object, int], int] = {}
        self.named_of: dict[tuple[str, int], int] = {}
        self.place_of: dict[tuple[str, str, int, int], int] = {}
        self.buffer_of: dict[tuple[str, int], int] = {}
        self.schedule = schedule
        self._effects: dict[int, Effects] = {}
        for ring in schedule.rings:
            for stage in range(ring.stages):
                for side, count in (("full", ring.full), ("empty", ring.empty)):
                    self.barrier_of[f"{ring.name}.{side}", stage] = len(self.barriers)
                    self.barriers.append((f"{ring.name}.{side}[{stage}]", count))
                for slot in ring.slots:
                    for slab in range(slot.slab_count):
                        self.place_of[ring.name, slot.name, slab, stage] = len(self.places)
                        part = "" if slot.slabs is None else f"[{slab}]"
                        name = f"{ring.name}.{slot.name}{part} stage {stage}"
                        self.places.append(StorePlace(name, slot, slab, None))
        for barrier in schedule.barriers:
            for index in range(barrier.size or 1):
                self.barrier_of[barrier.name, index] = len(self.barriers)
                part = "" if barrier.size is None else f"[{index}]"
                self.barriers.append((barrier.name + part, barrier.count))
        for named in schedule.named:
            for index in range(named.size or 1):
                self.named_of[named.name, index] = len(self.named)
                part = "" if named.size is None else f"[{index}]"
                self.named.append((named.name + part, named.threads))
        for buffer in schedule.buffers:
            for number in range(buffer.part_count):
                self.buffer_of[buffer.name, number] = self._place(buffer, number)

    def _place(self, buffer: Buffer, number: int) -> int:
        """The place of a part: a new one, or the slot that it lies in."""
        if buffer.alias is not None:
            stage = buffer.stage_of(number, self.stages)
            return self.place_of[buffer.alias.ring, buffer.alias.slot, 0, stage]
        part = "" if buffer.parts is None else f"[{number}]"
        self.places.append(StorePlace(buffer.name + part, None, 0, buffer))
        return len(self.places) - 1

    def effects(self, op: Op) -> Effects:
        found = self._effects.get(id(op))
        if found is None:
            found = self._effects[id(op)] = op.effects()
        return found


def _executes(effects: Effects, rank: int) -> bool:
    return rank == 0 or effects.executor is not Executor.ELECTED


def _joins(effects: Effects, queue: str) -> bool:
    group = effects.group
    return group is not None and group.queue == queue and group.action == "join"


def _commits(effects: Effects, queue: str) -> bool:
    group = effects.group
    return group is not None and group.queue == queue and group.action == "commit"


def _grouped(
    turns: list[tuple[int, Effects]], queue: str
) -> tuple[list[tuple[int, list[int]]], list[int]]:
    """Each commit with what it closes (everything since the last commit), and the unclosed."""
    groups: list[tuple[int, list[int]]] = []
    loose: list[int] = []
    for seq, effects in turns:
        if _joins(effects, queue):
            loose.append(seq)
        elif _commits(effects, queue):
            groups.append((seq, loose))
            loose = []
    return groups, loose


def _team(
    layout: _Layout, role: Role, replica: int, turns: list[Turn], number: int, first: int
) -> tuple[Team, list[Actor]]:
    listed = [(seq, layout.effects(turn.op)) for seq, turn in enumerate(turns)]
    groups, loose = _grouped(listed, "wgmma")
    ordinal = {seq: i for i, (_, members) in enumerate(groups) for seq in members}
    commits = {commit: i for i, (commit, _) in enumerate(groups)}
    codes: dict[bool, tuple[tuple[Instruction, ...], dict[int, int]]] = {}
    actors: list[Actor] = []
    for rank, warps in enumerate(warps_of_actors(role.warps)):
        elected = rank == 0
        if elected not in codes:  # sisters run the same code
            walk = _Walk(layout, ordinal, commits)
            mine = [(s, t) for s, t in enumerate(turns) if _executes(listed[s][1], rank)]
            code = tuple(walk.instruction(seq, turn) for seq, turn in mine)
            codes[elected] = code, {i.seq: n for n, i in enumerate(code)}
        code, index = codes[elected]
        stores, unclosed = _grouped([(i.seq, i.effects) for i in code], "tma-store")
        batches = tuple(Batch(commit, tuple(members)) for commit, members in stores)
        actors.append(Actor(number, rank, warps, code, index, batches, tuple(unclosed)))
    indexes = [a.index for a in actors]
    closed = tuple(
        Group(commit, tuple(members), _passed(first, indexes, [*members, commit]))
        for commit, members in groups
    )
    span = range(first, first + len(actors))
    return Team(role, replica, span, closed, tuple(loose)), actors


def _passed(
    first: int, indexes: list[Mapping[int, int]], seqs: list[int]
) -> tuple[tuple[int, int], ...]:
    """How far each actor is once it has executed all of ``seqs`` that it executes at all."""
    needs: list[tuple[int, int]] = []
    for offset, index in enumerate(indexes):
        own = [index[seq] + 1 for seq in seqs if seq in index]
        if own:
            needs.append((first + offset, max(own)))
    return tuple(needs)


@dataclass
class _Walk:
    """One actor's way through its program: the state that nobody else can change."""

    layout: _Layout
    ordinal: Mapping[int, int]  # the wgmma group of an mma, by seq
    commits: Mapping[int, int]  # the wgmma group of a commit, by seq
    cursors: dict[str, int] = field(default_factory=dict[str, int])
    awaits: dict[int, int] = field(default_factory=dict[int, int])  # by barrier
    committed: list[int] = field(default_factory=list[int])
    stores: int = 0
    busy: dict[str, int] = field(default_factory=dict[str, int])  # acc: groups until it is free
    fenced: bool = False  # a wgmma fence was executed
    dirty: set[str] = field(default_factory=set[str])  # accumulators accessed since that fence
    negative: bool = False

    def instruction(self, seq: int, turn: Turn) -> Instruction:
        effects = self.layout.effects(turn.op)
        self.negative = False
        touches = tuple(
            self._touch(access, effects, turn)
            for access in effects.accesses
            if isinstance(access.location, SlotRef | BufferRef)
        )
        wait = self._wait(effects, turn)
        signal = effects.signal
        signalled = None if signal is None else self._barrier(signal.barrier, signal.offset, turn)
        groups, stores = self._queues(seq, effects)
        free_after = self._registers(effects)
        unfenced = self._tensor(seq, effects)
        self._move(effects, turn)
        sync = None if effects.sync is None else self._named(effects, turn)
        waits = effects.group is not None and effects.group.action == "wait"
        blocking = wait is not None or sync is not None or waits
        inert = not touches and signal is None and effects.engine is Engine.WARP
        silent = inert and not effects.accesses and effects.fence != "proxy"
        return Instruction(
            seq, turn.op, turn.k, effects, touches, self.negative, wait,
            self._lacking(effects), groups, stores, sync,
            signalled, self._delivered(effects, touches), free_after, unfenced, blocking,
            silent and not blocking and not self.negative,
        )  # fmt: skip

    def _use(self, ring: str, offset: int) -> int:
        use = self.cursors.get(ring, 0) + offset
        self.negative = self.negative or use < 0
        return use

    def _touch(self, access: Access, effects: Effects, turn: Turn) -> Touch:
        at, stages = access.location, self.layout.stages
        tile = None if access.tile is None else evaluate(access.tile, turn.names, stages)
        if isinstance(at, SlotRef):
            slab = 0 if at.slab is None else evaluate(at.slab, turn.names, stages)
            stage = self._use(at.ring, access.offset) % stages[at.ring]
            place = self.layout.place_of[at.ring, at.slot, slab, stage]
        else:
            assert isinstance(at, BufferRef)
            part = 0 if at.part is None else evaluate(at.part, turn.names, stages)
            place = self.layout.buffer_of[at.name, part]
        box = self._box(access, effects, turn)
        return Touch(place, access.writes, access.proxy is Proxy.ASYNC, tile, box)

    def _box(self, access: Access, effects: Effects, turn: Turn) -> OutputBox | None:
        """The accumulator that is stored to a place, or the box that a TMA store ships from it."""
        schedule, at = self.layout.schedule, access.location
        assert isinstance(at, SlotRef | BufferRef)
        source = schedule.storage(at)
        for other in (a.location for a in effects.accesses):
            if access.writes and isinstance(other, AccRef):
                acc = schedule.accumulator(other.name)
                return OutputBox(*acc.origin(turn.names["self"]), acc.rows, acc.cols)
            if isinstance(other, OutRef) and other.corner is not None:
                row, col = (evaluate(e, turn.names, self.layout.stages) for e in other.corner)
                return OutputBox(row, col, source.rows, source.cols)
        return None

    def _barrier(self, ref: BarrierRef, offset: int, turn: Turn) -> int:
        if isinstance(ref, RingBarrier):
            stage = self._use(ref.ring, offset) % self.layout.stages[ref.ring]
            return self.layout.barrier_of[str(ref), stage]
        index = 0 if ref.index is None else evaluate(ref.index, turn.names, self.layout.stages)
        return self.layout.barrier_of[ref.name, index]

    def _wait(self, effects: Effects, turn: Turn) -> tuple[int, int] | None:
        wait = effects.wait
        if wait is None:
            return None
        ref = wait.barrier
        barrier = self._barrier(ref, wait.offset, turn)
        if isinstance(ref, RingBarrier):
            lap = self._use(ref.ring, wait.offset) // self.layout.stages[ref.ring]
            parity = lap if ref.side == "full" else lap - 1
        else:
            parity = self.awaits.get(barrier, 0) + wait.offset
            self.negative = self.negative or (parity < 0 and wait.parity is None)
            self.awaits[barrier] = self.awaits.get(barrier, 0) + 1
        if wait.parity is not None:
            parity = evaluate(wait.parity, turn.names, self.layout.stages)
        return barrier, parity & 1

    def _lacking(self, effects: Effects) -> int | None:
        wait = effects.wait
        if wait is None or wait.parity is not None or not isinstance(wait.barrier, RingBarrier):
            return None
        ring = wait.barrier.ring
        use = self._use(ring, wait.offset) - self.layout.stages[ring]
        return use if wait.barrier.side == "empty" and use >= 0 else None

    def _queues(self, seq: int, effects: Effects) -> tuple[int, int]:
        """Commits are counted; a wait needs all that this actor committed but the last few."""
        group = effects.group
        if group is None:
            return 0, 0
        if group.action == "commit":
            if group.queue == "wgmma":
                self.committed.append(self.commits[seq])
            else:
                self.stores += 1
        if group.action != "wait":
            return 0, 0
        if group.queue == "tma-store":
            return 0, max(self.stores - group.depth, 0)
        needed = self.committed[: len(self.committed) - group.depth]
        enough = len(self.committed) > group.depth
        return (needed[-1] + 1 if enough else 0), 0

    def _registers(self, effects: Effects) -> int:
        """After how many retired groups of the team the touched registers are free."""
        free_after = 0
        if effects.fence == "wgmma":
            self.fenced = True
            self.dirty.clear()
        for access in effects.accesses:
            if isinstance(access.location, AccRef) and access.proxy is Proxy.REGISTER:
                name = access.location.name
                free_after = max(free_after, self.busy.get(name, 0))
                self.dirty.add(name)
        return free_after

    def _tensor(self, seq: int, effects: Effects) -> bool:
        """Note the accumulators of an mma as busy; whether one of them lacks its fence."""
        unfenced = False
        for access in effects.accesses:
            if isinstance(access.location, AccRef) and access.proxy is Proxy.ASYNC:
                name = access.location.name
                unfenced = unfenced or not self.fenced or name in self.dirty
                self.busy[name] = self.ordinal.get(seq, NEVER) + 1
        return unfenced

    def _move(self, effects: Effects, turn: Turn) -> None:
        cursor = effects.cursor
        if cursor is None:
            return
        if cursor.to is None:
            self.cursors[cursor.ring] = self.cursors.get(cursor.ring, 0) + 1
        else:
            self.cursors[cursor.ring] = evaluate(cursor.to, turn.names, self.layout.stages)

    def _named(self, effects: Effects, turn: Turn) -> int:
        assert effects.sync is not None
        index = effects.sync.index
        at = 0 if index is None else evaluate(index, turn.names, self.layout.stages)
        return self.layout.named_of[effects.sync.name, at]

    def _delivered(self, effects: Effects, touches: tuple[Touch, ...]) -> int:
        if effects.signal is None or not effects.signal.delivered:
            return 0
        written = [self.layout.places[t.place].slot for t in touches if t.writes]
        return sum(slot.slab_bytes for slot in written if slot is not None)
