"""Where the parts of a schedule stood in a text from which it was made."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from schedgen.ir.ops import Op, Place
from schedgen.ir.schedule import Ring, Role, Schedule, Stmt

T = TypeVar("T")


def with_places(fresh: Schedule, given: Schedule) -> Schedule:
    """``fresh`` with the places of the equal schedule ``given``, none where that has none.

    Its statements stay objects of their own, which those of ``given`` need not be.
    """
    return dataclasses.replace(
        fresh,
        rings=tuple(map(_ring, fresh.rings, given.rings)),
        accumulators=tuple(map(_same, fresh.accumulators, given.accumulators)),
        barriers=tuple(map(_same, fresh.barriers, given.barriers)),
        named=tuple(map(_same, fresh.named, given.named)),
        buffers=tuple(map(_same, fresh.buffers, given.buffers)),
        roles=tuple(map(_role, fresh.roles, given.roles)),
    )


def has_places(schedule: Schedule) -> bool:
    """Whether any role says where it stood."""
    return any(role.place is not None for role in schedule.roles)


def _same(fresh: T, given: T) -> T:
    place: Place | None = getattr(given, "place", None)
    return dataclasses.replace(fresh, place=place)  # pyright: ignore


def _ring(fresh: Ring, given: Ring) -> Ring:
    slots = tuple(map(_same, fresh.slots, given.slots))
    return dataclasses.replace(fresh, slots=slots, place=given.place)


def _role(fresh: Role, given: Role) -> Role:
    return dataclasses.replace(fresh, body=_body(fresh.body, given.body), place=given.place)


def _body(fresh: tuple[Stmt, ...], given: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(map(_stmt, fresh, given))


def _stmt(fresh: Stmt, given: Stmt) -> Stmt:
    if isinstance(fresh, Op) or isinstance(given, Op):
        return _same(fresh, given)
    body = _body(fresh.body, given.body)
    return dataclasses.replace(fresh, body=body, place=given.place)
