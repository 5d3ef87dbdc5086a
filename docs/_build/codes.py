"""A page for each code: what `schedgen explain` says, its witness drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import flowchart

from schedgen.diagnostics.catalog import CATALOG, FAMILIES
from schedgen.explaining import Explanation, Section, explanation
from schedgen.timeline import fitted_svg

def pages() -> dict[str, str]:
    """The pages, and the table of all codes."""
    made = {f"reference/codes/{code}.md": _page(code) for code in CATALOG}
    parts = ["# Codes\n\nA code is given once and never reused. `schedgen explain SG203` prints a"]
    parts.append(" page; pictures, findings and repairs are made when the page is.\n")
    for family, codes in groupby(CATALOG.values(), key=lambda entry: entry.code[2]):
        title = FAMILIES[family]
        parts.append(f"\n## {title[0].upper()}{title[1:]}\n\n| code | name | meaning |\n| --- | --- | --- |\n")
        parts += [
            f"| [{e.code}]({e.code}.md) | {e.name} | {(e.__doc__ or '').partition(chr(10))[0]} |\n"
            for e in codes
        ]
    return {"reference/codes/index.md": "".join(parts), **made}


def _page(code: str) -> str:
    it = explanation(code)
    assert it is not None
    return "".join([*_written(it), *(block for s in it.sections for block in _section(s))])


def _written(it: Explanation) -> Iterator[str]:
    yield f"# {it.code} {it.slug}\n\n{it.summary}\n\n"
    yield f"**What it means.** {it.means}\n\n**Why it is wrong.** {it.why}\n\n"
    yield f"**Example.** {it.example}\n\n**Fix.** {it.fix}\n\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.heading}\n\n"
    if section.timeline is not None:
        yield f"{fitted_svg(section.timeline)}\n\n"
    else:
        language = "text" if section.kind == "timeline" else section.kind
        yield f"```{language}\n{section.text.rstrip()}\n```\n\n"
    if section.note is not None:
        yield f"{section.note[0].upper()}{section.note[1:]}.\n\n"


def style() -> str:
    """Code of 80 columns fits beside both columns of links."""
    return f".md-grid{{max-width:80rem}}\n{flowchart.STYLE}\n"
