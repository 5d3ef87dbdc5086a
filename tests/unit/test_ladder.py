"""The ladder: every rung is the one below it through passes, and what each pass writes."""

from __future__ import annotations

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.kernels import KERNELS, kernel_schedule
from schedgen.pipeline import PassStopped
from tests.refusals import pipeline_of

EMITTED = Path(__file__).parents[1] / "golden" / "emitted"
LADDER = [f"hopper_matmul_v{n}" for n in range(1, 7)]


def rewritten(source: str, pipeline: str) -> str:
    """The text after a pipeline, without the checks of what it keeps."""
    schedule = sg.parse(source) if "\n" in source else kernel_schedule(f"hopper_matmul_{source}")
    return sg.show(pipeline_of(pipeline).rewrite_unchecked(schedule))


def section(text: str, first: str, last: str) -> str:
    """The lines from the one that begins with ``first`` to the next that begins with ``last``."""
    lines = [line.strip() for line in text.splitlines()]
    begin = next(n for n, line in enumerate(lines) if line.startswith(first))
    end = next(n for n, line in enumerate(lines[begin:], begin) if line.startswith(last))
    return "\n".join(lines[begin : end + 1])


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_its_text(name: str) -> None:
    """The texts are kept, so a change of a pass shows here as a change of a schedule."""
    assert sg.show(kernel_schedule(name)) == (EMITTED / f"{name}.sched").read_text()


@pytest.mark.parametrize("name", [name for name in KERNELS if KERNELS[name].base is not None])
def test_passes_of_a_kernel_keep_what_they_declare(name: str) -> None:
    kernel = KERNELS[name]
    assert kernel.base is not None
    assert kernel.pipeline is not None
    made = sg.apply(kernel_schedule(kernel.base), kernel.pipeline)
    assert made == kernel_schedule(name)


def test_one_pipeline_makes_the_last_rung_of_the_first() -> None:
    """Names of schedules take no part in equality."""
    steps = [KERNELS[name].pipeline for name in LADDER[1:]]
    whole = ",".join(step for step in steps if step is not None)
    assert sg.apply(kernel_schedule(LADDER[0]), whole) == kernel_schedule(LADDER[-1])
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"$ schedgen opt hopper_matmul_v1 -p '{whole}' -o v6.sched\n" in readme


def test_overlap_commutes_with_the_epilogue() -> None:
    staged = kernel_schedule("hopper_matmul_v4_ring")
    overlapped = pipeline_of("overlap-wgmma{in-flight=1}").rewrite_unchecked(staged)
    assert overlapped == kernel_schedule("hopper_matmul_v5_ring")


SAME = [
    ("v4", "rasterize{along=n,group=4}"), ("v4", "accumulate{type=f32}"),
    ("v4", "set-tile{m=128,n=256}"), ("v4", "split-consumers{n=2}"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "pipeline"), SAME)
def test_nothing_to_do_gives_the_same_object(name: str, pipeline: str) -> None:
    schedule = kernel_schedule(f"hopper_matmul_{name}")
    assert pipeline_of(pipeline).rewrite_unchecked(schedule) is schedule


# --- What each pass writes -----------------------------------------------------------------------


def test_multi_buffer_with_one_stage() -> None:
    text = rewritten("v1", "multi-buffer{n=1}")
    assert "ring tma stages 1 empty 1 full 1 {" in text
    assert (
        section(text, "role worker", "store")
        == """\
role worker warpgroup {
if K > 0 {
expect tma.full bytes 32768
load tma.A 0
load tma.B 0
}
for k in 0..K {
acquire tma.full
fence
mma acc, tma.A, tma.B, k
commit
wait 0
sync block
if k + 1 < K {
expect tma.full bytes 32768 ahead 1
load tma.A k + 1 ahead 1
load tma.B k + 1 ahead 1
}
advance tma
}
store acc -> c"""
    )


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_fills_in_advance_are_dropped_again(stages: int) -> None:
    direct = rewritten("v1", f"warp-specialize,set-stages{{n={stages}}}")
    assert rewritten("v1", f"multi-buffer{{n={stages}}},warp-specialize") == direct


def test_warp_specialize_keeps_the_loop_variable_and_syncs_outside_the_loop() -> None:
    text = sg.show(kernel_schedule("hopper_matmul_v1"))
    text = text.replace(" k\n", " j\n").replace("for k in", "for j in")
    text = text.replace("  store acc", "  sync block\n  store acc")
    made = rewritten(text, "warp-specialize")
    assert (
        section(made, "role producer", "load tma.A")
        == """\
role producer warp {
for j in 0..K {
acquire tma.empty
expect tma.full bytes 32768
load tma.A j"""
    )
    assert "named block threads 128\n" in made
    assert made.count("sync block") == 1


def test_release_stands_behind_the_last_wait_of_a_step() -> None:
    text = sg.show(kernel_schedule("hopper_matmul_v1"))
    step = "    mma acc, tma.A, tma.B, k\n    commit\n    wait 0\n"
    made = rewritten(text.replace(step, step + step), "warp-specialize")
    assert section(made, "role consumer", "advance").endswith(
        "wait 0\nrelease tma.empty\nadvance tma"
    )
    assert made.count("release tma.empty") == 1


def test_set_tile_scales_shares() -> None:
    text = rewritten("v4", "set-tile{m=256,n=128}")
    for line in ("tile m 256, n 128, k 64, raster n 4\n",
                 "  slot A[2] : f16 128x64 = a rows 128*i\n",
                 "  slot B    : f16 128x64 = b rows 0\n",
                 "acc acc : f32 128x128 = c rows 128*self\n",
                 "    expect tma.full bytes 49152\n"):  # fmt: skip
        assert line in text
    assert rewritten(text, "set-tile{m=128,n=256}") == rewritten("v4", "set-tile{m=128,n=256}")


def test_split_consumers_splits_what_is_split_already() -> None:
    made = rewritten("v3", "set-tile{m=256,n=256},split-consumers{n=2},split-consumers{n=4}")
    assert made == rewritten("v3", "set-tile{m=256,n=256},split-consumers{n=4}")
    assert (
        section(made, "load tma.A[0]", "load tma.B")
        == """\
load tma.A[0] k
load tma.A[1] k
load tma.A[2] k
load tma.A[3] k
load tma.B k"""
    )
    assert "empty 4 full 1" in made
    assert "role consumer[4] warpgroup {" in made


def test_rasterize_and_accumulate() -> None:
    assert "raster m 2\n" in rewritten("v4", "rasterize{along=m,group=2}")
    assert "acc acc : f16 64x256 = c rows 64*self\n" in rewritten("v4", "accumulate{type=f16}")


SHIPPED = """\
fence proxy
sync group
tma-store out -> c rows 0 cols 0
store-commit
store-wait 0 read"""


def test_staging_of_a_role_without_an_index() -> None:
    made = rewritten("v3", "stage-epilogue{buffer=own}")
    assert section(made, "store acc", "store-wait") == f"store acc -> out\n{SHIPPED}"
    assert "buffer out : f16 128x128\n" in made
    ring = rewritten("v3", "set-tile{m=128,n=64},stage-epilogue{buffer=ring}")
    assert "buffer out : f16 128x64 in tma.A stage 0\n" in ring
    assert section(ring, "arrive", "store-wait") == (
        f"arrive done\nawait done\nstore acc -> out\n{SHIPPED}"
    )
    turns = rewritten("v3", "stage-epilogue{buffer=turns}")
    assert (
        section(turns, "arrive free", "store-wait")
        == """\
arrive free
await ready
tma-store out -> c rows 0 cols 0
store-commit
store-wait 0 read"""
    )
    assert (
        section(turns, "await free", "arrive ready")
        == """\
await free
store acc -> out
fence proxy
sync group
arrive ready"""
    )


def test_names_that_are_taken_get_a_number() -> None:
    text = sg.show(kernel_schedule("hopper_matmul_v4")).replace("tma", "out")
    text = text.replace("acc acc", "acc group").replace("mma acc", "mma group")
    made = rewritten(text.replace("store acc", "store group"), "stage-epilogue{buffer=own}")
    assert "named group2[2] threads 128\n" in made
    assert "buffer out2[2] : f16 64x256\n" in made
    assert "  store group -> out2[self]\n" in made


def test_staging_leaves_the_element_type_of_the_output() -> None:
    text = sg.show(kernel_schedule("hopper_matmul_v4")).replace("f16", "bf16")
    assert "buffer out[2] : bf16 64x256\n" in rewritten(text, "stage-epilogue{buffer=own}")


@pytest.mark.parametrize("pipeline", ["multi-buffer{n=3}", "warp-specialize"])
def test_a_rung_is_climbed_once(pipeline: str) -> None:
    with pytest.raises(PassStopped) as stopped:
        rewritten("v1", f"{pipeline},{pipeline}")
    assert stopped.value.finding.code == "SG401"
