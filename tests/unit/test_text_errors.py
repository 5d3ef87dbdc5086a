"""What is said of a text that is no schedule: the slip itself, where it is, and a way out."""

import json
import re

import pytest

import schedgen as sg
from tests.command_line import schedgen
from tests.refusals import V4, V5, changed


def refusal(text):
    with pytest.raises(sg.IllFormed) as refused:
        sg.parse(text, name="mine.sched")
    return refused.value


def line_of(text, piece):
    return text[: text.index(piece)].count("\n") + 1


def test_a_tile_line_without_its_raster():
    error = refusal(changed(V5, (", raster n 4", "")))
    line = V5.splitlines()[2]
    assert error.message == "the tile line lacks its raster"
    assert (error.place.line, error.place.column) == (3, len(line) - len(", raster n 4") + 1)
    assert "`, raster n 4`" in error.help


CLOSERS = [n for n, line in enumerate(V5.splitlines()) if line.strip() == "}"]


@pytest.mark.parametrize("number", CLOSERS)
def test_a_missing_brace_names_the_block_that_lacks_it(number):
    """Whichever is taken away: the block is the last one above of the same indentation."""
    lines = V5.splitlines()
    indent = lines[number].index("}")
    opened = max(n for n, line in enumerate(lines[:number])
                 if line.endswith("{") and len(line) - len(line.lstrip()) == indent)  # fmt: skip
    error = refusal("\n".join([*lines[:number], *lines[number + 1 :]]) + "\n")
    assert f"that line {opened + 1} opens is not closed" in error.message
    assert (error.place.line, error.place.column) == (opened + 1, indent + 1)


def test_a_brace_too_many():
    assert refusal(V5 + "}\n").message == "this `}` closes no block"


@pytest.mark.parametrize("edit", [("    wait 1", "    // no\n    wait 1"),
                                  ("wait 1", "wait 1 // no"), ("A[0] k", "A[0] k // no"),
                                  ("wait 1", "wait 1 /* no */")])  # fmt: skip
def test_comments_of_another_language(edit):
    assert refusal(changed(V5, edit)).message == "comments begin with #"


@pytest.mark.parametrize("edit", [("wait 1", "wait 1 ;"), ("A[0] k", "A[0]"), ("0..K", "0...K"),
                                  ("role producer", "rolle producer"), ("fence", "@")])  # fmt: skip
def test_few_things_are_named_that_were_expected(edit):
    error = refusal(changed(V5, edit))
    assert str(error).count(",") <= 6


def test_what_lacks_at_the_end_of_a_line_is_said_of_that_line():
    error = refusal(changed(V5, ("wait 1", "wait")))
    assert error.message == "expected a number behind `wait`, before `release`"
    assert error.place.line == line_of(V5, "wait 1")


SLIPS = [
    (("wait 1", "wiat 1"), "wait"), (("lag 1", "lagg 1"), "lag"),
    (("warpgroup", "warpgrop"), "warpgroup"), (("advance tma", "advance tmb"), "tma"),
    (("tma.A", "tma.AA"), "A"), (("store acc", "store acx"), "acc"),
    (("tma.A[self]", "tma.A[slef]"), "self"), (("tma.B, k", "tma.B, kk"), "k"),
    (("f16 64x64", "f61 64x64"), "f16"), (("acquire tma.full", "acquire tma.ful"), "full"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "meant"), SLIPS, ids=[meant for _, meant in SLIPS])
def test_names_that_are_nearly_right(edit, meant):
    assert refusal(changed(V5, edit)).help == f"did you mean `{meant}`?"


def test_independent_faults_are_told_together(tmp_path):
    text = changed(V5, ("advance tma", "advance tmb"), ("store acc", "store acx"),
                   ("stages 4", "stages 0"))  # fmt: skip
    error = refusal(text)
    assert [e.code for e in (error, *error.others)] == ["SG105", "SG103", "SG103"]
    file = tmp_path / "mine.sched"
    file.write_text(text)
    told = schedgen("check", file)
    assert (told.code, told.out, told.err.count("schedgen explain SG103")) == (2, "", 2)
    assert "    advance tmb\n         |             ^^^ here\n" in told.err
    log = json.loads(schedgen("check", file, "--format", "sarif").out)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["SG105", "SG103", "SG103"]


def test_too_many_replicas_are_told_beside_the_slabs():
    error = refusal(changed(V5, ("consumer[2]", "consumer[3]")))
    said = "consumer has 3 replicas, `tma.A` has 2 slabs"
    assert error.message == f"`tma.A[self]` is slab 2 in consumer[2]: {said}"


@pytest.mark.parametrize("command", [("check",), ("limits",), ("build",),
                                     ("predict", "--shape", "128x256x64")])  # fmt: skip
def test_json_of_a_text_that_is_no_schedule(command, tmp_path):
    file = tmp_path / "mine.sched"
    file.write_text(changed(V5, ("wait 1", "wiat 1")))
    told = schedgen(command[0], file, *command[1:], "--format", "json")
    value = json.loads(told.out)
    assert (told.code, value["verdict"]) == (2, "ill-formed")
    found = value["findings"][0]
    assert (found["code"], found["name"]) == ("SG101", "syntax-error")
    assert found["places"][0]["line"] == line_of(V5, "wait 1")
    assert found["places"][0]["op"] == "wiat"
    assert told.err.startswith("SG101 syntax-error: unexpected `wiat`")
    right = json.loads(schedgen("check", "hopper_matmul_v5", "--format", "json").out)
    assert set(value) == set(right)


def test_a_file_that_is_nearly_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v5.sched").write_text(V5)
    told = schedgen("check", "v5.shed").err
    assert told.startswith("SG115 unreadable-input: cannot read `v5.shed`: no such file\n")
    assert "did you mean `v5.sched`?" in told
    assert "hopper" not in told
    assert "did you mean `v5.sched`?" in schedgen("check", "v5").err
    assert "did you mean" not in schedgen("check", "other.sched").err
    assert "`hopper_matmul_v6`" in schedgen("check", "hopper_matmul_v7").err


def test_a_pass_that_is_nearly_there():
    told = schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4},set-stage{n=4}").err
    assert "set-stages{n=4},set-stage{n=4}\n         |                 ^^^^^^^^^ here\n" in told
    assert "did you mean `set-stages`?" in told
    told = schedgen("opt", "hopper_matmul_v4", "-p", "set-stages{n=4,ring=tmb}").err
    assert "did you mean `tma`?" in told


@pytest.mark.parametrize("verb", ["check", "limits", "emit", "show"])
def test_passes_can_be_applied_first(verb, tmp_path):
    deeper = tmp_path / "hopper_matmul_v4.sched"
    deeper.write_text(changed(V4, ("stages 3", "stages 4")))
    direct = schedgen(verb, "hopper_matmul_v4", "-p", "set-stages{n=4}")
    through = schedgen(verb, deeper)
    assert (direct.code, through.code) == (0, 0)
    same = [out.replace(str(tmp_path) + "/", "").replace(".sched", "")
            for out in (direct.out, through.out)]  # fmt: skip
    if verb == "emit":
        assert "# Regenerate: schedgen emit hopper_matmul_v4 -p 'set-stages{n=4}'\n" in direct.out
        same = [text.partition("import tilus")[2] for text in same]
    assert same[0].split() == same[1].split()


def test_a_repair_of_what_passes_made_is_printed():
    told = schedgen("check", "hopper_matmul_v5", "-p", "set-stages{n=5}", "--fix")
    assert told.code in (0, 1)
    assert "wrote" not in told.err


DISAGREEMENTS = [
    (("rows 64*i", "rows 32*i"), "slot", "write `rows 64*i`"),
    (("f32 64x256", "f32 64x128"), "acc", "the accumulator 128 columns of the tile's 256"),
    (("f16 64x64 ", "f16 64x32 "), "slot", "give the slot 64 columns"),
    (("rows 64*self", "rows 32*self"), "acc", "slabs begin at rows 0, 64"),
    (("tma.A[self]", "tma.A[0]"), "mma", "the accumulator's box, A[self]"),
]


@pytest.mark.parametrize(
    ("edit", "label", "help"), DISAGREEMENTS, ids=[d[2] for d in DISAGREEMENTS]
)
def test_an_mma_that_does_not_fit_points_to_what_disagrees(edit, label, help):
    verdict = sg.check(sg.parse(changed(V5, edit)), k=(0, 1))
    found = next(f for f in verdict.findings if f.code == "SG211")
    assert found.main.label == label
    assert help in found.fix


def test_a_slot_that_is_too_wide_names_its_bytes_and_the_way_out():
    wide = [("f16 64x64 ", "f16 64x128 "), ("f16 256x64", "f16 256x128"), ("k 64", "k 128"),
            ("bytes 49152", "bytes 98304"), ("stages 4", "stages 2")]  # fmt: skip
    verdict = sg.check(sg.parse(changed(V5, *wide)), k=(0, 1))
    found = next(f for f in verdict.findings if f.code == "SG502")
    assert "128 x f16 = 256 bytes" in found.message
    assert "`k 64`" in found.fix


FOREIGN = [
    ("wait_group 1", "wait"), ("wgmma_wait 1", "wait"), ("warpgroup_wait<1>()", "wait"),
    ("cute::warpgroup_wait<1>();", "wait"), ("wgmma.wait_group.sync.aligned 1", "wait"),
    ("commit_group", "commit"), ("wgmma_commit", "commit"), ("warpgroup_commit_batch()", "commit"),
    ("warpgroup_arrive()", "fence"), ("wgmma_fence", "fence"),
    ("wgmma.fence.sync.aligned", "fence"),
    ("mbarrier_wait(full, 0)", "acquire tma.full"), ("consumer_wait", "acquire tma.full"),
    ("mbarrier.try_wait.parity.shared::cta.b64 p", "acquire tma.full"),
    ("producer_acquire", "acquire tma.empty"), ("consumer_release", "release tma.empty"),
    ("mbarrier.arrive.expect_tx.shared.b64 _", "expect"),
    ("mbarrier.arrive.shared.b64 _", "release tma.empty"),
    ("cp.async.bulk.tensor.2d.shared::cluster", "load"), ("tma_load(A)", "load"),
    ("cp.async.bulk.commit_group", "store-commit"),
    ("cp.async.bulk.wait_group.read 0", "store-wait"),
    ("fence.proxy.async", "fence proxy"), ("wgmma.mma_async.sync.aligned", "mma"),
    ("__syncthreads()", "sync"), ("syncthreads", "sync"), ("bar.sync 1, 128", "sync"),
]  # fmt: skip


@pytest.mark.parametrize("before", ["    commit\n", "    mma acc, tma.A[self], tma.B, k\n", "{\n"])
@pytest.mark.parametrize(("word", "meant"), FOREIGN, ids=[word for word, _ in FOREIGN])
def test_words_of_ptx_and_cutlass_lead_to_the_op_that_is_meant(word, meant, before):
    error = refusal(V5.replace(before, f"{before}    {word}\n", 1))
    assert error.code == "SG101"
    assert re.match(rf"did you mean `{meant}`[,?]", error.help), error
    assert word.startswith(error.message.split("`")[1])
    assert error.place.line == V5[: V5.index(before)].count("\n") + 1 + before.count("\n")


def test_a_ring_of_another_name_is_meant_by_its_name():
    text = V5.replace("tma", "load_ring").replace("    commit\n", "    consumer_wait\n", 1)
    assert refusal(text).help == "did you mean `acquire load_ring.full`?"


@pytest.mark.parametrize(("edit", "message", "help"), [
    (("wait 1", "wait(1)"), "`wait` takes its number without parentheses", "write `wait 1`"),
    (("    commit\n", "    commit()\n"), "`commit` stands without parentheses",
     "write `commit`"),
    (("release tma.empty lag 1", "release(tma.empty)"),
     "`release` takes its operands without parentheses", "write `release tma.empty`"),
])  # fmt: skip
def test_operands_in_brackets(edit, message, help):
    error = refusal(V5.replace(*edit, 1))
    assert (error.message, error.help) == (message, help)


@pytest.mark.parametrize("header", ["if K > 0", "for k in 1..K", "role producer warp"])
def test_a_block_without_its_brace(header):
    error = refusal(V5.replace(f"{header} {{", header, 1))
    assert error.message == f"the block of `{header.removesuffix(' warp')}` lacks its `{{`"
    assert error.place.line == line_of(V5, header)


def test_a_brace_too_early():
    line = line_of(V5, "    wait 1")
    lines = V5.splitlines()
    lines[line - 1 : line - 1] = ["    }"]
    error = refusal("\n".join(lines))
    assert error.message == (
        f"`wait` stands outside every role: this `}}` in line {line} closed `for k in 1..K` "
        "too early"
    )
    assert (error.place.line, error.place.column) == (line, 5)


def test_an_op_outside_every_role():
    error = refusal(V5 + "commit\n")
    assert error.message == "`commit` stands outside every role"
    assert error.place.line == V5.count("\n") + 1


PLACES = [
    (("slot A[2] : f16", "slot A[2] : bf16"), "bf16"),
    (("slot A[2] : f16", "slot A[2] : half"), "half"),
    (("rows 64*i", "rows 64*k"), "k"), (("advance tma", "advance tmb"), "tmb"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "marked"), PLACES, ids=[edit[1] for edit, _ in PLACES])
def test_the_place_is_where_the_caret_is(edit, marked, tmp_path):
    text = changed(V5, edit)
    file = tmp_path / "mine.sched"
    file.write_text(text)
    told = schedgen("check", file).err.splitlines()
    at = next(line for line in told if line.startswith("      at : "))
    line, column = map(int, at.rsplit(":", 2)[1:])
    assert text.splitlines()[line - 1][column - 1 :].startswith(marked)
    caret = next(line for line in told if line.endswith("^ here"))
    assert caret.partition("| ")[2].index("^") == column - 1
    place = json.loads(schedgen("check", file, "--format", "json").out)["findings"][0]["places"][0]
    assert (place["line"], place["column"]) == (line, column)
    log = json.loads(schedgen("check", file, "--format", "sarif").out)
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (line, column)


def test_a_name_in_a_declaration_is_not_told_of_peeled_steps():
    error = refusal(changed(V5, ("rows 64*i", "rows 64*k")))
    assert error.help == "a declaration holds for the whole kernel: numbers, and `i`"


def test_columns_outside_the_tile_are_said_to_lie_there():
    verdict = sg.check(sg.parse(changed(V5, ("rows 64*self", "rows 64*self cols 64"))), k=(0, 1))
    found = [f.message for f in verdict.findings if f.code == "SG215"]
    assert found
    assert not [message for message in found if "stored 1 times" in message]
