"""Shared memory as the machine sees it: what a place holds, and who is at it right now.

Accesses are intervals: an ordinary one from its step to its close, an asynchronous one from its
issue until it has landed, retired or drained.  Two intervals of different op instances that are
open at once, one of them a write, collide.
"""

from __future__ import annotations

from typing import NamedTuple

from schedgen.machine.hazard import HazardKind
from schedgen.machine.program import RESULTS, OutputBox, Touch


class Open(NamedTuple):
    """An access that has begun and not ended; ``key`` is (team, seq) of its op instance."""

    key: tuple[int, int]
    actor: int
    at: int  # of its instruction in the actor's code
    touch: Touch


class Objection(NamedTuple):
    """What is wrong with an access that begins, and with which open one it collides."""

    kind: HazardKind
    message: str
    other: Open | None


class Slab:
    """One place: a slab of a stage, or a staging buffer.

    ``tile`` is the K tile it holds, RESULTS after a store of an accumulator, None if there was
    neither; ``box`` the part of the output, where an accumulator was stored last.
    ``unfenced`` holds the actors whose ordinary stores no proxy fence of theirs has followed.
    """

    __slots__ = ("box", "filler", "open", "tile", "unfenced")

    def __init__(self) -> None:
        self.filler: tuple[int, int] | None = None  # key of the op instance that wrote last
        self.tile: int | None = None
        self.box: OutputBox | None = None
        self.open: list[Open] = []
        self.unfenced: set[int] = set()

    def begin(self, access: Open) -> list[Objection]:
        """Open an access; its sisters of the same op instance have perhaps done so before."""
        first = all(other.key != access.key for other in self.open)
        found = list(self._collisions(access)) if first or not access.touch.asynchronous else []
        if first:
            found += self._contents(access, collided=bool(found))
            if access.touch.asynchronous and self.unfenced:
                found.append(Objection("proxy", _PROXY, None))
        self.open.append(access)
        if access.touch.writes and not access.touch.asynchronous:
            self.unfenced.add(access.actor)
        return found

    def end(self, key: tuple[int, int], actor: int | None) -> None:
        """Close what the op instance opened here; with an actor, only its part."""
        self.open = [
            o for o in self.open if o.key != key or (actor is not None and o.actor != actor)
        ]

    def land(self, key: tuple[int, int], tile: int | None) -> None:
        """A TMA load has written the whole place; that needs no proxy fence any more."""
        self.filler, self.tile, self.box = key, tile, None
        self.unfenced.clear()

    def store(self, key: tuple[int, int], box: OutputBox | None) -> None:
        """An ordinary store changes the place, and does not change which tile it holds; results
        are no tile."""
        self.filler, self.box = key, box
        if box is not None:
            self.tile = RESULTS

    def _collisions(self, access: Open) -> list[Objection]:
        new = access.touch
        found: list[Objection] = []
        told = {access.key}  # the actors of an op instance collide as one
        for other in self.open:
            old = other.touch
            if other.key in told or not (new.writes or old.writes):
                continue
            told.add(other.key)
            if new.writes:
                deed = "written" if old.writes else "read"
                found.append(Objection("overwrite", f"is written while it is still {deed}", other))
            elif self._is_fill_of(other, new):
                found.append(Objection("read-early", "is read before its fill is complete", other))
            else:
                found.append(Objection("overwrite", "is read while it is overwritten", other))
        return found

    def _is_fill_of(self, write: Open, read: Touch) -> bool:
        """Whether the reader means what this write brings, rather than what was there before."""
        if write.touch.tile is not None and read.tile is not None:
            return write.touch.tile == read.tile
        return self.filler in (None, write.key)

    def _contents(self, access: Open, *, collided: bool) -> list[Objection]:
        """Whether a reader finds what it means; where it collides the collision says enough."""
        meant = access.touch.tile
        if access.touch.writes or collided:
            return []
        if self.filler is None:
            return [Objection("read-early", "is read and nothing has filled it", None)]
        named = access.touch.box
        if named is not None and self.box != named:
            holds = "no results" if self.box is None else str(self.box)
            message = f"holds {holds} where the reader means {named}"
            return [Objection("wrong-box", message, None)]
        if access.touch.ships and self.tile not in (None, RESULTS):
            message = f"holds tile {self.tile} where the reader means results"
            return [Objection("wrong-box", message, None)]
        if meant is not None and self.tile is not None and self.tile != meant:
            holds = "results" if self.tile == RESULTS else f"tile {self.tile}"
            message = f"holds {holds} where the reader means tile {meant}"
            return [Objection("wrong-tile", message, None)]
        return []


_PROXY = "holds an ordinary store that its own threads have not fenced for the async proxy"
