"""A comparison as text, in two columns where there is room for them, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schedgen.comparison.align import INDENT, Comparison, Row, Section, Tag

if TYPE_CHECKING:
    from rich.text import Text

NARROW = 72
"""Columns below which the two stand one under the other."""

SIGNS = {Tag.SAME: " ", Tag.CHANGED: "~", Tag.MOVED: ">", Tag.PEELED: "^", Tag.ADDED: "+",
         Tag.REMOVED: "-"}  # fmt: skip
COLOURS = {Tag.SAME: "", Tag.CHANGED: "yellow", Tag.MOVED: "cyan", Tag.PEELED: "magenta",
           Tag.ADDED: "green", Tag.REMOVED: "red"}  # fmt: skip
MIDDLE = 16
Line = tuple[str, Tag]


def comparison_text(comparison: Comparison, *, width: int) -> str:
    """The page in plain characters; ends in a line end."""
    return "\n".join(text.rstrip() for text, _ in _lines(comparison, width)) + "\n"


def comparison_rich(comparison: Comparison, *, width: int) -> Text:
    """The same characters in colour."""
    from rich.text import Text

    made = Text(no_wrap=True, overflow="ignore")
    for text, tag in _lines(comparison, width):
        made.append(text.rstrip() + "\n", style=COLOURS[tag])
    return made


def _lines(comparison: Comparison, width: int) -> Iterator[Line]:
    if comparison.is_same:
        yield f"{comparison.left} and {comparison.right} are the same", Tag.SAME
        return
    wide = width >= NARROW
    side = (width - MIDDLE) // 2
    if wide:
        head = _fit(comparison.left, side)[0].ljust(side + MIDDLE)
        yield head + _fit(comparison.right, side)[0], Tag.SAME
    else:
        yield f"- {comparison.left}", Tag.REMOVED
        yield f"+ {comparison.right}", Tag.ADDED
    for section in comparison.sections:
        if section.is_same:
            yield f"== {section.name}: the same", Tag.SAME
            continue
        yield f"== {section.name}", Tag.SAME
        for row in _worth_showing(section):
            yield from _beside(row, side) if wide else _below(row)


def _worth_showing(section: Section) -> Iterator[Row]:
    """The bodies of roles, of the declarations and of what is around a body only changes."""
    for row in section.rows:
        around = row.key in ("role", "}") and not (row.right or row.left or "").startswith(" ")
        if row.tag is not Tag.SAME or not (around or section.name == "declarations"):
            yield row


def _word(row: Row) -> str:
    if row.tag is Tag.SAME:
        return ""
    if row.tag is Tag.CHANGED:
        return row.note
    return f"{row.tag}, {row.note}" if row.note else str(row.tag)


def _beside(row: Row, side: int) -> Iterator[Line]:
    """Left, what became of it, right; parts that are too long go on in the next line."""
    sign = SIGNS[row.tag]
    left = _fit((row.left or "").removeprefix(INDENT), side)
    right = _fit((row.right or "").removeprefix(INDENT), side)
    word = _word(row)
    if len(word) > MIDDLE - 4 and row.tag is Tag.CHANGED:
        word = word.partition(" ")[2]  # the number without its name
    middle = textwrap.wrap(word, MIDDLE - 4) or [""]
    for number in range(max(len(left), len(right), len(middle))):
        parts = [part[number] if number < len(part) else "" for part in (left, middle, right)]
        mark = sign if not number else " "
        text = f"{parts[0]:<{side}} {mark} {parts[1]:<{MIDDLE - 4}} {parts[2]}"
        yield text, row.tag


def _fit(text: str, side: int) -> list[str]:
    indent = len(text) - len(text.lstrip())
    return textwrap.wrap(
        text, side, drop_whitespace=False, subsequent_indent=" " * (indent + 4)
    ) or [""]


def _below(row: Row) -> Iterator[Line]:
    """One column: what went, then what came, each with a sign in front."""
    word = _word(row)
    note = f"   # {word}" if word else ""
    if row.tag is Tag.SAME:
        yield f"  {row.right}", Tag.SAME
        return
    if row.left is not None:
        yield f"- {row.left}" + (note if row.right is None else ""), Tag.REMOVED
    if row.right is not None:
        yield f"+ {row.right}{note}", Tag.ADDED


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The JSON of `schedgen diff`: a contract that scripts depend on."""
    return {
        "left": comparison.left,
        "right": comparison.right,
        "same": comparison.is_same,
        "sections": [
            {
                "name": section.name,
                "same": section.is_same,
                "rows": [
                    {"left": r.left, "right": r.right, "tag": str(r.tag), "note": r.note}
                    for r in section.rows
                ],
            }
            for section in comparison.sections
        ],
    }
