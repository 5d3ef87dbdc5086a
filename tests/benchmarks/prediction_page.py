"""What `schedgen predict` said of the run, before the run and after its numbers were fitted to it.

Before: the milliseconds in the results file, which the run printed with numbers chosen before it,
at `CLOCK_BEFORE`.  After: the committed numbers.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from functools import cache

from schedgen.bench.request import Shape, shape_text
from schedgen.predict import h200
from tests.benchmarks import calibrate
from tests.benchmarks.ladder_run import LADDER, Ladder, percent, table
from tests.benchmarks.prediction_points import (
    CALIBRATION,
    OTHER_SHAPES,
    SHAPES,
    SQUARE,
    TEST,
    Point,
)

CLOCK_BEFORE = 1.55
"""GHz, of the numbers that were chosen before the run; kilo-cycles are ms x 1e3 of it."""

NUMBERS_BEFORE = {
    "load_rate": 50.0, "load_latency": 600, "load_queue": 20, "wakeup": 70, "launch": 3000,
    "store_rate": 9.0, "clock": CLOCK_BEFORE,
}  # fmt: skip


def cycles_before(run: Ladder, label: str) -> float:
    return run.predicted(label) * CLOCK_BEFORE * 1e6


@cache
def cycles_after(point: Point, shape: Shape = SQUARE) -> int:
    return calibrate.of(point, h200(), shape).cycles


def numbers(_: Ladder) -> list[str]:
    now = h200()
    rows = [
        [f"`{name}`", f"{before:g}", f"{getattr(now, name):g}"]
        for name, before in NUMBERS_BEFORE.items()
    ]
    return table(["number", "before the run", "fitted"], rows)


def _rows(run: Ladder, points: Iterable[Point]) -> list[list[str]]:
    rows: list[list[str]] = []
    for p in points:
        counted, before, after = run.cycles(p.label), cycles_before(run, p.label), cycles_after(p)
        ms = after / h200().clock / 1e6
        rows.append([
            p.label, f"{before:,.0f}", f"{after:,}", f"{counted:,}", percent(before / counted),
            percent(after / counted), f"{ms:.3f}", f"{run.time(p.label).median:.3f}",
        ])  # fmt: skip
    return rows


HEADINGS = [
    "schedule", "cycles, before", "cycles, fitted", "counted", "off, before", "off, fitted",
    "ms, fitted", "burst ms",
]  # fmt: skip


def calibration(run: Ladder) -> list[str]:
    return table(HEADINGS, _rows(run, CALIBRATION.values()))


def test_set(run: Ladder) -> list[str]:
    return table(HEADINGS, _rows(run, TEST))


def points_on(shape: Shape) -> list[Point]:
    return [p for p in (*TEST, *OTHER_SHAPES) if shape in p.shapes]


def other_shapes(run: Ladder) -> list[str]:
    """Milliseconds before, after, measured."""
    rows = [
        [p.label, *(
            f"{run.predicted(p.label, s):.3f} / {cycles_after(p, s) / h200().clock / 1e6:.3f} / "
            f"{run.time(p.label, s).median:.3f}"
            for s in SHAPES[1:]
        )]
        for p in points_on(SHAPES[1])
    ]  # fmt: skip
    return table(["ms: before / fitted / burst", *map(shape_text, SHAPES[1:])], rows)


def correlation(run: Ladder, shape: Shape, *, fitted: bool, by_cycles: bool) -> float:
    """Spearman's, of what was predicted with what was measured, over the test points of a shape."""
    points = points_on(shape)
    guesses = [cycles_after(p, shape) if fitted else run.predicted(p.label, shape) for p in points]
    found = [
        run.cycles(p.label) if by_cycles else run.time(p.label, shape).median for p in points
    ]  # fmt: skip
    return calibrate.spearman(guesses, found)


def correlations(run: Ladder) -> list[str]:
    rows = [
        [shape_text(shape), against, str(len(points_on(shape))),
         *(f"{correlation(run, shape, fitted=f, by_cycles=c):.3f}" for f in (False, True))]
        for shape in SHAPES
        for against, c in [("burst ms", False), *[("cycles", True)] * (shape == SQUARE)]
    ]  # fmt: skip
    return table(["shape", "against", "schedules", "before the run", "fitted"], rows)


def _pays(run: Ladder, text: str, label: str, than: str) -> list[str]:
    guess = run.predicted(than) / run.predicted(label)
    known = label in POINTS and than in POINTS
    after = percent(cycles_after(POINTS[than]) / cycles_after(POINTS[label])) if known else "-"
    return [
        text, percent(guess), after, percent(run.fewer(label, than)), percent(run.gain(label, than))
    ]  # fmt: skip


QUESTIONS = (
    ("V5: 2 stages against 4", "V5, 2 stages", "V5"),
    ("V4: 2 stages against 3", "V4, 2 stages", "V4"),
    ("V5: 3 stages against 4", "V5, 3 stages", "V5"),
    ("V4: 3 stages against 4", "V4", "V4, 4 stages"),
    ("one in flight, two consumers, 128x256, 4 stages (V5)", "V5", "V4, 4 stages"),
    ("the same, 3 stages", "V5, 3 stages", "V4"),
    ("two in flight against one, 4 stages", "in flight 2", "V5"),
    ("one in flight, two consumers, 128x128", "128x128 x2, in flight 1", "128x128 x2"),
    ("one in flight, one consumer, 128x128", "128x128 x1, in flight 1", "V3"),
    ("the same, 4 stages", "128x128 x1, 4 stages, in flight 1", "V3, 4 stages"),
    ("one in flight, one consumer, 64x256", "64x256 x1, in flight 1", "64x256 x1"),
    ("the same, 4 stages", "64x256 x1, 4 stages, in flight 1", "64x256 x1, 4 stages"),
    ("64x256: 4 stages against 3", "64x256 x1, 4 stages", "64x256 x1"),
    ("results through the ring (V5)", "V5 ring epilogue", "V5, raster 8"),
    ("results through a buffer of its own (V5, 3 stages)", "V5 own epilogue", "V5, 3 stages"),
)
"""What a pass brings: a schedule, and the one it is compared with."""


def judgements(run: Ladder) -> list[str]:
    rows = [_pays(run, *question) for question in QUESTIONS]
    headings = ["gain in speed", "before the run", "fitted", "cycles", "burst"]
    return table(headings, rows)


def errors(run: Ladder) -> list[str]:
    """How far off a prediction is in the middle of both sets, in percent of the counted cycles."""
    rows: list[list[str]] = []
    for name, points in (("calibration", list(CALIBRATION.values())), ("test", list(TEST))):
        off = [
            [abs(cycles / run.cycles(p.label) - 1) for p in points
             for cycles in [cycles_after(p) if fitted else cycles_before(run, p.label)]]
            for fitted in (False, True)
        ]  # fmt: skip
        told = [f"{100 * statistics.mean(x):.1f} %, at most {100 * max(x):.1f} %" for x in off]
        rows.append([name, str(len(points)), *told])
    return table(["set", "schedules", "mean off, before the run", "mean off, fitted"], rows)


def source(run: Ladder) -> list[str]:
    r = run.results
    return [
        f"Measured in run {r.run} on {r.processes[0]['date'][:10]}, one {r.machine['card']}, power "
        f"limit {r.machine['power limit']} ([{LADDER.name}](results/{LADDER.name}), "
        "[results.md](results.md) has the method): cycles are `sm__cycles_elapsed.max` of one "
        "launch under ncu, ms the median burst.",
    ]


def right_and_wrong(run: Ladder) -> list[str]:
    """What the numbers chosen before the run said, beside what came."""
    return [*_right(run), "", *_wrong(run)]


def _right(run: Ladder) -> list[str]:
    def before(label: str, than: str) -> str:
        return percent(run.predicted(than) / run.predicted(label))

    def came(label: str, than: str) -> str:
        cycles, burst = percent(run.fewer(label, than)), percent(run.gain(label, than))
        return f"{cycles} in cycles, {burst} in burst"

    two, three, v4 = "V5, 2 stages", "V5, 3 stages", "V4, 4 stages"
    return [
        "Right, before anything was fitted to the run (in speed):",
        "",
        f"- V5 collapses at 2 stages: {before(two, 'V5')} predicted, {came(two, 'V5')}; V4, too: "
        f"{before('V4, 2 stages', 'V4')} predicted, {came('V4, 2 stages', 'V4')}. (After the fit, "
        "V5 at 2 stages is a calibration point and proves nothing.)",
        f"- 3 and 4 stages lie within 5 % of each other: {before(three, 'V5')} predicted for V5, "
        f"{came(three, 'V5')}; {before('V4', v4)} for V4, {came('V4', v4)}. In cycles V5's gap is "
        "larger than that.",
        f"- a group in flight brings nothing to V4 with 4 stages: {before('V5', v4)} predicted, "
        f"{came('V5', v4)}; two groups instead of one: {before('in flight 2', 'V5')} predicted, "
        f"{came('in flight 2', 'V5')}.",
        "- it does not pay with one consumer on 128x128, since ptxas serialises it: "
        f"{before('128x128 x1, in flight 1', 'V3')} predicted, "
        f"{came('128x128 x1, in flight 1', 'V3')}.",
        f"- results through the ring pay: {before('V5 ring epilogue', 'V5, raster 8')} predicted, "
        f"{came('V5 ring epilogue', 'V5, raster 8')}.",
    ]


def _wrong(run: Ladder) -> list[str]:
    def off(label: str) -> str:
        return percent(cycles_after(POINTS[label]) / run.cycles(label))

    def first(label: str) -> str:
        return percent(cycles_before(run, label) / run.cycles(label))

    pair, one = "128x128 x2", "64x256 x1, 4 stages"
    clocks = [run.clock(p.label) for p in POINTS.values()]
    gain = {label: percent(run.fewer(f"{label}, in flight 1", label)) for label in (pair, one)}
    return [
        "Wrong, and the likely reason:",
        "",
        f"- a group in flight brings {gain[pair]} in cycles to two consumers of 128x128, and "
        f"{gain[one]} to one consumer of 64x256 with 4 stages; nothing was predicted for either. A "
        "ring with a stage less, without any overlap, brings such gains there, too: V3 at 2 "
        f"stages against 3 {percent(run.fewer('V3, 2 stages', 'V3'))} "
        f"({percent(run.predicted('V3') / run.predicted('V3, 2 stages'))} predicted), 64x256 at 3 "
        f"stages against 4 {percent(run.fewer('64x256 x1', one))} "
        f"({percent(run.predicted(one) / run.predicted('64x256 x1'))} predicted). So the likely "
        "reason is not the overlap, but the stage that it holds back: where loads are the limit, a "
        "shallower ring asks for less at once. The model lets loads wait by the share of time that "
        "their way is in use, not by how many are under way. This was not measured apart.",
        "- 64x256 at 3 stages pays more for a group in flight than was predicted: "
        f"{percent(run.fewer('64x256 x1, in flight 1', '64x256 x1'))} in cycles, "
        f"{percent(run.predicted('64x256 x1') / run.predicted('64x256 x1, in flight 1'))} said.",
        f"- V5 at 3 stages against V4 at 3: {percent(run.fewer('V5, 3 stages', 'V4'))} in cycles, "
        "nothing predicted: the model bounds both by the same loads, and does not see that the lag "
        "leaves the producer a stage less to smooth them with.",
        f"- the fit made what waits for each load worse: V1 {first('V1')} before, {off('V1')} "
        f"after; V4 at 2 stages {first('V4, 2 stages')}, {off('V4, 2 stages')}; 128x128 with a "
        f"serialised group {first('128x128 x1, in flight 1')}, {off('128x128 x1, in flight 1')}. "
        "`load_latency` rests on V5 at 2 stages alone, and takes up what that schedule has beside "
        "the latency.",
        f"- milliseconds: one clock ({h200().clock:g} GHz) stands for {min(clocks):.2f} to "
        f"{max(clocks):.2f} GHz, so that V5 at 2 stages comes out at "
        f"{cycles_after(POINTS['V5, 2 stages']) / h200().clock / 1e6:.2f} ms instead of "
        f"{run.time('V5, 2 stages').median:.2f}. The {run.predicted('V5, 2 stages'):.2f} ms said "
        f"before the run were closer by two errors against each other: {first('V5, 2 stages')} in "
        "cycles, and the clock.",
    ]


POINTS = {point.label: point for point in (*CALIBRATION.values(), *TEST)}

SECTIONS = {
    "source": source, "right and wrong": right_and_wrong, "numbers": numbers,
    "calibration": calibration, "test set": test_set, "other shapes": other_shapes,
    "errors": errors, "correlations": correlations, "judgements": judgements,
}  # fmt: skip
