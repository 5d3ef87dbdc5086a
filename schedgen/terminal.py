"""What the command line does with files and terminals: reading, writing, colour, progress."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from schedgen import api
from schedgen.happens_before.judge import Outcome
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.reprs import findings_styled

if TYPE_CHECKING:
    from schedgen.build import BuildReport


EXIT = {
    Outcome.REFUTED: 1, Outcome.UNSUPPORTED: 3, Outcome.BUDGET: 3, Outcome.CHECKED: 0,
    Outcome.PROVED: 0,
}  # fmt: skip
"""What a command ends with, by verdict."""


PIPE_WIDTH = 80


def read(source: str) -> Schedule:
    """The schedule that INPUT names."""
    return api.load(source) if source != "-" else api.parse(given_text(), name="<stdin>")


def given_text() -> str:
    """What comes by standard input."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise IllFormed(code="SG115", message="standard input is not text", place=None) from None


def stop(text: str, code: int) -> NoReturn:
    """End the command: the text to standard error, and an exit code."""
    click.echo(text.rstrip("\n"), err=True)
    raise SystemExit(code)


@contextlib.contextmanager
def toolchain_failures() -> Iterator[None]:
    """Turns what a compiler's absence or refusal raises into a message and an exit code."""
    from schedgen.build import BuildFailed, ToolchainMissing

    try:
        yield
    except ToolchainMissing as error:
        stop(f"error: {error}", 3)
    except BuildFailed as error:
        stop(f"error: {error}", 1)


def room(stream: TextIO) -> int:
    """Columns of the terminal that a stream is; 80 where it is none, whatever COLUMNS says."""
    return shutil.get_terminal_size().columns if stream.isatty() else PIPE_WIDTH


def write(text: str, path: Path) -> None:
    """Write to a temporary name beside the file, then rename: never half a file.

    A link is followed; what is no regular file (a pipe, a device) is written to as it is.
    """
    path = path.resolve()
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _replace(text, path)
    except OSError as error:
        message = f"cannot write `{path}`: {error.strerror}"
        raise IllFormed(code="SG115", message=message, place=None) from None


def _replace(text: str, path: Path) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def deliver(text: str, path: Path | None) -> None:
    """To the file if there is one, else to standard output, plainly."""
    if path is None:
        click.echo(text, nl=False)
    else:
        write(text, path)
        click.echo(f"wrote {path}", err=True)


def print_findings(text: str) -> None:
    """Plainly, and in colour on a terminal; the words are the same, and never wrapped."""
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(findings_styled(text), end="")


def build_text(report: BuildReport) -> str:
    """The numbers of a build, one line each, and what is wrong with it."""
    hgmma = ", ".join(f"{shape} x{count}" for shape, count in report.hgmma)
    depths = ", ".join(f"{depth} x{count}" for depth, count in report.depbar)
    lines = [
        f"{report.kernel}: {'ok' if report.ok else 'NOT OK'} at m, n, k = {report.shape}",
        f"  nvcc      : {report.nvcc.version} ({report.nvcc.path})",
        f"  registers : {report.registers} per thread, {report.stack} bytes of stack, "
        f"{report.spill_stores + report.spill_loads} bytes spilled",
        f"  shared    : {report.shared_bytes} bytes",
        f"  SASS      : HGMMA {hgmma}; DEPBAR gsb0 depth {depths}; UTMALDG x{report.utmaldg}"
        f"; UTMASTG x{report.utmastg}; STSM x{report.stsm}",
    ]
    return "\n".join([*lines, *(f"  problem   : {problem}" for problem in report.problems)])


LONG_SECONDS = 5.0


def progress_line(schedule: Schedule, m: int, n: int, k: int) -> Callable[[int, int], None] | None:
    """A progress bar for runs of the abstract machine that are estimated to be long."""
    from schedgen.machine import estimate_seconds

    seconds: list[float] = []
    bars: list[Any] = []

    def show_progress(done: int, total: int) -> None:
        if not seconds:
            seconds.append(estimate_seconds(schedule, m=m, n=n, k=k))
            if seconds[0] >= LONG_SECONDS:
                bars.append(_progress_bar(total, seconds[0]))
        for bar, task in bars:
            bar.update(task, completed=done)
            if done == total:
                bar.stop()

    return show_progress


def _progress_bar(total: int, seconds: float) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import Progress

    note = f"the abstract machine needs about {seconds:.0f} s for {total} CTAs"
    click.echo(note, err=True)
    bar = Progress(console=Console(stderr=True))
    bar.start()
    return bar, bar.add_task("CTAs", total=total)


@contextlib.contextmanager
def status() -> Iterator[Callable[[str], None] | None]:
    """Takes a word on what is being done, for a line on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as line:
        yield lambda text: line.update(Text(text))
