"""What stands in a role: ops in the order of the calls, blocks as Python's ``with``."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from schedgen.ir.builder.arguments import (
    bad,
    calling_place,
    checked_name,
    executor,
    expression,
    offset,
    op_fields,
)
from schedgen.ir.builder.verbs import Verbs
from schedgen.ir.expr import Compare, Expr, Name
from schedgen.ir.ops import Op, Place
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import If, Loop, Stmt

_Given = TypeVar("_Given")
_GivenOut = TypeVar("_GivenOut", covariant=True)


class Block(Generic[_GivenOut]):
    """A ``with`` block: what is called inside it becomes its body."""

    def __init__(
        self, text: str, place: Place, given: _GivenOut, waiting: list[Block[object]],
        begin: Callable[[], None], end: Callable[[], None],
    ) -> None:  # fmt: skip
        self._text, self._place, self._given = text, place, given
        self._waiting, self._begin, self._end = waiting, begin, end
        waiting.append(self)

    @property
    def never_entered(self) -> IllFormed:
        return bad(f"{self._text} is never entered: write `with` before it", self._place)

    def __enter__(self) -> _GivenOut:
        if self not in self._waiting:
            raise bad(f"{self._text} is entered twice; call it again", self._place)
        self._waiting.remove(self)
        self._begin()
        return self._given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        if error is None:
            self._end()


class Body(Verbs):
    """The program of a role.  Ops and blocks go to the innermost block that is open.

    ``lag`` and ``ahead`` shift the uses that an op names, ``by`` says who executes it where that is
    not the op's own rule.  Raises `IllFormed` (SG116) for an argument of another kind.
    """

    def __init__(self, role: str) -> None:
        self._role = role
        self._open: list[list[Stmt]] = []
        self._waiting: list[Block[object]] = []

    def loop(self, var: str, first: int | Expr, end: int | Expr) -> Block[Name]:
        """``for VAR in FIRST..END``, END excluded: ``with p.loop("k", 0, sg.K) as k:``.

        The variable is ``"_"`` where it is not used.
        """
        place = calling_place()
        name = checked_name("loop variable", var, place)
        bounds = [expression("a loop bound", bound, place) for bound in (first, end)]

        def made(body: tuple[Stmt, ...]) -> Stmt:
            return Loop(var=name, first=bounds[0], end=bounds[1], body=body, place=place)

        return self._block(f"the loop over `{var}`", place, Name(name), made)

    def when(self, guard: Compare) -> Block[None]:
        """``if GUARD``: ``with p.when(sg.K > 0):``; `equals` and `differs` stand for == and !=."""
        place = calling_place()
        if not isinstance(guard, Compare):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise bad(f"a guard is a comparison such as sg.K > 0, not {guard!r}", place)

        def made(body: tuple[Stmt, ...]) -> Stmt:
            return If(guard=guard, body=body, place=place)

        return self._block(f"`when({guard})`", place, None, made)

    def _block(
        self, text: str, place: Place, given: _Given, made: Callable[[tuple[Stmt, ...]], Stmt]
    ) -> Block[_Given]:
        self._innermost(place)

        def end() -> None:
            body = self._closed()
            self._innermost(place).append(made(body))

        return Block(text, place, given, self._waiting, self._begin, end)

    def _append(
        self, op: type[Op], *, lag: int | None = None, ahead: int | None = None,
        by: object = None, **fields: object,
    ) -> None:  # fmt: skip
        place = calling_place()
        try:
            made = op(
                **op_fields(op, fields, place), offset=offset(lag, ahead, place),
                by=executor(by, place), place=place,
            )  # fmt: skip
        except IllFormed as error:
            refused = error
        else:
            self._innermost(place).append(made)
            return
        raise refused.with_traceback(None)  # a short traceback: the call, and this

    def _begin(self) -> None:
        self._open.append([])

    def _closed(self) -> tuple[Stmt, ...]:
        """The innermost block, over now.  Raises `IllFormed` for a block that nobody entered."""
        if self._waiting:
            raise self._waiting[0].never_entered
        return tuple(self._open.pop())

    def _innermost(self, place: Place) -> list[Stmt]:
        if not self._open:
            raise bad(f"the role `{self._role}` is not open here", place)
        return self._open[-1]
