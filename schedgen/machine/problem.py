"""A whole problem on the machine: every output tile of an m x n x k product, CTA by CTA."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from schedgen.ir.schedule import Schedule
from schedgen.machine.compiler import compile_program
from schedgen.machine.execution import run_program
from schedgen.machine.hazard import Hazard
from schedgen.machine.policy import Policy, seeded
from schedgen.machine.tensors import Operands, UnfitOperands, rounded

Progress = Callable[[int, int], None]
"""Called with the CTAs that are done and their total, after each."""


def estimate_seconds(schedule: Schedule, *, m: int, n: int, k: int) -> float:
    """About how long `multiply` takes here, from short runs of one CTA."""
    tile = schedule.tile
    ctas, tiles = _tiles(m, tile.m) * _tiles(n, tile.n), _tiles(k, tile.k)
    short, long = 2, 6
    base, more = _time_cta(schedule, short), _time_cta(schedule, long)
    per_tile = max(more - base, 0.0) / (long - short)
    return ctas * (max(base - short * per_tile, 0.0) + tiles * per_tile)


def multiply(
    schedule: Schedule,
    a: npt.NDArray[np.floating],
    b: npt.NDArray[np.floating],
    *,
    policy: Policy,
    progress: Progress | None,
) -> tuple[npt.NDArray[np.float32], tuple[Hazard, ...]]:
    """``a[m, k] * b[n, k]`` as the schedule computes it, and the hazards that were seen.

    The result holds the values of the output's element type, and NaN where nothing was stored.
    A seeded policy uses another seed for each CTA; a hazard seen in several CTAs is told once.
    """
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise UnfitOperands(f"operands of shapes {a.shape} and {b.shape} do not fit")
    tile, problem = schedule.tile, schedule.problem
    left, right = rounded(a, problem.left.dtype), rounded(b, problem.right.dtype)
    program = compile_program(schedule, k_tiles=_tiles(a.shape[1], tile.k))
    out = np.full((a.shape[0], b.shape[0]), np.nan, np.float32)
    corners = [(r, c) for r in range(0, a.shape[0], tile.m) for c in range(0, b.shape[0], tile.n)]
    hazards: dict[Hazard, None] = {}
    for number, (row, col) in enumerate(corners):
        mine = replace(policy, seed=policy.seed + number)
        operands = Operands(left=left[row:], right=right[col:])
        outcome = run_program(program, policy=mine, operands=operands, stop_at_first=False)
        assert outcome.product is not None
        out[row : row + tile.m, col : col + tile.n] = outcome.product
        hazards.update(dict.fromkeys(outcome.hazards))
        if progress is not None:
            progress(number + 1, len(corners))
    return out, tuple(hazards)


def _tiles(extent: int, tile: int) -> int:
    return -(-extent // tile)


def _time_cta(schedule: Schedule, k_tiles: int) -> float:
    tile = schedule.tile
    k = k_tiles * tile.k
    operands = Operands(
        left=np.zeros((tile.m, k), np.float32), right=np.zeros((tile.n, k), np.float32)
    )
    program = compile_program(schedule, k_tiles=k_tiles)

    def once() -> float:
        start = time.perf_counter()
        run_program(program, policy=seeded(0), operands=operands, stop_at_first=False)
        return time.perf_counter() - start

    return min(once() for _ in range(4))  # the first warms up; others may be interrupted
