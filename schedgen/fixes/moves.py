"""The single edits of a schedule that move an op by one line, take it away or add one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from schedgen.fixes.edits import Candidate, Edit, Kind, places_of
from schedgen.fixes.lines import Item, Items, flat, phrase, with_lines, without_empty_block
from schedgen.fixes.vocabulary import addable
from schedgen.ir.expr import Compare, Name, atoms
from schedgen.ir.ops import Load, Op
from schedgen.ir.schedule import If, Schedule


def move_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Every op exchanged with the line above or below, the edges of blocks included."""
    for number, role in enumerate(schedule.roles):
        items = flat(role.body)
        for at in range(len(items) - 1):
            upper, lower = items[at], items[at + 1]
            both = isinstance(upper, Op) and isinstance(lower, Op)
            if upper == lower or not (isinstance(upper, Op) or isinstance(lower, Op)):
                continue
            changed = (*items[:at], lower, upper, *items[at + 2 :])
            if not both:  # where the op left a block by its top, or by its end
                changed = without_empty_block(changed, at + 2)
                changed = without_empty_block(changed, min(at, len(changed)))
            op = upper if isinstance(upper, Op) else lower
            assert isinstance(op, Op)
            way = "below" if op is upper else "above"
            text = f"{phrase(op)} moves {way} {phrase(lower if op is upper else upper)}"
            subjects = dict.fromkeys(i.keyword for i in (upper, lower) if isinstance(i, Op))
            edit = Edit(
                kind="move", subject=" and ".join(subjects), text=text, role=role.name,
                places=places_of(upper, lower),
            )  # fmt: skip
            yield Candidate(edit, with_lines(schedule, number, changed), risky=not both)


def remove_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Every op taken away; a block that becomes empty goes with it."""
    for number, role in enumerate(schedule.roles):
        items = flat(role.body)
        for at, op in enumerate(items):
            if isinstance(op, Op):
                rest = without_empty_block((*items[:at], *items[at + 1 :]), at)
                yield _line(schedule, number, "remove", op, rest, f"{phrase(op)} goes", (op,))


def add_edits(schedule: Schedule, keyword: str) -> Iterator[Candidate]:
    """Every op of that keyword put before any line or at the end, with a guard or without."""
    for number, role in enumerate(schedule.roles):
        items = flat(role.body)
        guards = dict.fromkeys(i.guard for i in items if isinstance(i, If) and _of_k(i.guard))
        for op in addable(schedule, role, keyword):
            for at, depth in _gaps(items, op):
                above = items[at - 1] if at else None
                beside = (above, items[at] if at < len(items) else None)
                where = "at the beginning" if not at else f"below {phrase(above)}"
                yield _line(
                    schedule, number, "add", op, (*items[:at], op, *items[at:]),
                    f"{phrase(op)} comes {where}", beside,
                )  # fmt: skip
                for guard in guards if not depth else ():
                    block = If(guard=guard, body=(op,))
                    yield _line(
                        schedule, number, "add", op, (*items[:at], block, op, None, *items[at:]),
                        f"`if {guard} {{ {op.text} }}` comes {where}", beside,
                    )  # fmt: skip


def _of_k(guard: Compare) -> bool:
    """Whether a guard names nothing but K, so that it can stand anywhere in a role."""
    names = (
        a.name for side in (guard.left, guard.right) for a in atoms(side) if isinstance(a, Name)
    )
    return all(name == "K" for name in names)


def _gaps(items: Items, op: Op) -> list[tuple[int, int]]:
    """Where an op can be put, with the depth of blocks there; a load only below another."""
    gaps = _text_order(items, op)
    if isinstance(op, Load):
        return [(at, depth) for at, depth in gaps if at and isinstance(items[at - 1], Load)]
    return list(gaps)


def _text_order(items: Items, op: Op) -> Iterator[tuple[int, int]]:
    """Every gap, but once beside the same op."""
    depth = 0
    for at in range(len(items) + 1):
        if not at or items[at - 1] != op:
            yield at, depth
        if at < len(items):
            item = items[at]
            depth += -1 if item is None else 0 if isinstance(item, Op) else 1


def _line(
    schedule: Schedule, number: int, kind: Kind, op: Op, items: Items, text: str,
    beside: tuple[Item, ...],
) -> Candidate:  # fmt: skip
    edit = Edit(
        kind=kind, subject=op.keyword, text=text, role=schedule.roles[number].name,
        places=places_of(*beside),
    )  # fmt: skip
    fresh = tuple(dataclasses.replace(op) if i is op else i for i in items)
    risky = kind == "add" and isinstance(op, Load)
    return Candidate(edit, with_lines(schedule, number, fresh), risky=risky)
