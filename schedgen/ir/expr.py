"""Integer expressions of the schedule language: bounds, guards, tile names, slab indices.

An expression is a value.  It knows how to print itself and how to be evaluated under an
environment that gives every name an integer; it knows nothing of schedules beyond the name of a
ring in ``tma.stages``.

Trip counts are K *tiles*: ``K`` is a symbol, ``k`` (or any loop variable) a tile index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

BinaryOp = Literal["+", "-", "*", "/", "%", "min", "max"]
CompareOp = Literal["<", "<=", ">", ">=", "==", "!="]

_PRECEDENCE: dict[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}


class EvaluationError(ValueError):
    """A name has no value here, or a division is by zero."""


class Arithmetic:
    """Operators, so that Python writes what the text form does: ``k + 1`` is a value, too.

    ``//`` is the ``/`` of the text form.  There is no ``==``: it compares values; see `equals`.
    """

    def __add__(self, other: int | Expr) -> Binary:
        return Binary("+", _operand(self), literal(other))

    def __radd__(self, other: int) -> Binary:
        return Binary("+", literal(other), _operand(self))

    def __sub__(self, other: int | Expr) -> Binary:
        return Binary("-", _operand(self), literal(other))

    def __rsub__(self, other: int) -> Binary:
        return Binary("-", literal(other), _operand(self))

    def __mul__(self, other: int | Expr) -> Binary:
        return Binary("*", _operand(self), literal(other))

    def __rmul__(self, other: int) -> Binary:
        return Binary("*", literal(other), _operand(self))

    def __floordiv__(self, other: int | Expr) -> Binary:
        return Binary("/", _operand(self), literal(other))

    def __rfloordiv__(self, other: int) -> Binary:
        return Binary("/", literal(other), _operand(self))

    def __mod__(self, other: int | Expr) -> Binary:
        return Binary("%", _operand(self), literal(other))

    def __rmod__(self, other: int) -> Binary:
        return Binary("%", literal(other), _operand(self))

    def __lt__(self, other: int | Expr) -> Compare:
        return Compare("<", _operand(self), literal(other))

    def __le__(self, other: int | Expr) -> Compare:
        return Compare("<=", _operand(self), literal(other))

    def __gt__(self, other: int | Expr) -> Compare:
        return Compare(">", _operand(self), literal(other))

    def __ge__(self, other: int | Expr) -> Compare:
        return Compare(">=", _operand(self), literal(other))

    def equals(self, other: int | Expr) -> Compare:
        """The guard ``self == other``."""
        return Compare("==", _operand(self), literal(other))

    def differs(self, other: int | Expr) -> Compare:
        """The guard ``self != other``."""
        return Compare("!=", _operand(self), literal(other))


@dataclass(frozen=True)
class Int(Arithmetic):
    """A literal."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Name(Arithmetic):
    """``K``, ``self``, ``i`` (the slab of a declaration) or a loop variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Stages(Arithmetic):
    """``R.stages``: how many stages ring R has."""

    ring: str

    def __str__(self) -> str:
        return f"{self.ring}.stages"


@dataclass(frozen=True)
class Binary(Arithmetic):
    """Two operands and an operator; ``/`` rounds towards minus infinity."""

    op: BinaryOp
    left: Expr
    right: Expr

    def __str__(self) -> str:
        if self.op in ("min", "max"):
            return f"{self.op}({self.left}, {self.right})"
        level = _PRECEDENCE[self.op]
        left = _wrapped(self.left, level)
        right = _wrapped(self.right, level + 1)
        gap = " " if level == 1 or self.op in "/%" else ""
        return f"{left}{gap}{self.op}{gap}{right}"


Expr = Int | Name | Stages | Binary


@dataclass(frozen=True)
class Compare:
    """A guard.  It has no truth value: what K is, is not known where it is written."""

    op: CompareOp
    left: Expr
    right: Expr

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"

    def __bool__(self) -> bool:
        raise TypeError(
            f"`{self}` is a guard of the schedule and no Python truth value; give it to `when`, "
            "compare two things at a time, and write sg.min and sg.max for the least and greatest"
        )


def literal(value: int | Expr) -> Expr:
    """The expression that a number stands for, or the expression itself.

    Raises `TypeError` for anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Int(value)
    return _operand(value)


def _operand(value: object) -> Expr:
    if isinstance(value, Int | Name | Stages | Binary):
        return value
    raise TypeError(f"{value!r} is no number and no expression of a schedule")


def least(left: int | Expr, right: int | Expr) -> Binary:
    """``min(left, right)``; `schedgen.min`."""
    return Binary("min", literal(left), literal(right))


def greatest(left: int | Expr, right: int | Expr) -> Binary:
    """``max(left, right)``; `schedgen.max`."""
    return Binary("max", literal(left), literal(right))


def _wrapped(expr: Expr, level: int) -> str:
    needs = isinstance(expr, Binary) and _PRECEDENCE.get(expr.op, 9) < level
    needs = needs or (isinstance(expr, Int) and expr.value < 0)
    return f"({expr})" if needs else str(expr)


def evaluate(expr: Expr, names: Mapping[str, int], stages: Mapping[str, int]) -> int:
    """The integer that ``expr`` stands for.

    Raises `EvaluationError` for a name or ring without a value and for a division by zero.
    """
    match expr:
        case Int(value):
            return value
        case Name(name):
            if name not in names:
                raise EvaluationError(f"`{name}` has no value here")
            return names[name]
        case Stages(ring):
            if ring not in stages:
                raise EvaluationError(f"there is no ring `{ring}`")
            return stages[ring]
        case Binary(op, left, right):
            return _apply(op, evaluate(left, names, stages), evaluate(right, names, stages))


def _apply(op: BinaryOp, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "/" | "%":
            if b == 0:
                raise EvaluationError("division by zero")
            return a // b if op == "/" else a % b


def holds(guard: Compare, names: Mapping[str, int], stages: Mapping[str, int]) -> bool:
    """Whether ``guard`` is true under the environment."""
    a = evaluate(guard.left, names, stages)
    b = evaluate(guard.right, names, stages)
    match guard.op:
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "==":
            return a == b
        case "!=":
            return a != b


def atoms(expr: Expr) -> Iterator[Int | Name | Stages]:
    """Every leaf of ``expr``, left to right."""
    if isinstance(expr, Binary):
        yield from atoms(expr.left)
        yield from atoms(expr.right)
    else:
        yield expr


def plus(expr: Expr, amount: int) -> Expr:
    """``expr + amount``, folded where a literal is already there: ``K + 1`` plus -1 is ``K``."""
    match expr:
        case Int(value):
            return Int(value + amount)
        case Binary("+", left, Int(value)):
            return plus(left, value + amount)
        case Binary("-", left, Int(value)):
            return plus(left, amount - value)
        case _ if amount == 0:
            return expr
        case _ if amount < 0:
            return Binary("-", expr, Int(-amount))
        case _:
            return Binary("+", expr, Int(amount))


def substitute(expr: Expr, name: str, value: Expr) -> Expr:
    """``expr`` with every ``name`` replaced by ``value``; sums with a literal are folded."""
    match expr:
        case Name(n) if n == name:
            return value
        case Binary(op, left, right):
            new_left = substitute(left, name, value)
            new_right = substitute(right, name, value)
            if (new_left, new_right) == (left, right):
                return expr
            if op in ("+", "-") and isinstance(new_right, Int):
                return plus(new_left, new_right.value if op == "+" else -new_right.value)
            if isinstance(new_left, Int) and isinstance(new_right, Int) and op not in ("/", "%"):
                return Int(_apply(op, new_left.value, new_right.value))
            return Binary(op, new_left, new_right)
        case _:
            return expr
