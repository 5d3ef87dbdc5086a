"""A text or request that means nothing, told like a finding: in words and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from schedgen.diagnostics.catalog import CATALOG, advice
from schedgen.diagnostics.finding import Row
from schedgen.diagnostics.render import excerpt, labelled, place_json
from schedgen.ir.ops import Place
from schedgen.ir.problems import IllFormed

WIDEST = 80
"""Letters of a line that an excerpt shows."""


def refused_text(error: IllFormed) -> str:
    """The error and the others in its text, each as a finding is told.  Ends in a line end."""
    return "\n".join("\n".join(_lines(each)) + "\n" for each in (error, *error.others))


def _lines(error: IllFormed) -> Iterator[str]:
    entry = CATALOG.get(error.code)
    if entry is None:  # raised by somebody else's pass or kernel
        yield str(error)
        return
    yield f"{error.code} {entry.name}: {error.message}"
    place = place_of(error)
    if place is not None:
        yield labelled("at", f"{place}:{place.column}")
    lines = [line if len(line) <= WIDEST else f"{line[:WIDEST]}..." for line in error.lines]
    yield from excerpt(marked(error, lines), lines)
    pointer = f"schedgen explain {error.code}"
    way = _way_out(error)
    yield labelled("help", f"{way}    ({pointer})" if way else pointer)


def _way_out(error: IllFormed) -> str:
    """Its own, else what the page of its code says to do about a place in a text."""
    placeless = error.place is None and error.code != "SG116"
    if error.help is not None or placeless or error.code not in CATALOG:
        return error.help or ""
    return advice(error.code)


def place_of(error: IllFormed) -> Place | None:
    """Where what is underlined begins; without a text the place of the statement."""
    row = marked(error, error.lines)
    return error.place if row is None else row.place


def marked(error: IllFormed, lines: Sequence[str]) -> Row | None:
    """What an excerpt of ``lines`` underlines.

    The first thing between backquotes that stands in the line, at the place or behind it;
    else all that follows the place.
    """
    place = error.place
    if place is None or not 0 < place.line <= len(lines):
        return None
    line = lines[place.line - 1]
    text, at = line[place.column - 1 :].partition("#")[0].rstrip(), place.column
    for quoted in error.message.split("`")[1::2]:
        found = re.compile(rf"(?<!\w){re.escape(quoted)}(?!\w)").search(line, place.column - 1)
        if quoted and found is not None:
            text, at = quoted, found.start() + 1
            break
    return Row(
        label="here", text=text, place=type(place)(place.file, place.line, at), role="",
        replica=None, k=None, tile=None,
    )  # fmt: skip


def refused_json(error: IllFormed) -> list[dict[str, Any]]:
    """The error and the others in the shape of findings."""
    return [_json(each) for each in (error, *error.others)]


def _json(error: IllFormed) -> dict[str, Any]:
    row = marked(error, error.lines)
    at = error.place if row is None else row.place
    place = {
        **place_json(at), "label": "here", "role": "", "replica": None,
        "op": "" if row is None else row.text, "k": None, "tile": None,
    }  # fmt: skip
    return {
        "code": error.code,
        "name": CATALOG[error.code].name if error.code in CATALOG else "",
        "message": error.message,
        "k": None,
        "role": None,
        "places": [] if error.place is None else [place],
        "missing": None,
        "witness": [],
        "also": [],
        "consequences": [],
        "fix": _way_out(error),
    }
