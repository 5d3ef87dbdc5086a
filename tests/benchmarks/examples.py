"""Copies a known-bad schedule of each code to where `schedgen explain` shows it.

``python -m tests.benchmarks.examples``: the shortest of each code that has a proved repair, one
that plain `check` finds or that of `schedgen.explaining.repairs`, else the shortest; those that
show at a small K first.  Without the line ``# expect: ...``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import schedgen as sg
from schedgen.explaining.repairs import REPAIRS, edited
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


def is_repaired(code: str, file: Path) -> bool:
    """Whether the repair by hand is right; where there is none, whether `check` finds one."""
    try:
        if code in REPAIRS:
            repaired = sg.parse(edited(example(file), REPAIRS[code]))
            return sg.check(repaired).outcome is sg.Outcome.PROVED
        schedule = sg.load(file)
    except sg.IllFormed:
        return False
    return isinstance(search(schedule, sg.check(schedule), SMALL), Fix)


def main() -> int:
    """Write all examples anew."""
    EXAMPLES.mkdir(exist_ok=True)
    for code, files in known_bad().items():
        files = sorted(files, key=simplicity)
        chosen = next((file for file in files if is_repaired(code, file)), files[0])
        (EXAMPLES / f"{code.lower()}.sched").write_text(example(chosen), encoding="utf-8")
        print(f"{code}  {chosen.stem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
