"""A prediction as a page, and as JSON."""

from __future__ import annotations

from typing import Any

from schedgen.ir.problems import IllFormed
from schedgen.predict.card import SMS
from schedgen.predict.limiting import Limiting
from schedgen.predict.model import Prediction


def shape_of(text: str) -> tuple[int, int, int]:
    """m, n and k of ``MxNxK``.  Raises `IllFormed` (SG116) for what is no such text."""
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(p.strip().isdecimal() and len(p) < 10 for p in parts):
        message = f"`--shape {text}`: give MxNxK in elements, such as 8192x8192x8192"
        raise IllFormed(code="SG116", message=message, place=None)
    m, n, k = map(int, parts)
    return m, n, k


def prediction_text(p: Prediction) -> str:
    """The page of `schedgen predict`; ends with a newline."""
    m, n, k = p.shape
    per_sm = p.occupancy.ctas
    step = f"{p.cycles_per_step:.0f} cycles" + (f" in each of {per_sm} CTAs" if per_sm > 1 else "")
    lines = [
        f"{p.schedule} at {m}x{n}x{k}: {p.cycles:,} cycles, {p.ms:.3f} ms at {p.clock:g} GHz",
        f"  K step     : {step}, {_count(p.steps, 'step')} for each tile",
        f"  limited by : {_limiting_text(p.limiting)}",
        f"  loads      : their way is in use for {p.loads_share:.0%} of the time; each waits "
        f"{_count(p.loads_queued, 'cycle')} for others",
        f"  prologue   : {p.prologue:.0f} cycles for each CTA, its launch among them",
        f"  epilogue   : {p.epilogue} cycles for each CTA",
        f"  waves      : {_count(p.waves.count, 'wave')} of {_count(p.waves.tiles, 'tile')} on "
        f"{SMS} SMs, {_count(per_sm, 'CTA')} on each (by {p.occupancy.limit})",
    ]
    lines += [
        f"  note       : ptxas lets {role} wait after each wgmma (C7520): 128 rows in flight"
        for role in p.serialised
    ]
    return "\n".join(lines) + "\n"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _limiting_text(found: Limiting | None) -> str:
    if found is None:
        return "nothing that takes time"
    return f"{found.text} ({found.cycles} cycles over {_count(found.steps, 'step')})"


def prediction_json(p: Prediction) -> dict[str, Any]:
    """The JSON of `schedgen predict`: a contract that scripts depend on."""
    found = p.limiting
    return {
        "schedule": p.schedule,
        "shape": list(p.shape),
        "steps": p.steps,
        "cycles_per_step": round(p.cycles_per_step, 3),
        "limiting": found and {
            "text": found.text,
            "resource": found.resource or None,
            "cycles": found.cycles,
            "steps": found.steps,
            "events": [dict(zip(("role", "event", "op"), e, strict=True)) for e in found.events],
        },
        "loads_share": round(p.loads_share, 4),
        "loads_queued": p.loads_queued,
        "prologue": round(p.prologue, 3),
        "epilogue": p.epilogue,
        "ctas_per_sm": p.occupancy.ctas,
        "ctas_limited_by": p.occupancy.limit,
        "tiles": p.waves.tiles,
        "waves": p.waves.count,
        "cycles": p.cycles,
        "clock": p.clock,
        "ms": round(p.ms, 6),
        "serialised": list(p.serialised),
    }  # fmt: skip
