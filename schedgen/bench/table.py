"""The table a person reads: one for each shape and method, at most 80 columns, plain or in colour.

A row holds the median time with its quartiles, TFLOPS, and the median of the paired ratios to the
baseline with its quartiles.  What was not timed says why, below the table where that is long.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from schedgen.bench.counters import CYCLES, TENSOR_PIPE
from schedgen.bench.request import bad, shape_text
from schedgen.bench.results import RIGHT, Entry, Results, ShapeResults
from schedgen.bench.timing import Method, summary, tflops

WIDTH = 80
LABEL_WIDTH = 24


def refuse_comparison(files: list[tuple[str, Results]]) -> None:
    """Several files are shown together only if they are of one run.  Raises `IllFormed`."""
    (first_name, first), *others = files
    for name, other in others:
        if other.run != first.run:
            raise bad(
                f"`{first_name}` is run {first.run}, `{name}` is run {other.run}: numbers of "
                "different runs are not compared, since the clock differs by more than the "
                "kernels; measure both in one run, or show one file at a time"
            )


def rebased(results: Results, baseline: str | None) -> str:
    """The label that ratios are against.  Raises `IllFormed` for one that is not there."""
    if baseline is None:
        return results.baseline
    labels = [entry.label for entry in results.entries]
    if baseline not in labels:
        raise bad(f"there is no `{baseline}` among the contestants: {', '.join(labels)}")
    return baseline


def blocks(results: Results, *, baseline: str) -> Iterator[Text | Table]:
    """What is printed, in order: the run, its tables, and the reasons below them."""
    yield Text("\n".join(_head(results)))
    for s in results.shapes:
        for method in results.methods:
            yield Text(f"\n{_title(s, method)}; ratio to {baseline}", style="bold")
            yield _times(results, s, method, baseline)
        if s.counts:
            yield Text(f"\n{shape_text(s.shape)}, counted by ncu, one launch", style="bold")
            yield _counts(results, s)
    notes = list(_notes(results))
    if notes:
        yield Text("\n" + "\n".join(notes))


def _head(results: Results) -> list[str]:
    machine = results.machine
    versions = ", ".join(
        f"{name} {machine[name]}"
        for name in ("driver", "nvcc", "torch", "triton", "tilus")
        if machine.get(name, "not installed") != "not installed"
    )
    lines = [
        f"run {results.run} on {machine.get('card', 'unknown')}",
        versions,
        *(f"{method.name}: {_method(method)}" for method in results.methods),
        "ratio: the baseline's time over the kernel's in the same round, median of the rounds",
    ]
    if results.unfinished:
        lines.append(f"INCOMPLETE, lacks: {'; '.join(results.unfinished)}")
    return [part for line in lines for part in textwrap.wrap(line, WIDTH)]


def _method(method: Method) -> str:
    idle = f"{method.idle} s idle, " if method.idle else ""
    warm = f"{method.warm_ups} warm-ups, " if method.warm_ups else ""
    return f"{idle}{warm}{method.launches} timed launches, {method.rounds} interleaved rounds"


def _title(s: ShapeResults, method: Method) -> str:
    part = s.parts.get(method.name)
    done = len(part.rounds) if part else 0
    if part is None or not part.complete:
        return f"{shape_text(s.shape)}, {method.name} ({done} of {method.rounds} rounds)"
    return f"{shape_text(s.shape)}, {method.name}"


def _grid(headings: list[str]) -> Table:
    """Columns of numbers beside one of labels; closer together where there are many."""
    gap = 1 if len(headings) > 6 else 2
    grid = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column(headings[0], max_width=LABEL_WIDTH)
    for heading in headings[1:]:
        grid.add_column(heading, justify="right", no_wrap=True)
    return grid


def _times(results: Results, s: ShapeResults, method: Method, baseline: str) -> Table:
    predicted = any(e.predicted for e in results.entries) and method.name == "burst"
    before, after = ["kernel", "ms", "quartiles"], ["TFLOPS", "ratio", "quartiles"]
    grid = _grid([*before, *["predicted"] * predicted, *after])
    for entry in results.on(s.shape):
        times = s.times(method.name, entry.label)
        if not times:
            grid.add_row(entry.label, Text(_state(entry, s), style="yellow"))
            continue
        t, ratio = summary(times), s.ratio(method.name, entry.label, baseline)
        guess = entry.predicted.get(shape_text(s.shape))
        grid.add_row(
            entry.label, f"{t.median:.4f}", f"{t.low:.3f}-{t.high:.3f}",
            *[f"{guess:.3f}" if guess is not None else ""] * predicted,
            f"{tflops(s.shape, t.median):.0f}", f"{ratio.median:.4f}" if ratio else "",
            f"{ratio.low:.3f}-{ratio.high:.3f}" if ratio else "",
        )  # fmt: skip
    return grid


def _state(entry: Entry, s: ShapeResults) -> str:
    if entry.refusal or entry.failure:
        return "refused" if entry.refusal else "not built"
    check = s.checks.get(entry.label)
    return check.state if check is not None and check.state != RIGHT else "-"


def _counts(results: Results, s: ShapeResults) -> Table:
    grid = _grid(["kernel", "cycles", "tensor pipe", "instructions"])
    for entry in results.on(s.shape):
        if entry.label not in s.counts:
            continue
        metrics = s.counts[entry.label].metrics
        if metrics:
            grid.add_row(
                entry.label, f"{metrics.get(CYCLES, 0):,.0f}",
                f"{metrics.get(TENSOR_PIPE, 0):.1f} %",
                f"{metrics.get('smsp__inst_executed.sum', 0):,.0f}",
            )  # fmt: skip
        else:
            grid.add_row(entry.label, "not counted")
    return grid


def _notes(results: Results) -> Iterator[str]:
    found: list[str] = []
    for entry in results.entries:
        if entry.refusal or entry.failure:
            found.append(f"{entry.label}: {entry.refusal or entry.failure}")
        found += [f"{entry.label}, as compiled: {problem}" for problem in entry.problems]
    for s in results.shapes:
        where = shape_text(s.shape)
        found += [f"{label} at {where}: {check.state}, {check.reason}"
                  for label, check in s.checks.items() if check.state != RIGHT]  # fmt: skip
        reasons = dict.fromkeys(c.reason for c in s.counts.values() if c.reason)
        found += [f"cycles at {where}: {reason}" for reason in reasons]
    for note in found:
        yield textwrap.fill(note, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def show(results: Results, *, baseline: str) -> None:
    """Print to standard output: in colour on a terminal, else plain and without blanks at the end
    of lines."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=sys.stdout, width=None if terminal else WIDTH + 20, highlight=False, markup=False,
        no_color=not terminal, force_terminal=terminal,
    )  # fmt: skip
    with console.capture() as captured:
        for block in blocks(results, baseline=baseline):
            console.print(block)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
