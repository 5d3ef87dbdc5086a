"""What is asked for: contestants, shapes, suites."""

import importlib.util
import math
import os
import sys
from types import SimpleNamespace

import pytest

from schedgen.bench import preparing
from schedgen.bench.building import jobs_of
from schedgen.bench.preparing import prepare
from schedgen.bench.request import make_request, parse_contestant, parse_shape, read_suite
from schedgen.ir.problems import IllFormed

BIG, SMALL = (8192, 8192, 8192), (4096, 4096, 4096)


def asked(*inputs, pipelines=(), peers=(), shapes=(), static_k=False, suite=None):
    return make_request(
        inputs=inputs, pipelines=pipelines, peers=peers, shapes=shapes, static_k=static_k,
        suite=suite,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "label", "source", "pipeline"),
    [
        ("hopper_matmul_v4", "hopper_matmul_v4", "hopper_matmul_v4", ""),
        ("V4=hopper_matmul_v4", "V4", "hopper_matmul_v4", ""),
        ("V4=v4:set-stages{n=3}", "V4", "v4", "set-stages{n=3}"),
        ("v4:set-stages{n=3}", "v4 set-stages{n=3}", "v4", "set-stages{n=3}"),
        ("a/b.sched", "a/b.sched", "a/b.sched", ""),
        ("x=dir/a=b.sched", "x", "dir/a=b.sched", ""),
        ("dir/a=b.sched", "dir/a=b.sched", "dir/a=b.sched", ""),
    ],
)
def test_a_contestant(text, label, source, pipeline):
    (found,) = parse_contestant(text, pipelines=(), static_k=False, shapes=(BIG,))
    assert (found.label, found.source, found.pipeline) == (label, source, pipeline)


def test_pipelines_are_for_inputs_without_one():
    request = asked("A=x", "B=y:own{n=1}", "C=z:", pipelines=("one", "two"))
    assert [(c.label, c.pipeline) for c in request.contestants] == [
        ("A one", "one"), ("A two", "two"), ("B", "own{n=1}"), ("C", ""),
    ]  # fmt: skip


def test_one_pipeline_leaves_the_label_alone():
    assert [c.label for c in asked("A=x", pipelines=("one",)).contestants] == ["A"]


def test_a_file_is_a_kernel_as_it_is():
    (contestant,) = asked("mine=dir/kernel.py", static_k=True).contestants
    assert (contestant.kind, contestant.static_k) == ("file", False)
    with pytest.raises(IllFormed, match="takes no pipeline"):
        asked("kernel.py:set-stages{n=3}")


def test_peers_come_last_and_the_first_is_the_baseline():
    request = asked("A=x", peers=("triton", "torch", "triton"))
    assert [c.label for c in request.contestants] == ["A", "Triton persistent", "torch.matmul"]
    assert request.baseline == "Triton persistent"
    assert asked("A=x", "B=y").baseline == "A"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "nothing to measure"),
        (["A=x", "A=y"], "two contestants are called `A`"),
        (["x", "x"], "two contestants are called `x`"),
        (["A=:set-stages{n=3}"], "names no input"),
    ],
)
def test_bad_requests(inputs, words):
    with pytest.raises(IllFormed, match=words):
        asked(*inputs)


@pytest.mark.parametrize("text", ["8192", "1x2", "0x8x8", "axbxc", "1x2x3x4", "8 x 8 x 8"])
def test_bad_shapes(text):
    with pytest.raises(IllFormed, match="is no shape: give MxNxK"):
        parse_shape(text)


SUITE = """
shapes = ["8192x8192x8192", "4096x4096x4096"]
peers = ["torch"]
[[contestant]]
label = "A"
input = "hopper_matmul_v4"
[[contestant]]
label = "B"
input = "hopper_matmul_v4"
pipeline = "set-stages{n=4}"
shapes = ["8192x8192x8192"]
"""


def suite_of(tmp_path, text):
    path = tmp_path / "some.toml"
    path.write_text(text)
    return read_suite(str(path))


def test_a_suite(tmp_path):
    request = asked("C=x", suite=suite_of(tmp_path, SUITE))
    assert [(c.label, len(c.shapes)) for c in request.contestants] == [
        ("A", 2), ("B", 1), ("C", 2), ("torch.matmul", 2),
    ]  # fmt: skip
    assert (request.shapes, request.counted) == ((BIG, SMALL), (BIG, SMALL))


def test_shapes_of_the_command_line_restrict_a_suite(tmp_path):
    request = asked("C=x", suite=suite_of(tmp_path, SUITE), shapes=(SMALL,))
    assert [c.label for c in request.contestants] == ["A", "C", "torch.matmul"]
    assert request.shapes == (SMALL,)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("peers", "pears", "the suite has the key `pears`"),
        ("pipeline =", "passes =", "contestant `B` has the key `passes`"),
        ('peers = ["torch"]', 'peers = ["cutlass"]', "there is no peer `cutlass`"),
        ('label = "A"\n', "", "it lacks 'label'"),
        ("shapes = [", "shapes = [[", "is no suite"),
        ('\nshapes = ["8192x8192x8192"]\n', '\nshapes = ["8x8x8"]\n', "none of the suite's shapes"),
    ],
)
def test_bad_suites(tmp_path, old, new, words):
    assert old in SUITE
    with pytest.raises(IllFormed) as refused:
        suite_of(tmp_path, SUITE.replace(old, new))
    assert words in refused.value.message


def test_a_suite_that_is_not_there():
    with pytest.raises(IllFormed, match="suite `nowhere` cannot be read: No such file"):
        read_suite("nowhere")


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    """Everything of the bundled suite, judged and emitted."""
    request = asked(suite=read_suite("ladder"))
    return request, list(prepare(request, tmp_path_factory.mktemp("kernels")))


def test_the_ladder_has_what_the_results_page_needs(ladder):
    request, prepared = ladder
    everywhere = {c.label for c in request.contestants if len(c.shapes) == 4}
    assert everywhere >= {"V1", "V2", "V3", "V4", "V5", "V6", "V4 ring epilogue",
                          "V5 ring epilogue", "torch.matmul", "Triton persistent"}  # fmt: skip
    assert request.counted == (BIG,)
    texts = [one.digest for one in prepared if one.digest and not one.contestant.static_k]
    assert len(set(texts)) == len(texts)  # nothing is measured twice under two names


def test_five_stages_are_refused_with_their_bytes(ladder):
    refused = {p.contestant.label: p.refusal for p in ladder[1] if p.refusal}
    assert list(refused) == ["V5, 5 stages"]
    assert refused["V5, 5 stages"].startswith("SG501 shared-memory-capacity: 245840 bytes")


def test_all_others_are_proved_for_every_k(ladder):
    others = [p for p in ladder[1] if p.contestant.kind == "schedule" and not p.refusal]
    assert {p.proof.partition(" (")[0] for p in others} == {"proved for every K >= 0"}


def test_a_kernel_is_compiled_once_for_each_n_and_constant_k(ladder):
    jobs = [(job.label, job.shape) for job in jobs_of(ladder[1], dry=False)]
    assert [shape for label, shape in jobs if label == "V5"] == [
        BIG, SMALL, (10240, 10240, 10240),
    ]  # fmt: skip
    assert len(jobs) <= 45


def test_the_machine_code_of_each_is_looked_at_once(ladder):
    jobs = jobs_of(ladder[1], dry=False)
    looked = [job.label for job in jobs if job.look]
    assert sorted(looked) == sorted({job.label for job in jobs})
    assert all(job.look and not job.load for job in jobs_of(ladder[1], dry=True))


def test_static_k_is_compiled_for_each_k(tmp_path):
    shapes = (SMALL, (4096, 4096, 14336))
    request = asked("hopper_matmul_v4", static_k=True, shapes=shapes)
    assert len(jobs_of(prepare(request, tmp_path), dry=True)) == 2


def test_bad_input_ends_the_run(tmp_path):
    for text in ("nowhere.sched", "nowhere.py", "hopper_matmul_v4:no-such-pass"):
        with pytest.raises(IllFormed):
            list(prepare(asked(text), tmp_path))
    with pytest.raises(IllFormed, match="not a multiple of 16"):
        list(prepare(asked("hopper_matmul_v4", shapes=[(64, 64, 100)]), tmp_path))


def test_a_pass_that_refuses_is_a_row(tmp_path):
    (one,) = prepare(asked("hopper_matmul_v6:overlap-wgmma{in-flight=1}"), tmp_path)
    assert one.refusal.startswith("SG4")
    assert jobs_of([one], dry=True) == []


def test_predictions_are_taken_where_there_are_some(tmp_path, monkeypatch):
    def predicted_ms(schedule, m, n, k):
        return {BIG: float(schedule.tile.n), SMALL: math.nan}.get((m, n, k))

    monkeypatch.setattr(preparing, "prediction", lambda: predicted_ms)
    request = asked("hopper_matmul_v4", peers=["torch"], shapes=(BIG, SMALL, (64, 64, 64)))
    one, peer = prepare(request, tmp_path)
    assert one.entry(failure=None, problems=()).predicted == {"8192x8192x8192": 256.0}
    assert peer.entry(failure=None, problems=()).predicted == {}


def predicted_nothing(schedule, m, n, k):
    return None


def test_the_hook_for_predictions(monkeypatch):
    module = SimpleNamespace(predicted_ms=predicted_nothing)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert preparing.prediction() is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: module)
    monkeypatch.setitem(sys.modules, "schedgen.predict", module)
    assert preparing.prediction() is predicted_nothing


def test_limits_follow_the_type_of_the_sums(tmp_path):
    v5, v6 = prepare(asked("hopper_matmul_v5", "hopper_matmul_v6"), tmp_path)
    assert (v5.sums, v6.sums) == ("f32", "f16")
    assert v5.limit(8192) < 1e-3 < 3.3e-3 < v6.limit(8192)


def test_files_are_found_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "k.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    (one,) = prepare(asked("k.py"), tmp_path)
    assert os.path.isabs(one.contestant.script)
