"""What was measured, as a table that a person reads: card, versions, date and spread included."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import re
import shutil
import subprocess
from typing import Any

FLOPS = 2 * 8192**3
PACKAGES = ("torch", "tilus", "apache-tvm-ffi", "cuda-bindings")


def machine() -> dict[str, str]:
    """The card, its driver and limits, the versions of everything that makes the code, the date."""
    query = "name,driver_version,power.limit,clocks.max.sm"
    smi = _output(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"])
    fields = [field.strip() for field in (smi.splitlines() or [""])[0].split(",")]
    card, driver, power, clock = (fields + ["unknown"] * 4)[:4]
    nvcc = re.search(r"V(\d+\.\d+\.\d+)", _output(["nvcc", "--version"]))
    found = {
        "card": card or "unknown",
        "driver": driver,
        "power limit": power,
        "highest SM clock": clock,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "nvcc": nvcc[1] if nvcc else "unknown",
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def markdown(results: dict[str, Any]) -> str:
    """The whole results file."""
    lines = ["# V4 and V5 on a GPU", ""]
    lines += [", ".join(f"{key} {value}" for key, value in results["machine"].items()), ""]
    if "times" in results:
        lines += _times("Burst, 8192^3", results["times"]["burst"])
        lines += _times("Sustained, 8192^3", results["times"]["sustained"])
    if "cycles" in results:
        lines += _cycles(results["cycles"])
    if "correctness" in results:
        lines += _correctness(results["correctness"])
    if "early_release" in results:
        lines += _early_release(results["early_release"])
    if results["left_out"] or results.get("compile_failures"):
        lines += ["## Left out", ""]
        lines += [f"- {item}" for item in results["left_out"]]
        lines += [f"- does not compile: {item}" for item in results["compile_failures"]]
    return "\n".join(lines).rstrip() + "\n"


def _times(title: str, table: dict[str, Any]) -> list[str]:
    rows = [
        "| kernel | ms, median | least - most | TFLOPS | x hand-written | x torch.matmul |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in table["kernels"].items():
        ratios = [
            f"{row[f'x {peer}']:.4f} ({row[f'x {peer} spread'][0]:.4f} - "
            f"{row[f'x {peer} spread'][1]:.4f})"
            for peer in ("hand-written", "torch.matmul")
        ]
        speed = FLOPS / row["median_ms"] / 1e9
        rows.append(
            f"| {name} | {row['median_ms']:.4f} | {row['min_ms']:.4f} - {row['max_ms']:.4f} "
            f"| {speed:.0f} | {ratios[0]} | {ratios[1]} |"
        )
    count = len(table["rounds"])
    note = f"{count} interleaved rounds in one process; a ratio is peer time / kernel time of the "
    return [f"## {title}", "", *rows, "", note + "same round, median (least - most).", ""]


def _cycles(table: dict[str, Any]) -> list[str]:
    rows = ["| kernel | cycles | tensor pipe % | instructions |", "|---|---|---|---|"]
    for name, row in table.items():
        if "error" in row:
            rows.append(f"| {name} | ncu: {row['error'].splitlines()[-1:]} | | |")
            continue
        pipe = row.get("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 0.0)
        rows.append(
            f"| {name} | {row.get('sm__cycles_elapsed.max', 0):,.0f} | {pipe:.1f} "
            f"| {row.get('smsp__inst_executed.sum', 0):,.0f} |"
        )
    return ["## Cycles (ncu, clocks not fixed)", "", *rows, ""]


def _correctness(table: list[dict[str, Any]]) -> list[str]:
    names = list(table[0]["worst"])
    rows = [f"| m x n x k | {' | '.join(names)} | |", "|---" * (len(names) + 2) + "|"]
    for row in table:
        errors = " | ".join(f"{row['worst'][name]:.2e}" for name in names)
        shape = "x".join(map(str, row["shape"]))
        rows.append(f"| {shape} | {errors} | {'right' if row['right'] else 'WRONG'} |")
    note = "Largest relative error against float64 over the seeds; the output held NaN before."
    return ["## Correctness", "", *rows, "", note, ""]


def _early_release(table: list[dict[str, Any]]) -> list[str]:
    rows = [
        "| m x n x k | K tiles | wrong runs | worst error | elements that differ | V5 exact |",
        "|---|---|---|---|---|---|",
    ]
    for row in table:
        shape = "x".join(map(str, row["shape"]))
        rows.append(
            f"| {shape} | {-(-row['shape'][2] // 64)} | {row['early_wrong']} of {row['runs']} "
            f"| {row['early_worst_error']:.2e} | {100 * row['early_elements']:.1f} % "
            f"| {row['v5_exact']} of {row['runs']} |"
        )
    return ["## A schedule that was refused, run anyway (early release)", "", *rows, ""]


def _output(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
