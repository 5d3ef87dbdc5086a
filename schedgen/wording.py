"""A verdict in words: its sentence, and its findings one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from schedgen.diagnostics.render import finding_text, tiles
from schedgen.happens_before.judge import Outcome, Verdict


def verdict_line(verdict: Verdict, *, tile_k: int) -> str:
    """``proved for every K >= 0 (explicit to K = 18, repeat at 8)`` and its siblings."""
    low, high = verdict.scope
    if verdict.certificate is not None and verdict.outcome is Outcome.PROVED:
        repeat = verdict.certificate.repeat
        return f"proved for every K >= 0 (explicit to K = {high}, repeat at {repeat})"
    if high < low:
        return f"{verdict.outcome}: no K was judged; {verdict.reason}"
    span = f"K = {tiles(low, tile_k)}" if low == high else f"K = {low}..{high} tiles"
    if verdict.outcome is Outcome.CHECKED:
        return f"checked for {span} (explicitly; not a proof for other K)"
    if verdict.outcome is Outcome.REFUTED:
        count = len(verdict.findings)
        return f"refuted ({count} finding{'' if count == 1 else 's'}; {span} judged)"
    return f"{verdict.outcome}: {verdict.reason}; {span} judged"


def findings_text(
    verdict: Verdict, *, tile_k: int, source: Sequence[str] = (), fix: str | None = None,
    notes: Sequence[str] = (),
) -> str:  # fmt: skip
    """All findings in their short form, empty where there is none.

    ``source`` are the lines that the places count; with them each finding shows an excerpt.  A
    proved ``fix`` is the advice of the first, with ``notes`` on what it costs.
    """
    texts = [
        finding_text(f, tile_k=tile_k, source=source)
        if number
        else finding_text(f, tile_k=tile_k, source=source, fix=fix, notes=notes)
        for number, f in enumerate(verdict.findings)
    ]
    return "\n".join(texts)


def verdict_text(verdict: Verdict, *, tile_k: int) -> str:
    """All findings, or the verdict where there is none."""
    return findings_text(verdict, tile_k=tile_k) or verdict_line(verdict, tile_k=tile_k)
