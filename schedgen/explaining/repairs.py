"""The examples, and the repairs that are written by hand.

A schedule that shows a code stands in `schedgen/examples`.  Where `check` finds its repair by
itself, none is written here.
"""

from __future__ import annotations

from importlib import resources

Edits = tuple[tuple[str, str], ...]
"""Pieces of a text and what takes their place, wherever they stand."""

_WIDE = (("tile m 128, n 256", "tile m 128, n 128"), ("f16 256x64", "f16 128x64"),
         ("f32 128x256", "f32 128x128"), ("bytes 49152", "bytes 32768"))  # fmt: skip

REPAIRS: dict[str, Edits] = {
    "SG101": (("    wait\n", "    wait 1\n"),),
    "SG102": (("\nring tma", "\ntile m 128, n 256, k 64, raster n 4\nring tma"),),
    "SG103": (("advance tmb", "advance tma"),),
    "SG104": (("role consumer warp ", "role producer warp "),),
    "SG105": (("stages 0", "stages 4"),),
    "SG106": (("load tma.A k", "load tma.A[0] k"),),
    "SG107": (("    mma acc, tma.A[self], tma.B, k\n    commit\n    advance",
               "    mma acc, tma.A[self], tma.B, 0\n    commit\n    advance"),),
    "SG108": ((": half 64x64 ", ": f16 64x64 "),),
    "SG109": (("= c rows 64*i", "= a rows 64*i"),),
    "SG110": (("lag -1", "lag 1"),),
    "SG111": (("release tma.full", "release tma.empty"),),
    "SG112": ((" parity (1 / 0)", ""),),
    "SG113": (("for K in", "for _ in"),),
    "SG117": (("arrive done ahead 1", "arrive done"),),
    "SG118": (("commit by elected", "commit"),),
    "SG120": (("buffer out[5]", "buffer out[2]"),),
    "SG211": (("mma acc, tma.A[0]", "mma acc, tma.A[self]"),),
    "SG216": (("buffer out : f32", "buffer out : f16"),),
    "SG305": (("acc acc :", "named watchers threads 128\nacc acc :"),
              ("    acquire tma.full\n    release", "    acquire tma.full\n    sync watchers\n"
               "    release")),
    "SG307": (("if k > 3 {\n      release tma.empty lag 4",
               "if k > 2 {\n      release tma.empty lag 3"),
              ("  if K > 3 {\n    release tma.empty lag 4\n  }\n", "")),
    "SG310": (("for k in 0..K + 1", "for k in 0..K"),),
    "SG503": _WIDE,
}  # fmt: skip
"""By code: how its example becomes a schedule that is right."""


def example_of(code: str) -> str | None:
    """A text that is refused with that code, None where no schedule can show it."""
    file = resources.files("schedgen").joinpath("examples", f"{code.lower()}.sched")
    return file.read_text(encoding="utf-8") if file.is_file() else None


def edited(text: str, edits: Edits) -> str:
    """The text with each piece replaced by its other half."""
    for old, new in edits:
        text = text.replace(old, new)
    return text
