"""The command line: thin, scriptable, and the place where exceptions become exit codes.

Exit codes: 0 found right, 1 the schedule is wrong or a pass refuses, 2 bad input or usage,
3 cannot say (budget, unsupported, or a missing toolchain).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
import tempfile
from pathlib import Path

import click

from schedgen import __version__, api
from schedgen.bench.command import bench
from schedgen.checking import (
    apply_fix,
    check_sarif,
    is_filter,
    print_json,
    read_for_check,
    read_verdict,
    repair_of,
    say_check,
    verdict_json,
)
from schedgen.completion import complete_input, complete_pipeline, completion
from schedgen.diagnostics.catalog import CATALOG
from schedgen.diagnostics.render import finding_text
from schedgen.doctor import doctor
from schedgen.explaining import explained
from schedgen.forecast import predict
from schedgen.happens_before.judge import Outcome
from schedgen.ir.axioms import AXIOMS
from schedgen.ir.builder import to_python
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS, kernel_schedule
from schedgen.passes import PASSES
from schedgen.pictures import diff, show_comparison, show_timeline, trace
from schedgen.pipeline import PassStopped
from schedgen.refusing import refuse
from schedgen.terminal import (
    EXIT,
    build_text,
    deliver,
    pass_line,
    plugin_lines,
    progress_line,
    read,
    status,
    stop,
    toolchain_failures,
    write,
)
from schedgen.trips import parse_trips

FORMAT = click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)
INPUT = click.argument("source", metavar="INPUT", shell_complete=complete_input)
UNSAFE = click.option("--unsafe", is_flag=True, help="go on with a schedule that was not accepted")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="schedgen")
def cli() -> None:
    """Hopper GEMM K-loop schedules as values: transform, check, emit, build, run.

    INPUT is a kernel's name (see `schedgen list`), a .sched file, or `-` for standard input.
    """


cli.add_command(bench)
cli.add_command(predict)
cli.add_command(trace)
cli.add_command(diff)


@cli.command("list")
def list_command() -> None:
    """Kernels with their pipeline strings, and passes, one line each."""
    for kernel in KERNELS.values():
        made = "" if kernel.base is None else f"   {kernel.base} -p '{kernel.pipeline}'"
        click.echo(f"kernel  {kernel.name}  {kernel.summary}{made}")
    for name, cls in PASSES.items():
        click.echo(pass_line(name, cls))
    for line, complaint in plugin_lines():
        click.echo(line or complaint, err=line is None)


@cli.command()
@INPUT
@click.option("--python", "is_program", is_flag=True, help="as a program that builds it")
def show(source: str, is_program: bool) -> None:
    """Print the text form of a schedule."""
    schedule = read(source)
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
    new = name or (output.stem if output is not None else schedule.name)
    if not re.fullmatch(r"[A-Za-z_]\w*", new, flags=re.ASCII):
        if name is None:
            return schedule
        message = f"`{name}` is no name: letters, digits and _, not beginning with a digit"
        raise IllFormed(code="SG116", message=message, place=None)
    return dataclasses.replace(schedule, name=new)


@cli.command()
@INPUT
@click.option("--k", "k", default="all", show_default=True, help="K tiles: all, N, or A..B")
@click.option("--fix", "fix", is_flag=True, help="repair INPUT, or print it repaired")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="with --fix: write here")
@click.option("--trace", "draw", is_flag=True, help="draw the witness of the first finding")
@click.option("--suggest/--no-suggest", default=True, help="look for a fix (on by default)")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "sarif"]), default="text",
    show_default=True,
)  # fmt: skip
def check(
    source: str, k: str, fix: bool, output: Path | None, draw: bool, suggest: bool, style: str
) -> None:
    """Judge a schedule: races, deadlocks, counts, coverage, capacity.

    Of a refuted one the last line is a fix, if a short search finds one that is proved for every K.
    --fix searches longer, shows the diff, rewrites the file, and ends with 0 if it could.
    """
    if output is not None and not fix:
        raise click.UsageError("-o goes with --fix: without it nothing is written")
    given = read_for_check(source, style)
    verdict = api.check(given.schedule, parse_trips(k))
    found = None
    if verdict.outcome is Outcome.REFUTED and (fix or suggest):
        from schedgen.fixes import FULL, SMALL

        found = api.find_fix(given.schedule, verdict, FULL if fix else SMALL)
    if style == "text":
        say_check(given, verdict, None if fix else found, err=fix and is_filter(given, output))
        seen = next((f for f in verdict.findings if f.k is not None), None)
        if draw and seen is not None:
            show_timeline(api.trace_finding(given.schedule, seen), None)
    elif style == "json":
        print_json(verdict_json(given.schedule, verdict, source, repair_of(given, found)))
    else:
        print_json(check_sarif(given, verdict, repair_of(given, found)))
    fixed = (
        fix
        and (verdict.ok or found is not None)
        and apply_fix(given, found, output, aloud=style == "text")
    )
    raise SystemExit(0 if fixed else EXIT[verdict.outcome])


@cli.command()
@INPUT
@FORMAT
def limits(source: str, style: str) -> None:
    """Say how much room a proved schedule has, and which ops it does not need.

    Least stages, greatest depth in flight, slack of each barrier, redundant ops.  The JSON is that
    of `check` with a key `limits`, null where the schedule is not proved.
    """
    from schedgen.margins import limits_json, limits_text

    schedule = read(source)
    found = None
    try:
        with status() as progress:
            found = api.limits(schedule, progress=progress)
        verdict = found.verdict
    except api.Refused as refused:
        verdict = refused.verdict
    if style == "json":
        value = verdict_json(schedule, verdict, source)
        value["limits"] = found and limits_json(found)
        print_json(value)
    if found is None:
        refuse(f"no limits: {schedule.name} is not proved", verdict)
    if style == "text":
        click.echo(f"{schedule.name}: {api.verdict_line(verdict, tile_k=schedule.tile.k)}")
        click.echo(limits_text(found), nl=False)


@cli.command()
@click.argument("file", metavar="FILE")
@click.option("--finding", type=int, default=1, show_default=True, help="which one, from 1")
@click.option("--all", "is_whole", is_flag=True, help="show every step, not the last ones alone")
def replay(file: str, finding: int, is_whole: bool) -> None:
    """Step a witness through the abstract machine.

    FILE is the JSON of `check`, a schedule, which is judged first, or `-` for either.
    """
    retelling = api.replay_finding(read_verdict(file), finding)
    for line in retelling.lines(shown=None) if is_whole else retelling.lines():
        click.echo(line)
    raise SystemExit(0 if retelling.shows else 1)


@cli.command()
@INPUT
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write FILE.py")
@click.option("--static-k", is_flag=True, help="make k_size a constant of the kernel")
@UNSAFE
def emit(source: str, output: Path | None, static_k: bool, unsafe: bool) -> None:
    """Emit the schedule as a tilus kernel; refuses what was not accepted."""
    deliver(api.emit(read(source), static_k=static_k, unsafe=unsafe), output)


@cli.command()
@INPUT
@click.option("--m", type=int, default=8192, show_default=True)
@click.option("--n", type=int, default=8192, show_default=True)
@click.option("--k", type=int, default=8192, show_default=True)
@click.option("--static-k", is_flag=True, help="make k_size a constant of the kernel")
@UNSAFE
@FORMAT
def build(source: str, m: int, n: int, k: int, static_k: bool, unsafe: bool, style: str) -> None:
    """Compile for sm_90a (no GPU needed) and look at registers, spills and SASS."""
    with toolchain_failures():
        report = api.build(read(source), m=m, n=n, k=k, static_k=static_k, unsafe=unsafe)
    click.echo(report.to_json() if style == "json" else build_text(report))
    raise SystemExit(0 if report.ok else 1)


@cli.command()
@INPUT
@click.option("--m", type=int, required=True)
@click.option("--n", type=int, required=True)
@click.option("--k", type=int, required=True)
@click.option("--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@UNSAFE
def run(source: str, m: int, n: int, k: int, device: str, seed: int, unsafe: bool) -> None:
    """Execute on a GPU or on the abstract machine; compare with a float64 reference."""
    schedule = read(source)
    with toolchain_failures():
        result = api.run(
            schedule, m=m, n=n, k=k, device=device, seed=seed, unsafe=unsafe,
            progress=progress_line(schedule, m, n, k),
        )  # fmt: skip
    click.echo(str(result))
    raise SystemExit(0 if result.ok else 1)


@cli.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Print the page of a code, such as SG203: an example, a picture of it, and a fix that works.

    Without a code, list them.
    """
    if code is None:
        for entry in CATALOG.values():
            click.echo(f"{entry.code}  {entry.name}")
        return
    text = explained(code)
    if text is None:
        stop(f"error: there is no code `{code}`; `schedgen explain` lists them", 2)
    click.echo(text, nl=False)


@cli.command()
def axioms() -> None:
    """Print the axioms of the machine model, with their sources."""
    for axiom in AXIOMS:
        mark = " (ASSUMPTION)" if axiom.assumed else ""
        click.echo(f"{axiom.subject}{mark}: {axiom.text} [{axiom.source}]")


@cli.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write the kernel here")
def demo(output: Path | None) -> None:
    """V4 becomes V5 by a pass, is judged, emitted and executed."""
    v4, v5 = kernel_schedule("hopper_matmul_v4"), KERNELS["hopper_matmul_v5"]
    assert v5.pipeline is not None
    click.echo(f"== V4: serial consumers\n{to_text(v4)}")
    click.echo(f"== the pass: schedgen opt hopper_matmul_v4 -p '{v5.pipeline}'")
    schedule = v4
    for step, after in api.apply_steps(v4, v5.pipeline):
        schedule = after
        click.echo(f"   {step.text} keeps {', '.join(sorted(step.keeps))}: checked")
    schedule = dataclasses.replace(schedule, name=v5.name)
    click.echo(f"\n== V5: one wgmma group in flight, releases one step behind\n{to_text(schedule)}")
    verdict = api.check(schedule)
    total = sum(verdict.obligations.values())
    click.echo(f"== verdict: {api.verdict_line(verdict, tile_k=schedule.tile.k)}")
    click.echo(f"   {total} obligations under {len(verdict.obligations)} codes, none violated")
    path = output or Path(tempfile.mkdtemp(prefix="schedgen-demo-")) / f"{v5.name}.py"
    write(api.emit(schedule), path)
    click.echo(f"== emitted: {path}")
    with toolchain_failures():
        result = api.run(schedule, m=384, n=512, k=576)
    click.echo(f"== executed: {result}")
    raise SystemExit(0 if verdict.ok and result.ok else 1)


cli.add_command(doctor)
cli.add_command(completion)


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
        stop(str(error), 2)
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
