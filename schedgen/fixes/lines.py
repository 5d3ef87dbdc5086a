"""A role's body as a flat list of its printed lines: what one edit moves, adds or takes away.

An item is an op, the head of a block, or None: the line that closes the innermost block.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from schedgen.ir.ops import Op
from schedgen.ir.schedule import If, Loop, Schedule, Stmt

Item = Op | Loop | If | None
Items = tuple[Item, ...]


def flat(body: Sequence[Stmt]) -> Items:
    """The lines of a body in text order; heads keep their own body, which `nested` replaces."""
    items: list[Item] = []
    for stmt in body:
        items.append(stmt)
        if isinstance(stmt, Loop | If):
            items += (*flat(stmt.body), None)
    return tuple(items)


def nested(items: Sequence[Item]) -> tuple[Stmt, ...]:
    """The body of these lines: the inverse of `flat`.

    >>> nested(flat(())) == ()
    True
    """
    levels: list[list[Stmt]] = [[]]
    heads: list[Loop | If] = []
    for item in items:
        if isinstance(item, Op):
            levels[-1].append(item)
        elif item is None:
            body = tuple(levels.pop())
            levels[-1].append(dataclasses.replace(heads.pop(), body=body))
        else:
            heads.append(item)
            levels.append([])
    return tuple(levels[0])


def without_empty_block(items: Items, at: int) -> Items:
    """The lines without the blocks around the gap before ``at`` that have become empty."""
    while 0 < at < len(items) and items[at] is None and isinstance(items[at - 1], Loop | If):
        items = (*items[: at - 1], *items[at + 1 :])
        at -= 1
    return items


def with_lines(schedule: Schedule, role: int, items: Sequence[Item]) -> Schedule:
    """The schedule with other lines in the role of that number."""
    changed = dataclasses.replace(schedule.roles[role], body=nested(items))
    roles = (*schedule.roles[:role], changed, *schedule.roles[role + 1 :])
    return dataclasses.replace(schedule, roles=roles)


def ops_around(items: Items, at: int) -> list[Op]:
    """The ops of the innermost block around the gap before ``at``, without those of blocks in it.

    >>> ops_around(flat(()), 0)
    []
    """
    found: list[Op] = []
    for way, upwards in ((reversed(items[:at]), True), (iter(items[at:]), False)):
        depth = 0
        for item in way:
            if isinstance(item, Op):
                found += [] if depth else [item]
            elif (item is None) == upwards:  # the edge of a block that is passed over
                depth += 1
            elif depth:
                depth -= 1
            else:
                break
    return found


def phrase(items: Items, at: int) -> str:
    """The line of that number in words, for the text of an edit."""
    item = items[at]
    if item is None:
        return f"the end of {phrase(items, head_of(items, at))}"
    if isinstance(item, Op):
        return f"`{item.text}`"
    if isinstance(item, Loop):
        return f"`for {item.var} in {item.first}..{item.end}`"
    return f"`if {item.guard}`"


def head_of(items: Items, end: int) -> int:
    """The number of the head of the block that a line closes."""
    open_blocks: list[int] = []
    for at, item in enumerate(items[:end]):
        if item is None:
            open_blocks.pop()
        elif not isinstance(item, Op):
            open_blocks.append(at)
    return open_blocks[-1]
