"""The table of all codes.  A code is given once and never reused."""

from __future__ import annotations

import inspect

from schedgen.diagnostics import order, progress, target, tensor, wellformed
from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.wellformed import Page

_FAMILIES = (wellformed.PAGES, order.FINDINGS, tensor.FINDINGS, progress.FINDINGS, target.FINDINGS)

CATALOG: dict[str, type[Finding] | type[Page]] = {
    entry.code: entry
    for entry in sorted((e for family in _FAMILIES for e in family), key=lambda e: e.code)
}

HEADINGS = ("What it means", "Why it is wrong", "Example", "Fix")
"""The headings of every page, in this order."""


def page(code: str) -> str | None:
    """The page of a code, None for a code that was never given."""
    entry = CATALOG.get(code.upper())
    if entry is None:
        return None
    return f"{entry.code} {entry.name}: {inspect.getdoc(entry)}\n"
