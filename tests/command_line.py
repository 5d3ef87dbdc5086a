"""The command line in this process: exit code, standard output, standard error."""

import contextlib
import io
import sys
from typing import NamedTuple
from unittest import mock

from schedgen.cli import main


class Result(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


def schedgen(*arguments: object, stdin: str | bytes = b"") -> Result:
    """Run ``schedgen ARGUMENTS`` and return what a shell would see.

    An exception other than `SystemExit` is not caught: a traceback is a bug.
    """
    given = stdin.encode() if isinstance(stdin, str) else stdin
    argv = ["schedgen", *map(str, arguments)]
    source = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: object = 0
    with (
        mock.patch.object(sys, "argv", argv), mock.patch.object(sys, "stdin", source),
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
    ):  # fmt: skip
        try:
            main()
        except SystemExit as leave:
            code = leave.code
    assert code is None or isinstance(code, int), code
    return Result(code or 0, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")
