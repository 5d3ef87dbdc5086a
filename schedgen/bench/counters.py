"""Cycles and tensor-pipe use from ncu: one child process a shape, clocks left as they are.

Cycles do not depend on the power state of the chip, so they are read in a process of their own; the
child checks every product before it counts, like the process that times.  It launches a kernel that
spins before every contestant, and ncu's list of kernels is cut there.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from schedgen.bench.preparing import CannotMeasure, Prepared
from schedgen.bench.request import Shape
from schedgen.bench.results import Count

CYCLES = "sm__cycles_elapsed.max"
TENSOR_PIPE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
METRICS = (
    CYCLES,
    TENSOR_PIPE,
    "gpu__time_duration.sum",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__inst_executed.sum",
)
SEPARATOR = "spin_kernel"
"""The kernel of `torch.cuda._sleep`, in `at::cuda::<unnamed>::spin_kernel(long)`."""

SECONDS = 420
"""After which ncu is given up for a shape; the times that were measured stay."""

_NO_PERMISSION = "ERR_NVGPUCTRPERM"


def require_ncu() -> None:
    """Raise `CannotMeasure` where there is no ncu."""
    if shutil.which("ncu") is None:
        raise CannotMeasure(
            "--cycles needs ncu (Nsight Compute), which is not on PATH: install it, or leave "
            "--cycles out"
        )


def command_line(task: Path) -> list[str]:
    """ncu around the child that measures what ``task`` says."""
    return [
        "ncu", "--clock-control", "none", "--csv", "--print-units", "base",
        "--profile-from-start", "off",
        "--metrics", ",".join(METRICS),
        sys.executable, "-m", "schedgen.bench.profiled", str(task),
    ]  # fmt: skip


def count(
    shape: Shape, prepared: Sequence[Prepared], *, seed: int, process: int
) -> dict[str, Count]:
    """One count for each contestant, by label; each holds metrics or a reason."""
    labels = [one.contestant.label for one in prepared]
    with tempfile.TemporaryDirectory(prefix="schedgen-ncu-") as folder:
        task = Path(folder) / "task.json"
        task.write_text(task_text(shape, prepared, seed=seed), encoding="utf-8")
        try:
            done = subprocess.run(
                command_line(task), capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            reason = f"ncu took more than {SECONDS} s"
            return {label: Count(process=process, metrics={}, reason=reason) for label in labels}
    return read_counts(labels, done.stdout, done.stderr, process=process)


def task_text(shape: Shape, prepared: Iterable[Prepared], *, seed: int) -> str:
    """What the child is told, as JSON."""
    rows = [{**asdict(one.contestant), "limit": one.limit(shape[2])} for one in prepared]
    return json.dumps({"shape": list(shape), "seed": seed, "contestants": rows})


def read_counts(labels: Sequence[str], out: str, err: str, *, process: int) -> dict[str, Count]:
    """Cut ncu's CSV into contestants.  A contestant of several kernels is their sum; shares of a
    peak are weighted by cycles."""
    groups = _groups(out)
    found: dict[str, Count] = {}
    for number, label in enumerate(labels):
        if number < len(groups) and groups[number]:
            found[label] = Count(process=process, metrics=_together(groups[number]), reason=None)
        else:
            found[label] = Count(process=process, metrics={}, reason=_reason(out, err))
    return found


def _reason(out: str, err: str) -> str:
    if _NO_PERMISSION in out + err:
        return (
            f"ncu may not read the GPU's counters ({_NO_PERMISSION}): run as root, or have the "
            "administrator allow it"
        )
    lines = [line for line in (err + out).splitlines() if line.strip() and line[:1] != '"']
    return f"ncu counted nothing: {' '.join(lines[-3:])[-300:]}"


def _groups(out: str) -> list[list[dict[str, float]]]:
    """The metrics of each kernel, kernels grouped between separators."""
    lines = [line for line in out.splitlines() if line.startswith('"')]
    groups: list[list[dict[str, float]]] = []
    last: str | None = None
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        name, number = row.get("Kernel Name") or "", row.get("ID")
        if SEPARATOR in name:
            if number != last:
                groups.append([])
        elif groups:
            if number != last:
                groups[-1].append({})
            metric, value = row.get("Metric Name") or "", row.get("Metric Value") or ""
            if metric in METRICS:
                groups[-1][-1][metric] = float(value.replace(",", ""))
        last = number
    return groups


def _together(kernels: list[dict[str, float]]) -> dict[str, float]:
    weights = [kernel.get(CYCLES, 0.0) for kernel in kernels]
    total = sum(weights) or 1.0
    found: dict[str, float] = {}
    for metric in METRICS:
        values = [kernel[metric] for kernel in kernels if metric in kernel]
        if len(values) == len(kernels):
            share = sum(v * w for v, w in zip(values, weights, strict=True)) / total
            found[metric] = share if ".pct_of_peak" in metric else sum(values)
    return found
