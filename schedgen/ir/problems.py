"""What makes a schedule meaningless, as an exception that carries a code and a place.

`diagnostics` owns the pages of the codes; this layer only names them.
"""

from __future__ import annotations

from schedgen.ir.ops import Place


class IllFormed(ValueError):
    """The text or value is no schedule: an SG1xx code, one sentence, and where."""

    def __init__(self, *, code: str, message: str, place: Place | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place

    def __str__(self) -> str:
        where = ""
        if self.place is not None:
            where = f" --> {self.place.file}:{self.place.line}:{self.place.column}"
        return f"error[{self.code}]: {self.message}{where}"
