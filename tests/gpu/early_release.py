"""V4 and V5 on 24 shapes, and a schedule that was refused, run anyway, on one Hopper GPU.

    python -m tests.gpu.early_release --json FILE

Needs torch and tilus.  Kernels are emitted here; V4 and V5 with run-time and static k are compared
with float64 on 24 shapes x 3 seeds, and V4 with an early release (`emit --unsafe`) runs 20 times on
each of nine shapes, beside V5.  Times are the matter of `schedgen bench`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import schedgen as sg
from tests.gpu.gpu_kernels import KernelFile, Shape, compile_all

EARLY = Path(__file__).parents[1] / "known_bad" / "sg203_early_release.sched"
BIG: Shape = (8192, 8192, 8192)
SEEDS = (0, 1, 2)
ERROR_LIMIT = 4e-4  # exact fp32 accumulation, rounded to fp16 once, gives 2.1e-4
NO_NUMBER = 1e9  # stands in results for an output that holds NaN, and for a launch that failed
TILE_K = 64

SHAPES: tuple[Shape, ...] = (
    # square
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048),
    (4096, 4096, 4096), BIG,
    # ragged m and n
    (100, 256, 512), (129, 264, 320), (1000, 1000, 1000), (777, 1016, 328), (130, 8, 64),
    (1, 256, 128), (2047, 2056, 2040),
    # k of 0, 8, 64, 72 elements
    (256, 512, 0), (129, 520, 0), (256, 512, 8), (256, 512, 64), (256, 512, 72),
    # S and S + 1 tiles for 3 and 4 stages
    (256, 512, 3 * TILE_K), (256, 512, 4 * TILE_K), (256, 512, 5 * TILE_K),
    # tiles that are no multiple of either number of stages, and a long K
    (384, 1024, 13 * TILE_K), (640, 2304, 17 * TILE_K), (2048, 2048, 8192),
)  # fmt: skip

EARLY_SHAPES: tuple[Shape, ...] = (
    BIG, (2048, 2048, 8192), (1024, 1024, 512),
    *((1024, 1024, tiles * TILE_K) for tiles in (1, 2, 3, 4, 5, 6)),
)  # fmt: skip
EARLY_RUNS = 20

START = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - START:6.1f} s] {text}", flush=True)


def inputs(shape: Shape, seed: int) -> tuple[Any, Any]:
    """Normal fp16 data on the GPU."""
    import torch

    m, n, k = shape
    generator = torch.Generator("cuda").manual_seed(1000 * seed + 7)
    a = torch.randn(m, k, generator=generator, device="cuda").half()
    b = torch.randn(n, k, generator=generator, device="cuda").half()
    return a, b


def run(kernel: KernelFile, a: Any, b: Any) -> Any:
    """One launch into an output full of NaN."""
    import torch

    c = torch.full((a.shape[0], b.shape[0]), float("nan"), dtype=torch.float16, device="cuda")
    kernel.launch(a, b, c)
    torch.cuda.synchronize()
    return c


def relative_error(c: Any, reference: Any) -> float:
    """||c - ref|| / ||ref||; where ref is zero, c must be exactly zero."""
    size = reference.norm().item()
    if size == 0:
        return 0.0 if bool((c == 0).all()) else NO_NUMBER
    error = ((c.double() - reference).norm() / size).item()
    return error if math.isfinite(error) else NO_NUMBER


def check_correctness(kernels: list[KernelFile]) -> list[dict[str, Any]]:
    rows = []
    for shape in SHAPES:
        worst = dict.fromkeys((kernel.name for kernel in kernels), 0.0)
        for seed in SEEDS:
            a, b = inputs(shape, seed)
            reference = a.double() @ b.double().T
            for kernel in kernels:
                try:
                    error = relative_error(run(kernel, a, b), reference)
                except Exception as failure:
                    say(f"{kernel.name} {shape} fails: {str(failure)[-500:]}")
                    error = NO_NUMBER
                worst[kernel.name] = max(worst[kernel.name], error)
        right = all(error <= ERROR_LIMIT for error in worst.values())
        rows.append({"shape": shape, "worst": worst, "right": right})
        text = ", ".join(f"{name} {error:.2e}" for name, error in worst.items())
        say(f"{'right' if right else 'WRONG'} {shape}: {text}")
    return rows


def check_early_release(early: KernelFile, v5: KernelFile) -> list[dict[str, Any]]:
    """How often the refused kernel is wrong, and whether V5 is the same and right every time."""
    rows = []
    for shape in EARLY_SHAPES:
        a, b = inputs(shape, 0)
        reference = a.double() @ b.double().T
        first = run(v5, a, b)
        row: dict[str, Any] = {"shape": shape, "runs": EARLY_RUNS}
        wrong = exact = 0
        worst, elements = 0.0, 0.0
        for _ in range(EARLY_RUNS):
            c = run(early, a, b)
            error = relative_error(c, reference)
            wrong += error > ERROR_LIMIT
            worst = max(worst, error)
            elements = max(elements, (c != first).double().mean().item())
            exact += bool((run(v5, a, b) == first).all())
        row |= {"early_wrong": wrong, "early_worst_error": worst, "early_elements": elements}
        row |= {"v5_exact": exact, "v5_error": relative_error(first, reference)}
        rows.append(row)
        say(f"early release {shape}: wrong {wrong}/{EARLY_RUNS}, V5 exact {exact}/{EARLY_RUNS}")
    return rows


def emitted(folder: Path) -> list[KernelFile]:
    """V4, V4 with static k, V5, V5 with static k, and the one that releases too early."""
    found: list[KernelFile] = []

    def add(name: str, text: str) -> None:
        path = folder / f"{name.replace(' ', '_')}.py"
        path.write_text(text, encoding="utf-8")
        found.append(KernelFile(name, path, folder / "cache"))

    for name in ("V4", "V5"):
        schedule = sg.load(f"hopper_matmul_{name.lower()}")
        add(name, sg.emit(schedule))
        add(f"{name} static k", sg.emit(schedule, static_k=True))
    add("early release", sg.emit(sg.load(EARLY), unsafe=True))
    return found


def main() -> int:
    from schedgen.bench.cuda_device import CudaDevice

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="write every number here")
    file = parser.parse_args().json
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    results: dict[str, Any] = {"machine": CudaDevice().describe() | {"date": now}}
    *kernels, early = emitted(Path(tempfile.mkdtemp(prefix="early-release-")))
    v5 = next(kernel for kernel in kernels if kernel.name == "V5")
    say("compiling on all cores")
    jobs = [(kernel, shape) for shape in SHAPES for kernel in kernels]
    jobs += [(kernel, shape) for shape in EARLY_SHAPES for kernel in (early, v5)]
    failures = compile_all(jobs)
    for failure in failures:
        say(f"does not compile: {failure}")
    results["correctness"] = check_correctness(kernels)
    results["early_release"] = check_early_release(early, v5)
    new = file.with_name(file.name + ".new")
    new.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    new.replace(file)
    right = all(row["right"] for row in results["correctness"])
    say(f"done; {'all right' if right else 'SOMETHING IS WRONG'}; see {file}")
    return 0 if right and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
