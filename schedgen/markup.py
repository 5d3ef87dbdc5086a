"""Values that show themselves: plain in `str`, styled by rich, and as HTML in notebooks.

The HTML stands alone and takes its colours from the page, light or dark: what is coloured is mixed
with the colour of the text around it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.style import Style
    from rich.text import Text

WIDTH = 80
"""Columns of what is plain."""

PAGE_WIDTH = 110
"""Columns in a notebook; what is wider scrolls in its own box."""

PRE = (
    "<pre style='font:12.5px/1.35 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
    "margin:.3em 0;padding:0;overflow:auto;max-height:70em;background:none;color:inherit'>{}</pre>"
)
HUES = {"red": "#e5161e", "green": "#0a9c3f", "yellow": "#b58100", "blue": "#1f6fe5",
        "magenta": "#b5179e", "cyan": "#0791a8"}  # fmt: skip


class Shown:
    """Gives a value its forms; `_styled` is the one that it must have."""

    def __init_subclass__(cls) -> None:
        # In the class's own dictionary: else IPython prefers the `__repr__` of a dataclass.
        cls._repr_pretty_ = Shown._repr_pretty_
        if "__repr__" not in vars(cls):  # and `dataclass` makes none where one is there
            cls.__repr__ = Shown.__repr__

    def _styled(self, *, width: int) -> Text:
        """The words with their colours, at most ``width`` wide where that can be."""
        raise NotImplementedError

    def __str__(self) -> str:
        return _plain(self._styled(width=WIDTH))

    def __repr__(self) -> str:
        return brief(self, str(self).partition("\n")[0])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self._styled(width=options.max_width)
        text.rstrip()
        yield text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(_plain(self._styled(width=WIDTH)))

    def _repr_html_(self) -> str:
        return section(type(self).__name__, preformatted(self._styled(width=PAGE_WIDTH)))


def _plain(text: Text) -> str:
    """The words alone: no blanks at the ends of lines, no empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.plain.rstrip().split("\n"))


def brief(value: object, words: str) -> str:
    """A `repr` of one line, such as ``<Verdict refuted: SG203 at K = 5>``."""
    words = " ".join(words.split())
    shown = words if len(words) <= WIDTH else f"{words[: WIDTH - 3]}..."
    return f"<{type(value).__name__} {shown.rstrip(' ,;:')}>"


def section(label: str, *parts: str) -> str:
    """One element with all parts; no line of it is empty, so that Markdown lets it through."""
    text = f"<div role='group' aria-label='{escape(label)}'>{''.join(parts)}</div>"
    return text.replace("\n\n", "\n&#10;").replace("\n\n", "\n&#10;")


def folded(summary: str, content: str) -> str:
    """What is there when one asks for it."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def preformatted(text: Text) -> str:
    """The words as they are, in the colours of a page."""
    from rich.console import Console

    console = Console(color_system="truecolor", width=1000)
    text = text.copy()
    text.rstrip()
    parts = [_span(s.text, s.style) for s in text.render(console)]
    return PRE.format("".join(parts))


def _span(text: str, style: Style | None) -> str:
    css = "" if style is None else ";".join(_css(style))
    return f"<span style='{css}'>{escape(text)}</span>" if css else escape(text)


def _css(style: Style) -> list[str]:
    made = ["font-weight:600"] if style.bold else []
    if style.bgcolor is not None and not style.bgcolor.is_default:
        return [*made, f"background:{HUES['red']}", "color:#fff"]
    hue = HUES.get((style.color.name if style.color else "").removeprefix("bright_"))
    if hue is not None:
        made.append(f"color:color-mix(in srgb,{hue} 75%,currentColor)")
    elif style.dim or style.italic:
        made.append("opacity:.75")
    return made
