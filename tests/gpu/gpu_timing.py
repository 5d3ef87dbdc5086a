"""How kernels are timed on a power-limited GPU.

A GEMM of this size runs at whatever clock the power limit allows, so single numbers from separate
runs cannot be compared.  Every method here interleaves the kernels in one process; ratios are
taken within a round, and the median over rounds is reported with its spread.
"""

from __future__ import annotations

import csv
import io
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

Launches = Mapping[str, Callable[[], object]]

IDLE_SECONDS = 0.15
BURST_WARM_UPS, BURST_LAUNCHES, BURST_ROUNDS = 2, 3, 9
SUSTAINED_LAUNCHES, SUSTAINED_ROUNDS = 20, 9
PEERS = ("hand-written", "torch.matmul")

METRICS = (
    "sm__cycles_elapsed.max",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "gpu__time_duration.sum",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__inst_executed.sum",
)


def burst(launches: Launches) -> dict[str, Any]:
    """A cool chip: idle, warm up twice, time three launches; nine interleaved rounds."""
    rounds: list[dict[str, float]] = []
    for turn in range(BURST_ROUNDS):
        rounds.append({})
        for name in rotated(list(launches), turn):
            time.sleep(IDLE_SECONDS)
            for _ in range(BURST_WARM_UPS):
                launches[name]()
            rounds[-1][name] = timed(launches[name], BURST_LAUNCHES)
    return summary(rounds)


def sustained(launches: Launches) -> dict[str, Any]:
    """A hot chip: twenty launches back to back, interleaved rounds."""
    rounds: list[dict[str, float]] = []
    for turn in range(SUSTAINED_ROUNDS):
        rounds.append({})
        for name in rotated(list(launches), turn):
            rounds[-1][name] = timed(launches[name], SUSTAINED_LAUNCHES)
    return summary(rounds)


def rotated(names: list[str], turn: int) -> list[str]:
    """Another first kernel in every round, so that none always follows the same neighbour."""
    start = turn % len(names)
    return names[start:] + names[:start]


def timed(launch: Callable[[], object], count: int) -> float:
    """Milliseconds per launch between two CUDA events."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def summary(rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Per kernel: median, least and most milliseconds, and median ratios to the peers.

    A ratio is the peer's time over the kernel's time in the same round: above 1 is faster.
    """
    found: dict[str, Any] = {}
    for name in rounds[0]:
        times = [one[name] for one in rounds]
        row: dict[str, Any] = {
            "median_ms": statistics.median(times),
            "min_ms": min(times),
            "max_ms": max(times),
        }
        for peer in PEERS:
            ratios = sorted(one[peer] / one[name] for one in rounds)
            row[f"x {peer}"] = statistics.median(ratios)
            row[f"x {peer} spread"] = [ratios[0], ratios[-1]]
        found[name] = row
    return {"kernels": found, "rounds": rounds}


def cycles(names: list[str], command: list[str]) -> dict[str, Any]:
    """Cycles and tensor-pipe use from ncu, one child process per kernel."""
    found: dict[str, Any] = {}
    for name in names:
        ncu = ["ncu", "--clock-control", "none", "--csv", "--profile-from-start", "off"]
        ncu += ["--metrics", ",".join(METRICS)]
        done = subprocess.run(
            [*ncu, *command, "--profile-one", name],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        found[name] = read_ncu(done.stdout) or {"error": (done.stdout + done.stderr)[-500:]}
    return found


def read_ncu(output: str) -> dict[str, float]:
    """Metric values from ncu's CSV, which follows lines of its own."""
    lines = [line for line in output.splitlines() if line.startswith('"')]
    rows = csv.DictReader(io.StringIO("\n".join(lines)))
    return {
        row["Metric Name"]: float(row["Metric Value"].replace(",", ""))
        for row in rows
        if row.get("Metric Name") in METRICS
    }
