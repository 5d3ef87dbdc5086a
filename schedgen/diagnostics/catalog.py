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


FAMILIES = {
    "1": "the text or the request means nothing",
    "2": "order: what is read, written, multiplied and stored",
    "3": "counting: barriers, phases, waits",
    "4": "a pass refuses",
    "5": "the target cannot hold or say it",
    "9": "our own fault, or that of a plugin",
}
"""What codes of one first digit have in common."""


def code_of(word: str) -> str | None:
    """The code that ``SG203``, ``sg203``, ``203`` or its name stands for, None for other words."""
    code = word.upper() if not word.isdecimal() else f"SG{word}"
    if code in CATALOG:
        return code
    return next((c for c, e in CATALOG.items() if e.name == word.lower()), None)


def advice(code: str) -> str:
    """What the page of a code says under its heading Fix, in one line."""
    text = inspect.getdoc(CATALOG[code]) or ""
    return " ".join(text.partition(f"\n{HEADINGS[-1]}\n")[2].split())


def page(code: str) -> str | None:
    """The page of a code, None for a code that was never given."""
    entry = CATALOG.get(code.upper())
    if entry is None:
        return None
    return f"{entry.code} {entry.name}: {inspect.getdoc(entry)}\n"
