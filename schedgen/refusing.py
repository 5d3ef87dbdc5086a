"""How every command but `check` says that a schedule was refused: findings, lines, the way out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NoReturn

from schedgen import api
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.terminal import EXIT, stop


def refuse(head: str | None, verdict: Verdict) -> NoReturn:
    """End the command with a heading, the findings (or the verdict), and the way to a repair."""
    schedule = verdict.schedule
    assert schedule is not None
    step = schedule.tile.k
    lines = _own_lines(schedule)
    parts = [] if head is None else [f"{head}\n"]
    parts.append(api.findings_text(verdict, tile_k=step, source=lines) or
                 f"{api.verdict_line(verdict, tile_k=step)}\n")  # fmt: skip
    stop("".join([*parts, way_out(verdict)]), EXIT[verdict.outcome])


def way_out(verdict: Verdict) -> str:
    """The command that looks for a repair of what stands in a file; else nothing."""
    schedule = verdict.schedule
    if schedule is None or verdict.outcome is not Outcome.REFUTED or not _own_lines(schedule):
        return ""
    return f"`schedgen check {shlex.quote(schedule.source or '')} --fix` searches for a repair\n"


def _own_lines(schedule: Schedule) -> list[str]:
    """The lines of the file that the schedule was read from; none where it is no longer that."""
    path = Path(schedule.source or "")
    if not path.is_file() or path.suffix == ".py":
        return []
    try:
        text = api.read_text(path)
        return api.lines_of(text) if api.parse(text, name=str(path)) == schedule else []
    except IllFormed:
        return []
