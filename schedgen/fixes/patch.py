"""Change the lines of a source text that a repair changes, and keep all others as they are.

The printed lines of the broken schedule are laid beside the lines of the text; what differs between
the printed forms before and after is then changed in the text, with its own indentation.  The
result is parsed again and must equal the repaired schedule; else the printed form is the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff

from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule


@dataclass(frozen=True, kw_only=True)
class Patched:
    """A repaired text; ``kept`` says whether it is the given one but for the changed lines."""

    text: str
    kept: bool


def patched(source: str, broken: Schedule, repaired: Schedule) -> Patched:
    """The text of ``broken`` changed into one of ``repaired``, comments and layout kept."""
    text = _patch(source, to_text(broken).splitlines(), to_text(repaired).splitlines())
    if text is not None and _reads_as(text, repaired):
        return Patched(text=text, kept=True)
    return Patched(text=to_text(repaired), kept=False)


def diff(before: str, after: str, name: str) -> str:
    """The unified diff of two texts, under the name of the file."""
    lines = unified_diff(
        before.splitlines(), after.splitlines(), name, f"{name} (fixed)", lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)


def _reads_as(text: str, schedule: Schedule) -> bool:
    try:
        return parse(text, file="<patched>") == schedule
    except IllFormed:
        return False


def _patch(source: str, before: list[str], after: list[str]) -> str | None:
    """The changed text, None where a printed line that changes has no line of its own."""
    lines = source.splitlines(keepends=True)
    own = _own_lines(lines, before)
    edits = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    ending = "\r\n" if source.count("\r\n") * 2 > len(lines) else "\n"
    for tag, first, end, new_first, new_end in reversed(edits):
        if tag == "equal":
            continue
        at = [own.get(number) for number in range(first, end)]
        gap = own.get(end - 1 if end else 0)
        if gap is None or None in at:
            return None
        old = [number for number in at if number is not None]
        new = after[new_first:new_end]
        made: dict[int, str] = {}
        for number, text in zip(old, new, strict=False):
            made[number] = _like(lines[number], text, ending)
        model = _Indent(lines[old[-1] if old else gap], before[end - 1])
        more = [f"{model(text)}{text.strip()}{ending}" for text in new[len(old) :]]
        for number in reversed(old):
            lines[number : number + 1] = [made[number]] if number in made else []
        kept = old[: len(new)]
        place = (kept[-1] if kept else old[0] - 1 if old else gap) + 1
        if more and place and not lines[place - 1].endswith("\n"):
            lines[place - 1] += ending
        lines[place:place] = more
    return "".join(lines)


def _own_lines(lines: list[str], printed: list[str]) -> dict[int, int]:
    """The line of the text that holds exactly one printed line, by the number of the latter."""
    places = [n for n, line in enumerate(lines) if _bare(line)]
    mine, theirs = [_bare(lines[n]) for n in places], [_bare(line) for line in printed]
    found: dict[int, int] = {}
    for a, b, size in SequenceMatcher(None, theirs, mine, autojunk=False).get_matching_blocks():
        found |= {a + i: places[b + i] for i in range(size)}
    return found


def _bare(line: str) -> str:
    """A line without comment and spaces."""
    return re.sub(r"\s+", "", line.partition("#")[0].lstrip("\ufeff"))


def _like(line: str, text: str, ending: str) -> str:
    """The new text where the old one stood: indentation, comment and line end stay."""
    body = line.rstrip("\r\n")
    code = body.partition("#")[0]
    indent = code[: len(code) - len(code.lstrip())]
    return indent + text.strip() + body[len(code.rstrip()) :] + (line[len(body) :] or ending)


class _Indent:
    """The indentation for a printed line beside one whose own indentation is known."""

    def __init__(self, line: str, printed: str) -> None:
        self.own = line[: len(line) - len(line.lstrip())]
        self.depth = _depth(printed)

    def __call__(self, text: str) -> str:
        steps = _depth(text) - self.depth
        unit = self.own[: len(self.own) // self.depth] if self.depth else "  "
        return self.own + unit * steps if steps >= 0 else self.own[: len(unit) * _depth(text)]


def _depth(printed: str) -> int:
    return (len(printed) - len(printed.lstrip())) // 2
