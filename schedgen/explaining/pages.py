"""One page from its parts: the written one of the catalog, and what is executed for it."""

from __future__ import annotations

import textwrap

from schedgen.diagnostics.catalog import CATALOG, HEADINGS, page
from schedgen.explaining.commands import command_sections
from schedgen.explaining.parts import Explanation, indented, section_text
from schedgen.explaining.repairs import example_of
from schedgen.explaining.schedules import schedule_sections


def explained(code: str) -> str | None:
    """The whole page as text, None for a code that was never given."""
    it = explanation(code)
    if it is None:
        return None
    written = zip(HEADINGS, (it.means, it.why, it.example, it.fix), strict=True)
    blocks = "".join(f"{heading}\n{indented(text, by='    ')}" for heading, text in written)
    shown = "".join(map(section_text, it.sections))
    return f"{it.code} {it.slug}: {it.summary}\n\n{blocks}{shown}"


def explanation(code: str) -> Explanation | None:
    """The parts of the page of a code, None for a code that was never given."""
    entry, text = CATALOG.get(code.upper()), page(code)
    if entry is None or text is None:
        return None
    title, _, rest = text.partition("\n\n")
    written: list[str] = []
    for heading in HEADINGS:
        _, _, rest = rest.partition(f"{heading}\n")
        written.append(textwrap.dedent(_until_heading(rest)).rstrip("\n"))
    means, why, example, fix = written
    shown = example_of(entry.code)
    if shown is None:
        sections = command_sections(entry.code)
    else:
        sections = schedule_sections(entry.code, shown)
    return Explanation(
        code=entry.code, slug=entry.name, summary=title.partition(": ")[2], means=means, why=why,
        example=example, fix=fix, sections=tuple(sections),
    )  # fmt: skip


def _until_heading(text: str) -> str:
    lines = text.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if line.rstrip("\n") in HEADINGS), len(lines))
    return "".join(lines[:end])
