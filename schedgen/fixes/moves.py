"""The single edits of a schedule that move an op by one line, take it away or add one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from schedgen.fixes.edits import Candidate, Edit, Side, first_line, places_of, rings_of
from schedgen.fixes.lines import (
    Item,
    Items,
    flat,
    ops_around,
    phrase,
    with_lines,
    without_empty_block,
)
from schedgen.fixes.vocabulary import addable
from schedgen.ir.expr import Compare, Name, atoms
from schedgen.ir.ops import (
    Acquire,
    Advance,
    Commit,
    Expect,
    ExpectTx,
    Fence,
    Load,
    Mma,
    Op,
    Release,
    Wait,
)
from schedgen.ir.schedule import If, Schedule


def move_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Every op exchanged with the line above or below, the edges of blocks included; and an acquire
    moved above all that uses its stage."""
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
            way: Side = "below" if op is upper else "above"
            anchor = at + 1 if op is upper else at
            text = f"`{op.text}` moves {way} {phrase(items, anchor)}"
            side, line = _beside(items, anchor, way)
            subjects = dict.fromkeys(i.keyword for i in (upper, lower) if isinstance(i, Op))
            edit = Edit(
                kind="move", subject=" and ".join(subjects), text=text, role=role.name,
                places=places_of(upper, lower), side=side, line=line,
            )  # fmt: skip
            odd = isinstance(lower, Advance) and isinstance(upper, Acquire)
            yield Candidate(edit, with_lines(schedule, number, changed), risky=not both, odd=odd)
        for at, top in _late_acquires(items):
            yield _lifted(schedule, number, at, top)


def _late_acquires(items: Items) -> Iterator[tuple[int, int]]:
    """Acquires below ops that use the stage, with the first of these; two lines up at least."""
    for at, op in enumerate(items):
        if not (isinstance(op, Acquire) and rings_of(op)):
            continue
        top = at
        for i in range(at - 1, -1, -1):
            above = items[i]
            if not isinstance(above, Op) or above.keyword == "advance":
                break
            uses = isinstance(above, Load | Mma | ExpectTx) and set(rings_of(op)) & set(
                rings_of(above)
            )
            if uses or (isinstance(above, Fence) and top == i + 1 < at):
                top = i
        if top < at - 1:
            yield at, top


def _lifted(schedule: Schedule, number: int, at: int, top: int) -> Candidate:
    """An op moved up to another of its block."""
    role = schedule.roles[number]
    items = flat(role.body)
    op = items[at]
    assert isinstance(op, Op)
    edit = Edit(
        kind="move", subject=op.keyword, text=f"`{op.text}` moves above {phrase(items, top)}",
        role=role.name, places=places_of(op, items[top]), side="above", line=first_line(items[top]),
    )  # fmt: skip
    changed = (*items[:top], op, *items[top:at], *items[at + 1 :])
    return Candidate(edit, with_lines(schedule, number, changed))


def remove_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Every op taken away; a block that becomes empty goes with it."""
    for number, role in enumerate(schedule.roles):
        items = flat(role.body)
        for at, op in enumerate(items):
            if isinstance(op, Op):
                rest = without_empty_block((*items[:at], *items[at + 1 :]), at)
                edit = Edit(
                    kind="remove", subject=op.keyword, text=f"`{op.text}` goes", role=role.name,
                    places=places_of(op), side="in", line=first_line(op),
                )  # fmt: skip
                yield Candidate(edit, with_lines(schedule, number, _fresh(rest, op)))


def add_edits(schedule: Schedule, keyword: str) -> Iterator[Candidate]:
    """Every op of that keyword put before any line or at the end, with a guard or without."""
    for number, role in enumerate(schedule.roles):
        items = flat(role.body)
        guards = dict.fromkeys(i.guard for i in items if isinstance(i, If) and _of_k(i.guard))
        for op in addable(schedule, role, keyword):
            for at, depth in _gaps(items, op):
                yield _added(schedule, number, op, at, (op,), f"`{op.text}`")
                for guard in guards if not depth else ():
                    block = If(guard=guard, body=(op,))
                    text = f"`if {guard} {{ {op.text} }}`"
                    yield _added(schedule, number, op, at, (block, op, None), text)


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


def _added(schedule: Schedule, number: int, op: Op, at: int, new: Items, text: str) -> Candidate:
    """The role with new lines before that of number ``at``."""
    role = schedule.roles[number]
    items = flat(role.body)
    above, below = items[at - 1] if at else None, items[at] if at < len(items) else None
    side, line = _beside(items, at - 1, "below") if at else ("above", first_line(below))
    where = f"below {phrase(items, at - 1)}" if at else "at the beginning"
    edit = Edit(
        kind="add", subject=op.keyword, text=f"{text} comes {where}", role=role.name,
        places=places_of(above, below), side=side, line=line,
    )  # fmt: skip
    made = with_lines(schedule, number, _fresh((*items[:at], *new, *items[at:]), op))
    guarded_twice = isinstance(new[0], If) and isinstance(below, If) and new[0].guard == below.guard
    odd = guarded_twice or _is_odd(items, at, op)
    return Candidate(edit, made, risky=isinstance(op, Load), odd=odd)


def _is_odd(items: Items, at: int, op: Op) -> bool:
    """Whether nobody would write the op there: a wait, say, below the release of what is read."""
    above, below = items[at - 1] if at else None, items[at] if at < len(items) else None
    if isinstance(op, Wait):
        before = next((i for i in reversed(items[:at]) if isinstance(i, Op)), None)
        return isinstance(before, Release)
    if isinstance(op, Release):
        return isinstance(below, Wait | Commit)
    if isinstance(op, Acquire):
        return isinstance(above, Fence) or op in ops_around(items, at)
    if isinstance(op, Advance):  # where the others have it: at the end of a step that has none
        return below is not None or not _is_unadvanced(ops_around(items, at), op.ring)
    if isinstance(op, Expect):
        return _is_for(op, above) or not _is_for(op, below)
    return False


def _is_for(expect: Op, line: Item) -> bool:
    """Whether an expect announces the bytes of this load."""
    if not isinstance(line, Load):
        return False
    return rings_of(line) == rings_of(expect) and line.offset == expect.offset


def _is_unadvanced(ops: list[Op], ring: str) -> bool:
    """Whether a step uses a stage of the ring, and does not advance the cursor."""
    if any(isinstance(op, Advance) and op.ring == ring for op in ops):
        return False
    return any(isinstance(op, Acquire | Load | Mma) and ring in rings_of(op) for op in ops)


def _fresh(items: Items, op: Op) -> Items:
    """The lines with an object of its own for each time that they hold the op."""
    return tuple(dataclasses.replace(op) if i is op else i for i in items)


def _beside(items: Items, anchor: int, side: Side) -> tuple[Side, int | None]:
    """That side of a line; of the end of a block, which has no place, the other one's other side:
    above what follows it, below what it follows."""
    line = first_line(items[anchor])
    if line is not None:
        return side, line
    other = anchor + 1 if side == "below" else anchor - 1
    there: Side = "above" if side == "below" else "below"
    return there, first_line(items[other]) if other < len(items) else None
