"""Where the turns of growing loops lie in the unrolled programs, and which columns they form.

A *stretch* is what all roles do in their n-th loop over K; a *column* of it holds one turn of each
role, the turns that use the same ring uses together.  Turns near an end that differ from those in
the middle (guards, clamped tiles), and everything outside of the loops, are *zones*: zone m lies
before stretch m, the last one after the last stretch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from schedgen.happens_before.proof.text import Obstacle, indices_of
from schedgen.happens_before.unroll import Instance
from schedgen.ir.expr import evaluate, holds
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt


@dataclass(frozen=True)
class Block:
    """One replica's part of a stretch: ``count`` turns of ``step`` instances from ``start`` on; its
    loop, with the turns at the right that are no columns, ends before instance ``end``."""

    start: int
    step: int
    count: int
    end: int


def turn_starts(
    schedule: Schedule, role: Role, replica: int, k_tiles: int, growing: set[int]
) -> list[list[int]]:
    """For each growing loop, in the order of execution: the ordinals at which its turns start, and
    the one after its last turn."""
    walk = _Turns(schedule.stages, growing)
    walk.body(role.body, {"K": k_tiles, "self": replica})
    return walk.found


class _Turns:
    """The walk of `unroll`, counting instances instead of making them."""

    def __init__(self, stages: Mapping[str, int], growing: set[int]) -> None:
        self.stages = stages
        self.growing = growing
        self.seq = 0
        self.found: list[list[int]] = []

    def body(self, body: tuple[Stmt, ...], names: Mapping[str, int]) -> None:
        for stmt in body:
            if isinstance(stmt, Loop):
                starts: list[int] = []
                first = evaluate(stmt.first, names, self.stages)
                for value in range(first, evaluate(stmt.end, names, self.stages)):
                    starts.append(self.seq)
                    self.body(stmt.body, {**names, stmt.var: value})
                if id(stmt) in self.growing:
                    self.found.append([*starts, self.seq])
            elif isinstance(stmt, If):
                if holds(stmt.guard, names, self.stages):
                    self.body(stmt.body, names)
            else:
                self.seq += 1


def steady_turns(program: Sequence[Instance], starts: Sequence[int]) -> tuple[int, int, int]:
    """First and end of the turns that are the middle turn shifted, and the instances of one."""
    turns = [program[a:b] for a, b in pairwise(starts)]
    middle = len(turns) // 2
    first, last = middle, middle
    while first > 0 and _is_shift(turns[first - 1], turns[first]):
        first -= 1
    while last + 1 < len(turns) and _is_shift(turns[last], turns[last + 1]):
        last += 1
    return first, last + 1, len(turns[middle])


def _is_shift(turn: Sequence[Instance], following: Sequence[Instance]) -> bool:
    if len(turn) != len(following):
        return False
    tiles: set[int] = set()
    for a, b in zip(turn, following, strict=True):
        if a.op is not b.op:
            return False
        if any(a.value(x) != b.value(x) for x in indices_of(a.effects)):
            return False
        tiles |= {
            b.value(x.tile) - a.value(x.tile) for x in a.effects.accesses if x.tile is not None
        }
    return tiles <= {1} or tiles <= {-1}


@dataclass(frozen=True)
class Stretch:
    """The columns of one loop over K: each replica's part, and the uses of each ring per column.

    ``skew`` is by how many columns roles differ in where they use a ring, at most.
    """

    blocks: Mapping[int, Block]
    rates: Mapping[str, int]
    moving: Mapping[int, frozenset[str]]
    skew: int

    @property
    def length(self) -> int:
        return next(iter(self.blocks.values())).count


def stretch_of(
    programs: Sequence[Sequence[Instance]], starts: Sequence[Sequence[Sequence[int]]], number: int
) -> Stretch:
    """The columns of one stretch.

    Raises `Obstacle` where roles go through a ring at different rates.
    """
    steady: dict[int, tuple[int, int, int]] = {}
    rates: dict[int, dict[str, int]] = {}
    uses: dict[int, dict[str, int]] = {}
    for replica, loops in enumerate(starts):
        if not loops:
            continue
        first, end, step = steady_turns(programs[replica], loops[number])
        if not step or end - first < 2:
            raise Obstacle("a loop over K has no two turns alike")
        steady[replica] = (first, end, step)
        at, following = (programs[replica][loops[number][t]] for t in (first, first + 1))
        rates[replica] = {r: following.uses[r] - u for r, u in at.uses.items()}
        uses[replica] = {r: u - rates[replica][r] * first for r, u in at.uses.items()}
    rate_of = _common_rates(rates)
    shifts, skew = _aligned(rates, uses, rate_of)
    low = max(steady[r][0] + shifts[r] for r in steady)
    high = min(steady[r][1] + shifts[r] for r in steady)
    if high - low < 1:
        raise Obstacle("the roles have no turns in common")
    blocks = {
        r: Block(
            starts[r][number][low - shifts[r]], steady[r][2], high - low, starts[r][number][-1]
        )
        for r in steady
    }
    moving = {r: frozenset(ring for ring, rate in rates[r].items() if rate) for r in steady}
    return Stretch(blocks, rate_of, moving, skew)


def _common_rates(rates: Mapping[int, Mapping[str, int]]) -> dict[str, int]:
    """Uses of each moving ring per turn, the same for every replica that moves through it."""
    common: dict[str, int] = {}
    for of_rings in rates.values():
        for ring, rate in of_rings.items():
            if rate and common.setdefault(ring, rate) != rate:
                raise Obstacle(f"roles move through ring {ring} at different rates")
    return common


def _aligned(
    rates: Mapping[int, Mapping[str, int]],
    uses: Mapping[int, Mapping[str, int]],
    rate_of: Mapping[str, int],
) -> tuple[dict[int, int], int]:
    """By how many columns each replica's turns are shifted so that equal uses share a column, and
    what is left where several rings do not agree."""
    base: dict[str, int] = {}  # the use at the start of column 0
    shifts: dict[int, int] = {}
    skew = 0
    left = list(rates)
    while left:
        shared = (r for r in left if any(rates[r][ring] and ring in base for ring in rate_of))
        replica = next(shared, left[0])
        left.remove(replica)
        moving = [ring for ring in rate_of if rates[replica][ring]]
        anchor = next((ring for ring in moving if ring in base), None)
        shift = 0
        if anchor is not None:
            shift = (uses[replica][anchor] - base[anchor]) // rate_of[anchor]
        shifts[replica] = shift
        for ring in moving:
            start = uses[replica][ring] - shift * rate_of[ring]
            off = abs(start - base.setdefault(ring, start))
            skew = max(skew, -(-off // rate_of[ring]))
    return shifts, skew
