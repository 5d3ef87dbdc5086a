"""Fit the numbers of `schedgen predict` to a results file, and say how good it is elsewhere.

    python -m tests.benchmarks.calibrate RESULTS.json [--write] [--keep]

Prints the six residuals of the calibration set and the test set with its rank correlations.
``--keep`` takes the committed numbers as they are; ``--write`` replaces schedgen/predict/h200.json.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from schedgen import terminal
from schedgen.predict import Numbers, Prediction, h200
from schedgen.predict.card import DATA
from schedgen.predict.model import loop_on, on_shape, timeline_of
from schedgen.predict.timeline import Timeline
from tests.benchmarks.prediction_points import (
    CALIBRATION,
    OTHER_SHAPES,
    SHAPES,
    SQUARE,
    TEST,
    Measured,
    Point,
    Results,
    Shape,
    read_results,
    text_of,
)

ROUNDS = 24
LEAST_STEP = 0.01
BOUNDS = {
    "load_rate": (20.0, 80.0), "load_latency": (300, 1500), "load_queue": (0, 200),
    "wakeup": (20, 300), "launch": (500, 8000), "store_rate": (2.0, 64.0),
}  # fmt: skip
"""Where each number can lie for it to be what its name says."""


@cache
def events_of(kernel: str, pipeline: str) -> Timeline:
    return timeline_of(Point("", kernel, pipeline).schedule)


def of(point: Point, numbers: Numbers, shape: Shape = SQUARE) -> Prediction:
    timeline = events_of(point.kernel, point.pipeline)
    loop = loop_on(timeline, numbers)
    return on_shape(timeline.schedule, loop, shape=shape, numbers=numbers, clock=None)


def measured(results: Results, point: Point, shape: Shape = SQUARE) -> Measured | None:
    return results.get((text_of(point.kernel, point.pipeline), shape))


def fitted(results: Results, start: Numbers) -> Numbers:
    """The numbers that fit the calibration set best: coordinate search on squared logarithms.

    Where cycles were not counted, milliseconds at the clock stand for them.
    """
    known = [(p, m) for p in CALIBRATION.values() if (m := measured(results, p)) is not None]
    clocks = [m.cycles / m.ms / 1e6 for _, m in known if m.cycles is not None]
    clock = round(statistics.median(clocks), 3) if clocks else start.clock
    targets = [(p, m.cycles or m.ms * clock * 1e6) for p, m in known]

    def error(numbers: Numbers) -> float:
        return sum(math.log(of(p, numbers).cycles / cycles) ** 2 for p, cycles in targets)

    return _searched(replace(start, clock=clock), error)


def _searched(numbers: Numbers, error: Callable[[Numbers], float]) -> Numbers:
    best, step = error(numbers), 0.2
    for _ in range(ROUNDS):
        before = best
        for name in CALIBRATION:
            for factor in (1 + step, 1 / (1 + step)):
                tried = _moved(numbers, name, factor)
                found = error(tried)
                if found < best:
                    best, numbers = found, tried
                    break
        if best >= before * (1 - 1e-3):
            step /= 2
        if step < LEAST_STEP:
            break
    return numbers


def _moved(numbers: Numbers, name: str, factor: float) -> Numbers:
    low, high = BOUNDS[name]
    value = getattr(numbers, name)
    moved = min(max(value * factor, low), high)
    if isinstance(value, int):
        whole = round(moved)
        moved = whole if whole != value else value + (1 if factor > 1 else -1)
        return replace(numbers, **{name: min(max(moved, int(low)), int(high))})
    return replace(numbers, **{name: round(moved, 2)})


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """The rank correlation; equal values share their mean rank."""

    def ranks(values: Sequence[float]) -> list[float]:
        return [sum(v < w for v in values) + sum(v == w for v in values) / 2 for w in values]

    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def rows(results: Results, points: Iterable[Point], numbers: Numbers, shape: Shape):
    """Label, prediction and measurement of the points that were measured on a shape."""
    for point in points:
        found = measured(results, point, shape) if shape in point.shapes else None
        if found is not None:
            yield point.label, of(point, numbers, shape), found


def report(results: Results, numbers: Numbers) -> str:
    """Residuals of the calibration set, then the test set shape by shape."""
    lines = [f"{name} = {getattr(numbers, name):g}" for name in (*CALIBRATION, "clock")]
    lines += ["", "calibration set", *_table(rows(results, CALIBRATION.values(), numbers, SQUARE))]
    for shape in SHAPES:
        found = list(rows(results, (*TEST, *OTHER_SHAPES), numbers, shape))
        if len(found) < 2:
            continue
        lines += ["", f"test set, {'x'.join(map(str, shape))}", *_table(found)]
        by_ms = spearman([p.cycles for _, p, _ in found], [m.ms for *_, m in found])
        lines.append(f"rank correlation with burst ms: {by_ms:.3f} over {len(found)} schedules")
        counted = [(p.cycles, m.cycles) for _, p, m in found if m.cycles is not None]
        if len(counted) > 2:
            by_cycles = spearman(*zip(*counted, strict=True))
            lines.append(f"rank correlation with cycles: {by_cycles:.3f} over {len(counted)}")
    return "\n".join(lines) + "\n"


def _table(found: Iterable[tuple[str, Prediction, Measured]]) -> list[str]:
    head = f"{'schedule':34} {'cycles':>10} {'counted':>10} {'off':>6}  {'ms':>6} {'burst':>6}"
    lines = [f"{head}  per step, limited by"]
    for label, p, m in found:
        counted = f"{m.cycles:,}" if m.cycles else "-"
        off = f"{100 * (p.cycles / m.cycles - 1):+.1f}%" if m.cycles else "-"
        text = p.limiting.text if p.limiting else ""
        lines.append(
            f"{label:34} {p.cycles:>10,} {counted:>10} {off:>6}  {p.ms:6.3f} {m.ms:6.3f}"
            f"  {p.cycles_per_step:.0f}, {text}"
        )
    return lines


def write(numbers: Numbers, results: Path) -> None:
    """Put the numbers into the data file, whose other texts stay."""
    value = json.loads(DATA.read_text(encoding="utf-8"))
    for name, entry in value["numbers"].items():
        entry["value"] = getattr(numbers, name)
    value["fitted_to"] = results.name
    machine = json.loads(results.read_text(encoding="utf-8")).get("machine", {})
    value["date"] = str(machine.get("date", value["date"]))[:10]
    terminal.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n", DATA)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the committed numbers")
    parser.add_argument("--keep", action="store_true", help="do not fit: report what is committed")
    given = parser.parse_args()
    results = read_results(given.results)
    numbers = h200() if given.keep else fitted(results, h200())
    print(report(results, numbers), end="")
    if given.write:
        write(numbers, given.results)


if __name__ == "__main__":
    main()
