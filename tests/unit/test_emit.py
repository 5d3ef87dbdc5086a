"""The emitter: golden kernels, headers, names, and what it refuses."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from schedgen import api
from schedgen.emit import EmitUnsupported, class_name, emit_tilus, tma_stores, wait_depths
from schedgen.emit.names import TILUS_NAMES, Names
from schedgen.ir.parser import parse
from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS, kernel_schedule

EMITTED = Path(__file__).parents[1] / "golden" / "emitted"
LADDER = list(KERNELS)


def load(name: str) -> Schedule:
    path = EMITTED / f"{name}.sched"
    return parse(path.read_text(), file=path.name)


def emit(
    schedule: Schedule,
    *,
    static_k: bool = False,
    finding: str | None = None,
    made_by: str = "a test",
) -> str:
    return emit_tilus(
        schedule,
        static_k=static_k,
        made_by=made_by,
        verdict="checked for K = 0..13 tiles",
        finding=finding,
    )


@pytest.mark.parametrize("name", LADDER)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    """The golden kernels are what `schedgen emit NAME` prints."""
    golden, text = EMITTED / f"{name}.py", api.emit(kernel_schedule(name))
    if request.config.getoption("--update-golden"):
        golden.write_text(text)
    assert text == golden.read_text(), (
        "python3 -m pytest tests/unit/test_emit.py --update-golden rewrites it"
    )


@pytest.mark.parametrize("static_k", [False, True])
def test_same_text_in_every_process(static_k: bool) -> None:
    program = (
        "import sys; from schedgen.ir.parser import parse; from schedgen.emit import emit_tilus;"
        f"path = {str(EMITTED / 'two_rings.sched')!r};"
        "text = emit_tilus(parse(open(path).read(), file='two_rings.sched'),"
        f"static_k={static_k}, made_by='two_rings', verdict='v', finding=None);"
        "assert not {'tilus', 'torch'} & set(sys.modules); print(text, end='')"
    )
    environments = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    texts = [
        subprocess.run(
            [sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True
        ).stdout
        for env in environments
    ]
    assert texts[0] == texts[1] != ""


def test_header_says_how_it_was_made() -> None:
    made_by = "hopper_matmul_v4 -p 'overlap-wgmma{in-flight=1},set-stages{n=4}'"
    head = emit(load("hopper_matmul_v5"), made_by=made_by).split("\nimport tilus")[0]
    assert "hopper_matmul_v4 -p 'overlap-wgmma{in-flight=1},set-stages{n=4}'" in head
    assert "# Verdict: checked for K = 0..13 tiles" in head
    assert "# Regenerate: schedgen emit hopper_matmul_v5" in head
    assert "UNSAFE" not in head


def test_finding_stands_in_the_header() -> None:
    finding = 'SG203 overwrite-before-retire: "quoted" \\ tile 4\n   read : mma acc'
    head = emit(load("hopper_matmul_v5"), finding=finding).split("\nimport tilus")[0]
    assert "# UNSAFE: schedgen refused this schedule and was told to emit it anyway." in head
    assert '# SG203 overwrite-before-retire: "quoted" \\ tile 4\n#    read : mma acc\n' in head


@pytest.mark.parametrize("name", [*LADDER, "two_rings", "ahead"])
@pytest.mark.parametrize("static_k", [False, True])
def test_needs_nothing_of_schedgen(name: str, static_k: bool) -> None:
    text = emit(load(name), static_k=static_k)
    code = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert "schedgen" not in code
    assert "from __future__" not in code
    compile(text, name, "exec")
    assert max(map(len, text.splitlines())) <= 100


def test_static_k_guards_every_range_that_can_be_empty() -> None:
    text = emit(load("hopper_matmul_v5"), static_k=True)
    assert "        k_size: int,\n" in text
    lines = text.splitlines()
    loops = [i for i, line in enumerate(lines) if "in self.range(" in line]
    guards = [lines[i - 1].strip() for i in loops]
    assert guards == ["if k_tiles > 0:", "tma.advance()", "if k_tiles > 1:", "if k_tiles > 1:"]


def test_a_wait_after_the_first_multiplying_loop_stands_under_its_guard() -> None:
    text = (EMITTED / "hopper_matmul_v4.sched").read_text()
    text = text.replace("    wait 0\n", "    wait 1\n").replace(
        "  store acc", "  wait 0\n  store acc"
    )
    schedule = parse(text, file="early.sched")
    assert emit(schedule).count("if k_tiles > 0:  # round the wait too, for ptxas (C7514)") == 2
    assert "C7514" not in emit(schedule, static_k=True)
    assert "C7514" not in emit(load("hopper_matmul_v5"))


def test_warp_groups_come_first_whatever_the_order_of_roles() -> None:
    schedule = load("hopper_matmul_v5")
    turned = dataclasses.replace(schedule, roles=schedule.roles[::-1])
    for text in (emit(schedule), emit(turned)):
        assert "thread_begin=256, num_threads=32):  # producer" in text
        assert "thread_begin=0, num_threads=128):  # consumer[0]" in text
        assert "thread_begin=128, num_threads=128):  # consumer[1]" in text


def test_names_of_a_schedule_may_be_any() -> None:
    text = (EMITTED / "hopper_matmul_v5.sched").read_text()
    text = (
        text.replace("tma", "self").replace("slot B ", "slot full").replace("self.B", "self.full")
    )
    text = text.replace("for k in", "for class in").replace(" k\n", " class\n")
    emitted = emit(parse(text.replace(", k\n", ", class\n"), file="names.sched"))
    compile(emitted, "names", "exec")
    assert "self_ = Ring(" in emitted
    assert "self_.full_ = self.shared_tensor(" in emitted
    assert "for class_ in self.range(" in emitted


def test_names_are_given_once() -> None:
    names = Names(frozenset({"a"}))
    assert [names.give(n) for n in ("a", "a", "b", "for")] == ["a_", "a__", "b", "for_"]
    assert names.free("c") == names.give("c") == "c"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("hopper_matmul_v5", "HopperMatmulV5"), ("5x", "Kernel5x"), ("ring", "KernelRing")],
)
def test_class_name(name: str, expected: str) -> None:
    schedule = dataclasses.replace(load("hopper_matmul_v4"), name=name)
    assert class_name(schedule) == expected


def test_wait_depths() -> None:
    assert wait_depths(load("hopper_matmul_v4")) == {0}
    assert wait_depths(load("hopper_matmul_v5")) == {0, 1}
    assert wait_depths(load("three_consumers")) == {0, 2}


def test_boxes_that_are_stored_by_tma() -> None:
    names = ("v5", "v5_own", "v5_ring", "v6")
    assert [tma_stores(load(f"hopper_matmul_{name}")) for name in names] == [0, 8, 8, 16]


REFUSED = [
    ("    acquire tma.full\n", "    acquire tma.full parity (k)\n", "parity"),
    ("    advance tma\n", "    set tma = 2\n", "set"),
    ("    fence\n", "    write tma.B\n", "write"),
    ("    fence\n", "    touch acc\n", "touch"),
    ("    fence\n", "    read tma.B\n", "read"),
    ("    release tma.empty lag 1\n", "    release tma.empty lag 1 by all\n", "by all"),
    ("load tma.B k", "load tma.B k / 2", "divides"),
    ("load tma.A[0] k", "load tma.A[k % 2] k", "slab"),
    ("role consumer[2] warpgroup", "role consumer[2] warps 8", "8 warps"),
    ("acc acc : f32", "buffer out : f16 64x96\nacc acc : f32", "slabs of 64 columns"),
    ("acc acc : f32", "buffer out : f32 64x64\nacc acc : f32", "of f16 or bf16"),
    ("acc acc : f32", "buffer out : bf16 64x64\nacc acc : f32", "bf16; the output is f16"),
    ("f16 64x64", "f16 64x32", "wide"),
]


@pytest.mark.parametrize(("old", "new", "named"), REFUSED)
def test_what_cannot_be_said_is_refused_by_name(old: str, new: str, named: str) -> None:
    text = (EMITTED / "hopper_matmul_v5.sched").read_text().replace(old, new)
    with pytest.raises(EmitUnsupported, match=named) as caught:
        emit(parse(text, file="refused.sched"))
    assert caught.value.place is not None
    assert str(caught.value).endswith(f"--> refused.sched:{caught.value.place.line}")


RING = [
    ("f16 64x256 in", "f16 64x192 in", "does not fill `tma.B` exactly"),
    ("store acc -> out[self]", "store acc -> out[self]\n  write out[self]", "`write`"),
    ("-> c rows 64*self cols 0", "-> c", "which rows"),
    ("tma-store out[self]", "tma-store tma.B", "only a staging buffer"),
    ("  await done", "  await done parity (1)", "only the next phase"),
    ("  await done", "  if K > 0 {\n    await done\n  }", "outside loops and guards"),
    ("  await done", "  for _ in 0..2 {\n    await done\n  }", "outside loops and guards"),
    ("-> c rows 64*self cols 0", "-> c rows K cols 0", "in c rows K cols 0 is not a number"),
    ("tma-store out[self]", "tma-store out[min(self, K)]", "place of out.* is not a number"),
    ("store acc -> out[self]", "store acc -> out[min(K, 1)]", "part of out.* is not a number"),
    ("  arrive done", "  arrive done[K]", "index of done.* is not a number"),
    ("threads 128", "threads 256", "all threads of consumer"),
    ("sync group[self]", "sync group[0]", "two groups share"),
]


@pytest.mark.parametrize(("old", "new", "named"), RING)
def test_what_cannot_be_said_of_a_staged_epilogue(old: str, new: str, named: str) -> None:
    text = (EMITTED / "hopper_matmul_v5_ring.sched").read_text()
    assert old in text
    with pytest.raises(EmitUnsupported, match=named) as caught:
        emit(parse(text.replace(old, new), file="refused.sched"))
    assert caught.value.place is not None


def test_an_accumulator_is_a_whole_part() -> None:
    text = (
        (EMITTED / "hopper_matmul_v5_own.sched").read_text().replace("f16 64x256\n", "f16 64x128\n")
    )
    with pytest.raises(EmitUnsupported, match="not a whole part"):
        emit(parse(text, file="refused.sched"))


def test_a_fifth_group_that_syncs_is_refused() -> None:
    text = (EMITTED / "hopper_matmul_v6.sched").read_text()
    text = text.replace("[4]", "[5]").replace("empty 4", "empty 5").replace("256x256", "320x256")
    with pytest.raises(EmitUnsupported, match="hardware barriers for 4 groups"):
        emit(parse(text, file="five.sched"))
    assert emit(load("hopper_matmul_v6")).count("self.sync()") == 4


def test_phases_of_awaits_are_counted() -> None:
    text = (EMITTED / "hopper_matmul_v5_ring.sched").read_text()
    again = "  arrive done\n  await done\n"
    emitted = emit(parse(text.replace(again, again * 3), file="thrice.sched"))
    lines = [line.strip() for line in emitted.splitlines() if "done[0], phase" in line]
    phases = [line.split("phase=")[1][0] for line in lines]
    assert phases == ["0", "1", "0"] * 2


def test_one_warp_issues_a_whole_run_of_tma_ops() -> None:
    emitted = emit(load("hopper_matmul_v1"))
    block = emitted.split("with self.single_warp():\n")
    assert len(block) == 2
    assert block[1].index("expect_full") < block[1].index("global_to_shared")
    shipped = emit(load("hopper_matmul_v5_own")).split("with self.single_warp():\n")[1]
    order = [
        shipped.index(word) for word in ("shared_to_global", "commit_group", "wait_group(0, r")
    ]
    assert order == sorted(order)


def test_a_ring_that_nobody_hands_back_has_no_empty_side() -> None:
    emitted = emit(load("hopper_matmul_v2"))
    assert "empty" not in emitted
    assert "tma = Ring(stages=3, full=1)\n" in emitted


def test_a_cast_is_written_where_types_differ() -> None:
    assert "self.cast(acc_0, dtype=float16)" in emit(load("hopper_matmul_v5_own"))
    assert "self.cast" not in emit(load("hopper_matmul_v6"))


def test_names_of_epilogues_may_be_any() -> None:
    text = (EMITTED / "hopper_matmul_v6.sched").read_text()
    text = text.replace("ready", "self").replace("free", "tilus").replace("out", "slab")
    emitted = emit(parse(text, file="names.sched"))
    compile(emitted, "names", "exec")
    assert "self_ = self.mbarrier.alloc([1, 1, 1, 1])" in emitted
    assert "tilus_ = self.mbarrier.alloc([1, 1, 1, 1])" in emitted
    assert "for slab_ in self.range(4" in emitted


def test_slot_names_keep_clear_of_tilus() -> None:
    tilus = pytest.importorskip("tilus", reason="needs the tilus extra")
    public = {name for name in dir(tilus.Class) if not name.startswith("_")}
    assert public <= TILUS_NAMES
