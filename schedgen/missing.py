"""What is said of an INPUT that is nothing: no kernel, and no file that can be read."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from schedgen.ir.problems import ALIKE, IllFormed, did_you_mean
from schedgen.plugins import kernel_names

MOST_NEAR = 3
"""Kernels of a similar name that are named."""

MOST_FILES = 1000
"""Files of a folder among which a similar name is looked for."""

MOST_LETTERS = 60
"""Letters of a name that are repeated to who gave it."""


def unreadable(path: Path, error: Exception) -> IllFormed:
    """SG115 for a name that is no kernel, where reading it as a file failed."""
    name = str(path)
    if path == Path():
        return _refused("INPUT is empty, or this folder", "a kernel's name, a .sched file, or `-`")
    shown = name if len(name) <= MOST_LETTERS else f"{name[:MOST_LETTERS]}..."
    if not isinstance(error, FileNotFoundError):
        reason = getattr(error, "strerror", None) or str(error)
        return _refused(f"cannot read `{shown}`: {reason[:1].lower()}{reason[1:]}", None)
    if path.suffix or path.name != name:
        return _refused(f"cannot read `{shown}`: no such file", near_file(path))
    help = near_file(path) if path.with_suffix(".sched").is_file() else None
    near = help or did_you_mean(name[: 2 * MOST_LETTERS], kernel_names(), most=MOST_NEAR)
    listed = "`schedgen list` names the kernels"
    help = f"{near} {listed}" if near else listed
    return _refused(f"there is no kernel and no file `{shown}`", help)


def near_file(path: Path) -> str | None:
    """The file beside a missing one that may be meant."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(e.name for e, _ in zip(entries, range(MOST_FILES), strict=False))
    except (OSError, ValueError):
        return None
    alike = [name for name in names if _stems_agree(name, path.name)]
    same = next((name for name in names if name == f"{path.name}.sched"), None)
    same = same or next(iter(difflib.get_close_matches(path.name, alike, n=1, cutoff=ALIKE)), None)
    folder = "" if path.parent == Path() else f"{path.parent}/"
    return None if same is None else f"did you mean `{folder}{same}`?"


def _stems_agree(a: str, b: str) -> bool:
    """Whether two names are near without their suffixes: `c.sched` is not what `z.sched` means."""
    return difflib.SequenceMatcher(None, Path(a).stem, Path(b).stem).ratio() >= ALIKE


def _refused(message: str, help: str | None) -> IllFormed:
    return IllFormed(code="SG115", message=message, place=None, help=help)
