"""The pages of results say what the results files say, and the files hold what was wanted."""

import re
from dataclasses import replace

import pytest

from schedgen.bench.request import shape_text
from tests.benchmarks import prediction_page
from tests.benchmarks.claims import Claim, claims
from tests.benchmarks.hazards import written
from tests.benchmarks.ladder_run import EARLY_RELEASE, RIGHT, TORCH, json_of, ladder, percent
from tests.benchmarks.prediction_points import CALIBRATION, SHAPES, SQUARE, TEST
from tests.benchmarks.published import RUNGS
from tests.benchmarks.results_page import DOCS, EVERYWHERE, PAGES, rungs

RUN = ladder()
SECTIONS = [(page, name) for page, sections in PAGES.items() for name in sections]


@pytest.mark.parametrize(("page", "name"), SECTIONS)
def test_page_is_what_the_files_give(page, name):
    """If not: ``python -m tests.benchmarks.results_page --write``."""
    text = (DOCS / page).read_text(encoding="utf-8")
    assert written(text, name, PAGES[page][name](RUN)) == text


@pytest.mark.parametrize("page", PAGES)
def test_every_marker_is_made(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert sorted(re.findall(r"<!-- (.*): begin -->", text)) == sorted(PAGES[page])
    assert all((DOCS / link).exists() for link in re.findall(r"\]\(([^)#]+)\)", text))


def test_another_time_makes_another_page():
    first, *rest = RUN.results.shapes
    part = first.parts["burst"]
    rounds = tuple({label: 2 * ms if label == "V6" else ms for label, ms in r.items()}
                   for r in part.rounds)  # fmt: skip
    slow = replace(first, parts={**first.parts, "burst": replace(part, rounds=rounds)})
    other = replace(RUN, results=replace(RUN.results, shapes=(slow, *rest)))
    changed = [a for a, b in zip(rungs(RUN), rungs(other), strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0].startswith("| V6 |")
    assert {c.verdict for c in claims(other)} > {"repeats"}


def test_the_run_is_whole():
    assert RUN.results.unfinished == ()
    assert RUN.results.faults == ()
    assert [s.shape for s in RUN.results.shapes] == list(SHAPES)
    assert len(RUN.results.processes) == 1
    for shape in SHAPES:
        assert set(EVERYWHERE) <= set(RUN.labels(shape))


def test_emitted_v5_is_as_good_as_written_by_hand():
    assert RUN.cycles("V5") / RUN.cycles("hand-written") == pytest.approx(1, abs=0.005)
    assert RUN.cycles("V5 static k") / RUN.cycles("hand-written") == pytest.approx(1, abs=0.005)


def test_best_schedules_against_torch():
    assert RUN.gain("V5 ring epilogue", TORCH) >= 0.97
    assert RUN.gain("V6", TORCH) >= 1.0
    fp32 = [e.label for e in RUN.results.on(SQUARE) if e.kind == "schedule" and e.sums == "f32"]
    timed = [label for label in fp32 if label in RUN.labels(SQUARE)]
    assert max(RUN.gain(label, TORCH) for label in timed) < 1
    assert RUN.cycles("V5 ring epilogue") < RUN.cycles(TORCH)
    assert RUN.clock("V5 ring epilogue") < RUN.clock(TORCH)
    assert max(RUN.gain("V5 ring epilogue", TORCH, s) for s in SHAPES[1:]) < 0.97


def test_readme_says_what_the_run_says():
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"runs at {RUN.gain('V5 ring epilogue', TORCH):.3f} of torch.matmul" in text
    assert f"V6 (fp16 sums) at {RUN.gain('V6', TORCH):.3f}" in text
    assert "within 0.2 %" in text
    assert RUN.cycles("V5") / RUN.cycles("hand-written") == pytest.approx(1, abs=0.002)
    assert f"on {len(TEST)} schedules" in text


def test_five_stages_are_refused_with_their_bytes():
    assert "245840 bytes" in (RUN.entries["V5, 5 stages"].refusal or "")


def test_rungs_are_proved_and_right():
    for label in (*RUNGS, "V4 ring epilogue", "V5 ring epilogue"):
        assert (RUN.entries[label].proof or "").startswith("proved for every K >= 0")
        assert RUN.entries[label].problems == ()
    for row in json_of(RIGHT):
        assert max(row["errors"].values()) <= row["limit"]


def test_the_refused_schedule_is_wrong_from_the_smallest_k_on():
    machine = json_of(EARLY_RELEASE)["machine"]
    assert machine["card"] == RUN.results.machine["card"]
    assert machine["date"][:10] == RUN.results.processes[0]["date"][:10]
    for row in json_of(EARLY_RELEASE)["early_release"]:
        tiles = row["shape"][2] // 64
        assert row["early_wrong"] == (row["runs"] if tiles >= 4 else 0)
        assert row["v5_exact"] == row["runs"]


@pytest.mark.parametrize(
    ("published", "here", "verdict"),
    [
        (1.06, 1.04, "repeats"),
        (1.06, 1.01, "repeats in part, less than claimed"),
        (1.06, 1.10, "repeats in part, more than claimed"),
        (0.72, 0.65, "repeats in part, more than claimed"),
        (1.06, 0.99, "does not repeat"),
    ],
)
def test_verdict_of_a_claim(published, here, verdict):
    assert Claim("x", published, here, "").verdict == verdict


def test_what_the_sentences_say_holds():
    """The reasons are words: these are the facts that they rest on."""
    assert RUN.cycles("V2") < RUN.cycles("V1")
    assert RUN.clock("V2") < RUN.clock("V3") < RUN.clock("V1")
    assert RUN.cycles("V3") > RUN.cycles("V2")
    assert RUN.gain("V4, 4 stages", "V5") > 1
    assert RUN.gain("V5, 3 stages", "V4") < 1
    assert RUN.fewer("V6", "V5") < 1.05 < RUN.gain("V6", "V5")
    assert RUN.cycles(TORCH) < RUN.cycles("V6")
    shallow = RUN.fewer("V3, 2 stages", "V3"), RUN.fewer("64x256 x1", "64x256 x1, 4 stages")
    assert min(shallow) > 1.04


@pytest.mark.parametrize("fitted", [False, True])
def test_rank_correlations(fitted):
    assert len(prediction_page.points_on(SQUARE)) >= 12
    for shape in SHAPES:
        found = prediction_page.correlation(RUN, shape, fitted=fitted, by_cycles=False)
        assert found > 0.89, shape_text(shape)
    assert prediction_page.correlation(RUN, SQUARE, fitted=fitted, by_cycles=True) > 0.97


def test_labels_of_the_run_are_those_of_the_prediction():
    for point in (*CALIBRATION.values(), *TEST):
        entry = RUN.entries[point.label]
        assert (entry.source, entry.pipeline) == (point.kernel, point.pipeline)


def test_what_was_predicted_before_the_run():
    def said(label, than):
        return RUN.predicted(than) / RUN.predicted(label)

    assert said("V5, 2 stages", "V5") < 0.75
    assert said("V5, 3 stages", "V5") == pytest.approx(1, abs=0.05)
    assert said("V4", "V4, 4 stages") == pytest.approx(1, abs=0.05)
    assert said("V5", "V4, 4 stages") == pytest.approx(1, abs=0.01)
    assert RUN.gain("V5", "V4, 4 stages") == pytest.approx(1, abs=0.01)


def test_percent_has_no_negative_zero():
    assert [percent(x) for x in (1.015, 0.9999999, 0.5)] == ["+1.5 %", "+0.0 %", "-50.0 %"]
