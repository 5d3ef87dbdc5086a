"""The run of the ladder that docs/results.md and docs/predict.md tell of: numbers by label."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from schedgen.bench.counters import CYCLES, TENSOR_PIPE
from schedgen.bench.request import Shape, shape_text
from schedgen.bench.results import Entry, Results, ShapeResults
from schedgen.bench.results_json import read_results
from schedgen.bench.timing import Summary, summary, tflops
from tests.benchmarks.prediction_points import SQUARE

FOLDER = Path(__file__).parents[2] / "docs" / "results"
DAY = "2026-11-30-h200"
LADDER = FOLDER / f"{DAY}-ladder.json"
RIGHT = FOLDER / f"{DAY}-right.json"
EARLY_RELEASE = FOLDER / f"{DAY}-early-release.json"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
TORCH = "torch.matmul"


@dataclass(frozen=True)
class Ladder:
    """One results file of `schedgen bench`; times in ms, ratios paired within a round."""

    results: Results

    @cached_property
    def entries(self) -> dict[str, Entry]:
        return {entry.label: entry for entry in self.results.entries}

    def at(self, shape: Shape) -> ShapeResults:
        return self.results.at(shape)

    def labels(self, shape: Shape) -> list[str]:
        """In the order of the suite, those that were timed."""
        return [e.label for e in self.results.on(shape) if self.at(shape).times("burst", e.label)]

    def time(self, label: str, shape: Shape = SQUARE, method: str = "burst") -> Summary:
        return summary(self.at(shape).times(method, label))

    def ratio(
        self, label: str, to: str = TORCH, shape: Shape = SQUARE, method: str = "burst"
    ) -> Summary:
        """How much faster ``label`` is: above 1 where it takes less time than ``to``."""
        found = self.at(shape).ratio(method, label, to)
        assert found is not None, f"{label} and {to} were not timed together"
        return found

    def gain(self, label: str, over: str, shape: Shape = SQUARE) -> float:
        return self.ratio(label, over, shape).median

    def tflops(self, label: str, shape: Shape = SQUARE) -> float:
        return tflops(shape, self.time(label, shape).median)

    def metric(self, label: str, name: str) -> float:
        return self.at(SQUARE).counts[label].metrics[name]

    def cycles(self, label: str) -> int:
        return round(self.metric(label, CYCLES))

    def fewer(self, label: str, than: str) -> float:
        """Cycles of ``than`` over those of ``label``."""
        return self.cycles(than) / self.cycles(label)

    def pipe(self, label: str) -> float:
        return self.metric(label, TENSOR_PIPE)

    def l2(self, label: str) -> float:
        return self.metric(label, L2)

    def clock(self, label: str) -> float:
        """GHz: counted cycles by burst time, which are of different launches."""
        return self.cycles(label) / self.time(label).median / 1e6

    def predicted(self, label: str, shape: Shape = SQUARE) -> float:
        """The milliseconds that the run itself printed, before anything was fitted to it."""
        return self.entries[label].predicted[shape_text(shape)]

    def error(self, label: str) -> float:
        error = self.at(SQUARE).checks[label].error
        assert error is not None
        return error


def ladder() -> Ladder:
    return Ladder(read_results(LADDER))


def json_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def percent(ratio: float) -> str:
    """``+1.5 %`` for 1.015."""
    return f"{round(100 * (ratio - 1), 1) + 0.0:+.1f} %"


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Of Markdown."""
    return ["| " + " | ".join(line) + " |" for line in (headings, ["---"] * len(headings), *rows)]
