"""Progress on standard error: a bar on a terminal, else a line for what takes long."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol


class Progress(Protocol):
    """Told what is done: ``say`` what begins or ended, ``step`` that one of the steps is over."""

    def say(self, text: str) -> None: ...

    def step(self, text: str) -> None: ...


class _Lines:
    """For logs: what is said, with the seconds since the beginning; steps make no line."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def say(self, text: str) -> None:
        seconds = time.monotonic() - self._begin
        print(f"[{seconds:6.1f} s] {text}", file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        del text


@contextlib.contextmanager
def progress(total: int) -> Iterator[Progress]:
    """For ``total`` steps."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.description}"))  # fmt: skip
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("", total=total)

        class Bar:
            def say(self, text: str) -> None:
                bars.update(task, description=escape(text))

            def step(self, text: str) -> None:
                bars.update(task, advance=1, description=escape(text))

        yield Bar()
