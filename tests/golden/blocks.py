"""The fenced blocks of a page, and its console sessions run by a shell."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
INFO = re.compile(r'(\S+)(?: title="([^"]+)")?')
CARD, NVCC = "on an H200", "with nvcc"


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its language ("" if it names none), its title, where its text begins."""

    language: str
    title: str | None
    text: str
    line: int

    @property
    def placed(self) -> str:
        """The text behind as many empty lines as in its page, so that tracebacks are right."""
        return "\n" * (self.line - 1) + self.text


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of a console block, and what it is said to print."""

    text: str
    printed: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [_block(text, found) for found in FENCE.finditer(text)]


def _block(text: str, found: re.Match[str]) -> Block:
    info = INFO.fullmatch(found[1])
    language, title = (info[1], info[2]) if info else (found[1], None)
    line = text.count("\n", 0, found.start(2)) + 1
    return Block(language=language, title=title, text=found[2], line=line)


COMMAND = re.compile(
    r"(?P<first>(?:.*\\\n)*.*<<'?(?P<word>\w+)'?.*\n(?:.*\n)*?(?P=word)$|(?:.*\\\n)*.*)\n?",
    flags=re.MULTILINE,
)
"""A line, the next one if it ends with a backslash, and all lines of a here-document."""


def commands(found: Iterable[Block]) -> Iterator[Command]:
    """Every command of console blocks, in order."""
    for block in found:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command = COMMAND.match(part)
            assert command is not None
            printed = part[command.end() :].rstrip("\n")
            yield Command(text=command["first"], printed=printed)


def environment() -> dict[str, str]:
    """`schedgen` on PATH is the one of this interpreter."""
    here = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": here + os.pathsep + os.environ["PATH"], "COLUMNS": "20"}


def run(command: Command, *, folder: Path, seconds: int) -> str:
    """What the command prints, standard error among it."""
    done = subprocess.run(
        ["sh", "-c", command.text], cwd=folder, env=environment(), text=True, timeout=seconds,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.stdout.rstrip("\n")


NUMBER = re.compile(r"(?<!\w)\d+(?:[.,]\d+)*")


def says(printed: str, *, page: str) -> bool:
    """What was printed is what the page says, but for numbers, spaces and what `...` stands for."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(_masked(line)) + "\n"
        for line in page.splitlines()
    )
    lines = "".join(_masked(line) + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, lines) is not None


def _masked(line: str) -> str:
    return " ".join(NUMBER.sub("N", line).split())
