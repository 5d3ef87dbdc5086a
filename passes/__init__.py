"""The passes, in pipeline order."""

if __name__ != "schedgen.passes":
    raise ImportError(f"import this package as schedgen.passes, not {__name__}")

from collections.abc import Mapping

from schedgen.passes.overlap_wgmma import OverlapWgmma
from schedgen.passes.set_stages import SetStages
from schedgen.pipeline import Pass

PASSES: Mapping[str, type[Pass]] = {cls.name: cls for cls in (OverlapWgmma, SetStages)}
"""Adding a pass: its own file, and its class in this row."""
