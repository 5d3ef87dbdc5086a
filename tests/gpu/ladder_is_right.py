"""Every rung of the ladder on a GPU: right on square, ragged and small shapes, K of few tiles.

    python -m tests.gpu.ladder_is_right [--json FILE]

Needs a Hopper GPU, torch and tilus.  Kernels are emitted here (so every one is proved), compiled in
parallel, and compared with float64 of the same fp16 numbers into an output full of NaN.  For a
kernel of S stages, K is 0, 1, 2, S-1, S, S+1 tiles and part of one; a product of k = 0 is zeros.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import schedgen as sg
from schedgen.kernels import KERNELS
from tests.gpu.gpu_kernels import KernelFile, Shape, compile_all

SQUARE: list[Shape] = [(1024, 1024, 1024), (2048, 2048, 4096)]
RAGGED: list[Shape] = [(1000, 1000, 1000), (129, 264, 328), (8, 8, 8)]
TILE_K = 64

LIMITS = {"f32": 5e-4, "f16": 8e-3}
"""Greatest relative Frobenius norm of the error, by the type of the sums."""


def shapes_of(stages: int) -> list[Shape]:
    tiles = sorted({0, 1, 2, stages - 1, stages, stages + 1})
    return [*SQUARE, *RAGGED, *((256, 512, TILE_K * t) for t in tiles), (256, 512, 40)]


def error_of(kernel: KernelFile, shape: Shape) -> float:
    """Relative error, or the largest element where the product is zero; infinite for NaN."""
    import torch

    m, n, k = shape
    source = torch.Generator("cuda").manual_seed(m + n + k)
    a = torch.randn(m, k, generator=source, device="cuda").half()
    b = torch.randn(n, k, generator=source, device="cuda").half()
    c = torch.full((m, n), float("nan"), dtype=torch.float16, device="cuda")
    kernel.launch(a, b, c)
    torch.cuda.synchronize()
    reference = a.double() @ b.double().T
    size = reference.norm().item() or 1.0
    error = (c.double() - reference).norm().item() / size
    return error if error == error else float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write every error here, too")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ladder-"))
    jobs: dict[str, tuple[KernelFile, list[Shape], float]] = {}
    for name in KERNELS:
        schedule = sg.load(name)
        path = folder / f"{name}.py"
        path.write_text(sg.emit(schedule), encoding="utf-8")
        limit = max(LIMITS[acc.dtype] for acc in schedule.accumulators)
        shapes = shapes_of(schedule.rings[0].stages)
        jobs[name] = KernelFile(name, path, folder / "cache"), shapes, limit
    failures = compile_all([(k, shape) for k, shapes, _ in jobs.values() for shape in shapes])
    print("\n".join(failures), end="\n" if failures else "")
    rows, wrong = [], len(failures)
    for name, (kernel, shapes, limit) in jobs.items():
        errors = {"x".join(map(str, shape)): error_of(kernel, shape) for shape in shapes}
        bad = {shape: error for shape, error in errors.items() if error > limit}
        wrong += len(bad)
        rows.append({"kernel": name, "limit": limit, "errors": errors})
        told = f"wrong: {bad}" if bad else f"right, largest error {max(errors.values()):.2e}"
        print(f"{name:24} {len(errors)} shapes  {told}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
