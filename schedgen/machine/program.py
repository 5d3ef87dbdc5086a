"""A schedule at one trip count, made ready to run: what each actor executes, fully resolved.

Every role replica of more than one warp runs as three actors, the elected thread's warp and two
others (two warps: two actors).  Control flow depends on K alone, so the walk of a program is
straight: the place of an actor in its loops is an index into its list of instructions.  Cursors,
await counts, group membership and register fences depend on the actor's own past alone, and are
resolved along that walk; everything that depends on anyone else is left to the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from schedgen.ir.effects import Effects
from schedgen.ir.expr import evaluate, holds
from schedgen.ir.ops import Op
from schedgen.ir.schedule import WARP_THREADS, Buffer, If, Loop, Role, Schedule, Slot, Stmt

NEVER = 1 << 60
"""A number of retired groups that is never reached: the mma was not committed."""

RESULTS = -1 << 60
"""In the place of a K tile: an accumulator was stored there."""


class Turn(NamedTuple):
    """An executed op instance of a role replica; its ordinal is its index in the unrolling."""

    op: Op
    names: Mapping[str, int]
    k: int | None


class OutputBox(NamedTuple):
    """A box of the CTA's output tile."""

    row: int
    col: int
    rows: int
    cols: int

    def __str__(self) -> str:
        rows, columns = (self.row, self.row + self.rows), (self.col, self.col + self.cols)
        return "rows {}..{}, columns {}..{}".format(*rows, *columns)


class Touch(NamedTuple):
    """An access to a place in shared memory; ``tile`` None names no K tile.

    ``box`` is the part of the output that an accumulator brings there, or that a TMA store names.
    """

    place: int
    writes: bool
    asynchronous: bool
    tile: int | None
    box: OutputBox | None

    @property
    def ships(self) -> bool:
        """Whether a TMA store reads here: all else that reads behind a warp's back is an mma."""
        return self.asynchronous and not self.writes and self.tile is None


class Instruction(NamedTuple):
    """A turn as one kind of actor executes it."""

    seq: int
    op: Op
    k: int | None
    effects: Effects
    touches: tuple[Touch, ...]
    negative: bool  # names a use before the first
    wait: tuple[int, int] | None  # barrier, parity
    lacking: int | None  # the use whose release a wait on an empty barrier waits for
    groups: int  # wgmma groups of the team that must have retired
    stores: int  # groups of TMA stores of the actor that must have drained
    sync: int | None  # named barrier
    signalled: int | None  # barrier
    delivered: int  # bytes
    free_after: int  # retired groups after which the registers it accesses are free
    unfenced: bool  # an mma whose registers lack the wgmma fence
    blocking: bool
    silent: bool  # concerns nobody but the actor and cannot go wrong


class StorePlace(NamedTuple):
    """A slab of a stage of a ring, or a staging buffer."""

    name: str
    slot: Slot | None
    slab: int
    buffer: Buffer | None


class Group(NamedTuple):
    """A wgmma group: the mma that it closes, and how far each actor must be for it to retire."""

    commit: int
    mma: tuple[int, ...]
    passed: tuple[tuple[int, int], ...]


class Batch(NamedTuple):
    """A group of TMA stores of one actor: the store-commit, and the stores it closes."""

    commit: int
    stores: tuple[int, ...]


@dataclass(frozen=True)
class Team:
    """A role replica: its actors share the groups of its mma."""

    role: Role
    replica: int
    actors: range
    groups: tuple[Group, ...]
    loose: tuple[int, ...]  # mma that no commit follows

    @property
    def label(self) -> str:
        return self.role.label(self.replica)


@dataclass(frozen=True)
class Actor:
    """Warps of a role replica that move together; rank 0 is the elected thread's warp."""

    team: int
    rank: int
    warps: range
    code: tuple[Instruction, ...]
    index: Mapping[int, int]  # of an instruction by its seq
    batches: tuple[Batch, ...]
    loose: tuple[int, ...]  # TMA stores that no commit follows

    @property
    def threads(self) -> int:
        return WARP_THREADS * len(self.warps)


@dataclass(frozen=True)
class Program:
    """Everything of an execution that does not change."""

    schedule: Schedule
    k_tiles: int
    teams: tuple[Team, ...]
    actors: tuple[Actor, ...]
    barriers: tuple[tuple[str, int], ...]  # name, arrival count
    named: tuple[tuple[str, int], ...]  # name, threads
    places: tuple[StorePlace, ...]


def warps_of_actors(warps: int) -> list[range]:
    """One warp for the elected thread; up to two other actors share the rest evenly."""
    others = min(warps - 1, 2)
    sizes = [1] + [(warps - 1 + others - 1 - i) // others for i in range(others)]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def unroll(role: Role, replica: int, *, k_tiles: int, stages: Mapping[str, int]) -> list[Turn]:
    """Every op instance that a replica executes, in order; blocks with a false guard have none."""

    def walk(body: tuple[Stmt, ...], names: Mapping[str, int], k: int | None) -> Iterator[Turn]:
        for stmt in body:
            if isinstance(stmt, Loop):
                first = evaluate(stmt.first, names, stages)
                for value in range(first, evaluate(stmt.end, names, stages)):
                    if stmt.var == "_":
                        yield from walk(stmt.body, names, k)
                    else:
                        yield from walk(stmt.body, {**names, stmt.var: value}, value)
            elif isinstance(stmt, If):
                if holds(stmt.guard, names, stages):
                    yield from walk(stmt.body, names, k)
            else:
                yield Turn(stmt, names, k)

    return list(walk(role.body, {"K": k_tiles, "self": replica}, None))
