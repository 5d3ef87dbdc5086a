"""The command line's contract: exit codes, what goes where, JSON alone on standard output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.cli import cli
from schedgen.diagnostics.catalog import CATALOG
from schedgen.ir.ops import Op
from schedgen.ir.schedule import statements
from schedgen.listing import TASKS
from tests.command_line import schedgen
from tests.refusals import V4, V5, changed

EARLY = changed(V4, ("wait 0", "wait 1"), ("  store acc", "  wait 0\n  store acc"))
HUGE = changed(V5, ("K {\n    acquire tma.empty", "K * 900 {\n    acquire tma.empty"))


@pytest.mark.parametrize("kernel", ["hopper_matmul_v4", "hopper_matmul_v5"])
def test_show_goes_into_check(kernel):
    shown = schedgen("show", kernel)
    checked = schedgen("check", "-", "--format", "json", stdin=shown.out)
    assert (shown.code, shown.err, checked.code, checked.err) == (0, "", 0, "")
    assert json.loads(checked.out)["verdict"] == "proved"


def value_of(result, code):
    """The JSON of a command that ended with ``code``; it stands alone on standard output."""
    assert result.code == code
    assert result.out.startswith("{")
    assert result.out.endswith("}\n")
    return json.loads(result.out)


KEYS = {"schedule", "verdict", "scope", "certificate", "obligations", "findings", "version"}


def test_json_of_what_is_right():
    value = value_of(schedgen("check", "hopper_matmul_v5", "--format", "json"), 0)
    assert KEYS - set(value) == set()
    assert value["schedule"] == {
        "name": "hopper_matmul_v5", "source": "hopper_matmul_v5", "pipeline": None, "text": V5,
    }  # fmt: skip
    assert (value["verdict"], value["findings"]) == ("proved", [])
    assert value["scope"] == {"k": "all"}
    assert value["certificate"]["explicit"] >= 2 * 4 + 1 + 2
    assert all(isinstance(n, int) and n > 0 for n in value["obligations"].values())
    assert value["version"] == sg.__version__


def test_json_of_what_is_wrong(tmp_path):
    file = tmp_path / "early.sched"
    file.write_text(EARLY)
    value = value_of(schedgen("check", file, "--format", "json"), 1)
    assert (value["verdict"], len(value["findings"])) == ("refuted", 1)
    finding = value["findings"][0]
    wanted = {
        "code", "name", "message", "k", "role", "places", "missing", "witness", "consequences",
        "fix",
    }  # fmt: skip
    assert wanted - set(finding) == set()
    assert (finding["code"], finding["k"]) == ("SG203", 4)
    lines = EARLY.splitlines()
    for place in finding["places"]:
        assert place["file"] == str(file)
    load = next(p for p in finding["places"] if p["label"] == "write")
    assert lines[load["line"] - 1].strip() == load["op"]
    assert (load["role"], load["k"]) == ("producer", 3)
    named = [int(line) for line in re.findall(r"\(line (\d+)\)", finding["missing"])]
    assert [lines[line - 1].split()[0] for line in named] == ["release", "acquire"]
    assert [s["step"] for s in finding["witness"]] == list(range(len(finding["witness"])))
    assert {"role", "replica", "event", "op", "k", "place"} - set(finding["witness"][0]) == set()


def test_json_of_what_cannot_be_said():
    arguments = ("check", "hopper_matmul_v4", "--k", "9000", "--format", "json")
    value = value_of(schedgen(*arguments), 3)
    assert value["verdict"] == "budget"
    assert value["reason"]


def test_places_without_a_file_count_lines_of_show():
    value = value_of(schedgen("check", "-", "--format", "json", stdin=EARLY), 1)
    assert {p["file"] for f in value["findings"] for p in f["places"]} == {"<stdin>"}
    finding = sg.check(sg.apply(sg.parse(V5), "set-stages{n=5}"), 0).findings[0]
    assert (finding.rows[0].place.file, finding.rows[0].place.line) == ("<text>", 4)


def test_what_a_pass_makes_has_no_place_and_what_it_leaves_keeps_its_own():
    v4 = sg.load("hopper_matmul_v4")
    made = sg.apply(v4, "overlap-wgmma{in-flight=1}")
    consumer = made.roles[1]
    assert consumer.place == v4.roles[1].place
    ops = [s for s in statements(consumer.body) if isinstance(s, Op)]
    assert len({id(op) for op in ops}) == len(ops)
    placed = {op.place.line for op in ops if op.place is not None}
    text = sg.show(v4).splitlines()
    assert {text[line - 1].split()[0] for line in placed} <= {op.keyword for op in ops}
    assert sg.check(made).schedule is made  # nothing is read back a second time


@pytest.mark.parametrize(
    ("k", "text"),
    [
        ("5", "K = 5 tiles (k = 320)"),
        ("0..1", "K = 0..1"),
        ("1", "K = 1 tile (k = 64)"),
        ("0", "K = 0 tiles (k = 0)"),
    ],
)
def test_check_says_its_scope(k, text):
    result = schedgen("check", "hopper_matmul_v5", "--k", k)
    assert result.code == 0
    assert f"checked for {text}" in result.out
    assert "proved" not in result.out


def test_range_includes_its_end():
    assert schedgen("check", "-", "--k", "0..3", stdin=EARLY).code == 0
    assert schedgen("check", "-", "--k", "0..4", stdin=EARLY).code == 1


@pytest.mark.parametrize("columns", ["20", "80", "500"])
def test_width_of_the_terminal_does_not_matter(columns):
    command = "from schedgen.cli import main; main()"
    done = [
        subprocess.run(
            [sys.executable, "-c", command, "check", "-", "--format", style], input=EARLY,
            env=os.environ | {"COLUMNS": columns}, capture_output=True, text=True,
        )
        for style in ("json", "text")
    ]  # fmt: skip
    assert [(d.returncode, d.stderr) for d in done] == [(1, ""), (1, "")]
    assert done[0].stdout == schedgen("check", "-", "--format", "json", stdin=EARLY).out
    assert done[1].stdout == schedgen("check", "-", stdin=EARLY).out


def test_opt_writes_only_what_is_not_refuted(tmp_path):
    target = tmp_path / "out.sched"
    refuted = schedgen("opt", "hopper_matmul_v5", "-p", "set-stages{n=5}", "-o", target)
    assert (refuted.code, refuted.out, target.exists()) == (1, "", False)
    assert "SG501 shared-memory-capacity" in refuted.err
    unsafe = schedgen("opt", "hopper_matmul_v5", "-p", "set-stages{n=5}", "-o", target, "--unsafe")
    assert (unsafe.code, "stages 5" in target.read_text()) == (0, True)
    assert [p.name for p in tmp_path.iterdir()] == ["out.sched"]


def test_opt_prints_a_schedule_alone():
    result = schedgen("opt", "hopper_matmul_v4", "-p", "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert result.code == 0
    assert sg.parse(result.out) == sg.load("hopper_matmul_v5")


def test_pass_that_refuses_is_exit_1():
    result = schedgen("opt", "hopper_matmul_v5", "-p", "set-stages{n=1}")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("SG402 lag-needs-stages: `set-stages{n=1}` refuses")


def test_emit_refuses_what_is_refuted_and_unsafe_says_so(tmp_path):
    file = tmp_path / "early.sched"
    file.write_text(EARLY)
    refused = schedgen("emit", file)
    assert (refused.code, refused.out) == (1, "")
    assert "SG203 overwrite-before-retire" in refused.err
    unsafe = schedgen("emit", file, "--unsafe")
    assert unsafe.code == 0
    assert "SG203" in unsafe.out.partition("import")[0]
    compile(unsafe.out, "early.py", "exec")


def test_emit_names_the_construct_that_tilus_cannot_say():
    text = changed(
        V4, ("    release", "    arrive tma.empty by all\n    release"), ("empty 2", "empty 8")
    )
    result = schedgen("emit", "-", "--unsafe", stdin=text)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("SG504 target-cannot-say")


@pytest.mark.parametrize("k", [0, 8, 64, 72, 128])
def test_run_on_the_machine_is_right(k):
    result = schedgen(
        "run", "hopper_matmul_v5", "--m", 136, "--n", 264, "--k", k, "--device", "cpu"
    )
    assert (result.code, result.err) == (0, "")
    tiles = {0: "0 K tiles", 8: "1 K tile", 64: "1 K tile", 72: "2 K tiles", 128: "2 K tiles"}[k]
    sizes = f"136 x 264 x {k} elements, {tiles} of 64"
    assert f"{sizes}, on abstract machine (asked for): right" in result.out


def test_run_shows_what_is_wrong():
    text = changed(V5, ("  wait 0\n", ""))
    arguments = ("run", "-", "--m", 128, "--n", 256, "--k", 320, "--device", "cpu")
    refused = schedgen(*arguments, stdin=text)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("not run (--unsafe overrides)")
    assert "SG206 accumulator-read" in refused.err
    result = schedgen(*arguments, "--unsafe", stdin=text)
    assert result.code == 1
    assert "WRONG" in result.out


def test_a_product_that_is_right_by_luck_is_not_called_wrong(tmp_path):
    file = Path(__file__).parents[1] / "known_bad" / "sg203_early_release.sched"
    result = schedgen(
        "run", file, "--m", 128, "--n", 256, "--k", 320, "--device", "cpu", "--unsafe"
    )
    assert result.code == 1
    assert "right in this order, but a hazard was seen" in result.out
    assert "WRONG" not in result.out
    assert "\n  saw overwrite: " in result.out


def test_unsafe_run_meets_the_adversaries():
    """A race that a friendly scheduler hides is provoked by the adversarial ones."""
    text = changed(V5, ("wait 1", "wait 2"))
    arguments = ("run", "-", "--m", 128, "--n", 256, "--k", 640, "--device", "cpu", "--unsafe")
    result = schedgen(*arguments, stdin=text)
    assert result.code == 1
    assert "saw overwrite" in result.out


def test_run_of_what_cannot_be_multiplied():
    text = changed(V4, ("tma.A[self], tma.B", "tma.B, tma.A[self]"))
    result = schedgen("run", "-", "--m", 128, "--n", 256, "--k", 64, "--device", "cpu", stdin=text)
    assert result.code in (1, 2)
    assert result.out + result.err


def test_list_names_everything_on_a_line_of_its_own():
    lines = schedgen("list").out.splitlines()
    kernels = [f"hopper_matmul_{rung}" for rung in
               ("v1", "v2", "v3", "v4", "v5", "v6", "v5_ring", "v5_own", "v4_ring")]  # fmt: skip
    passes = ["multi-buffer", "warp-specialize", "set-tile", "split-consumers", "overlap-wgmma",
              "accumulate", "set-stages", "rasterize", "stage-epilogue"]  # fmt: skip
    words = [re.split(r"[ {]", line[2:])[0] for line in lines if line[2:3].isalpha()]
    words = [word for word in words if word in kernels + passes]
    assert words == kernels + passes
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("rung", ["v2", "v3", "v6"])
def test_a_pipeline_of_the_list_can_be_pasted(rung):
    name = f"hopper_matmul_{rung}"
    made = schedgen("list").out.partition(f"  {name} ")[2].partition("= ")[2]
    base, _, rest = made.partition(" -p '")
    given = schedgen("show", base, "-p", rest.partition("'")[0])
    assert given.out.partition("\n")[2] == schedgen("show", name).out.partition("\n")[2]


def test_list_and_explain_show_the_page_of_a_pass():
    page = schedgen("list", "set-stages")
    assert page == schedgen("explain", "set-stages")
    assert "set-stages{n=N[,ring=R]}\n" in page.out
    assert "ring tma stages 3 ...  ->  ring tma stages 4" in page.out


def test_demo_shows_the_whole_way(tmp_path):
    target = tmp_path / "v5.py"
    result = schedgen("demo", "-o", target)
    assert result.code == 0
    for words in ("V4", "wait 1\n", "release tma.empty lag 1", "proved for every K >= 0",
                  str(target), "right, relative error"):  # fmt: skip
        assert words in result.out
    assert target.read_text() == schedgen("emit", "hopper_matmul_v5").out


def test_closed_pipe_is_no_traceback():
    command = f"{sys.executable} -m schedgen axioms | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=Path(__file__).parent)
    assert (len(done.stdout), done.stderr) == (1, b"")


def test_explain_without_a_code_lists_them():
    lines = schedgen("explain").out.splitlines()
    codes = [line.split()[0] for line in lines if line.startswith("  SG")]
    assert codes == sorted(CATALOG)
    families = [line.split()[0] for line in lines if line.startswith("SG")]
    assert families == ["SG1xx", "SG2xx", "SG3xx", "SG4xx", "SG5xx", "SG9xx"]


@pytest.mark.parametrize("word", ["sg203", "203", "overwrite-before-retire"])
def test_explain_takes_a_number_and_a_name(word):
    assert schedgen("explain", word) == schedgen("explain", "SG203")
    near = schedgen("explain", "overwrite-before-retired")
    assert (near.code, near.out) == (2, "")
    assert "did you mean `overwrite-before-retire`?" in near.err


def test_the_help_names_every_command_once():
    named = [name for names in TASKS.values() for name in names]
    assert sorted(named) == sorted(cli.commands)
    shown = schedgen("--help").out.partition("Look:\n")[2]
    assert "..." not in shown


def test_opt_names_the_schedule_after_its_file(tmp_path):
    out = tmp_path / "deeper.sched"
    assert schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4}", "-o", out).code == 0
    assert out.read_text().startswith("schedule deeper\n")
    named = schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4}", "--name", "mine")
    assert named.out.startswith("schedule mine\n")
    bad = schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4}", "--name", "1st")
    assert (bad.code, bad.out) == (2, "")


def test_a_forgotten_advance_is_told_by_its_cause():
    """The lapped wait shows at a smaller K, and follows from the second arrival."""
    text = changed(V5, ("    load tma.B k\n    advance tma\n", "    load tma.B k\n"))
    findings = value_of(schedgen("check", "-", "--format", "json", stdin=text), 1)["findings"]
    assert [(f["code"], f["k"]) for f in findings] == [("SG301", 2)]
    assert findings[0]["consequences"][0].startswith("SG305 ")
    assert findings[0]["consequences"][0].endswith(", from K = 1 on")


def test_a_diff_of_one_name_is_headed_by_the_files(tmp_path):
    files = [tmp_path / name for name in ("a.sched", "b.sched")]
    for file, depth in zip(files, (1, 0), strict=True):
        file.write_text(V5.replace("wait 1", f"wait {depth}"))
    lines = schedgen("diff", *files, "--width", 60).out.splitlines()
    assert lines[:2] == [f"- {files[0]}", f"+ {files[1]}"]


def test_a_release_says_what_it_hands_back():
    text = V5.replace("release tma.empty lag 1", "release tma.empty")
    assert "`release tma.empty` in line 42 releases use 1 at K = 1; " in schedgen(
        "check", "-", "--no-suggest", stdin=text
    ).out  # fmt: skip
