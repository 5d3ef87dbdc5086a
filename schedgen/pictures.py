"""The commands that show: `trace` draws a timeline, `diff` two schedules side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schedgen import api
from schedgen.happens_before.judge import Outcome
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.terminal import read, room, write

if TYPE_CHECKING:
    from schedgen.happens_before.judge import Verdict
    from schedgen.timeline import Timeline

WIDTH = click.option(
    "--width", type=click.IntRange(40, 2000), help="columns (the terminal's, 80 in a pipe)"
)
OUT = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("source", metavar="INPUT")
@click.option("--k", "k_tiles", type=click.IntRange(0), default=6, show_default=True,
              help="K tiles")  # fmt: skip
@click.option("-p", "--pipeline", help="apply these passes first")
@click.option("--finding", type=click.IntRange(1), help="draw the witness of this one, from 1")
@click.option("--unsafe", is_flag=True, help="execute what was refuted instead of its witness")
@click.option("--latencies", type=OUT, help="a JSON table of measured numbers")
@click.option("--html", type=OUT, help="write one page that needs nothing else")
@click.option("--svg", type=OUT, help="write the picture alone")
@click.option("--perfetto", type=OUT, help="write a trace for ui.perfetto.dev")
@WIDTH
def trace(
    source: str, k_tiles: int, pipeline: str | None, finding: int | None, unsafe: bool,
    latencies: Path | None, html: Path | None, svg: Path | None, perfetto: Path | None,
    width: int | None,
) -> None:  # fmt: skip
    """Draw what happens when: an execution as soon as latencies allow, or a refusal's witness.

    A row for each role replica, for TMA and for the tensor core; bubbles, use, and what limits the
    settled loop.  A refuted schedule is shown by its witness, and exits with 1.

    \b
    schedgen trace hopper_matmul_v5 --k 6
    schedgen trace hopper_matmul_v4 -p 'set-stages{n=2}' --html v4.html
    """
    schedule = read(source)
    if pipeline is not None:
        schedule = api.apply(schedule, pipeline)
    verdict = None if unsafe else api.check(schedule)
    refuted = verdict is not None and verdict.outcome is Outcome.REFUTED
    if refuted:
        assert verdict is not None
        made = _witness(schedule, verdict, finding or 1)
    elif finding is not None:
        raise _bad(f"{schedule.name} has no findings to draw")
    else:
        table = None if latencies is None else api.latencies(latencies)
        made = api.trace(schedule, k_tiles=k_tiles, latencies=table)
    _deliver(made, html=html, svg=svg, perfetto=perfetto, width=width)
    raise SystemExit(1 if refuted else 0)


def _witness(schedule: Schedule, verdict: Verdict, number: int) -> Timeline:
    if number > len(verdict.findings):
        count = len(verdict.findings)
        raise _bad(f"there is no finding {number}: {schedule.name} has {count}")
    return api.trace_finding(schedule, verdict.findings[number - 1])


def _bad(message: str) -> IllFormed:
    return IllFormed(code="SG116", message=message, place=None)


def _deliver(
    made: Timeline, *, html: Path | None, svg: Path | None, perfetto: Path | None,
    width: int | None,
) -> None:  # fmt: skip
    """To the files that were asked for, else to standard output."""
    from schedgen.timeline import html_text, perfetto_text, svg_text

    files = [(html, html_text), (svg, svg_text), (perfetto, perfetto_text)]
    for path, text in files:
        if path is not None:
            write(text(made), path)
            click.echo(f"wrote {path}", err=True)
    if all(path is None for path, _ in files):
        show_timeline(made, width)


def show_timeline(made: Timeline, width: int | None) -> None:
    """Plainly, and in colour on a terminal that allows it; the characters are the same."""
    from schedgen.timeline import gantt_text

    if not sys.stdout.isatty():
        click.echo(gantt_text(made, width=width or room()), nl=False)
        return
    from rich.console import Console

    from schedgen.timeline import rich_text

    Console(highlight=False, soft_wrap=True).print(rich_text(made, width=width or room()), end="")
