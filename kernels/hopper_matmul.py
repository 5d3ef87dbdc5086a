"""The Hopper GEMM ladder: two consumer warp groups on a 128x256 tile, fp16 in and out, fp32 sums.

V4 is written down; V5 is V4 through a pipeline.  `reference` is what both compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

V4 = """\
schedule hopper_matmul_v4
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 128, n 256, k 64, raster n 4
ring tma stages 3 empty 2 full 1 {
  slot A[2] : f16 64x64  = a rows 64*i
  slot B    : f16 256x64 = b rows 0
}
acc acc : f32 64x256 = c rows 64*self
role producer warp {
  for k in 0..K {
    acquire tma.empty
    expect tma.full bytes 49152
    load tma.A[0] k
    load tma.A[1] k
    load tma.B k
    advance tma
  }
  for _ in 0..tma.stages {
    acquire tma.empty
    advance tma
  }
}
role consumer[2] warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, k
    commit
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
"""
"""Serial consumers: each waits for its mma, releases the stage, and only then goes on."""

V5_FROM_V4 = "overlap-wgmma{in-flight=1},set-stages{n=4}"
"""One group in flight per consumer, releases one step behind, and a stage to pay for it."""


def reference(a: NDArray[np.float16], b: NDArray[np.float16]) -> NDArray[np.float64]:
    """``a @ b.T`` of the fp16 inputs in float64: a is m x k, b is n x k, the result m x n."""
    return a.astype("float64") @ b.astype("float64").T
