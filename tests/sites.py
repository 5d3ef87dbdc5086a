"""Where statements stand in a schedule, and what becomes of it when one is replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from schedgen.ir.schedule import If, Loop, Schedule, Stmt

Body = tuple[Stmt, ...]


@dataclass(frozen=True)
class Site:
    """A statement of a role, by its number in text order, and the loop variables it sees."""

    role: int
    number: int
    stmt: Stmt
    names: tuple[str, ...]


def count(body: Body) -> int:
    """Statements of a body, blocks and what is in them."""
    return sum(1 + (count(s.body) if isinstance(s, Loop | If) else 0) for s in body)


def sites(schedule: Schedule) -> Iterator[Site]:
    """Every statement of every role."""

    def walk(body: Body, names: tuple[str, ...]) -> Iterator[tuple[Stmt, tuple[str, ...]]]:
        for stmt in body:
            yield stmt, names
            if isinstance(stmt, Loop | If):
                new = (stmt.var,) if isinstance(stmt, Loop) and stmt.var != "_" else ()
                yield from walk(stmt.body, (*names, *new))

    for index, role in enumerate(schedule.roles):
        for number, (stmt, names) in enumerate(walk(role.body, ())):
            yield Site(index, number, stmt, names)


def edited(body: Body, number: int, become: Callable[[Stmt], Body]) -> Body:
    """The body with what ``become`` makes of the statement at a position."""
    for index, stmt in enumerate(body):
        if number == 0:
            return (*body[:index], *become(stmt), *body[index + 1 :])
        number -= 1
        if isinstance(stmt, Loop | If):
            inner = count(stmt.body)
            if number < inner:
                changed = dataclasses.replace(stmt, body=edited(stmt.body, number, become))
                return (*body[:index], changed, *body[index + 1 :])
            number -= inner
    raise IndexError(number)


def with_body(schedule: Schedule, role: int, body: Body) -> Schedule:
    """The schedule with another body of a role."""
    old = schedule.roles[role]
    roles = (
        *schedule.roles[:role],
        dataclasses.replace(old, body=body),
        *schedule.roles[role + 1 :],
    )
    return dataclasses.replace(schedule, roles=roles)


def replaced(schedule: Schedule, site: Site, by: Body) -> Schedule:
    """The schedule with other statements, or none, in the place of one."""
    role = schedule.roles[site.role]
    return with_body(schedule, site.role, edited(role.body, site.number, lambda _: by))
