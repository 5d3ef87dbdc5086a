"""How a call is broken into lines: as the common formatters do it."""

from __future__ import annotations

LINE_LENGTH = 100


def call(function: str, arguments: list[str], *, indent: int, note: str = "") -> str:
    """A call on one line if it fits, else its arguments on one, else one line for each."""
    pad, tail = " " * indent, f"  # {note}" if note else ""
    joined = ", ".join(arguments)
    if len(line := f"{pad}{function}({joined}){tail}") <= LINE_LENGTH:
        return f"{line}\n"
    if len(inner := f"{pad}    {joined}") <= LINE_LENGTH:
        return f"{pad}{function}(\n{inner}\n{pad}){tail}\n"
    lines = "".join(f"{pad}    {argument},\n" for argument in arguments)
    return f"{pad}{function}(\n{lines}{pad}){tail}\n"
