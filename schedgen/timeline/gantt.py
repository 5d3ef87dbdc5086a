"""A timeline as text: one row per lane, one character per column of time.

The words and letters say everything; colour, where it is allowed, says it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedgen.timeline.columns import Columns, fitting, runs
from schedgen.timeline.legend import facts
from schedgen.timeline.model import Bar, Kind, Lane, Timeline

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 80
LEAST_WIDTH = 40
NAME_WIDTH = 14
"""The widest name of a lane; longer ones are cut."""

WAITS = {Kind.BARRIER: ".", Kind.GROUP: "-", Kind.STORE: "#"}
SEVERAL = "+"
"""Stands where more than one thing would have to be drawn."""

PATH_LETTERS = {"transfer": "t", "mma": "m"}
"""The path's letters: other hops are `h`, hand-overs and what a warp does in between."""

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red", "bright_cyan", "bright_yellow")
STYLES = {"wait": "dim", "bubble": "bold red", "clash": "bold white on red", "limit": "bold",
          "head": "bold", "axis": "dim", "": ""}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A piece of a line and the name of its style."""

    text: str
    style: str = ""


Line = list[Cell]


def gantt_text(timeline: Timeline, *, width: int) -> str:
    """The picture in plain characters, at most ``width`` wide (40 or more); ends in a line end."""
    lines = ("".join(cell.text for cell in line).rstrip() for line in _lines(timeline, width))
    return "\n".join(lines) + "\n"


def rich_text(timeline: Timeline, *, width: int) -> Text:
    """The same characters with styles."""
    from rich.text import Text

    made = Text(no_wrap=True, overflow="ignore")
    for line in _lines(timeline, width):
        for cell in line:
            made.append(cell.text, style=_style(cell.style))
        made.append("\n")
    return made


def _style(name: str) -> str:
    if name.startswith("stage"):
        return COLOURS[int(name[5:]) % len(COLOURS)]
    return STYLES[name]


def stage_style(letter: str) -> str:
    return f"stage{ord(letter) - ord('A')}" if letter else ""


def _lines(timeline: Timeline, width: int) -> Iterator[Line]:
    width = max(width, LEAST_WIDTH)
    name_width = min(max((len(x.name) for x in timeline.lanes), default=0), NAME_WIDTH)
    room = width - name_width - 2
    timeline = fitting(timeline, room)
    columns = Columns(timeline, room)
    rows = [(lane.name, _lane(timeline, lane, columns)) for lane in timeline.lanes]
    rows = [(name, cells) for name, cells in rows if any(cell.text.strip() for cell in cells)]
    for text in _wrapped(_title(timeline), width):
        yield [Cell(text, "head")]
    yield [Cell(" " * (name_width + 2)), Cell(columns.axis(), "axis")]
    for name, cells in rows:
        yield _named(name, name_width, cells)
    path = _path(timeline, columns)
    if path:
        yield _named("path", name_width, path)
    crowded = any(SEVERAL in cell.text for _, cells in rows for cell in cells)
    for label, text in facts(timeline, columns.scale):
        if label == "path" and not path:
            continue
        if label == "signs" and crowded:
            text += f"  {SEVERAL} more than one of these"
        for number, part in enumerate(_wrapped(text, width - 11)):
            yield [Cell(f"{label if not number else '':<9}"), Cell("  " + part)]


def _title(timeline: Timeline) -> str:
    if timeline.unit == "steps":
        steps = timeline.end - 1
        return f"{timeline.title}: a witness of {steps} steps, numbered as `schedgen replay` does"
    return f"{timeline.title}: {timeline.shown:,} cycles to the {timeline.until}"


def _named(name: str, width: int, cells: Line) -> Line:
    cut = name if len(name) <= width else name[: width - 1] + "~"
    return [Cell(f"{cut:<{width}}  "), *cells]


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width``; a longer word stands alone."""
    import textwrap

    options = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": "  "}
    return textwrap.wrap(text, width, drop_whitespace=True, **options) or [""]


def _merged(cells: Sequence[tuple[str, str]]) -> Line:
    """Neighbours of one style as one cell."""
    made: Line = []
    for text, style in cells:
        if made and made[-1].style == style:
            made[-1] = Cell(made[-1].text + text, style)
        else:
            made.append(Cell(text, style))
    return made


def _lane(timeline: Timeline, lane: Lane, columns: Columns) -> Line:
    cells = [(" ", "")] * columns.count
    if lane.serial:
        _engine(timeline, lane, columns, cells)
    else:
        _role(timeline, lane, columns, cells)
    if any(bar.clash for bar in lane.bars):
        first = next(bar for bar in lane.bars if bar.clash)
        for column in columns.covered(*(timeline.clash or (first.begin, first.end))):
            cells[column] = ("!", "clash")
    return _merged(cells)


def _role(timeline: Timeline, lane: Lane, columns: Columns, cells: list[tuple[str, str]]) -> None:
    """Waits as stretches; over them where an mma or load is issued, where a stage goes back: in the
    column of that time, or the next where that is taken.

    Of a witness, where each step is a column, every op is seen.
    """
    signs = {**WAITS, Kind.OP: "="} if timeline.unit == "steps" else WAITS
    for kind, sign in signs.items():
        bars = [bar for bar in lane.bars if bar.kind is kind]
        for column in columns.mostly(bars):
            cells[column] = (sign, "wait")
    taken: set[int] = set()
    for bar, mark in _marks(lane.bars, witness=timeline.unit == "steps"):
        if timeline.first <= bar.begin < timeline.stop:
            column = columns.free(bar.begin, taken)
            if column is None:
                cells[columns.of(bar.begin)] = (SEVERAL, "")
            else:
                cells[column] = mark


def _marks(bars: Sequence[Bar], *, witness: bool) -> Iterator[tuple[Bar, tuple[str, str]]]:
    """The first load or mma of each stage and tile, and what goes back.

    Small letters say which stage that is, but where the tensor core's stand for odd replicas.
    """
    last: tuple[str, int | None] | None = None
    for bar in bars:
        if bar.op.startswith("release"):
            small = bar.letter.lower() if witness else ""
            yield bar, (small, stage_style(bar.letter)) if small else ("^", "limit")
        elif bar.kind is Kind.OP and bar.op.startswith(("load ", "mma ")):
            if (bar.letter, bar.tile) != last:
                yield bar, (bar.letter or "*", stage_style(bar.letter))
            last = bar.letter, bar.tile


def _engine(timeline: Timeline, lane: Lane, columns: Columns, cells: list[tuple[str, str]]) -> None:
    """Bars filled with the letter of their stage, `_` where the engine stood idle."""
    bubbles = timeline.bubbles if lane.name == "tensor core" else ()
    for column in columns.mostly_within(bubbles):
        cells[column] = ("_", "bubble")
    taken: set[int] = set()
    for begin, end, (bar, *_) in runs([bar for bar in lane.bars if timeline.sees(bar)]):
        letter = bar.letter or "#"
        if lane.name == "tensor core" and bar.replica % 2:
            letter = letter.lower()
        covered = columns.covered(begin, end)
        if not covered and timeline.first <= begin and end <= timeline.stop:
            covered = range(columns.of(begin), columns.of(begin) + 1)
        for column in covered:
            several = column in taken
            cells[column] = (SEVERAL, "") if several else (letter, stage_style(bar.letter))
            taken.add(column)


def _path(timeline: Timeline, columns: Columns) -> Line:
    """Empty where the picture lies beyond it."""
    cells = [(" ", "")] * columns.count
    for step in timeline.path:
        sign = PATH_LETTERS.get(step.why, "h")
        for column in columns.covered(step.begin, step.end):
            cells[column] = (sign.upper(), "limit") if step.settled else (sign, "wait")
    return _merged(cells) if any(sign != " " for sign, _ in cells) else []
