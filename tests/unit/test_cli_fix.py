"""`schedgen check --fix`: what it writes, what it prints, and how it ends."""

import json
import os
from pathlib import Path

import pytest

import schedgen as sg
from tests.command_line import schedgen
from tests.refusals import V5, changed

DEEP = changed(V5, ("    wait 1\n", "    wait 2  # deep\n"))
SWAPPED = changed(V5, ("load tma.B k", "load tma.B k + 1"))


@pytest.fixture
def deep(tmp_path):
    file = tmp_path / "deep.sched"
    file.write_text(f"# mine\n{DEEP}", encoding="utf-8")
    return file


def test_the_file_is_repaired_and_the_rest_of_it_kept(deep):
    result = schedgen("check", deep, "--fix")
    assert result.code == 0
    assert deep.read_text() == f"# mine\n{DEEP}".replace("wait 2", "wait 1")
    assert "\n-    wait 2  # deep\n+    wait 1  # deep\n" in result.out
    assert "with this fix: proved for every K" in result.out
    assert result.err == f"wrote {deep}\n"
    assert schedgen("check", deep).code == 0
    assert [p.name for p in deep.parent.iterdir()] == ["deep.sched"]


def test_without_fix_it_is_a_last_line_and_the_file_is_left(deep):
    before = deep.read_text()
    result = schedgen("check", deep)
    assert (result.code, deep.read_text()) == (1, before)
    *_, last = result.out.splitlines()
    assert last.startswith("    help : `wait 2` becomes `wait 1` (consumer, line ")
    assert "proved for every K, --fix does it" in last
    assert last.endswith("(schedgen explain SG203)")


def test_no_suggest_looks_for_none(deep):
    result = schedgen("check", deep, "--no-suggest")
    assert (result.code, "--fix" in result.out) == (1, False)
    assert "help : `wait 1` instead of `wait 2` before the release" in result.out


def test_with_an_output_the_file_is_left(deep, tmp_path):
    before = deep.read_text()
    assert schedgen("check", deep, "--fix", "-o", tmp_path / "new.sched").code == 0
    assert deep.read_text() == before
    assert sg.check(sg.load(tmp_path / "new.sched")).outcome is sg.Outcome.PROVED


@pytest.mark.parametrize("text", [DEEP, DEEP.replace("\n", "\r\n"), f"\n\n# top\n{DEEP}"])
def test_standard_input_is_printed_repaired(text):
    result = schedgen("check", "-", "--fix", stdin=text)
    assert result.code == 0
    assert result.out == text.replace("wait 2", "wait 1")
    assert "+    wait 1  # deep" in result.err


def test_a_filter_passes_on_what_is_right_and_stops_what_has_no_repair():
    right = schedgen("check", "-", "--fix", stdin=V5)
    assert (right.code, right.out) == (0, V5)
    wrong = schedgen("check", "-", "--fix", stdin=SWAPPED)
    assert (wrong.code, wrong.out) == (1, "")
    assert "SG202" in wrong.err
    assert "no proved fix: " in wrong.err


def test_what_cannot_be_repaired_is_left_and_said(tmp_path):
    file = tmp_path / "tile.sched"
    file.write_text(SWAPPED)
    result = schedgen("check", file, "--fix")
    assert (result.code, file.read_text()) == (1, SWAPPED)
    assert "no proved fix: " in result.out
    assert "schedules with one or two edits" in result.out


def test_what_is_right_is_left(tmp_path):
    file = tmp_path / "v5.sched"
    file.write_text(V5)
    stamp = os.stat(file).st_mtime_ns
    result = schedgen("check", file, "--fix")
    assert (result.code, os.stat(file).st_mtime_ns) == (0, stamp)
    assert "diff" not in result.out


def test_a_file_that_cannot_be_written_is_said(deep):
    deep.chmod(0o444)
    if os.access(deep, os.W_OK):
        pytest.skip("this user may write anything")
    result = schedgen("check", deep, "--fix")
    assert result.code == 2
    assert "SG115 unreadable-input: " in result.err


def test_an_output_without_fix_is_refused(deep, tmp_path):
    result = schedgen("check", deep, "-o", tmp_path / "new.sched")
    assert (result.code, result.out) == (2, "")
    assert "-o goes with --fix" in result.err
    assert not (tmp_path / "new.sched").exists()


@pytest.mark.parametrize(
    "command",
    [("emit",), ("opt", "-p", "set-stages{n=4}"), ("limits",), ("trace",),
     ("predict", "--shape", "512x512x512"),
     ("run", "--m", "128", "--n", "256", "--k", "64", "--device", "cpu")],
)  # fmt: skip
def test_every_refusal_of_a_file_ends_with_the_way_to_a_repair(deep, command):
    verb, *options = command
    result = schedgen(verb, deep, *options)
    assert result.code == 1
    if verb == "opt":  # what the passes made stands in no file
        assert "--fix" not in result.err
        assert f"tma.A, 4 stages                 {deep}:6\n" in result.err
        return
    assert result.err.splitlines()[-1] == f"`schedgen check {deep} --fix` searches for a repair"
    assert verb == "trace" or " | " in result.err


def test_what_passes_change_keeps_its_place_in_the_file(tmp_path):
    file = tmp_path / "v5.sched"
    file.write_text(f"# one line more\n{V5}")
    result = schedgen("opt", file, "-p", "set-stages{n=6}")
    assert result.code == 1
    assert f"    ring : tma  {file}:5\n" in result.err


def test_json_carries_the_fix(deep):
    value = json.loads(schedgen("check", deep, "--format", "json").out)
    fix = value["fix"]
    assert set(fix) == {"edits", "notes", "text", "layout_kept", "verdict", "certificate", "judged"}
    assert (fix["verdict"], fix["layout_kept"]) == ("proved", True)
    (edit,) = fix["edits"]
    assert set(edit) == {"kind", "subject", "text", "role", "places", "side", "line"}
    assert (edit["side"], edit["line"]) == ("in", edit["places"][0]["line"])
    assert (edit["kind"], edit["subject"], edit["role"]) == ("depth", "wait", "consumer")
    assert fix["text"] == deep.read_text().replace("wait 2", "wait 1")
    assert fix["certificate"]["explicit"] == 18


def test_a_fix_that_costs_the_overlap_says_so_everywhere():
    file = Path(__file__).parents[1] / "known_bad" / "sg203_early_release.sched"
    note = "no wgmma group stays in flight in the loop any more"
    assert f"    note : {note}\n" in schedgen("check", file).out
    assert f"\nnote: {note}\n" in schedgen("check", file, "--fix", "-o", os.devnull).out
    assert json.loads(schedgen("check", file, "--format", "json").out)["fix"]["notes"] == [note]
    log = json.loads(schedgen("check", file, "--format", "sarif").out)
    fix = log["runs"][0]["results"][0]["fixes"][0]
    assert fix["description"]["text"].endswith(f"proved for every K; note: {note}")


def test_json_with_fix_stands_alone_and_the_file_is_repaired(deep):
    result = schedgen("check", deep, "--fix", "--format", "json")
    assert json.loads(result.out)["fix"]["text"] == deep.read_text()
    assert result.code == 0
    assert schedgen("check", deep).code == 0


@pytest.mark.parametrize("source", ["hopper_matmul_v5", "-"])
def test_json_of_what_has_no_fix(source):
    result = schedgen("check", source, "--format", "json", stdin=SWAPPED)
    assert json.loads(result.out)["fix"] is None


def test_an_excerpt_underlines_the_last_row(deep):
    lines = schedgen("check", deep, "--no-suggest").out.splitlines()
    mark = next(n for n, line in enumerate(lines) if "^" in line)
    number, _, text = lines[mark - 1].partition(" | ")
    source = deep.read_text().splitlines()
    assert source[int(number) - 1] == text
    start = lines[mark].index("^") - len("         | ")
    assert text[start:].startswith("mma acc, tma.A[self], tma.B, 0")
    assert lines[mark].count("^") == len(text) - start
    assert int(lines[mark - 2].partition(" | ")[0]) == int(number) - 1


def test_a_link_is_followed(deep, tmp_path):
    link = Path(tmp_path / "link.sched")
    link.symlink_to(deep)
    assert schedgen("check", link, "--fix").code == 0
    assert link.is_symlink()
    assert "wait 1  # deep" in deep.read_text()
