"""The build: what the report reads, what a missing tool says, and real compiles for sm_90a."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from schedgen.build import (
    BuildFailed,
    BuildReport,
    LoadedScript,
    Tool,
    ToolchainMissing,
    build_kernel,
    find_toolchain,
    load_script,
)
from schedgen.build import toolchain as tools
from schedgen.build.launch import launch
from schedgen.build.report import read_report
from schedgen.emit import emit_tilus
from schedgen.ir.parser import parse
from schedgen.terminal import build_text

EMITTED = Path(__file__).parents[1] / "golden" / "emitted"

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used 154 registers, used 1 barriers
{advisory}
"""
SASS = """\
        /*0100*/ HGMMA.64x256x16.F32 R24, gdesc[UR8], R24, gsb0 ;
        /*0110*/ HGMMA.64x256x16.F32 R24, gdesc[UR8], R24, gsb0 ;
        /*0120*/ WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0130*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0140*/ UTMALDG.2D [UR8], [UR4] ;
        /*0150*/ STSM.16.M88.4 [R4], R24 ;
        /*0160*/ UTMASTG.2D [UR8], [UR4] ;
"""
CUDA = "k<<<dim3((m * 32), 1, 1), dim3(288, 1, 1), 196736, (cudaStream_t)s()>>>(m);"
ADVISORY = "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async is serialized"


def read(
    *,
    stack: int = 0,
    stores: int = 0,
    advisory: str = "",
    depths: tuple[int, ...] = (0, 1),
    sass: str = SASS,
) -> BuildReport:
    return read_report(
        kernel="v5",
        shape=(8192, 8192, 8192),
        nvcc=Tool("/bin/nvcc", "13.0.88"),
        cuda=CUDA,
        ptxas_log=PTXAS.format(stack=stack, stores=stores, loads=0, advisory=advisory),
        sass=sass,
        wait_depths=frozenset(depths),
        tma_stores=1,
    )


def test_json_of_a_good_build() -> None:
    assert json.loads(read().to_json()) == {
        "kernel": "v5",
        "shape": [8192, 8192, 8192],
        "nvcc": {"path": "/bin/nvcc", "version": "13.0.88"},
        "registers": 154,
        "stack": 0,
        "spill_stores": 0,
        "spill_loads": 0,
        "shared_bytes": 196736,
        "advisories": [],
        "sass": {
            "hgmma": {"64x256x16.F32": 2},
            "depbar": {"0": 1, "1": 1},
            "utmaldg": 1,
            "utmastg": 1,
            "stsm": 1,
        },
        "ok": True,
    }


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (read(stack=8), "stack frame of 8 bytes"),
        (read(stores=4), "registers spill: 4 bytes stored"),
        (read(advisory=ADVISORY), "C7514"),
        (read(depths=(1,)), "waits for depth 0; no `wait 0`"),
        (read(depths=(0, 1, 2)), "`wait 2` asks"),
        (read(sass=SASS.replace("UTMASTG", "STG")), "no TMA store in the machine code"),
    ],
)
def test_one_problem_one_sentence(report: BuildReport, problem: str) -> None:
    assert not report.ok
    assert len(report.problems) == 1
    assert problem in report.problems[0]


def test_the_text_names_each_problem_once() -> None:
    assert build_text(read(advisory=ADVISORY)).count("C7514") == 1


def test_a_log_that_says_nothing_is_no_report() -> None:
    with pytest.raises(ValueError, match="registers"):
        read_report(
            kernel="v5",
            shape=(1, 1, 1),
            nvcc=Tool("nvcc", "13.0"),
            cuda=CUDA,
            ptxas_log="",
            sass=SASS,
            wait_depths=frozenset(),
        )


def test_no_host_compiler_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NVCC_CCBIN", raising=False)
    with pytest.raises(ToolchainMissing, match=r"host C\+\+ compiler") as caught:
        tools.find_host_compiler()
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)


def test_no_nvcc_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "_in_wheels", lambda name: None)
    with pytest.raises(ToolchainMissing, match="no nvcc"):
        find_toolchain()


def test_an_old_nvcc_on_path_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder, version in (("old", "12.4.131"), ("wheel", "13.0.88")):
        nvcc = tmp_path / folder / "nvcc"
        nvcc.parent.mkdir()
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release x, V{version}'\n")
        nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'old'}{os.pathsep}{os.defpath}")
    wheel = str(tmp_path / "wheel" / "nvcc")
    monkeypatch.setattr(tools, "_in_wheels", lambda name: wheel)
    assert tools.find_nvcc() == Tool(wheel, "13.0.88")
    monkeypatch.setattr(tools, "_in_wheels", lambda name: None)
    with pytest.raises(ToolchainMissing, match=r"older than 12\.8"):
        tools.find_nvcc()


def test_no_tilus_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tilus", None)
    with pytest.raises(ToolchainMissing, match=r"\.\[tilus\]"):
        build_kernel(EMITTED / "hopper_matmul_v5.py", wait_depths=frozenset({0, 1}))


def test_loading_compiles_nothing(tmp_path: Path) -> None:
    pytest.importorskip("tilus", reason="needs the tilus extra")
    golden = EMITTED / "hopper_matmul_v5.py"
    changed = tmp_path / "changed.py"
    changed.write_text(golden.read_text() + "# other text\n")
    loaded = [load_script(path, cache_root=tmp_path / "cache") for path in (golden, changed)]
    assert [one.name for one in loaded] == ["HopperMatmulV5"] * 2
    assert loaded[0].cache_dir != loaded[1].cache_dir
    assert list(tmp_path.iterdir()) == [changed]


def test_launch_wants_tensors_on_a_gpu() -> None:
    torch = pytest.importorskip("torch", reason="needs the tilus extra")
    a = torch.zeros(8, 8, dtype=torch.float16)
    loaded = LoadedScript("v5", None, Path("unused"))
    with pytest.raises(ValueError, match="a must be a contiguous float16 tensor on a CUDA device"):
        launch(loaded, a, a, a)


def test_a_file_without_a_kernel_is_said(tmp_path: Path) -> None:
    pytest.importorskip("tilus", reason="needs the tilus extra")
    path = tmp_path / "empty.py"
    path.write_text("import tilus\n")
    with pytest.raises(ValueError, match="does not define exactly one kernel"):
        load_script(path)


COMPILED = [
    ("v1", {0}, 32896, "64x128x16.F32", 0),
    ("v2", {0}, 98432, "64x128x16.F32", 0),
    ("v3", {0}, 98432, "64x128x16.F32", 0),
    ("v4", {0}, 147584, "64x256x16.F32", 0),
    ("v5", {0, 1}, 196736, "64x256x16.F32", 0),
    ("v6", {0, 1}, 229504, "64x256x16.F16", 16),
    ("v4_ring", {0}, 196736, "64x256x16.F32", 8),
    ("v5_ring", {0, 1}, 196736, "64x256x16.F32", 8),
    ("v5_own", {0, 1}, 213120, "64x256x16.F32", 8),
]


@pytest.mark.compile
@pytest.mark.parametrize(("name", "depths", "shared", "mma", "stores"), COMPILED)
def test_golden_kernels_compile_as_promised(
    name: str,
    depths: set[int],
    shared: int,
    mma: str,
    stores: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = EMITTED / f"hopper_matmul_{name}.py"
    report = build_kernel(path, wait_depths=frozenset(depths), tma_stores=stores)
    assert report.ok, report.problems
    assert (report.stack, report.spill_stores, report.spill_loads) == (0, 0, 0)
    assert report.registers <= (96 if name == "v6" else 168)
    assert {shape for shape, _ in report.hgmma} == {mma}
    assert {depth for depth, _ in report.depbar} == depths
    assert (report.shared_bytes, report.utmastg) == (shared, stores)
    assert (report.stsm > 0) == (stores > 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.compile
@pytest.mark.parametrize("k", [0, 8192])
def test_static_k_compiles_where_loops_are_empty(k: int, tmp_path: Path) -> None:
    text = (EMITTED / "hopper_matmul_v5.sched").read_text()
    path = tmp_path / "v5_static.py"
    emitted = emit_tilus(
        parse(text, file="v5"), static_k=True, made_by="v5", verdict="", finding=None
    )
    path.write_text(emitted)
    depths = {0: {0}, 8192: {0, 1}}[k]
    report = build_kernel(path, shape=(8192, 8192, k), wait_depths=frozenset(depths))
    assert report.ok, report.problems


@pytest.mark.compile
def test_an_early_release_is_not_made_right_by_ptxas(tmp_path: Path) -> None:
    """A refused schedule, emitted all the same, keeps its groups in flight: the race is real."""
    text = (EMITTED / "hopper_matmul_v4.sched").read_text()
    text = text.replace("    wait 0\n", "    wait 1\n").replace(
        "  store acc", "  wait 0\n  store acc"
    )
    path = tmp_path / "early.py"
    path.write_text(
        emit_tilus(
            parse(text, file="early"), static_k=False, made_by="", verdict="", finding="SG203"
        )
    )
    report = build_kernel(path, wait_depths=frozenset({0, 1}))
    assert report.ok, report.problems


@pytest.mark.compile
def test_same_machine_code_every_time(tmp_path: Path) -> None:
    path = EMITTED / "hopper_matmul_v4.py"
    for folder in ("one", "two"):
        build_kernel(path, wait_depths=frozenset({0}), keep=tmp_path / folder)
    cubins = [(tmp_path / folder / "kernel.sass").read_text() for folder in ("one", "two")]
    assert cubins[0] == cubins[1]


@pytest.mark.compile
def test_what_tilus_rejects_is_said(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    text = (EMITTED / "hopper_matmul_v4.py").read_text()
    path.write_text(text.replace("acc_0)  # tile k", "nothing)"))
    with pytest.raises(BuildFailed, match="nothing"):
        build_kernel(path, wait_depths=frozenset({0}))


@pytest.mark.compile
def test_an_emitted_kernel_runs_without_schedgen(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['schedgen'] = None; sys.path.insert(0, '.');"
        "import tilus, tilus.target, tilus.option; tilus.option.cache_dir('cache');"
        "tilus.target.set_current_target(tilus.target.nvgpu_sm90a); import kernel;"
        "jit = kernel.HopperMatmulV5()._jit_instance_for(8192, 8192, 8192, None, None, None);"
        "print(len(jit.transpiled_programs))"
    )
    (tmp_path / "kernel.py").write_text((EMITTED / "hopper_matmul_v5.py").read_text())
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("1", 0), done.stderr
