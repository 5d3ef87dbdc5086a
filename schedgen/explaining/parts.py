"""The parts of a page, and how they look as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Literal

from schedgen.happens_before.judge import Outcome, Verdict

if TYPE_CHECKING:
    from schedgen.timeline import Timeline

Part = Literal["picture", "words", "fix"]
Kind = Literal["text", "console", "diff", "timeline"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """One block under its heading.

    ``part`` is what it is for; a section with the schedule and its repair is the fix.  ``kind`` is
    what its lines are.  ``works`` says for a fix whether it was judged right when the page was
    made; ``note`` is a line under the block; ``timeline`` is what ``text`` draws of one.
    """

    heading: str
    part: Part
    kind: Kind
    text: str
    works: bool | None = None
    note: str | None = None
    timeline: Timeline | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The page of a code.  ``means``, ``why``, ``example`` and ``fix`` are its written part."""

    code: str
    slug: str
    summary: str
    means: str
    why: str
    example: str
    fix: str
    sections: tuple[Section, ...]


def section_text(section: Section) -> str:
    """A section as it is printed: the lines of a difference stand where those of a text would."""
    by = "  " if section.kind == "diff" else "    "
    note = "" if section.note is None else f"    # {section.note}\n"
    return f"{section.heading}\n{indented(section.text, by=by)}{note}"


def indented(text: str, *, by: str) -> str:
    """Every line further to the right, without spaces at its end."""
    return "".join(f"{by}{line}".rstrip() + "\n" for line in text.splitlines())


def judged_as(verdict: Verdict) -> str:
    """What a heading may claim of a repair."""
    return "proved for every K" if verdict.outcome is Outcome.PROVED else str(verdict.outcome)


def difference(before: str, after: str, *, context: int) -> str:
    """What changes, between some lines that do not; ``...`` where lines are left out."""
    return "\n".join(_hunks(before.splitlines(), after.splitlines(), context))


def _hunks(before: Sequence[str], after: Sequence[str], context: int) -> Iterator[str]:
    seen = False
    for line in unified_diff(before, after, n=context, lineterm=""):
        if line.startswith(("---", "+++")) and not seen:
            continue
        if line.startswith("@@"):
            if seen:
                yield " ..."
            seen = True
        else:
            yield line
