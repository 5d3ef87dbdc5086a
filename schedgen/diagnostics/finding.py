"""A finding: data first, one sentence, the rows that prove it, the missing order, one fix.

Each code is one class; the class docstring is its page (`schedgen explain CODE`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from schedgen.ir.ops import Place
from schedgen.markup import Shown


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of evidence: its part in the story, the op, where it stands, who runs it.

    ``k`` is the loop variable there, ``tile`` the K tile that the op loads or means.
    """

    label: str
    text: str
    place: Place | None
    role: str
    replica: int | None
    k: int | None
    tile: int | None

    @property
    def who(self) -> str:
        return self.role if self.replica is None else f"{self.role}[{self.replica}]"

    @property
    def when(self) -> str:
        """``k = 4``, with the tile where it is another number."""
        parts = [] if self.k is None else [f"k = {self.k}"]
        if self.tile is not None and self.tile != self.k:
            parts.append(f"tile {self.tile}")
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event of a witness.  ``seq`` counts the op instances of the replica's program."""

    role: str
    replica: int
    actor: int | None
    event: str
    seq: int
    op: str
    k: int | None
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class Finding(Shown):
    """Base of all findings.

    ``k`` is the smallest K (in tiles) that shows it, None where K does not matter.  ``also`` lists
    further places with the same cause, ``consequences`` what follows from it.
    """

    code: ClassVar[str]
    name: ClassVar[str]

    rows: tuple[Row, ...]
    missing: str | None
    fix: str
    k: int | None = None
    witness: tuple[Step, ...] = ()
    also: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        raise NotImplementedError

    @property
    def main(self) -> Row | None:
        """The row that an excerpt shows: the last op, else the last declaration."""
        placed = [row for row in self.rows if row.place is not None]
        acting = [row for row in placed if row.role]
        return (acting or placed or [None])[-1]
