"""Command lines as a user types them, and what is answered to them, executed in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schedgen import api
from schedgen.diagnostics.finding import Row
from schedgen.diagnostics.refused import refused_text
from schedgen.diagnostics.render import excerpt, finding_text
from schedgen.explaining.parts import judged_as
from schedgen.ir.ops import Place
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.pipeline import Pass, PassStopped, parse_pipeline

FIRST_LINES = 5
"""Lines of an emitted kernel that are shown: its header."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A command line, the part of it that is refused, if any, and what is said.

    ``outcome`` is what a heading may claim of it.
    """

    command: str
    refused: str | None
    at: int
    said: str
    works: bool
    outcome: str

    @property
    def text(self) -> str:
        """As on a terminal, with what is refused underlined."""
        lines = [f"$ {self.command}"]
        if self.refused is not None:
            lines.append(f"  {' ' * self.at}{'^' * len(self.refused)}")
        return "\n".join([*lines, self.said])


def _refusal(command: str, refused: str, at: int, said: str) -> Answer:
    return Answer(
        command=command, refused=refused, at=at, said=said.rstrip("\n"), works=False,
        outcome="refused",
    )  # fmt: skip


def opt(
    name: str, schedule: Schedule, pipeline: str, table: Mapping[str, type[Pass]], shows: str | None
) -> Answer:
    """`schedgen opt`.  ``shows`` begins the part of a line that a refusal without a place means."""
    command = f"schedgen opt {name} -p '{pipeline}'"
    start, given = command.index("'") + 1, to_text(schedule).splitlines()
    done: list[str] = []
    try:
        for step, after in parse_pipeline(pipeline, table).steps(schedule):
            schedule = api.placed(replace(after, source=None))
            done.append(step.text)
    except PassStopped as stopped:
        step = parse_pipeline(pipeline, table).passes[len(done)].text
        at = start + sum(len(before) + 1 for before in done)
        said = finding_text(stopped.finding, tile_k=stopped.tile_k, source=given)
        if shows is not None:
            lines, after = to_text(schedule).splitlines(), f" after `{','.join(done)}`"
            title = f"{name}{after if done else ''} has"
            said += "\n".join([title, *excerpt(_line_with(shows, lines), lines)])
        return _refusal(command, step, at, said)
    except IllFormed as error:
        at = 0 if error.place is None else error.place.column - 1
        return _refusal(command, pipeline[at:], start + at, refused_text(error))
    verdict = api.check(schedule)
    said = api.verdict_text(verdict, tile_k=schedule.tile.k)
    return Answer(
        command=command, refused=None, at=0, said=said, works=verdict.ok, outcome=judged_as(verdict)
    )


def unknown_pass(name: str, pipeline: str, error: IllFormed) -> Answer:
    """`schedgen opt` where the pass that the pipeline names cannot be used."""
    command = f"schedgen opt {name} -p '{pipeline}'"
    return _refusal(command, pipeline, command.index("'") + 1, refused_text(error))


def _line_with(piece: str, lines: list[str]) -> Row | None:
    for number, line in enumerate(lines, start=1):
        if piece in line:
            place = Place("", number, line.index(piece) + 1)
            return Row(
                label="here", text=piece, place=place, role="", replica=None, k=None, tile=None
            )
    return None


def check(name: str, k: tuple[int, int] | None) -> Answer:
    """`schedgen check`, of a range of K where there is one."""
    span = "" if k is None else f"{k[0]}..{k[1]}"
    command = f"schedgen check {name}" + (f" --k {span}" if span else "")
    refused = name
    try:
        schedule = api.load(name)
        refused = span
        verdict = api.check(schedule, "all" if k is None else k)
    except IllFormed as error:
        return _refusal(command, refused, command.index(refused), refused_text(error))
    said = f"{schedule.name}: {api.verdict_text(verdict, tile_k=schedule.tile.k)}"
    return Answer(
        command=command, refused=None, at=0, said=said, works=verdict.ok, outcome=judged_as(verdict)
    )


def emit(name: str, schedule: Schedule) -> Answer:
    """`schedgen emit`: the header of the kernel, which has the verdict."""
    command = f"schedgen emit {name}"
    try:
        text = api.emit(schedule)
    except api.CannotEmit as error:
        lines = to_text(schedule).splitlines()
        said = finding_text(error.finding, tile_k=1)
        at = next((r for r in error.finding.rows if r.place is not None), None)
        said += "\n".join([f"{name} has", *excerpt(at, lines)])
        return _refusal(command, name, command.index(name), said)
    said = "\n".join([*text.splitlines()[:FIRST_LINES], "..."])
    verdict = api.check(schedule)
    return Answer(
        command=command, refused=None, at=0, said=said, works=verdict.ok, outcome=judged_as(verdict)
    )
