"""The Hopper GEMM ladder: fp16 in and out, from the serial loop of one warp group up.

V1 is written down, every other rung is the one below it through a pipeline.  `reference` is what
all of them compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

V1 = """\
schedule hopper_matmul_v1
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 128, n 128, k 64, raster n 1
ring tma stages 1 empty 1 full 1 {
  slot A : f16 128x64 = a rows 0
  slot B : f16 128x64 = b rows 0
}
named block threads 128
acc acc : f32 128x128 = c rows 0
role worker warpgroup {
  for k in 0..K {
    expect tma.full bytes 32768
    load tma.A k
    load tma.B k
    acquire tma.full
    fence
    mma acc, tma.A, tma.B, k
    commit
    wait 0
    sync block
    advance tma
  }
  store acc -> c
}
"""
"""One warp group loads a tile, multiplies it, waits, and goes on; a block computes 128x128."""

V2 = "multi-buffer{n=3}"
"""Two tiles are under way while one is multiplied."""

V3 = "warp-specialize,rasterize{along=n,group=4}"
"""A producer warp loads; the stages change hands by barriers.  Neighbouring blocks share rows."""

V4 = "set-tile{m=128,n=256},split-consumers{n=2}"
"""Twice the work for each byte that is loaded: two warp groups with 64 rows each."""

V5 = "overlap-wgmma{in-flight=1},set-stages{n=4}"
"""One group in flight per consumer, releases one step behind, and a stage to pay for it."""

V6 = (
    "set-tile{m=256,n=256},split-consumers{n=4},accumulate{type=f16},set-stages{n=3},"
    "rasterize{along=n,group=8},stage-epilogue{buffer=turns}"
)
"""Four warp groups on 256x256: only sums in fp16 leave them the registers, and only one staging
buffer, which they use in turns, fits beside the ring."""

V5_RING = "rasterize{along=n,group=8},stage-epilogue{buffer=ring}"
"""V5 with results that leave by TMA from the stages of the ring: four stages as before."""

V5_OWN = "set-stages{n=3},rasterize{along=n,group=8},stage-epilogue{buffer=own}"
"""V5 with staging buffers of its own, which cost a stage."""

V4_RING = "set-stages{n=4},rasterize{along=n,group=8},stage-epilogue{buffer=ring}"
"""V4 with the epilogue of `V5_RING`: what the epilogue brings without the overlap."""


def reference(a: NDArray[np.float16], b: NDArray[np.float16]) -> NDArray[np.float64]:
    """``a @ b.T`` of the fp16 inputs in float64: a is m x k, b is n x k, the result m x n."""
    return a.astype("float64") @ b.astype("float64").T
