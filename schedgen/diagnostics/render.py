"""Findings as text (readable without colour) and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from schedgen.diagnostics.finding import Finding, Row, Step
from schedgen.ir.ops import Place

LABEL_WIDTH = 8


MOST_ROWS = 3
"""Rows of roles that the short form shows; the JSON has all."""

MOST_SAID = 2
"""Further places, and consequences, that the short form names."""


def finding_text(
    finding: Finding, *, tile_k: int | None, source: Sequence[str] = (), fix: str | None = None,
    notes: Sequence[str] = (),
) -> str:  # fmt: skip
    """The short form: a sentence, the rows, what is missing, one fix.  Ends in a line end.

    With the lines of the ``source`` that the places are in, the last row's is shown underlined.  A
    proved ``fix`` takes the place of the finding's own advice; ``notes`` say what it costs.
    """
    lines = [*_lines(finding, tile_k, source, fix or finding.fix)]
    return "\n".join([*lines, *(labelled("note", note) for note in notes)]) + "\n"


def _lines(f: Finding, tile_k: int | None, source: Sequence[str], fix: str) -> Iterator[str]:
    yield f"{f.code} {f.name}: {f.message}"
    acting = [row for row in f.rows if row.role]
    left_out = acting[MOST_ROWS:]
    rows = [row for row in f.rows if row not in left_out]
    yield from _rows(rows)
    shown = f.main if f.main in rows else next((r for r in reversed(rows) if r.role), None)
    yield from excerpt(shown, source)
    smallest = "" if f.k is None else f"smallest K = {tiles(f.k, tile_k)}"
    if f.missing is not None:
        yield labelled("missing", f"{f.missing}      {smallest}".rstrip())
    elif smallest:
        yield labelled("shown at", smallest)
    also = [*(f"{row.text} of {row.who}, {row.place}" for row in left_out), *f.also]
    yield from _some("also", also)
    yield from _some("so", f.consequences)
    yield labelled("help", f"{fix}    (schedgen explain {f.code})")


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    op_width = max((len(row.text) for row in rows), default=0)
    place_width = max((len(str(row.place or "")) for row in rows), default=0)
    who_width = max((len(row.who) for row in rows), default=0)
    for row in rows:
        cells = [f"{row.text:<{op_width}}", str(row.place or "").ljust(place_width)]
        cells += [f"{row.who:<{who_width}}", row.when]
        yield labelled(row.label, "  ".join(cells).rstrip())


def excerpt(row: Row | None, source: Sequence[str]) -> Iterator[str]:
    """The line of a row, its op underlined, between one line before and two after."""
    if row is None or row.place is None or not 0 < row.place.line <= len(source):
        return
    at = row.place.line - 1
    for number in range(max(at - 1, 0), min(at + 3, len(source) - (not source[-1]))):
        yield f"{number + 1:>{LABEL_WIDTH}} | {source[number]}".rstrip()
        if number == at:
            start = max(source[at].find(row.text, row.place.column - 1), row.place.column - 1)
            line = source[at].partition("#")[0].rstrip()
            mark = "^" * (len(line) - start if row.text not in line else len(row.text))
            before = "".join("\t" if c == "\t" else " " for c in source[at][:start])
            yield f"{'':>{LABEL_WIDTH}} | {before}{mark or '^'} {row.label}"


def _some(label: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts[:MOST_SAID]:
        yield labelled(label, text)
    if len(texts) > MOST_SAID:
        yield labelled(label, f"{len(texts) - MOST_SAID} more (`--format json` has all)")


def labelled(label: str, text: str) -> str:
    """A row: its part in the story, and what it says."""
    return f"{label:>{LABEL_WIDTH}} : {text}"


def tiles(k: int, tile_k: int | None) -> str:
    """``5 tiles (k = 320)``; without the elements where the size of a tile is not known."""
    elements = "" if tile_k is None else f" (k = {k * tile_k})"
    return f"{k} tile{'' if k == 1 else 's'}{elements}"


def finding_json(f: Finding) -> dict[str, Any]:
    """The shape that the command line promises."""
    first = next((r for r in f.rows if r.role), None)
    return {
        "code": f.code,
        "name": f.name,
        "message": f.message,
        "k": f.k,
        "role": None if first is None else first.who,
        "places": [_row_json(r) for r in f.rows],
        "missing": f.missing,
        "witness": [_step_json(n, s) for n, s in enumerate(f.witness)],
        "also": list(f.also),
        "consequences": list(f.consequences),
        "fix": f.fix,
    }


def place_json(place: Place | None) -> dict[str, Any]:
    """File, line and column, null where nothing has a place."""
    if place is None:
        return {"file": None, "line": None, "column": None}
    return {"file": place.file, "line": place.line, "column": place.column}


def _row_json(r: Row) -> dict[str, Any]:
    return {
        **place_json(r.place), "label": r.label, "role": r.role, "replica": r.replica,
        "op": r.text, "k": r.k, "tile": r.tile,
    }  # fmt: skip


def _step_json(number: int, s: Step) -> dict[str, Any]:
    return {
        "step": number, "role": s.role, "replica": s.replica, "actor": s.actor, "event": s.event,
        "seq": s.seq, "op": s.op, "k": s.k, "place": place_json(s.place),
    }  # fmt: skip
