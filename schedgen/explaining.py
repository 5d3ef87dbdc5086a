"""The page of a code, with a broken schedule that shows it and the repair that was proved.

Only the page is written by hand: the finding and the repair are those of the checker of today.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from importlib import resources

from schedgen import api
from schedgen.diagnostics.catalog import page
from schedgen.happens_before.judge import Verdict
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule

PICTURE = 76
"""Columns of a timeline, which stands 4 columns in."""


def explained(code: str) -> str | None:
    """The whole page, None for a code that was never given."""
    text = page(code)
    if text is None:
        return None
    example = example_of(code)
    return text if example is None else text + "".join(_shown(code.upper(), example))


def example_of(code: str) -> str | None:
    """A text that is refused with that code, None where no schedule can show it."""
    file = resources.files("schedgen").joinpath("examples", f"{code.lower()}.sched")
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _shown(code: str, text: str) -> Iterator[str]:
    name = f"{code.lower()}.sched"
    try:
        schedule = api.parse(text, name=name)
    except IllFormed as error:
        yield f"A text that is refused\n{_indented(text)}What is said of it\n    {error}\n"
        return
    verdict = api.check(schedule)
    told = api.findings_text(verdict, tile_k=schedule.tile.k, source=api.lines_of(text))
    yield from _repair(schedule, text)
    yield f"What is said of it\n{_indented(told)}"
    yield from _picture(code, schedule, verdict)


def _picture(code: str, schedule: Schedule, verdict: Verdict) -> Iterator[str]:
    """The witness as a timeline, where there is one: what no execution shows has none."""
    from schedgen.timeline import gantt_text

    for finding in verdict.findings:
        if finding.code == code and finding.k is not None:
            try:
                drawn = gantt_text(api.trace_finding(schedule, finding), width=PICTURE)
            except IllFormed:
                return
            yield f"What happens: its witness, a column for each step\n{_indented(drawn)}"
            return


def _repair(schedule: Schedule, text: str) -> Iterator[str]:
    """The schedule; as a difference where there is a repair that `check` finds."""
    from schedgen.fixes import SMALL, Fix, patched

    found = api.find_fix(schedule, api.check(schedule), SMALL)
    if not isinstance(found, Fix):
        yield f"A schedule that shows it (`check` finds no repair)\n{_indented(text)}"
        return
    after = patched(text, schedule, found.schedule).text.splitlines()
    lines = unified_diff(text.splitlines(), after, n=len(text), lineterm="")
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    yield "A schedule that shows it, and its repair (proved for every K)\n"
    yield _indented("\n".join(body), by="  ") + f"    # {found.text}\n"


def _indented(text: str, *, by: str = "    ") -> str:
    return "".join(f"{by}{line}".rstrip() + "\n" for line in text.splitlines())
