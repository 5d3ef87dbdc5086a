"""The passes, in pipeline order."""

if __name__ != "schedgen.passes":
    raise ImportError(f"import this package as schedgen.passes, not {__name__}")

from collections.abc import Mapping

from schedgen.passes.accumulate import Accumulate
from schedgen.passes.multi_buffer import MultiBuffer
from schedgen.passes.overlap_wgmma import OverlapWgmma
from schedgen.passes.rasterize import Rasterize
from schedgen.passes.set_stages import SetStages
from schedgen.passes.set_tile import SetTile
from schedgen.passes.split_consumers import SplitConsumers
from schedgen.passes.stage_epilogue import StageEpilogue
from schedgen.passes.warp_specialize import WarpSpecialize
from schedgen.pipeline import Pass

PASSES: Mapping[str, type[Pass]] = {
    cls.name: cls
    for cls in (
        MultiBuffer, WarpSpecialize, SetTile, SplitConsumers, OverlapWgmma, Accumulate, SetStages,
        Rasterize, StageEpilogue,
    )
}  # fmt: skip
"""Adding a pass: its own file, and its class in this row."""
