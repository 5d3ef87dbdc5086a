"""Long runs in numbered blocks, each the same in every run: a journal, two processes, progress.

A block is what one process does at a time.  What it came to is a line of the journal at once, so a
run that was stopped is taken up where it was, and one block can be looked at alone.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings

from schedgen.terminal import write
from tests.benchmarks.hazards import written

PROCESSES = 2
AHEAD = 2 * PROCESSES
"""Blocks that are given out, so that no process waits for a slower one."""

Row = dict[str, Any]
"""What one case came to, as JSON."""


def fresh(number: int, examples: int) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A test of Hypothesis as a source of cases: always the same ones for one number."""

    def drawn(test: Callable[..., None]) -> Callable[[], None]:
        quiet = settings(
            max_examples=examples, phases=[Phase.generate], database=None, deadline=None,
            derandomize=False, suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        return seed(number)(quiet(test))

    return drawn


def journalled(journal: Path) -> dict[int, list[Row]]:
    """The blocks that are done, by number; a line that was cut off is not one."""
    blocks: dict[int, list[Row]] = {}
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            continue
        blocks[value["block"]] = value["rows"]
    return blocks


def distinct(blocks: dict[int, list[Row]]) -> list[Row]:
    """The rows in order of their blocks, each case once."""
    seen: set[str] = set()
    rows: list[Row] = []
    for number in sorted(blocks):
        for row in blocks[number]:
            if row["case"] not in seen:
                seen.add(row["case"])
                rows.append(row)
    return rows


def run(
    block: Callable[[int], list[Row]], numbers: Iterable[int], *, journal: Path,
    enough: Callable[[dict[int, list[Row]]], bool], told: Callable[[dict[int, list[Row]]], str],
) -> Iterator[dict[int, list[Row]]]:  # fmt: skip
    """Do blocks until there is enough; yields what is done after each, the journal's included.

    They are taken in their order, whichever process is faster: a run of the same length has the
    same blocks.
    """
    done = journalled(journal)
    journal.parent.mkdir(parents=True, exist_ok=True)
    left = (n for n in numbers if n not in done)
    yield done
    with ProcessPoolExecutor(PROCESSES) as pool, journal.open("a", encoding="utf-8") as file:
        running: deque[tuple[int, Future[list[Row]]]] = deque()
        if journal.stat().st_size:
            file.write("\n")  # what was cut off stays a line of its own
        while not enough(done):
            while len(running) < AHEAD:
                number = next(left)
                running.append((number, pool.submit(block, number)))
            number, future = running.popleft()
            done[number] = future.result()
            file.write(json.dumps({"block": number, "rows": done[number]}) + "\n")
            file.flush()
            print(f"\r{told(done)} ", end="", file=sys.stderr, flush=True)
            yield done
        for _, future in running:
            future.cancel()
    print(file=sys.stderr)


def write_page(page: Path, name: str, lines: Sequence[str]) -> None:
    """Rewrite the lines between two markers of a page."""
    write(written(page.read_text(encoding="utf-8"), name, lines), page)


def setting(rows: Sequence[Row], seeds: str) -> str:
    """Date, machine, versions, seeds and time: what a stranger needs to do it again."""
    tools = ", ".join(f"{name} {version(name)}" for name in ("hypothesis", "networkx", "numpy"))
    return (
        f"{date.today()}, {platform.machine()}, Python {platform.python_version()}, {tools}; "
        f"{seeds}; {sum(r['seconds'] for r in rows) / 60:.0f} minutes of one processor."
    )


def counted(numbers: Counter[str]) -> str:
    """``12 of this, 3 of that``, the most frequent first."""
    return ", ".join(f"{what} {n:,}" for what, n in sorted(numbers.items(), key=_often)) or "-"


def _often(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


class Clock:
    """Seconds of this process's processor since it was made."""

    def __init__(self) -> None:
        self.start = time.process_time()

    @property
    def seconds(self) -> float:
        return round(time.process_time() - self.start, 4)
