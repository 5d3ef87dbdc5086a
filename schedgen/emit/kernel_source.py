"""The text of a kernel: a string that a notebook shows as what it is, Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedgen.markup import Shown

if TYPE_CHECKING:
    from rich.text import Text


class KernelSource(str, Shown):
    """A string in every way but in how notebooks show it."""

    __slots__ = ()

    def _styled(self, *, width: int) -> Text:
        from rich.syntax import Syntax

        made = Syntax("", "python", theme="ansi_dark", background_color="default")
        return made.highlight(str(self))
