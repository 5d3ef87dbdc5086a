"""A persistent TMA matmul in Triton: the second peer, what a kernel author reaches without tilus.

One program per SM walks over output tiles in bands; the loop over tiles is flattened into the loop
over K, so that loads of the next tile start while this one is stored.  Warp specialisation is off:
Triton does it on Blackwell.  This is the one module that imports triton when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]
from triton.tools.tensor_descriptor import (  # pyright: ignore[reportMissingImports]
    TensorDescriptor,
)

TILE_M, TILE_N, TILE_K = 128, 256, 64
STAGES, WARPS, BAND = 3, 8, 8
"""Three stages of 48 KiB leave room for the 64 KiB through which a tile is stored."""


@triton.jit
def tile_corner(tile, m_tiles, n_tiles, band: tl.constexpr):
    """Row and column of tiles of a number: down ``band`` rows of tiles, then one column on."""
    per_band = band * n_tiles
    first = (tile // per_band) * band
    rows = min(m_tiles - first, band)
    inside = tile % per_band
    return first + inside % rows, inside // rows


@triton.jit
def persistent_matmul(
    a, b, c, m, n, k,
    tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr, band: tl.constexpr,
    programs: tl.constexpr,
):  # fmt: skip
    """c[m, n] = a[m, k] * b[n, k]; a, b and c are TMA descriptors of fp16 tensors."""
    m_tiles, n_tiles, k_tiles = tl.cdiv(m, tile_m), tl.cdiv(n, tile_n), tl.cdiv(k, tile_k)
    stored = tl.program_id(0)
    for tile in tl.range(tl.program_id(0), m_tiles * n_tiles, programs, flatten=True):
        row, column = tile_corner(tile, m_tiles, n_tiles, band)
        sums = tl.zeros((tile_m, tile_n), dtype=tl.float32)
        for step in range(k_tiles):
            left = a.load([row * tile_m, step * tile_k])
            right = b.load([column * tile_n, step * tile_k])
            sums = tl.dot(left, right.T, sums)
        # The tile's corner is computed once more: a value that both the loads and the store use
        # would tie them together, and the flattened loop could not run the loads ahead.
        row, column = tile_corner(stored, m_tiles, n_tiles, band)
        c.store([row * tile_m, column * tile_n], sums.to(tl.float16))
        stored += programs


def bind(a: Any, b: Any, c: Any, *, programs: int) -> Callable[[], object]:
    """A launch of c = a * b.T on ``programs`` SMs; the descriptors are made here, once."""
    (m, k), n = a.shape, b.shape[0]
    left = TensorDescriptor.from_tensor(a, [TILE_M, TILE_K])
    right = TensorDescriptor.from_tensor(b, [TILE_N, TILE_K])
    out = TensorDescriptor.from_tensor(c, [TILE_M, TILE_N])
    grid = (min(programs, triton.cdiv(m, TILE_M) * triton.cdiv(n, TILE_N)),)

    kernel: Any = persistent_matmul

    def launch() -> object:
        return kernel[grid](
            left, right, out, m, n, k, tile_m=TILE_M, tile_n=TILE_N, tile_k=TILE_K, band=BAND,
            programs=programs, num_stages=STAGES, num_warps=WARPS,
        )  # fmt: skip

    return launch
