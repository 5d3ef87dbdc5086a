"""What `schedgen predict` is calibrated on and what it is tested on: listed before the run.

Every schedule of the calibration set is there for one number, and no number is fitted to the test
set.  docs/predict.md has the same list, and says what was known before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import schedgen as sg
from schedgen.ir.schedule import Schedule

Shape = tuple[int, int, int]

SQUARE: Shape = (8192, 8192, 8192)
SHAPES: tuple[Shape, ...] = (SQUARE, (4096, 4096, 4096), (4096, 4096, 14336), (10240,) * 3)


class Point(NamedTuple):
    """A schedule on the shapes where it is measured: a kernel and the passes applied to it."""

    label: str
    kernel: str
    pipeline: str = ""
    shapes: tuple[Shape, ...] = (SQUARE,)

    @property
    def schedule(self) -> Schedule:
        schedule = sg.load(self.kernel)
        return sg.apply(schedule, self.pipeline) if self.pipeline else schedule


OWN = "rasterize{along=n,group=8},stage-epilogue{buffer=own}"

CALIBRATION: dict[str, Point] = {
    "load_rate": Point("V3", "hopper_matmul_v3"),
    "load_latency": Point("V5, 2 stages", "hopper_matmul_v5", "set-stages{n=2}"),
    "load_queue": Point("V5, 3 stages", "hopper_matmul_v5", "set-stages{n=3}"),
    "wakeup": Point("V3, 4 stages", "hopper_matmul_v3", "set-stages{n=4}"),
    "launch": Point("V5 ring epilogue", "hopper_matmul_v5_ring"),
    "store_rate": Point("V5", "hopper_matmul_v5"),
}
"""For each number the schedule that settles it, all at 8192^3; the clock is that of all six."""

TEST: tuple[Point, ...] = (
    Point("V1", "hopper_matmul_v1", "", SHAPES),
    Point("V2", "hopper_matmul_v2", "", SHAPES),
    Point("V4", "hopper_matmul_v4", "", SHAPES),
    Point("V6", "hopper_matmul_v6", "", SHAPES),
    Point("V4 ring epilogue", "hopper_matmul_v4_ring", "", SHAPES),
    Point("V4, 2 stages", "hopper_matmul_v4", "set-stages{n=2}"),
    Point("V4, 4 stages", "hopper_matmul_v4", "set-stages{n=4}"),
    Point("in flight 2", "hopper_matmul_v4", "overlap-wgmma{in-flight=2},set-stages{n=4}"),
    Point("V4 own epilogue", "hopper_matmul_v4", OWN),
    Point("V5 own epilogue", "hopper_matmul_v5_own"),
    Point("V3, 2 stages", "hopper_matmul_v3", "set-stages{n=2}"),
    Point("128x128 x2", "hopper_matmul_v3", "split-consumers{n=2}"),
    Point(
        "128x128 x2, in flight 1", "hopper_matmul_v3",
        "split-consumers{n=2},overlap-wgmma{in-flight=1}",
    ),
    Point("64x256 x1, 4 stages", "hopper_matmul_v3", "set-tile{m=64,n=256},set-stages{n=4}"),
    Point(
        "64x256 x1, 4 stages, in flight 1", "hopper_matmul_v3",
        "set-tile{m=64,n=256},set-stages{n=4},overlap-wgmma{in-flight=1}",
    ),
    Point("128x128 x1, in flight 1", "hopper_matmul_v3", "overlap-wgmma{in-flight=1}"),
    Point(
        "128x128 x1, 4 stages, in flight 1", "hopper_matmul_v3",
        "overlap-wgmma{in-flight=1},set-stages{n=4}",
    ),
)  # fmt: skip
"""No number is fitted to these.  The two calibrated rungs V3 and V5, and V5 with the ring
epilogue, are points of the test on the other three shapes."""

OTHER_SHAPES: tuple[Point, ...] = tuple(
    point._replace(shapes=SHAPES[1:])
    for name, point in CALIBRATION.items()
    if name in ("load_rate", "launch", "store_rate")
)


class Measured(NamedTuple):
    """Burst milliseconds, and cycles where they were counted."""

    ms: float
    cycles: int | None


Results = dict[tuple[str, Shape], Measured]
"""By the text of the schedule, which says what was measured whatever it was called."""


def text_of(kernel: str, pipeline: str) -> str:
    """What identifies a schedule: its text without the name; empty for what is none."""
    try:
        point = Point("", kernel, pipeline)
        return sg.show(point.schedule).partition("\n")[2]
    except (sg.IllFormed, sg.PassStopped):
        return ""


def read_results(path: Path) -> Results:
    """The measured times in a results file of `schedgen bench`, or in a list of points."""
    value = json.loads(path.read_text(encoding="utf-8"))
    rows = value["points"] if "points" in value else _bench_rows(value)
    found: Results = {}
    for row in rows:
        key = text_of(row["input"], row["pipeline"]), tuple(row["shape"])
        found[key] = Measured(row["burst_ms"], row.get("cycles"))
    return found


def _bench_rows(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    entries = {e["label"]: e for e in value["contestants"] if not e["static_k"]}
    for of_shape in value["shapes"]:
        for row in of_shape["rows"]:
            entry = entries.get(row["label"])
            if entry is None or entry["kind"] != "schedule" or "burst" not in row:
                continue
            metrics = row.get("cycles", {}).get("metrics") or {}
            cycles = metrics.get("sm__cycles_elapsed.max")
            yield {
                "input": entry["input"], "pipeline": entry["pipeline"],
                "shape": of_shape["shape"], "burst_ms": row["burst"]["ms"]["median"],
                "cycles": None if cycles is None else round(cycles),
            }  # fmt: skip
