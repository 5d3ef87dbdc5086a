"""Measuring on a fake GPU: the order of things, the arithmetic, and what is never done."""

import json
import math
import statistics
from dataclasses import replace

import pytest

from schedgen.bench.measuring import Run, Stopped
from schedgen.bench.preparing import Prepared
from schedgen.bench.request import Contestant
from schedgen.bench.results import FAILED, RIGHT, WRONG, differences, resumed
from schedgen.bench.results_json import from_json, to_json, to_text
from schedgen.bench.timing import burst, paired_ratios, rotated, summary, tflops
from schedgen.ir.problems import IllFormed
from tests.fake_gpu import FakeGpu, Quiet, empty_results

BIG, SMALL = (8192, 8192, 8192), (4096, 4096, 4096)


def prepared(label, *, shapes=(BIG,), refusal=None):
    contestant = Contestant(
        label=label, kind="peer", source="torch", pipeline="", static_k=False, shapes=shapes
    )
    return Prepared(contestant=contestant, schedule=None, digest=None, proof=None, refusal=refusal)


def run_of(gpu, labels, *, shapes=(BIG,), rounds=3, hot=False, refused=(), saved=None, old=None):
    ones = [
        prepared(label, shapes=shapes, refusal="no" if label in refused else None)
        for label in labels
    ]
    results = empty_results(
        [one.entry(failure=None, problems=()) for one in ones],
        shapes=shapes,
        rounds=rounds,
        hot=hot,
    )
    if old is not None:
        assert differences(old, results) == []
        results = resumed(old, results)
    keep = [] if saved is None else saved
    return Run(results, {one.contestant.label: one for one in ones}, gpu, save=keep.append,
               progress=Quiet())  # fmt: skip


def test_one_burst_is_idle_warm_up_and_three_launches():
    gpu = FakeGpu({"a": 1.0})
    run_of(gpu, ["a"], rounds=1).measure()
    after_check = gpu.log[gpu.log.index(("check", "a")) + 1 :]
    assert after_check == [("idle", 0.15), ("launch", "a"), ("launch", "a"), ("time", "a", 3)]


def test_sustained_is_twenty_launches_without_pause():
    gpu = FakeGpu({"a": 1.0})
    run_of(gpu, ["a"], rounds=2, hot=True).measure()
    assert gpu.of("idle", "time")[-2:] == [("time", "a", 20)] * 2


def test_rounds_are_interleaved_and_begin_with_another_one():
    gpu = FakeGpu({"a": 1.0, "b": 2.0, "c": 3.0})
    run_of(gpu, ["a", "b", "c"], rounds=4).measure()
    assert [label for _, label, _ in gpu.of("time")] == list("abcbcacababc")


def test_rotation_of_nothing():
    assert rotated([], 3) == []


def test_a_ratio_is_taken_within_a_round():
    """A clock that falls by a tenth each time spoils times and leaves paired ratios near the
    truth."""
    gpu = FakeGpu({"kernel": 2.0, "peer": 1.0}, drift=0.1)
    results = run_of(gpu, ["kernel", "peer"], rounds=3).measure()
    here = results.at(BIG)
    assert here.times("burst", "kernel") == pytest.approx([2.2, 2.8, 3.0])
    assert here.times("burst", "peer") == pytest.approx([1.2, 1.3, 1.6])
    ratios = [1.2 / 2.2, 1.3 / 2.8, 1.6 / 3.0]
    ratio = here.ratio("burst", "kernel", "peer")
    assert ratio.median == pytest.approx(statistics.median(ratios))
    assert (ratio.least, ratio.most) == pytest.approx((min(ratios), max(ratios)))
    assert ratio.median != pytest.approx(1.3 / 2.8)  # what the medians would say


def test_a_round_without_the_baseline_has_no_ratio():
    assert paired_ratios([{"a": 2.0}, {"a": 2.0, "b": 1.0}], "a", "b") == [0.5]


def test_median_and_quartiles():
    found = summary([5.0, 1.0, 2.0, 4.0, 3.0])
    assert (found.least, found.low, found.median, found.high, found.most) == (1, 2, 3, 4, 5)
    assert summary([7.0]).as_dict() == {"median": 7.0, "quartiles": [7.0, 7.0], "range": [7.0, 7.0]}


def test_tflops():
    assert tflops(BIG, 1.0) == pytest.approx(2 * 8192**3 / 1e9)


def test_everyone_is_checked_on_each_shape_before_it_is_timed_there():
    gpu = FakeGpu({"a": 1.0, "b": 1.0})
    run_of(gpu, ["a", "b"], shapes=(BIG, SMALL), rounds=2).measure()
    kinds = [entry[:2] for entry in gpu.of("use", "check", "time")]
    assert kinds[:3] == [("use", "8192x8192x8192"), ("check", "a"), ("check", "b")]
    second = kinds.index(("use", "4096x4096x4096"))
    assert kinds[second + 1 : second + 3] == [("check", "a"), ("check", "b")]
    assert {kind for kind, _ in kinds[3:second]} == {"time"}


@pytest.mark.parametrize("error", [6e-4, 1.0, math.nan, math.inf])
def test_what_is_wrong_is_never_timed(error):
    gpu = FakeGpu({"right": 1.0, "wrong": 1.0}, errors={"wrong": error})
    results = run_of(gpu, ["wrong", "right"]).measure()
    assert [e for e in gpu.log if e[1] == "wrong"] == [("check", "wrong")]
    check = results.at(BIG).checks["wrong"]
    assert (check.state, check.reason is None) == (WRONG, False)
    assert check.error == (error if math.isfinite(error) else None)  # JSON has no infinity
    assert results.at(BIG).times("burst", "right") == [1.0, 1.0, 1.0]
    assert results.faults == ("wrong 8192x8192x8192: wrong",)


def test_what_fails_or_was_refused_is_a_row():
    gpu = FakeGpu({"a": 1.0}, errors={"fails": RuntimeError("CUDA error:\n  bad")})
    results = run_of(gpu, ["fails", "refused", "a"], refused=("refused",)).measure()
    checks = results.at(BIG).checks
    assert (checks["fails"].state, checks["fails"].reason) == (
        FAILED,
        "RuntimeError: CUDA error: bad",
    )
    assert "refused" not in checks
    assert results.unfinished == ()


def test_a_lost_gpu_ends_the_run():
    gpu = FakeGpu({"a": 1.0}, errors={"fails": RuntimeError("illegal address")})
    gpu.alive = False
    run = run_of(gpu, ["a", "fails"])
    with pytest.raises(Stopped, match=r"lost when fails ran at 8192x8192x8192"):
        run.measure()
    assert run.results.at(BIG).checks["fails"].state == FAILED


def test_operands_that_do_not_fit_end_the_run():
    gpu = FakeGpu({"a": 1.0})
    gpu.use = lambda shape, *, seed: 1 / 0
    with pytest.raises(Stopped, match="no operands for 8192x8192x8192"):
        run_of(gpu, ["a"]).measure()


def test_a_launch_that_fails_in_a_round_ends_the_run_and_keeps_what_is_there():
    run = run_of(FakeGpu({"a": 1.0}), ["a", "b"])
    with pytest.raises(Stopped, match="a launch failed at 8192x8192x8192"):
        run.measure()
    assert run.results.at(BIG).checks["a"].state == RIGHT


def test_nothing_right_leaves_nothing_unfinished():
    results = run_of(FakeGpu({}, errors={"a": 1.0}), ["a"]).measure()
    assert (results.unfinished, results.at(BIG).rounds_of("burst")) == ((), ())


def test_every_round_is_kept_whole():
    """Interrupted in the second timing of the third round: two rounds, each with everyone."""
    saved = []
    run = run_of(FakeGpu({"a": 1.0, "b": 2.0}, interrupt_at=6), ["a", "b"], saved=saved)
    with pytest.raises(KeyboardInterrupt):
        run.measure()
    part = saved[-1].at(BIG).parts["burst"]
    assert (part.complete, [set(one) for one in part.rounds]) == (False, [{"a", "b"}] * 2)
    assert saved[-1].unfinished == ("8192x8192x8192 burst",)
    assert run.results == saved[-1]


def test_a_resumed_run_keeps_finished_parts_and_begins_the_others_anew():
    gpu = FakeGpu({"a": 1.0}, interrupt_at=5)
    first = run_of(gpu, ["a"], shapes=(BIG, SMALL))
    with pytest.raises(KeyboardInterrupt):
        first.measure()
    other = FakeGpu({"a": 3.0})
    results = run_of(other, ["a"], shapes=(BIG, SMALL), old=first.results).measure()
    assert results.at(BIG) == first.results.at(BIG)
    assert results.at(SMALL).times("burst", "a") == [3.0, 3.0, 3.0]
    assert [results.at(s).parts["burst"].process for s in (BIG, SMALL)] == [0, 1]
    assert other.of("use") == [("use", "4096x4096x4096")]
    assert results.unfinished == ()


def test_what_failed_is_not_tried_again_when_resumed():
    gpu = FakeGpu({"a": 1.0}, errors={"fails": RuntimeError("illegal address")})
    gpu.alive = False
    first = run_of(gpu, ["a", "fails"])
    with pytest.raises(Stopped):
        first.measure()
    other = FakeGpu({"a": 1.0, "fails": 1.0})
    results = run_of(other, ["a", "fails"], old=first.results).measure()
    assert results.at(BIG).checks["fails"].state == FAILED
    assert results.at(BIG).times("burst", "fails") == []
    assert results.at(BIG).checks["a"].state == RIGHT


def whole():
    gpu = FakeGpu({"a": 1.5, "b": 1.0, "bad": 1.0}, errors={"bad": 1.0}, drift=0.01)
    labels = ["a", "bad", "no", "b"]
    return run_of(gpu, labels, shapes=(BIG, SMALL), hot=True, refused=("no",)).measure()


def test_json_and_back():
    results = whole()
    value = json.loads(to_text(results))
    assert from_json(value, name="x") == results
    assert (value["schema"], value["complete"]) == (1, True)
    row = value["shapes"][0]["rows"][0]
    assert row["burst"]["baseline_over_this"]["median"] == pytest.approx(
        statistics.median(
            b / a for a, b in zip(row["burst"]["rounds_ms"],
                                  value["shapes"][0]["rows"][3]["burst"]["rounds_ms"], strict=True)
        )
    )  # fmt: skip


def test_medians_in_a_file_are_not_believed():
    value = to_json(whole())
    value["shapes"][0]["rows"][0]["burst"]["ms"]["median"] = 0.001
    assert from_json(value, name="x") == whole()


def broken(**changes):
    return {**json.loads(to_text(whole())), **changes}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "no results file of `schedgen bench`"),
        ({"format": "other"}, "no results file"),
        (broken(schema=2), "its schema is 2, this schedgen reads 1"),
        (broken(shapes=[{}]), "it is damaged"),
        (broken(contestants=3), "it is damaged"),
    ],
)
def test_other_files_are_refused(value, words):
    with pytest.raises(IllFormed) as refused:
        from_json(value, name="x.json")
    assert refused.value.code == "SG115"
    assert words in refused.value.message


def test_rounds_that_do_not_fit_together_are_refused():
    for times in ([1.0], [1.0, -1.0, 1.0], [1.0, "x", 1.0]):
        value = broken()
        value["shapes"][0]["rows"][0]["burst"]["rounds_ms"] = times
        with pytest.raises(IllFormed, match="do not fit together"):
            from_json(value, name="x.json")


def test_another_card_kernel_or_number_of_rounds_is_another_run():
    results = whole()
    card = replace(results, machine={"card": "Other"})
    kernel = replace(
        results, entries=(replace(results.entries[0], digest="0"), *results.entries[1:])
    )
    rounds = replace(results, methods=(burst(5),))
    assert differences(results, card) == ["card was Fake H200, is Other"]
    assert differences(results, kernel) == ["`a` was another kernel or had other shapes"]
    assert differences(results, rounds) == ["burst had 3 rounds"]
    fewer = replace(results, entries=results.entries[1:], shapes=results.shapes[1:])
    assert differences(results, fewer) == ["other contestants", "other shapes"]
