"""What is shown for a code that a schedule's text can have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from schedgen import api
from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.refused import refused_text
from schedgen.diagnostics.render import excerpt
from schedgen.explaining.drawn import DRAWINGS
from schedgen.explaining.parts import Section, difference, judged_as
from schedgen.explaining.repairs import REPAIRS, edited
from schedgen.happens_before.judge import Verdict
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule

PICTURE = 76
"""Columns of a timeline, which stands 4 columns in."""

CONTEXT = 3
"""Lines around a change in a text that is no schedule; its other lines say nothing."""


def schedule_sections(code: str, text: str) -> Iterator[Section]:
    """The sections of a code with an example: its repair, what is said of it, its picture."""
    name = f"{code.lower()}.sched"
    try:
        schedule = api.parse(text, name=name)
    except IllFormed as error:
        yield Section(
            heading="What is said of a text that shows it, and where", part="picture", kind="text",
            text=refused_text(error),
        )  # fmt: skip
        yield _repair_by_hand(code, text, "Its repair by hand", context=CONTEXT)
        return
    verdict = api.check(schedule)
    yield _repair(code, schedule, verdict, text)
    told = api.findings_text(verdict, tile_k=schedule.tile.k, source=api.lines_of(text))
    yield Section(heading="What is said of it", part="words", kind="text", text=told)
    found = next((f for f in verdict.findings if f.code == code), None)
    picture = None if found is None else _picture(schedule, found, text)
    if picture is not None:
        yield picture


def _repair(code: str, schedule: Schedule, verdict: Verdict, text: str) -> Section:
    """The schedule, as a difference from its repair: the one that `check` finds, or ours."""
    if code in REPAIRS:
        heading = "A schedule that shows it, and its repair by hand"
        return _repair_by_hand(code, text, heading, context=len(text))
    from schedgen.fixes import SMALL, Fix, patched

    found = api.find_fix(schedule, verdict, SMALL)
    if not isinstance(found, Fix):
        heading = "A schedule that shows it (`check` finds no repair)"
        return Section(heading=heading, part="words", kind="text", text=text)
    after = patched(text, schedule, found.schedule).text
    return Section(
        heading=f"A schedule that shows it, and its repair ({judged_as(found.verdict)})",
        part="fix", kind="diff", text=difference(text, after, context=len(text)),
        works=found.verdict.ok, note=found.text,
    )  # fmt: skip


def _repair_by_hand(code: str, text: str, heading: str, *, context: int) -> Section:
    """The example as `REPAIRS` changes it, judged here and now."""
    after = edited(text, REPAIRS.get(code, ()))
    try:
        verdict = api.check(api.parse(after))
        outcome, works = judged_as(verdict), verdict.ok
    except IllFormed as error:
        outcome, works = f"refused, {error.code}", False
    return Section(
        heading=f"{heading} ({outcome})", part="fix", kind="diff",
        text=difference(text, after, context=context), works=works,
    )  # fmt: skip


def _picture(schedule: Schedule, finding: Finding, text: str) -> Section | None:
    """A drawing of the code's own kind, else the witness as a timeline, else the place."""
    if finding.code in DRAWINGS:
        heading, draw = DRAWINGS[finding.code]
        drawn = "\n".join(draw(schedule, finding))
        return Section(heading=heading, part="picture", kind="text", text=drawn)
    if finding.k is not None:
        return _timeline(schedule, finding)
    row = next((row for row in finding.rows if row.place is not None), None)
    if row is None or row.place is None:
        return None
    lines = api.lines_of(text)
    line = lines[row.place.line - 1][row.place.column - 1 :].rstrip()
    at = excerpt(dataclasses.replace(row, text=line), lines)
    return Section(heading="Where it is", part="picture", kind="text", text="\n".join(at))


def _timeline(schedule: Schedule, finding: Finding) -> Section | None:
    from schedgen.timeline import gantt_text

    try:
        timeline = api.trace_finding(schedule, finding)
    except IllFormed:
        return None
    return Section(
        heading="What happens: its witness, a column for each step", part="picture",
        kind="timeline", text=gantt_text(timeline, width=PICTURE), timeline=timeline,
    )  # fmt: skip
