"""The lists of the prediction, and the script that fits its numbers."""

import json
import tomllib
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.predict import h200
from tests.benchmarks import calibrate
from tests.benchmarks.calibrate import fitted, of, report, spearman
from tests.benchmarks.prediction_points import (
    CALIBRATION,
    OTHER_SHAPES,
    SQUARE,
    TEST,
    Measured,
    read_results,
    text_of,
)

ROOT = Path(__file__).parents[2]


def key(point):
    return text_of(point.kernel, point.pipeline)


def test_sets_are_apart_and_large_enough():
    used, tested = {key(p) for p in CALIBRATION.values()}, {key(p) for p in TEST}
    assert len(used) == len(CALIBRATION) <= 6
    assert len(tested) == len(TEST) >= 12
    assert used & tested == set()
    assert "" not in used | tested


@pytest.mark.parametrize("point", [*CALIBRATION.values(), *TEST], ids=lambda p: p.label)
def test_schedule_is_proved_and_listed(point):
    assert sg.check(point.schedule).outcome is sg.Outcome.PROVED
    page = (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
    assert f"| {point.label} | `{point.kernel}` |" in page
    assert not point.pipeline or f"`{point.pipeline}`" in page


def test_the_suite_of_the_ladder_measures_every_point():
    suite = tomllib.loads((ROOT / "kernels" / "ladder.toml").read_text(encoding="utf-8"))
    everywhere = suite["shapes"]
    measured = {
        text_of(c["input"], c.get("pipeline", "")): c.get("shapes", everywhere)
        for c in suite["contestant"] if not c.get("static-k")
    }  # fmt: skip
    for point in (*CALIBRATION.values(), *TEST, *OTHER_SHAPES):
        wanted = {"x".join(map(str, shape)) for shape in point.shapes}
        assert wanted <= set(measured[text_of(point.kernel, point.pipeline)]), point.label


def test_rank_correlation():
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 2], [5, 6, 7]) == pytest.approx(0.866, abs=1e-3)


def as_measured(numbers):
    """What one would measure if the model were right."""
    found = {}
    for point in (*CALIBRATION.values(), *TEST):
        predicted = of(point, numbers)
        found[key(point), SQUARE] = Measured(predicted.ms, predicted.cycles)
    return found


def test_fit_comes_back_to_what_was_measured(monkeypatch):
    numbers = h200()
    results = as_measured(numbers)
    moved = calibrate._moved(numbers, "load_latency", 1.5)
    two_stages = CALIBRATION["load_latency"]
    true = of(two_stages, numbers).cycles
    assert of(two_stages, moved).cycles > 1.1 * true
    monkeypatch.setattr(calibrate, "ROUNDS", 3)
    assert of(two_stages, fitted(results, moved)).cycles == pytest.approx(true, rel=0.02)
    assert f"rank correlation with cycles: 1.000 over {len(TEST)}" in report(results, numbers)


def test_results_of_bench_are_read(tmp_path):
    row = {"label": "x", "burst": {"ms": {"median": 1.5}},
           "cycles": {"metrics": {"sm__cycles_elapsed.max": 2300000.0}}}  # fmt: skip
    value = {
        "contestants": [
            {"label": "x", "kind": "schedule", "input": "hopper_matmul_v4",
             "pipeline": "overlap-wgmma{in-flight=1},set-stages{n=4}", "static_k": False},
            {"label": "torch", "kind": "peer", "input": "torch", "pipeline": "", "static_k": False},
        ],
        "shapes": [
            {"shape": list(SQUARE), "rows": [row, {"label": "torch", "burst": row["burst"]}]}
        ],
    }  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps(value))
    assert read_results(path) == {(key(CALIBRATION["store_rate"]), SQUARE): Measured(1.5, 2300000)}
