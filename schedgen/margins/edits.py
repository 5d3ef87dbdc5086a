"""Find statements of a schedule and write it anew without them, or with others in their stead."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping

from schedgen.happens_before.proof.text import read_text
from schedgen.ir.ops import Op
from schedgen.ir.schedule import If, Loop, Schedule, Stmt

Path = tuple[int, ...]
"""Where a statement stands: the number of its role, then its position in each body around it."""

Change = Callable[[Path, Stmt], tuple[Stmt, ...]]


def walk(schedule: Schedule) -> Iterator[tuple[Path, Stmt]]:
    """Every statement of every role with its path, in text order."""

    def inside(body: tuple[Stmt, ...], path: Path) -> Iterator[tuple[Path, Stmt]]:
        for number, stmt in enumerate(body):
            yield (*path, number), stmt
            if isinstance(stmt, Loop | If):
                yield from inside(stmt.body, (*path, number))

    for number, role in enumerate(schedule.roles):
        yield from inside(role.body, (number,))


def rewritten(schedule: Schedule, change: Change) -> Schedule:
    """The schedule with each statement replaced by what ``change`` makes of it, inner ones first.

    Paths are those of ``schedule``.
    """

    def inside(body: tuple[Stmt, ...], path: Path) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for number, stmt in enumerate(body):
            here = (*path, number)
            if isinstance(stmt, Loop | If):
                stmt = dataclasses.replace(stmt, body=inside(stmt.body, here))
            made += change(here, stmt)
        return tuple(made)

    roles = tuple(
        dataclasses.replace(role, body=inside(role.body, (number,)))
        for number, role in enumerate(schedule.roles)
    )
    return dataclasses.replace(schedule, roles=roles)


def without(schedule: Schedule, paths: Collection[Path]) -> Schedule:
    """The schedule without some statements; a block that becomes empty stays."""
    return rewritten(schedule, lambda path, stmt: () if path in paths else (stmt,))


def replaced(schedule: Schedule, new: Mapping[Path, Op]) -> Schedule:
    """The schedule with some ops replaced."""
    return rewritten(schedule, lambda path, stmt: (new.get(path, stmt),))


def k_loops(schedule: Schedule) -> dict[Path, Loop]:
    """The loops whose turns grow with K.  Raises `Obstacle` where the text is not read."""
    growing: set[int] = set()
    for role in schedule.roles:
        for replica in range(role.replica_count):
            growing |= read_text(schedule, role, replica).growing
    return {p: s for p, s in walk(schedule) if isinstance(s, Loop) and id(s) in growing}


def loop_around(path: Path, loops: Mapping[Path, Loop]) -> Path | None:
    """The path of the loop that a statement stands in."""
    heads = (path[:end] for end in range(1, len(path)))
    return next((head for head in heads if head in loops), None)
