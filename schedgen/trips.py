"""For which K a schedule is judged: every one, one, or a range of tiles."""

from __future__ import annotations

from typing import Literal

from schedgen.ir.problems import IllFormed

Trips = Literal["all"] | int | tuple[int, int] | range
"""``"all"``, one K, (first, last) with both included, or a range; in tiles."""


def span(k: int | tuple[int, int] | range) -> range:
    """The K asked for.  Raises `IllFormed` (SG116) where there are none, or negative ones."""
    match k:
        case bool():
            pass
        case int():
            return _checked(k, k)
        case range(start=first, step=1):
            return _checked(first, k.stop - 1)
        case (int(first), int(last)):
            return _checked(first, last)
        case _:
            pass
    message = f'k is {k!r}: give "all", one number of tiles, (first, last), or a range of step 1'
    raise IllFormed(code="SG116", message=message, place=None)


def parse_trips(text: str) -> Trips:
    """``all``, ``N`` or ``A..B`` (B included), as on the command line."""
    if text == "all":
        return "all"
    first, dots, last = text.partition("..")
    numbers = (first, last) if dots else (first,)
    if not all(n.strip().isdecimal() and len(n) < 10 for n in numbers):
        message = f"`--k {text}`: give all, one number of tiles, or A..B"
        raise IllFormed(code="SG116", message=message, place=None)
    return (int(first), int(last)) if dots else int(first)


def _checked(first: int, last: int) -> range:
    if first < 0 or last < first:
        message = f"the K range {first}..{last} is empty or negative"
        raise IllFormed(code="SG116", message=message, place=None)
    return range(first, last + 1)
