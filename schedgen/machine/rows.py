"""What the explorer keeps of a program: records of instructions and loads, and their footprints."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.machine.hazard import HazardKind
from schedgen.machine.program import Touch

State = tuple[int, ...]


def packed(parity: int, pending: int, byte_count: int) -> int:
    """The state of an mbarrier as one number; both counters are signed."""
    return byte_count << 22 | (pending + (1 << 20)) << 1 | parity


def unpacked(barrier: int) -> tuple[int, int, int]:
    """Parity, pending arrivals and pending bytes."""
    return barrier & 1, (barrier >> 1 & 0x1FFFFF) - (1 << 20), barrier >> 22


class Masks:
    """What something depends on, as one number of six fields.

    Fields: mbarriers waited for (one bit for each parity), those contributed to by arrivals and by
    bytes, named barriers entered, places read and written (the accumulators of a team count as one
    more place, which the retirement of a group writes).  A *foot* says what is touched, a *clash*
    which feet matter; how contributions and waits of one mbarrier matter to each other is for
    `reduction` to say.
    """

    def __init__(self, barriers: int, named: int, places: int) -> None:
        self._barriers, self._named, self._places = barriers, named, places

    def foot(
        self, *, tests: int = 0, arrives: int = 0, fills: int = 0, entries: int = 0,
        reads: int = 0, writes: int = 0,
    ) -> int:  # fmt: skip
        """Of bit sets of barriers and places."""
        mask = tests
        for field in (arrives, fills):
            mask = mask << self._barriers | field
        mask = mask << self._named | entries
        for field in (reads, writes):
            mask = mask << self._places | field
        return mask

    def clash(self, *, entries: int = 0, reads: int = 0, writes: int = 0) -> int:
        """What must not pass something with these: two entries, an access and a write."""
        return self.foot(entries=entries, reads=writes, writes=reads | writes)


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction that is not silent."""

    at: int  # in the actor's whole code
    key: int  # number of its op instance, the same for all actors of a team
    twin: tuple[int, int]  # names it in what is expected of phases; sisters share it
    wait: int  # barrier, -1 for none
    parity: int
    groups: int
    stores: int
    sync: int  # named barrier, -1 for none
    blocking: bool
    fault: HazardKind | None  # wrong whatever the others do
    free_after: int
    touches: tuple[Touch, ...]
    ordinary: bool  # an access of two steps
    load: int  # number of the load, -1 for none
    collective: bool  # an mma: the first of the actors begins it
    fences: bool
    signal: int  # barrier, -1 for none
    arrivals: int
    expected: int
    threads: int
    foot: int
    clash: int


@dataclass(frozen=True, slots=True)
class Load:
    """A load of one actor: where it lands and which barrier it completes bytes on."""

    actor: int
    at: int
    key: int
    place: int
    tile: int | None
    barrier: int
    delivered: int
    twin: tuple[int, int]
    foot: int
    clash: int


@dataclass(frozen=True, slots=True)
class Reader:
    """An asynchronous reader of a place: open from the first of ``starts`` until its group ends.

    ``queue`` is the offset in the state that counts the groups which have ended.
    """

    key: int
    starts: tuple[tuple[int, int], ...]  # actor, position
    queue: int
    group: int


@dataclass(frozen=True, slots=True)
class Closing:
    """A group that may end once each actor is far enough; that matters to writes of what it reads,
    and to accesses of the accumulators."""

    passed: tuple[tuple[int, int], ...]
    clash: int
