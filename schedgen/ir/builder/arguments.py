"""What the calls of the builder are given: where they stand, and whether it is of the right kind.

A wrong argument is `IllFormed` (SG116) with the Python file and line of the call.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from itertools import islice
from types import FrameType
from typing import Any, Literal, get_type_hints

from schedgen.ir.effects import AccRef, Executor, RingBarrier
from schedgen.ir.expr import Expr, Stages, literal
from schedgen.ir.ops import Op, Place
from schedgen.ir.problems import IllFormed

Who = Literal["elected", "all"]
"""Who executes an op, where that is not what the op says itself."""

_HERE = "schedgen.ir.builder"


@dataclass(frozen=True)
class RingRef:
    """A ring by its name: its barriers, and how many stages it has."""

    name: str

    @property
    def full(self) -> RingBarrier:
        return RingBarrier(self.name, "full")

    @property
    def empty(self) -> RingBarrier:
        return RingBarrier(self.name, "empty")

    @property
    def stages(self) -> Stages:
        return Stages(self.name)


def calling_place() -> Place:
    """Where the nearest code outside of the builder stands."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_HERE):
        frame = frame.f_back
    line, column = frame.f_lineno, None
    if frame.f_lasti >= 0:
        positions = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
        column = next(positions, (None, None, None, None))[2]
    return Place(_shortest(frame.f_code.co_filename), line, 1 + (column or 0))


def _shortest(path: str) -> str:
    """Relative to the working directory if it lies there, so that nothing depends on its place."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return relative if os.path.isabs(path) and not relative.startswith("..") else path


def bad(message: str, place: Place | None) -> IllFormed:
    return IllFormed(code="SG116", message=message, place=place)


def checked_name(what: str, name: object, place: Place) -> str:
    """A name that the text form can say."""
    if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII):
        return name
    raise bad(f"{name!r} is no name of a {what}: letters, digits and _, no digit first", place)


def number(what: str, value: object, place: Place) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise bad(f"{what} is a number, not {value!r}", place)


def expression(what: str, value: Any, place: Place) -> Expr:
    try:
        return literal(value)
    except TypeError as error:
        raise bad(f"{what}: {error}", place) from None


def method_name(cls: type[Op]) -> str:
    """``expect_tx`` for the keyword ``expect-tx``; what is a keyword of Python takes a ``_``."""
    name = cls.keyword.replace("-", "_").replace(" ", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def own_fields(cls: type[Op]) -> list[Field[Any]]:
    """The fields that the op itself declares, in the order of the text form."""
    return [f for f in fields(cls) if f.name not in ("offset", "by", "place")]


def is_named(field: Field[Any]) -> bool:
    """Whether a call has to name the field: what may be left out, truth values, and numbers that
    the text form names, too."""
    return field.type == "bool" or field.name == "bytes" or field.default is not MISSING


def op_fields(cls: type[Op], given: dict[str, object], place: Place) -> dict[str, Any]:
    """The fields of an op as the IR has them, made of what a call gave."""
    hints = _hints(cls)
    return {name: _field(cls, name, hints[name], value, place) for name, value in given.items()}


@cache
def _hints(cls: type[Op]) -> dict[str, Any]:
    return get_type_hints(cls)


def _field(cls: type[Op], name: str, hint: Any, value: Any, place: Place) -> Any:
    what = f"`{name}` of `{cls.keyword}`"
    if hint == Expr:
        return expression(what, value, place)
    if hint == Expr | None:
        return None if value is None else expression(what, value, place)
    if hint is int:
        return number(what, value, place)
    wanted = {"acc": AccRef, "ring": RingRef}.get(name, hint) if hint is str else hint
    if not isinstance(value, wanted):
        kinds = " or ".join(_KINDS.get(kind.__name__, "a truth value") for kind in _members(wanted))
        raise bad(f"{what} is {kinds}, not {value!r}", place)
    return value.name if hint is str else value


def _members(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__args__", (kind,))


_KINDS = {
    "RingBarrier": "a barrier of a ring, such as tma.full", "PlainBarrier": "a declared barrier",
    "NamedRef": "a named barrier", "SlotRef": "a slot, such as A[0]", "BufferRef": "a buffer",
    "OutRef": "the output", "AccRef": "an accumulator", "RingRef": "a ring",
}  # fmt: skip


def offset(lag: int | None, ahead: int | None, place: Place) -> int:
    """How far the uses are shifted: back by ``lag``, or on by ``ahead``."""
    if lag is not None and ahead is not None:
        raise bad("an op has a `lag` or an `ahead`, not both", place)
    for word, value in (("lag", lag), ("ahead", ahead)):
        if value is not None and number(f"`{word}`", value, place) < 0:
            message = f"`{word} {value}` is negative; a lag or ahead is 0 or more"
            raise IllFormed(code="SG110", message=message, place=place)
    return (ahead or 0) - (lag or 0)


def executor(by: object, place: Place) -> Executor | None:
    if by not in (None, "elected", "all"):
        raise bad(f'`by` is "elected" or "all", not {by!r}', place)
    return None if by is None else Executor(str(by))
