"""From a schedule to the text of a tilus kernel; needs neither tilus nor a GPU.

Reading order: `unsupported` (what cannot be said), `names` and `plan` (decisions), `tilus_source`
(decisions to text), `tilus_repairs` (what tilus 0.2.0 needs, copied into every file).
"""

from schedgen.emit.plan import class_name, tma_stores, wait_depths
from schedgen.emit.tilus_source import emit_tilus
from schedgen.emit.unsupported import EmitUnsupported

__all__ = ["EmitUnsupported", "class_name", "emit_tilus", "tma_stores", "wait_depths"]
