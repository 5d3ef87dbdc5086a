"""What every op is: frozen data with a keyword, a text and declared effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from schedgen.ir.effects import Effects, Executor


@dataclass(frozen=True)
class Place:
    """Where something stands in a text: 1-based line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Op:
    """Base of all ops.

    ``offset`` shifts the uses that the op names: -d prints as ``lag d``, +d as ``ahead d``.
    ``by`` overrides who executes the op (an escape for judging real bugs).
    """

    keyword: ClassVar[str]
    executed_by: ClassVar[Executor]

    offset: int = 0
    by: Executor | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def executor(self) -> Executor:
        return self.by or self.executed_by

    @property
    def body(self) -> str:
        """The text between keyword and suffixes."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        parts = [self.keyword, self.body]
        if self.offset:
            parts.append(f"lag {-self.offset}" if self.offset < 0 else f"ahead {self.offset}")
        if self.by is not None:
            parts.append(f"by {self.by}")
        return " ".join(part for part in parts if part)

    def effects(self) -> Effects:
        raise NotImplementedError
