"""What makes a schedule meaningless, as an exception that carries a code and a place.

`diagnostics` owns the pages of the codes; this layer only names them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from schedgen.ir.ops import Place


class IllFormed(ValueError):
    """The text or value is no schedule: an SG1xx code, one sentence, and where.

    ``help`` is a way out that only this case has, such as the name that was meant.  ``lines`` are
    those that the place counts, where there is a text; ``others`` what else is wrong with it.
    """

    def __init__(
        self, *, code: str, message: str, place: Place | None, help: str | None = None,
        lines: Iterable[str] = (), others: Iterable[IllFormed] = (),
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.help = help
        self.lines = tuple(lines)
        self.others = tuple(others)

    def within(self, lines: Iterable[str]) -> IllFormed:
        """The same, with the lines of the text; so for the others."""
        self.lines = tuple(lines)
        for other in self.others:
            other.lines = self.lines
        return self

    def __str__(self) -> str:
        where = ""
        if self.place is not None:
            where = f" --> {self.place.file}:{self.place.line}:{self.place.column}"
        help = "" if self.help is None else f"; {self.help}"
        return f"error[{self.code}]: {self.message}{help}{where}"


ALIKE = 0.6
"""How much of two words must agree for one to be taken for a slip of the other."""


def did_you_mean(word: str, known: Iterable[str], *, most: int = 1) -> str | None:
    """``did you mean `tma`?``: the words that one may have meant, None where none is near."""
    words = list(dict.fromkeys(known))
    near = [each for each in words if each.lower() == word.lower()]
    near = near or difflib.get_close_matches(word, words, n=most, cutoff=ALIKE)
    if not near:
        return None
    *first, last = [f"`{each}`" for each in near[:most]]
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
