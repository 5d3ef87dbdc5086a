"""Two schedules side by side: which statement of one is which of the other.

Declarations are aligned line by line, roles by name, statements block by block: a loop meets a
loop, an op an op of the same *key*, which is its text without the numbers that a pass changes (lag,
depth, tile, bytes).  What is left over on one side was removed or added, *moved* if the other side
has one of its key left over too (of several one that is in a loop like it), or *peeled* if it is a
copy, outside of loops, of an op that stands in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING

from schedgen.ir.ops import Op
from schedgen.ir.printer import to_text, width_text
from schedgen.ir.schedule import If, Loop, Role, Schedule, Stmt
from schedgen.markup import Shown

if TYPE_CHECKING:
    from rich.text import Text


class Tag(StrEnum):
    """What became of a line."""

    SAME = "same"
    CHANGED = "changed"
    MOVED = "moved"
    PEELED = "peeled"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the one, of the other, or of both; ``note`` says what changed in it.

    ``key`` is what it is aligned by, ``in_loop``: a loop is around it.
    """

    left: str | None
    right: str | None
    tag: Tag
    note: str
    key: str
    in_loop: bool


@dataclass(frozen=True, kw_only=True)
class Section:
    """The declarations, or one role."""

    name: str
    rows: tuple[Row, ...]

    @property
    def is_same(self) -> bool:
        return all(row.tag is Tag.SAME for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Comparison(Shown):
    """Two schedules by section."""

    left: str
    right: str
    sections: tuple[Section, ...]

    @property
    def is_same(self) -> bool:
        return all(section.is_same for section in self.sections)

    def _styled(self, *, width: int) -> Text:
        from schedgen.comparison.text import comparison_rich

        return comparison_rich(self, width=width)

    @property
    def changes(self) -> Iterator[tuple[str, Row]]:
        """Every row that is not the same, with its section."""
        for section in self.sections:
            yield from ((section.name, row) for row in section.rows if row.tag is not Tag.SAME)


INDENT = "  "


@dataclass(frozen=True)
class _Line:
    """A line with its key; a block has its inner lines, and its end as the last one."""

    text: str
    key: str
    inner: tuple[_Line, ...] = ()
    is_loop: bool = False

    def lines(self, indent: str, *, in_loop: bool) -> Iterator[tuple[str, _Line, bool]]:
        """Every line with its text and whether a loop is around it."""
        yield indent + self.text, self, in_loop
        if self.inner:
            for line in self.inner[:-1]:
                yield from line.lines(indent + INDENT, in_loop=in_loop or self.is_loop)
            yield indent + self.inner[-1].text, self.inner[-1], in_loop


def compare(left: Schedule, right: Schedule) -> Comparison:
    """The comparison of two schedules; their names take no part."""
    sections = [Section(name="declarations", rows=tuple(_rows(_head(left), _head(right))))]
    mine, other = ({r.name: r for r in s.roles} for s in (left, right))
    for name in dict.fromkeys([*mine, *other]):
        rows = _rows(_role(mine.get(name)), _role(other.get(name)))
        loops = set(_in_loops(_role(mine.get(name)), inside=False))
        told = _blocks_told([*_told(list(rows), loops)])
        sections.append(Section(name=f"role {name}", rows=tuple(told)))
    return Comparison(left=left.name, right=right.name, sections=tuple(sections))


# --- lines
def _head(schedule: Schedule) -> list[_Line]:
    """Everything above the first role but the name."""
    lines = to_text(replace(schedule, roles=())).splitlines()[1:]
    return [_Line(line, _key(line)) for line in lines]


def _role(role: Role | None) -> list[_Line]:
    if role is None:
        return []
    replicas = "" if role.replicas is None else f"[{role.replicas}]"
    head = f"role {role.name}{replicas} {width_text(role.warps)} {{"
    return [_block(head, "role", role.body, is_loop=False)]


def _block(head: str, key: str, body: Sequence[Stmt], *, is_loop: bool) -> _Line:
    inner = (*map(_line, body), _Line("}", "}"))
    return _Line(head, key, inner, is_loop)


def _line(stmt: Stmt) -> _Line:
    if isinstance(stmt, Op):
        return _Line(stmt.text, _key(stmt.text))
    if isinstance(stmt, Loop):
        head = f"for {stmt.var} in {stmt.first}..{stmt.end} {{"
        over_k = "K" in f"{stmt.first}..{stmt.end}"
        return _block(head, f"for {over_k}", stmt.body, is_loop=True)
    assert isinstance(stmt, If)
    return _block(f"if {stmt.guard} {{", "if", stmt.body, is_loop=False)


def _key(text: str) -> str:
    """The text without offsets, and without numbers and turns that stand outside of brackets."""
    text = re.sub(r" (lag|ahead) \d+", "", text)
    parts = re.split(r"(\[[^\]]*\])", text)
    outside = [re.sub(r"\b(\d+|[kK])\b( *[-+*] *\d+)*", "#", part) for part in parts[::2]]
    return "".join(chain.from_iterable(zip(outside, [*parts[1::2], ""], strict=True)))


def _in_loops(lines: Sequence[_Line], *, inside: bool) -> Iterator[str]:
    for line in lines:
        if inside and _is_op(line.key):
            yield line.key
        yield from _in_loops(line.inner, inside=inside or line.is_loop)


# --- alignment
def _rows(
    left: Sequence[_Line], right: Sequence[_Line], indent: str = "", *, in_loop: bool = False
) -> Iterator[Row]:
    matcher = SequenceMatcher(
        None, [line.key for line in left], [line.key for line in right], autojunk=False
    )
    for tag, i, j, m, n in matcher.get_opcodes():
        if tag == "equal":
            for a, b in zip(left[i:j], right[m:n], strict=True):
                yield from _pair(a, b, indent, in_loop=in_loop)
            continue
        for line in left[i:j]:
            for text, part, looped in line.lines(indent, in_loop=in_loop):
                yield Row(
                    left=text, right=None, tag=Tag.REMOVED, note="", key=part.key, in_loop=looped
                )
        for line in right[m:n]:
            for text, part, looped in line.lines(indent, in_loop=in_loop):
                yield Row(
                    left=None, right=text, tag=Tag.ADDED, note="", key=part.key, in_loop=looped
                )


def _pair(a: _Line, b: _Line, indent: str, *, in_loop: bool) -> Iterator[Row]:
    note = "" if a.text == b.text else difference(a.text, b.text)
    row = Row(
        left=indent + a.text, right=indent + b.text, tag=Tag.CHANGED if note else Tag.SAME,
        note=note, key=a.key, in_loop=in_loop,
    )  # fmt: skip
    yield row
    if a.inner and b.inner:
        inner = in_loop or a.is_loop
        yield from _rows(a.inner[:-1], b.inner[:-1], indent + INDENT, in_loop=inner)
        end = indent + "}"
        yield replace(row, left=end, right=end, tag=Tag.SAME, note="", key="}")


def difference(a: str, b: str) -> str:
    """What differs in two lines: ``lag 0 -> 1``, ``stages 3 -> 4``, ``k -> k + 3``."""
    (before, lag), (after, new_lag) = (_offset(text) for text in (a, b))
    told = [_words(before.split(), after.split())] if before != after else []
    if lag != new_lag:
        word = "lag" if min(lag, new_lag) < 0 else "ahead"
        told.append(f"{word} {abs(lag)} -> {abs(new_lag)}")
    return ", ".join(told)


def _words(one: list[str], two: list[str]) -> str:
    """The words in which two lines differ, with the name of the number in front, if it has one."""
    if len(one) == len(two):
        where = [n for n, (x, y) in enumerate(zip(one, two, strict=True)) if x != y]
        changes = [f"{one[n].rstrip(',')} -> {two[n].rstrip(',')}" for n in where]
        named = one[where[0] - 1] if where[0] and one[where[0] - 1].isalpha() else ""
        return f"{'' if named in ('in', 'if') else named} {', '.join(changes)}".strip()
    least = min(len(one), len(two)) - 1
    same = next((n for n in range(least) if one[n] != two[n]), least)
    return f"{' '.join(one[same:])} -> {' '.join(two[same:])}"


def _offset(text: str) -> tuple[str, int]:
    """A text without its offset, and the offset."""
    found = re.search(r" (lag|ahead) (\d+)", text)
    if found is None:
        return text, 0
    sign = -1 if found[1] == "lag" else 1
    return text[: found.start()] + text[found.end() :], sign * int(found[2])


# --- what became of the rest
def _told(rows: list[Row], loops: set[str]) -> Iterator[Row]:
    """Removed and added lines of one key are moved; copies of what stands in a loop are peeled."""
    gone = [row for row in rows if row.tag is Tag.REMOVED and _is_op(row.key)]
    come = [row for row in rows if row.tag is Tag.ADDED and _is_op(row.key)]
    moved: dict[int, str] = {}
    for row, alike in [(row, alike) for alike in (True, False) for row in come]:
        if id(row) in moved:
            continue
        match = next(
            (g for g in gone if g.key == row.key and (g.in_loop == row.in_loop or not alike)), None
        )
        if match is not None:
            gone.remove(match)
            assert match.left is not None
            assert row.right is not None
            one, two = match.left.strip(), row.right.strip()
            note = "" if one == two else difference(one, two)
            moved[id(match)] = moved[id(row)] = note
    for row in rows:
        if id(row) in moved:
            yield replace(row, tag=Tag.MOVED, note=moved[id(row)])
        elif row.tag is Tag.ADDED and row.key in loops and not row.in_loop:
            yield replace(row, tag=Tag.PEELED)
        else:
            yield row


def _blocks_told(rows: Sequence[Row]) -> list[Row]:
    """An added block of nothing but peeled or moved ops is so too, with its end."""
    made = list(rows)
    opened: list[int] = []
    for number, row in enumerate(rows):
        if row.right is None or _is_op(row.key):
            continue
        if row.key != "}":
            opened.append(number)
            continue
        first = opened.pop()
        inner = {r.tag for r in made[first + 1 : number] if r.right is not None}
        if row.tag is Tag.ADDED and inner in ({Tag.PEELED}, {Tag.MOVED}):
            for end in (first, number):
                made[end] = replace(made[end], tag=min(inner))
    return made


def _is_op(key: str) -> bool:
    return key not in ("}", "if", "role") and not _is_loop(key)


def _is_loop(key: str) -> bool:
    return key.startswith("for ")
