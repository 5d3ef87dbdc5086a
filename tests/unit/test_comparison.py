"""What a comparison says of single edits."""

import json

import pytest

import schedgen as sg
from tests.command_line import schedgen
from tests.refusals import V4, V5, changed

EDITS = [
    ((V5, ("lag 1", "lag 2")), ("changed", "lag 1 -> 2")),
    ((V5, ("wait 1", "wait 2")), ("changed", "wait 1 -> 2")),
    ((V5, ("stages 4", "stages 3")), ("changed", "stages 4 -> 3")),
    ((V4, ("bytes 49152", "bytes 16384")), ("changed", "bytes 49152 -> 16384")),
    ((V4, ("load tma.B k", "load tma.B k + 1")), ("changed", "k -> k + 1")),
    ((V5, ("tma.B, k\n", "tma.B, k lag 2\n")), ("changed", "lag 0 -> 2")),
    ((V4, ("  store acc", "  touch acc\n  store acc")), ("added", "")),
    ((V4, ("    fence\n", "")), ("removed", "")),
]


@pytest.mark.parametrize(("edit", "told"), EDITS, ids=[told[1] or told[0] for _, told in EDITS])
def test_one_edit_is_told(edit, told):
    text, *pairs = edit
    compared = sg.diff(sg.parse(text), sg.parse(changed(text, *pairs)))
    assert [(str(row.tag), row.note) for _, row in compared.changes] == [told]


def test_a_move_is_told_on_both_sides():
    text = changed(
        V4, ("    release tma.empty\n", ""), ("    wait 0\n", "    release tma.empty\n    wait 0\n")
    )
    changes = list(sg.diff(sg.parse(V4), sg.parse(text)).changes)
    assert [(str(r.tag), r.left is None, r.right is None) for _, r in changes] == [
        ("moved", True, False), ("moved", False, True),
    ]  # fmt: skip


def test_copies_in_front_of_the_loop_are_peeled_and_the_op_moves_within():
    ahead = "    if k + 1 < K {\n      load tma.B k + 1 ahead 1\n    }\n"
    text = changed(
        V4, ("  for k in 0..K {\n", "  if K > 0 {\n    load tma.B 0\n  }\n  for k in 0..K {\n"),
        ("    load tma.B k\n    advance tma\n", f"    advance tma\n{ahead}"),
    )  # fmt: skip
    changes = [(str(row.tag), row.note) for _, row in sg.diff(sg.parse(V4), sg.parse(text)).changes]
    note = "k -> k + 1, ahead 0 -> 1"
    assert changes == [*[("peeled", "")] * 3, ("moved", note), ("moved", ""), ("moved", note),
                       ("moved", "")]  # fmt: skip


def test_a_role_that_is_new_is_added_whole():
    text = V4 + "role watcher warp {\n  acquire tma.full\n}\n"
    section = sg.diff(sg.parse(V4), sg.parse(text)).sections[-1]
    assert section.name == "role watcher"
    assert {str(row.tag) for row in section.rows} == {"added"}


def test_json_of_a_comparison():
    shown = schedgen("diff", "hopper_matmul_v4", "hopper_matmul_v5", "--format", "json")
    value = json.loads(shown.out)
    assert (shown.code, value["same"]) == (0, False)
    tags = {row["tag"] for section in value["sections"] for row in section["rows"]}
    assert tags == {"same", "changed", "peeled"}


def test_emitted_kernels_as_json():
    shown = schedgen(
        "diff", "hopper_matmul_v5", "hopper_matmul_v5", "-p", "set-stages{n=3}", "--emitted",
        "--format", "json",
    )  # fmt: skip
    lines = json.loads(shown.out)["lines"]
    assert lines[:2] == ["--- hopper_matmul_v5.py", "+++ hopper_matmul_v5.py"]


def test_bad_input_is_told():
    assert schedgen("diff", "hopper_matmul_v4", "nowhere.sched").code == 2
    assert schedgen("diff", "hopper_matmul_v4", "hopper_matmul_v4", "-p", "what").code == 2
