"""The order of things in one call of ``schedgen bench``.

Everything that can be refused is refused before anything long begins: inputs, files that are there
already, a machine without a GPU, a peer or a profiler that is missing.  However a run ends, what
was measured is printed, and kept if there is a file to keep it in.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from schedgen import __version__
from schedgen.bench.building import Built, build_all, jobs_of
from schedgen.bench.measuring import Run, Stopped
from schedgen.bench.preparing import CannotMeasure, Prepared, prepare
from schedgen.bench.progress import progress
from schedgen.bench.request import Request, bad, shape_text
from schedgen.bench.results import Entry, Results, ShapeResults, differences, resumed
from schedgen.bench.results_json import read_results, to_json, to_text
from schedgen.bench.timing import Device, Method
from schedgen.ir.problems import IllFormed
from schedgen.running import cuda_reason
from schedgen.terminal import write


@dataclass(frozen=True, kw_only=True)
class Options:
    """The command line, as far as a run needs it."""

    request: Request
    methods: tuple[Method, ...]
    cycles: bool
    baseline: str | None
    output: Path | None
    plot: Path | None
    resume: bool
    style: str


def cuda_device() -> Device:
    """The GPU of this machine.  Raises `CannotMeasure` where there is none."""
    reason = cuda_reason()
    if reason is not None:
        raise CannotMeasure(
            f"nothing can be measured here: {reason}; `--dry-run` builds everything without a "
            "GPU, `--show FILE` prints what was measured elsewhere"
        )
    from schedgen.bench.cuda_device import CudaDevice

    return CudaDevice()


DEVICE: Callable[[], Device] = cuda_device
"""Where a run takes its device from; tests put another one here."""


def dry(options: Options) -> int:
    """Judge and compile everything; prints one line a kernel."""
    with tempfile.TemporaryDirectory(prefix="schedgen-bench-") as folder:
        prepared, built = prepare_and_build(options.request, Path(folder), dry=True)
    failed, lacking = failures(built), problems(built)
    rows = [
        {
            "label": one.contestant.label,
            "refusal": one.refusal,
            "failure": failed.get(one.contestant.label),
            "problems": list(lacking.get(one.contestant.label, ())),
            "built": sorted(b.note for b in built if b.job.label == one.contestant.label),
        }
        for one in prepared
    ]
    if options.style == "json":
        click.echo(json.dumps(rows, indent=2))
    for row in rows if options.style == "text" else ():
        peer = "a peer, compiled when it is measured"
        lacks = "; ".join(row["problems"])
        what = row["refusal"] or row["failure"] or lacks or "; ".join(row["built"]) or peer
        state = "refused: " if row["refusal"] else "FAILS: " if row["failure"] or lacks else ""
        click.echo(f"{row['label']}: {state}{what}")
    return 1 if failed or lacking else 0


def prepare_and_build(
    request: Request, folder: Path, *, dry: bool
) -> tuple[list[Prepared], list[Built]]:
    """Files of all kernels, then their machine code, with progress."""
    prepared: list[Prepared] = []
    with progress(len(request.contestants)) as shown:
        shown.say(f"judging and emitting {len(request.contestants)} contestants")
        for one in prepare(request, folder):
            prepared.append(one)
            shown.step(f"{one.contestant.label}: {one.refusal or one.proof or 'taken as it is'}")
    jobs = jobs_of(prepared, dry=dry)
    built: list[Built] = []
    with progress(len(jobs)) as shown:
        shown.say(f"compiling {len(jobs)} kernels in parallel")
        for one in build_all(jobs, workers=None):
            built.append(one)
            text = f"{one.job.label} {one.failure or '; '.join(one.problems) or one.note}"
            shown.say(f"built {len(built)} of {len(jobs)}: {text}")
            shown.step(text)
    return prepared, built


def failures(built: Sequence[Built]) -> dict[str, str]:
    """By label, what the first failed build said."""
    found: dict[str, str] = {}
    for one in built:
        if one.failure is not None:
            text = f"does not build at {shape_text(one.job.shape)}: {one.failure}"
            found.setdefault(one.job.label, text)
    return found


def problems(built: Sequence[Built]) -> dict[str, tuple[str, ...]]:
    """By label, what the machine code does not keep."""
    return {one.job.label: one.problems for one in built if one.problems}


def measured(options: Options) -> int:
    """The whole run; returns the exit code."""
    old = kept(options)
    device = DEVICE()
    require_peers(options.request)
    if options.cycles:
        from schedgen.bench.counters import require_ncu

        require_ncu()
    with tempfile.TemporaryDirectory(prefix="schedgen-bench-") as folder:
        prepared, built = prepare_and_build(options.request, Path(folder), dry=False)
        failed, lacking = failures(built), problems(built)
        entries = tuple(
            p.entry(
                failure=failed.get(p.contestant.label),
                problems=lacking.get(p.contestant.label, ()),
            )
            for p in prepared
        )
        results = begun(options, device, entries)
        if old is not None:
            refuse_other_run(old, results, options.output)
            results = resumed(old, results)
        return run_all(options, results, prepared, device)


def run_all(options: Options, results: Results, prepared: list[Prepared], device: Device) -> int:
    """Measure, and print what there is however it ends."""
    by_label = {one.contestant.label: one for one in prepared}

    def save(current: Results) -> None:
        if options.output is not None:
            write(to_text(current), options.output)

    rounds = sum(method.rounds for method in results.methods) * len(results.shapes)
    ending, note = 0, ""
    with progress(rounds) as shown:
        run = Run(results, by_label, device, save=save, progress=shown)
        save(run.results)
        try:
            run.measure()
            for shape in run.results.counted if options.cycles else ():
                if not run.results.counts_are_complete(shape):
                    shown.say(f"{shape_text(shape)}: counting cycles with ncu")
                    run.count(shape)
        except KeyboardInterrupt:
            ending, note = 130, "interrupted"
        except Stopped as stopped:
            ending, note = 1, f"stopped: {stopped}"
    show_results(run.results, baseline=None, plot=options.plot, style=options.style)
    if ending:
        click.echo(note + _way_on(options), err=True)
        return ending
    return 1 if run.results.faults else 0


def _way_on(options: Options) -> str:
    if options.output is None:
        return "; nothing was kept, since there is no -o FILE"
    return f"; what was measured is in {options.output}, and --resume goes on with it"


def begun(options: Options, device: Device, entries: tuple[Entry, ...]) -> Results:
    """Results without numbers."""
    now = datetime.datetime.now(datetime.UTC)
    process = {"date": now.strftime("%Y-%m-%d %H:%M:%S UTC"), "schedgen": __version__}
    return Results(
        run=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        machine=device.describe(),
        processes=(process | device.state(),),
        methods=options.methods,
        counted=options.request.counted if options.cycles else (),
        baseline=baseline_of(options),
        entries=entries,
        shapes=tuple(
            ShapeResults(shape=shape, checks={}, parts={}, counts={})
            for shape in options.request.shapes
        ),
    )


def baseline_of(options: Options) -> str:
    labels = [c.label for c in options.request.contestants]
    if options.baseline is not None and options.baseline not in labels:
        raise bad(f"--baseline `{options.baseline}` is none of: {', '.join(labels)}")
    return options.baseline or options.request.baseline


def kept(options: Options) -> Results | None:
    """The results to go on with.  Raises `IllFormed` where that is not what is meant."""
    baseline_of(options)
    path = options.output
    for file in (path, options.plot):
        if file is not None and not os.access(file.resolve().parent, os.W_OK):
            message = f"cannot write `{file}`: there is no such folder, or it is not writable"
            raise IllFormed(code="SG115", message=message, place=None)
    if options.resume and path is None:
        raise bad("--resume goes on with a results file: name it with -o")
    if path is None or not path.exists():
        if options.resume:
            raise bad(f"there is no `{path}` to resume: leave --resume out to begin it")
        return None
    if not options.resume:
        raise bad(f"`{path}` is there already: --resume goes on with it, or name another file")
    return read_results(path)


def refuse_other_run(old: Results, new: Results, path: Path | None) -> None:
    """A run goes on with the same contestants on the same machine only."""
    found = differences(old, new)
    if found:
        raise bad(
            f"`{path}` is another run ({'; '.join(found)}): numbers of different runs are not "
            "compared; name another file with -o"
        )


def require_peers(request: Request) -> None:
    """Raise `CannotMeasure` for a peer whose package is missing."""
    for contestant in request.contestants:
        if contestant.kind == "peer" and importlib.util.find_spec(contestant.source) is None:
            word = contestant.source
            raise CannotMeasure(
                f"the peer {word} is not installed: python3 -m pip install '.[{word}]' in "
                f"schedgen's folder, or leave --peer {word} out"
            )


def show_results(results: Results, *, baseline: str | None, plot: Path | None, style: str) -> None:
    from schedgen.bench.table import rebased, show

    against = rebased(results, baseline)
    if style == "json":
        click.echo(json.dumps(to_json(results), indent=1))
    else:
        show(results, baseline=against)
    if plot is not None:
        from schedgen.bench.plot import svg

        write(svg(results, baseline=against), plot)
        click.echo(f"wrote {plot}", err=True)
