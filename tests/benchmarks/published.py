"""What the tilus tutorial and its pull requests publish of the ladder, fp16 at 8192^3.

TFLOPS of NVIDIA/tilus pull request 159 (H100 80GB SXM, the numbering of the tutorial), and of pull
request 154 (H200 NVL, an older numbering: its V4 has one consumer, its V5 is the tutorial's V5).
What the pages of V5 and V6 say in words stands in `claims`.  None of it was measured here.
"""

from __future__ import annotations

H100 = {
    "V0": 328.7, "V1": 542.7, "V2": 506.0, "V3": 577.1, "V4": 654.5, "V5": 684.0, "V6": 813.9,
    "cuBLAS": 755.0,
}  # fmt: skip

H200_NVL = {"V0": 286.2, "V1": 506.9, "V2": 520.3, "V3": 572.0, "V5": 631.6, "cuBLAS": 684.8}

RUNGS = ("V1", "V2", "V3", "V4", "V5", "V6")

STAGES_OF_V5_MS = {2: 2.24, 3: 1.60, 4: 1.62}
"""Milliseconds of V5 by stages (page of V5); 5 do not fit."""

V5_OVER_V4 = 1.06
V5_OF_CUBLAS = 0.91
TENSOR_PIPE = {"V4": 80.0, "V5": 88.0, "V6": 93.2, "cuBLAS": 93.8}
V6_OVER_V5 = 1.18
V6_OF_CUBLAS = 800 / 742
"""Pages of V5 and V6; tensor pipe in percent of peak, by Nsight Compute."""
