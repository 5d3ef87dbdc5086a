"""What the machine reports: steps that were taken and hazards that were seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from schedgen.ir.ops import Place

HazardKind = Literal[
    "read-early",  # the fill of what is read has not landed, or there was none
    "wrong-tile",  # the slot holds another K tile than the reader means
    "wrong-box",  # a TMA store names another part of the output than was stored into its source
    "overwrite",  # a write is open at the same time as another access of the same place
    "accumulator",  # registers touched while an mma that uses them is pending
    "fence",  # mma without the wgmma fence that its registers need
    "proxy",  # asynchronous access to an ordinary store that was never fenced
    "count",  # an arrival on a phase whose arrivals are complete
    "bytes",  # bytes announced or delivered in another phase than they are meant for
    "phase",  # an arrival or wait bound to another phase than meant, or a phase nobody observed
    "negative-use",  # a lag that names a use before the first
    "deadlock",  # nobody can move and nothing asynchronous can complete
    "exit",  # something in flight when the last role has ended
]

Event = Literal["issue", "close", "start", "return", "land", "retire", "drain"]


class Step(NamedTuple):
    """One step of an execution.

    ``seq`` is the ordinal of the op instance in the unrolled program of the role replica.
    ``actor`` is None for what no actor does: landings, retirements, drains.  ``close`` ends the
    ordinary access that ``issue`` began.
    """

    role: str
    replica: int
    actor: int | None
    event: Event
    seq: int


@dataclass(frozen=True, kw_only=True)
class Site:
    """An op instance: who executed what, where it stands, in which turn of its loop."""

    role: str
    actor: int
    op: str
    place: Place | None
    k: int | None

    def __str__(self) -> str:
        turn = "" if self.k is None else f" at k = {self.k}"
        return f"`{self.op}` of {self.role}{turn}"


@dataclass(frozen=True, kw_only=True)
class Hazard(Site):
    """Something that went wrong at a site.

    ``where`` names the slab, buffer, accumulator or barrier; ``other`` is the access that the
    site collides with, where there is one.
    """

    kind: HazardKind
    message: str
    where: str | None
    other: Site | None
