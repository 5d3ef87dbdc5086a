"""A page for each code: what `schedgen explain` says, its picture drawn."""

from __future__ import annotations

import re

import flowchart

from schedgen.diagnostics.catalog import CATALOG
from schedgen.explaining import explained
from schedgen.timeline.svg import STYLE


def pages() -> dict[str, str]:
    """The pages, and the table of all codes."""
    made = {f"reference/codes/{code}.md": _page(code) for code in CATALOG}
    rows = [
        f"| [{e.code}]({e.code}.md) | {e.name} | {(e.__doc__ or '').partition(chr(10))[0]} |"
        for e in CATALOG.values()
    ]
    head = "# Codes\n\nA code is given once and never reused.\n\n| code | name | meaning |\n| --- | --- | --- |\n"
    return {"reference/codes/index.md": head + "\n".join(rows) + "\n", **made}


def _page(code: str) -> str:
    text = explained(code)
    assert text is not None
    return f"# {code}\n\n```text\n{text}```\n"


def style() -> str:
    """Colours of the pictures follow the theme that the reader chose, not only the system's."""
    light, dark = (
        re.sub(r"\s+", "", found) for found in re.findall(r"\.sg-t\{(--ink[^}]*)\}", STYLE)
    )
    picture = ".picture{overflow-x:auto}\n.md-grid{max-width:80rem}"
    return (
        f'[data-md-color-scheme="default"] .sg-t{{{light}}}\n'
        f'[data-md-color-scheme="slate"] .sg-t{{{dark}}}\n{picture}\n{flowchart.STYLE}\n'
    )
