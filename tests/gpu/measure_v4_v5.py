"""Measure the emitted V4 and V5 on one Hopper GPU, in one process.

    python3 tests/gpu/measure_v4_v5.py --v4 V4.py --v4-static V4S.py --v5 V5.py \
        --v5-static V5S.py [--early EARLY.py] [--ncu] --out FOLDER

Parts: every kernel against float64 on 24 shapes x 3 seeds; burst and sustained times, interleaved,
of the emitted kernels, a hand-written kernel of V5's structure and torch.matmul; a kernel whose
schedule was refused (`schedgen emit --unsafe`) beside V5.  Writes results.json and results.md.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

from gpu_kernels import KernelFile, Shape, compile_all
from gpu_report import machine, markdown
from gpu_timing import burst, cycles, sustained

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


def measure_times(kernels: list[KernelFile]) -> dict[str, Any]:
    """Burst and sustained milliseconds per launch at 8192^3, interleaved in this process."""
    import torch

    a, b = inputs(BIG, 0)
    c = torch.empty(BIG[0], BIG[1], dtype=torch.float16, device="cuda")
    launches = {kernel.name: (lambda kernel=kernel: kernel.launch(a, b, c)) for kernel in kernels}
    launches["torch.matmul"] = lambda: torch.matmul(a, b.T, out=c)
    for launch in launches.values():
        launch()
    torch.cuda.synchronize()
    say("burst rounds")
    times: dict[str, Any] = {"burst": burst(launches)}
    say("sustained rounds")
    times["sustained"] = sustained(launches)
    return times


def compile_everything(kernels: list[KernelFile], early: KernelFile | None) -> list[str]:
    emitted = [kernel for kernel in kernels if kernel.name != "hand-written"]
    jobs = [(kernel, shape) for shape in SHAPES for kernel in emitted]
    jobs += [(kernel, BIG) for kernel in kernels]
    if early is not None:
        v5 = next(kernel for kernel in kernels if kernel.name == "V5")
        jobs += [(kernel, shape) for shape in EARLY_SHAPES for kernel in (early, v5)]
    return compile_all(jobs)


def profile_one(kernel: KernelFile | None) -> None:
    """Run one launch at 8192^3 between profiler marks (a child of ncu)."""
    import torch

    a, b = inputs(BIG, 0)
    c = torch.empty(BIG[0], BIG[1], dtype=torch.float16, device="cuda")
    for step in range(3):
        if step == 2:
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
        if kernel is None:
            torch.matmul(a, b.T, out=c)
        else:
            kernel.launch(a, b, c)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for flag in ("--v4", "--v4-static", "--v5", "--v5-static"):
        parser.add_argument(flag, type=Path, required=True)
    parser.add_argument("--early", type=Path, help="an emitted kernel that releases too early")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/schedgen-gpu-cache"))
    parser.add_argument("--ncu", action="store_true", help="also count cycles with ncu")
    parser.add_argument("--budget", type=float, default=330.0, help="seconds; then parts are left")
    parser.add_argument("--profile-one", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    files = {
        "V4": options.v4, "V4 static k": options.v4_static, "V5": options.v5,
        "V5 static k": options.v5_static,
        "hand-written": Path(__file__).with_name("handwritten_v5.py"),
    }  # fmt: skip
    kernels = [KernelFile(name, path.resolve(), options.cache) for name, path in files.items()]
    early = options.early and KernelFile("early release", options.early.resolve(), options.cache)
    if options.profile_one:
        profile_one(next((k for k in kernels if k.name == options.profile_one), None))
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": machine(), "left_out": []}
    say(f"{results['machine']['card']}; compiling on all cores")
    results["compile_failures"] = compile_everything(kernels, early)
    for failure in results["compile_failures"]:
        say(f"does not compile: {failure}")

    def part(name: str, work: Any) -> None:
        """One part of the results, kept on disk at once; left out where time is up."""
        if time.monotonic() - START > options.budget:
            results["left_out"].append(name)
            say(f"no time left for {name}")
            return
        say(name)
        try:
            results[name] = work()
        except Exception as error:
            results["left_out"].append(f"{name}: {error!r}")
            say(f"{name} fails: {error!r}")
        (options.out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
        (options.out / "results.md").write_text(markdown(results))

    part("times", lambda: measure_times(kernels))
    part("correctness", lambda: check_correctness(kernels[:4]))
    if early is not None:
        part("early_release", lambda: check_early_release(early, kernels[2]))
    if options.ncu:
        names = [*(kernel.name for kernel in kernels), "torch.matmul"]
        part("cycles", lambda: cycles(names, [sys.executable, *sys.argv]))
    right = all(row["right"] for row in results.get("correctness", [{"right": False}]))
    say(f"done; {'all right' if right else 'SOMETHING IS WRONG'}; see {options.out}/results.md")
    return 0 if right and not results["compile_failures"] else 1


if __name__ == "__main__":
    sys.exit(main())
