"""Copies a known-bad schedule of each code to where `schedgen explain` shows it.

``python -m tests.benchmarks.examples``: the shortest of each code for which plain `check` finds a
repair, else the shortest; those that show at a small K first.  Without the line ``# expect: ...``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import schedgen as sg
from schedgen.fixes import SMALL, Fix, search

ROOT = Path(__file__).parents[2]
SMALL_K = 6
EXAMPLES = ROOT / "schedgen" / "examples"


def known_bad() -> dict[str, list[Path]]:
    """The files of each code, by the code that they are called after."""
    found: dict[str, list[Path]] = {}
    for file in sorted((ROOT / "tests" / "known_bad").glob("*.sched")):
        found.setdefault(file.stem.partition("_")[0].upper(), []).append(file)
    return found


def example(file: Path) -> str:
    """The text of a known-bad schedule without its first line."""
    return file.read_text(encoding="utf-8").partition("\n")[2]


def simplicity(file: Path) -> tuple[bool, int, int, str]:
    """What comes first is easier to read."""
    first, _, text = file.read_text(encoding="utf-8").partition("\n")
    late = any(int(k) > SMALL_K for k in re.findall(r"K=(\d+)", first))
    return late, first.count(","), len(text.splitlines()), file.name


def is_repaired(file: Path) -> bool:
    """Whether plain `check` finds a repair."""
    try:
        schedule = sg.load(file)
    except sg.IllFormed:
        return False
    return isinstance(search(schedule, sg.check(schedule), SMALL), Fix)


def main() -> int:
    """Write all examples anew."""
    EXAMPLES.mkdir(exist_ok=True)
    for code, files in known_bad().items():
        files = sorted(files, key=simplicity)
        chosen = next(filter(is_repaired, files), files[0])
        (EXAMPLES / f"{code.lower()}.sched").write_text(example(chosen), encoding="utf-8")
        print(f"{code}  {chosen.stem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
