"""The command line: thin, scriptable, and the place where exceptions become exit codes.

Exit codes: 0 found right, 1 the schedule is wrong or a pass refuses, 2 bad input or usage,
3 cannot say (budget, unsupported, or a missing toolchain).
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import click

from schedgen import __version__, api
from schedgen.bench.command import bench
from schedgen.checking import (
    apply_fix,
    check_sarif,
    is_filter,
    read_for_check,
    read_verdict,
    repair_of,
    say_check,
    verdict_json,
)
from schedgen.completion import complete_pipeline, completion
from schedgen.demo import demo
from schedgen.diagnostics.refused import refused_text
from schedgen.diagnostics.render import finding_text
from schedgen.doctor import doctor
from schedgen.forecast import predict
from schedgen.happens_before.judge import Outcome
from schedgen.ir.builder import to_python
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.listing import Tasks, axioms, explain, list_command
from schedgen.options import FORMAT, INPUT, PIPELINE, UNSAFE, Verb, given, print_json, size
from schedgen.pictures import diff, show_comparison, show_timeline, trace
from schedgen.pipeline import PassStopped
from schedgen.refusing import refuse
from schedgen.terminal import (
    EXIT,
    build_text,
    deliver,
    progress_line,
    read,
    status,
    stop,
    toolchain_failures,
)
from schedgen.trips import parse_trips


@click.group(
    cls=Tasks,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="schedgen")
def cli() -> None:
    """Hopper GEMM K-loop schedules as values: transform, check, emit, build, run.

    INPUT is a kernel's name (see `schedgen list`), a .sched file, or `-` for standard input.
    """


cli.command_class = Verb


@cli.command()
@INPUT
@PIPELINE
@click.option("--python", "is_program", is_flag=True, help="as a program that builds it")
def show(source: str, pipeline: str | None, is_program: bool) -> None:
    """Print the text form of a schedule; with -p of what passes make of it, judged or not."""
    schedule = given(source, pipeline)
    click.echo(to_python(schedule) if is_program else to_text(schedule), nl=False)


@cli.command()
@INPUT
@click.option(
    "-p",
    "--pipeline",
    required=True,
    help="such as 'set-stages{n=4}'; quote it",
    shell_complete=complete_pipeline,
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write here")
@click.option("--name", help="the new schedule's name (default: the stem of the output file)")
@click.option("--print-between", is_flag=True, help="show what each pass changes")
@UNSAFE
def opt(
    source: str, pipeline: str, output: Path | None, name: str | None, print_between: bool,
    unsafe: bool,
) -> None:  # fmt: skip
    """Apply a pipeline of passes; prints or writes only what is not refuted."""
    schedule = renamed(read(source), name, output)
    for step, after in api.apply_steps(schedule, pipeline):
        if print_between:
            click.echo(f"# {step.text}", err=True)
            show_comparison(api.diff(schedule, after), None, err=True)
        schedule = after
    verdict = api.check(schedule)
    click.echo(api.verdict_line(verdict, tile_k=schedule.tile.k), err=True)
    if not verdict.ok and not unsafe:
        refuse(None, verdict)
    deliver(to_text(schedule), output)


def renamed(schedule: Schedule, name: str | None, output: Path | None) -> Schedule:
    """The schedule under the name asked for, or that of the file it goes to."""
    if name is not None:
        return api.named(schedule, name)
    try:
        return schedule if output is None else api.named(schedule, output.stem)
    except IllFormed:  # a file may be called what no schedule can
        return schedule


@cli.command()
@INPUT
@PIPELINE
@click.option("--k", "k", default="all", show_default=True,
              help="K in tiles, not elements: all, N, or A..B")  # fmt: skip
@click.option("--fix", "fix", is_flag=True, help="repair INPUT, or print it repaired")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="with --fix: write here")
@click.option("--trace", "draw", is_flag=True, help="draw the witness of the first finding")
@click.option("--suggest/--no-suggest", default=True, help="look for a fix (on by default)")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "sarif"]), default="text",
    show_default=True,
)  # fmt: skip
def check(
    source: str, pipeline: str | None, k: str, fix: bool, output: Path | None, draw: bool,
    suggest: bool, style: str,
) -> None:  # fmt: skip
    """Judge a schedule: races, deadlocks, counts, coverage, capacity.

    Of a refuted one the last line is a fix, if a short search finds one that is proved for every K.
    --fix searches longer, shows the diff, rewrites the file, and ends with 0 if it could; with -p
    it prints the repaired result and leaves INPUT as it is.
    """
    if output is not None and not fix:
        raise click.UsageError("-o goes with --fix: without it nothing is written")
    asked = read_for_check(source, pipeline, style)
    verdict = api.check(asked.schedule, parse_trips(k))
    found = None
    if verdict.outcome is Outcome.REFUTED and (fix or suggest):
        from schedgen.fixes import FULL, SMALL

        found = api.find_fix(asked.schedule, verdict, FULL if fix else SMALL)
    if style == "text":
        say_check(asked, verdict, None if fix else found, err=fix and is_filter(asked, output))
        seen = next((f for f in verdict.findings if f.k is not None), None)
        if draw and seen is not None:
            show_timeline(api.trace_finding(asked.schedule, seen), None)
    elif style == "json":
        print_json(verdict_json(asked.schedule, verdict, source, pipeline, repair_of(asked, found)))
    else:
        print_json(check_sarif(asked, verdict, repair_of(asked, found)))
    fixed = (
        fix
        and (verdict.ok or found is not None)
        and apply_fix(asked, found, output, aloud=style == "text")
    )
    raise SystemExit(0 if fixed else EXIT[verdict.outcome])


@cli.command()
@INPUT
@PIPELINE
@FORMAT
def limits(source: str, pipeline: str | None, style: str) -> None:
    """Say how much room a proved schedule has, and which ops it does not need.

    Least stages, greatest depth in flight, slack of each barrier, redundant ops.  The JSON is that
    of `check` with a key `limits`, null where the schedule is not proved.
    """
    from schedgen.margins import limits_json, limits_text

    schedule = given(source, pipeline)
    found = None
    try:
        with status() as progress:
            found = api.limits(schedule, progress=progress)
        verdict = found.verdict
    except api.Refused as refused:
        verdict = refused.verdict
    if style == "json":
        value = verdict_json(schedule, verdict, source, pipeline, None)
        value["limits"] = found and limits_json(found)
        print_json(value)
    if found is None:
        refuse(f"no limits: {schedule.name} is not proved", verdict)
    if style == "text":
        click.echo(f"{schedule.name}: {api.verdict_line(verdict, tile_k=schedule.tile.k)}")
        click.echo(limits_text(found), nl=False)


@cli.command()
@click.argument("file", metavar="FILE")
@PIPELINE
@click.option("--finding", type=int, default=1, show_default=True, help="which one, from 1")
@click.option(
    "--all",
    "is_whole",
    is_flag=True,
    help="show every step, not the last ones and the two accesses alone",
)
def replay(file: str, pipeline: str | None, finding: int, is_whole: bool) -> None:
    """Step a witness through the abstract machine.

    FILE is the JSON of `check`, a schedule, which is judged first, or `-` for either.
    """
    retelling = api.replay_finding(read_verdict(file, pipeline), finding)
    for line in retelling.lines(shown=None) if is_whole else retelling.lines():
        click.echo(line)
    raise SystemExit(0 if retelling.shows else 1)


@cli.command()
@INPUT
@PIPELINE
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write FILE.py")
@click.option("--static-k", is_flag=True, help="make k_size a constant of the kernel")
@UNSAFE
def emit(
    source: str, pipeline: str | None, output: Path | None, static_k: bool, unsafe: bool
) -> None:
    """Emit the schedule as a tilus kernel; refuses what was not accepted."""
    made = None if pipeline is None else f"{source} -p '{pipeline}'"
    schedule = given(source, pipeline)
    text = api.emit(schedule, static_k=static_k, unsafe=unsafe, made_by=made, made_from=made)
    deliver(text, output)


@cli.command()
@INPUT
@PIPELINE
@size("m", default=8192)
@size("n", default=8192)
@size("k", default=8192)
@click.option("--static-k", is_flag=True, help="make k_size a constant of the kernel")
@UNSAFE
@FORMAT
def build(
    source: str, pipeline: str | None, m: int, n: int, k: int, static_k: bool, unsafe: bool,
    style: str,
) -> None:  # fmt: skip
    """Compile for sm_90a (no GPU needed) and look at registers, spills and SASS."""
    with toolchain_failures():
        schedule = given(source, pipeline)
        report = api.build(schedule, m=m, n=n, k=k, static_k=static_k, unsafe=unsafe)
    click.echo(report.to_json() if style == "json" else build_text(report))
    raise SystemExit(0 if report.ok else 1)


@cli.command()
@INPUT
@PIPELINE
@size("m", default=None)
@size("n", default=None)
@size("k", default=None)
@click.option("--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@UNSAFE
def run(
    source: str, pipeline: str | None, m: int, n: int, k: int, device: str, seed: int, unsafe: bool
) -> None:
    """Execute on a GPU or on the abstract machine; compare with a float64 reference."""
    schedule = given(source, pipeline)
    with toolchain_failures():
        result = api.run(
            schedule, m=m, n=n, k=k, device=device, seed=seed, unsafe=unsafe,
            progress=progress_line(schedule, m, n, k),
        )  # fmt: skip
    click.echo(str(result))
    raise SystemExit(0 if result.ok else 1)


for command in (
    bench, predict, trace, diff, list_command, explain, axioms, demo, doctor, completion,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run the command line; every expected failure is one clear message and an exit code."""
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leave:
        raise SystemExit(leave.exit_code) from None
    except click.Abort:
        raise SystemExit(130) from None
    except click.ClickException as error:
        error.show()
        raise SystemExit(2) from None
    except IllFormed as error:
        stop(refused_text(error), 2)
    except PassStopped as error:
        stop(finding_text(error.finding, tile_k=error.tile_k), 1)
    except api.CannotEmit as error:
        stop(finding_text(error.finding, tile_k=1), EXIT[Outcome.UNSUPPORTED])
    except api.Refused as error:
        refuse(f"not {error.verb} (--unsafe overrides):", error.verdict)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:  # standard output is full or closed
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        stop(f"error: cannot write the output: {error.strerror or error}", 2)
