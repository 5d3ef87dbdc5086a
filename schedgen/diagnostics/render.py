"""Findings as text (readable without colour) and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedgen.diagnostics.finding import Finding, Row, Step
from schedgen.ir.ops import Place

LABEL_WIDTH = 8


def finding_text(finding: Finding, *, tile_k: int) -> str:
    """The short form: a sentence, the rows, what is missing, one fix.  Ends in a line end."""
    return "\n".join(_lines(finding, tile_k)) + "\n"


def _lines(f: Finding, tile_k: int) -> Iterator[str]:
    yield f"{f.code} {f.name}: {f.message}"
    op_width = max((len(row.text) for row in f.rows), default=0)
    place_width = max((len(str(row.place or "")) for row in f.rows), default=0)
    who_width = max((len(row.who) for row in f.rows), default=0)
    for row in f.rows:
        cells = [f"{row.text:<{op_width}}", str(row.place or "").ljust(place_width)]
        cells += [f"{row.who:<{who_width}}", row.when]
        yield _labelled(row.label, "  ".join(cells).rstrip())
    smallest = "" if f.k is None else f"smallest K = {tiles(f.k, tile_k)}"
    if f.missing is not None:
        yield _labelled("missing", f"{f.missing}      {smallest}".rstrip())
    elif smallest:
        yield _labelled("shown at", smallest)
    for text in f.also:
        yield _labelled("also", text)
    for text in f.consequences:
        yield _labelled("so", text)
    yield _labelled("help", f"{f.fix}    (schedgen explain {f.code})")


def _labelled(label: str, text: str) -> str:
    return f"{label:>{LABEL_WIDTH}} : {text}"


def tiles(k: int, tile_k: int) -> str:
    """``5 tiles (k = 320)``."""
    return f"{k} tile{'' if k == 1 else 's'} (k = {k * tile_k})"


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
        "witness": [_step_json(n, s) for n, s in enumerate(f.witness)],
        "also": list(f.also),
        "consequences": list(f.consequences),
        "fix": f.fix,
    }


def _place_json(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"file": None, "line": None, "column": None}
    return {"file": place.file, "line": place.line, "column": place.column}


def _row_json(r: Row) -> dict[str, Any]:
    return {
        **_place_json(r.place), "label": r.label, "role": r.role, "replica": r.replica,
        "op": r.text, "k": r.k, "tile": r.tile,
    }  # fmt: skip


def _step_json(number: int, s: Step) -> dict[str, Any]:
    return {
        "step": number, "role": s.role, "replica": s.replica, "actor": s.actor, "event": s.event,
        "seq": s.seq, "op": s.op, "k": s.k, "place": _place_json(s.place),
    }  # fmt: skip
