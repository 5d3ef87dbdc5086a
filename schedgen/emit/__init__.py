"""From a schedule to the text of a tilus kernel; needs neither tilus nor a GPU.

Reading order: `unsupported` (what cannot be said), `names` and `plan` (decisions), `tilus_source`
(decisions to text), `tilus_repairs` (what tilus 0.2.0 needs, copied into every file).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgen.emit.plan import class_name, tma_stores, wait_depths
    from schedgen.emit.tilus_source import emit_tilus
    from schedgen.emit.unsupported import EmitUnsupported

__all__ = ["EmitUnsupported", "class_name", "emit_tilus", "tma_stores", "wait_depths"]

_HOMES = {
    "EmitUnsupported": "unsupported", "class_name": "plan", "emit_tilus": "tilus_source",
    "tma_stores": "plan", "wait_depths": "plan",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imported when asked for: `schedgen` imports this package early, and a check needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
