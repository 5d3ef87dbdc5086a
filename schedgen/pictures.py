"""The commands that show: `trace` draws a timeline, `diff` two schedules side by side."""

from __future__ import annotations

import dataclasses
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schedgen import api
from schedgen.completion import complete_input, complete_pipeline
from schedgen.happens_before.judge import Outcome
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.options import FORMAT, INPUT, PIPELINE, Verb, given, print_json
from schedgen.refusing import refuse, way_out
from schedgen.terminal import read, room, write

if TYPE_CHECKING:
    from schedgen.comparison import Comparison
    from schedgen.happens_before.judge import Verdict
    from schedgen.predict import Numbers
    from schedgen.timeline import Timeline

WIDTH = click.option(
    "--width", type=click.IntRange(40, 2000), help="columns (the terminal's, 80 in a pipe)"
)
DECIDED = (Outcome.PROVED, Outcome.REFUTED)
OUT = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=Verb)
@INPUT
@PIPELINE
@click.option("--k", "k_tiles", type=click.IntRange(0), default=api.PICTURE_TILES,
              show_default=True,               help="K in tiles, not elements")  # fmt: skip
@click.option("--finding", type=click.IntRange(1), help="draw the witness of this one, from 1")
@click.option("--unsafe", is_flag=True, help="execute what was refuted instead of its witness")
@click.option("--latencies", type=OUT, help="a JSON table of measured numbers")
@click.option("--from", "begin", type=click.IntRange(0), metavar="CYCLE",
              help="draw from this cycle on, or step of a witness")  # fmt: skip
@click.option("--to", "end", type=click.IntRange(1), metavar="CYCLE", help="draw up to this one")
@click.option("--html", type=OUT, help="write one page that needs nothing else")
@click.option("--svg", type=OUT, help="write the picture alone")
@click.option("--perfetto", type=OUT, help="write a trace for ui.perfetto.dev")
@WIDTH
def trace(
    source: str, pipeline: str | None, k_tiles: int, finding: int | None, unsafe: bool,
    latencies: Path | None, begin: int | None, end: int | None, html: Path | None,
    svg: Path | None, perfetto: Path | None, width: int | None,
) -> None:  # fmt: skip
    """Draw what happens when: an execution as soon as latencies allow, or a refusal's witness.

    A row for each role replica, for TMA and for the tensor core; bubbles, use, and what limits the
    settled loop.  Of a long loop the text draws the turns that can be told apart.  A refuted
    schedule is shown by its witness, and exits with 1.

    \b
    schedgen trace hopper_matmul_v5 --k 6
    schedgen trace hopper_matmul_v5 --k 64 --from 50000
    schedgen trace hopper_matmul_v4 -p 'set-stages{n=2}' --html v4.html
    """
    schedule = given(source, pipeline)
    verdict = None if unsafe else _judged(schedule, k_tiles)
    refuted = verdict is not None and verdict.outcome is Outcome.REFUTED
    if refuted:
        assert verdict is not None
        made = _witness(schedule, verdict, finding)
    elif finding is not None:
        raise _bad(f"{schedule.name} has no findings to draw")
    else:
        table = None if latencies is None else read_table(latencies)
        made = api.trace(schedule, k_tiles=k_tiles, numbers=table)
    _deliver(_part(made, begin, end), html=html, svg=svg, perfetto=perfetto, width=width)
    if verdict is not None and refuted:
        first = api.findings_text(verdict, tile_k=schedule.tile.k).partition("\n")[0]
        line = api.verdict_line(verdict, tile_k=schedule.tile.k)
        click.echo(f"{schedule.name}: {line}\n{first}", err=True)
        click.echo(way_out(verdict), nl=False, err=True)
    raise SystemExit(1 if refuted else 0)


def _judged(schedule: Schedule, k_tiles: int) -> Verdict:
    """The verdict for every K, or where there is no proof that for this one."""
    verdict = api.check(schedule)
    return verdict if verdict.outcome in DECIDED else api.check(schedule, k_tiles)


def _witness(schedule: Schedule, verdict: Verdict, number: int | None) -> Timeline:
    """The picture of a finding; without a number, of the first one that has a witness."""
    findings = verdict.findings
    if number is not None and number > len(findings):
        raise _bad(f"there is no finding {number}: {schedule.name} has {len(findings)}")
    chosen = findings if number is None else findings[number - 1 : number]
    seen = next((f for f in chosen if f.k is not None), None)
    if seen is None:
        refuse("wrong at every K: there is no witness to draw", verdict)
    return api.trace_finding(schedule, seen)


def _part(made: Timeline, begin: int | None, end: int | None) -> Timeline:
    """What was asked for; of a witness with the step that ends it."""
    if begin is None and end is None:
        return made
    first = made.first if begin is None else begin
    if end is None:
        return made.between(first, made.stop if first < made.stop else made.end)
    return made.between(first, end + (made.unit == "steps"))


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
        click.echo(gantt_text(made, width=width or room(sys.stdout)), nl=False)
        return
    from rich.console import Console

    from schedgen.timeline import rich_text

    Console(highlight=False, soft_wrap=True).print(
        rich_text(made, width=width or room(sys.stdout)), end=""
    )


@click.command(cls=Verb)
@click.argument("left", metavar="A", shell_complete=complete_input)
@click.argument("right", metavar="B", shell_complete=complete_input)
@click.option("-p", "--pipeline", metavar="PASSES", help="apply these passes to B first; quote it",
              shell_complete=complete_pipeline)  # fmt: skip
@click.option("--emitted", is_flag=True, help="compare the kernels that are emitted from them")
@FORMAT
@WIDTH
def diff(
    left: str, right: str, pipeline: str | None, emitted: bool, style: str, width: int | None
) -> None:
    """Two schedules side by side: what was changed, moved, peeled, added, removed.

    \b
    schedgen diff hopper_matmul_v4 hopper_matmul_v5
    schedgen diff v5.sched v5.sched -p 'set-stages{n=3}'
    """
    a, b = read(left), given(right, pipeline)
    if emitted:
        lines = difflib.unified_diff(
            api.emit(a).splitlines(), api.emit(b).splitlines(), f"{left}.py", f"{right}.py",
            lineterm="",
        )  # fmt: skip
        if style == "json":
            print_json({"left": left, "right": right, "lines": list(lines)})
        else:
            click.echo("".join(f"{line}\n" for line in lines), nl=False)
        return
    compared = api.diff(a, b)
    if a.name == b.name and left != right:
        compared = dataclasses.replace(compared, left=left, right=right)
    if style == "json":
        from schedgen.comparison import comparison_json

        print_json(comparison_json(compared))
        return
    show_comparison(compared, width)


def show_comparison(compared: Comparison, width: int | None, *, err: bool = False) -> None:
    """Plainly, and in colour on a terminal that allows it; the characters are the same."""
    from schedgen.comparison import comparison_rich, comparison_text

    stream = sys.stderr if err else sys.stdout
    columns = width or room(stream)
    if not stream.isatty():
        click.echo(comparison_text(compared, width=columns), nl=False, err=err)
        return
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True, stderr=err)
    console.print(comparison_rich(compared, width=columns), end="")


def read_table(path: Path) -> Numbers:
    """The numbers in a JSON file.  Raises `IllFormed` (SG115) for a file that is none."""
    from schedgen.predict.card import read_numbers

    try:
        return read_numbers(path.read_text(encoding="utf-8-sig"), name=str(path))
    except UnicodeDecodeError:
        message = f"`{path}` is not text"
    except OSError as error:
        message = f"`{path}` cannot be read: {error.strerror}"
    raise IllFormed(code="SG115", message=message, place=None)
