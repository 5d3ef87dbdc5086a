"""Edits as values, and the single edits of a schedule that change a field or a number.

A field (lag, wait depth, an executor that overrides, bytes) changes in all ops of one keyword, in
one role and on one ring, that agree in it; a depth also in one of them alone, since the last wait
agrees with the one in the loop by chance.  A number is that of one declaration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from schedgen.fixes.lines import flat, with_lines
from schedgen.happens_before.limits import MAX_WAIT_DEPTH
from schedgen.ir import ops
from schedgen.ir.effects import RingBarrier, SlotRef
from schedgen.ir.ops import Op, Place
from schedgen.ir.schedule import WARP_THREADS, Ring, Role, Schedule

Side = Literal["in", "below", "above"]
Kind = Literal["lag", "depth", "executor", "bytes", "number", "move", "add", "remove"]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change in words.

    ``subject`` is the keyword of the op, or the word of the number in its declaration; ``places``
    are the lines that change, or beside which a line is put, in the text before the edit.  ``line``
    is the one that changes or goes, or ``side`` of which the op is put; None for one without a
    place.
    """

    kind: Kind
    subject: str
    text: str
    role: str | None
    places: tuple[Place, ...]
    side: Side
    line: int | None

    @property
    def located(self) -> str:
        """The text with the role and the line: ``(consumer, below line 34)``."""
        side = "" if self.side == "in" else f"{self.side} "
        parts = [self.role or "", "" if self.line is None else f"{side}line {self.line}"]
        where = ", ".join(part for part in parts if part)
        return f"{self.text} ({where})" if where else self.text


@dataclass(frozen=True, eq=False)
class Candidate:
    """A schedule with one more edit.

    ``up`` is the sign of what a field or number changes by (of the lag: later releases), 0 for
    other edits; ``risky`` where the result may be ill formed; ``odd`` where nobody would write the
    line, although it may be right there.
    """

    edit: Edit
    schedule: Schedule
    up: int = 0
    risky: bool = False
    odd: bool = False


def rings_of(op: Op) -> tuple[str, ...]:
    """The rings whose cursor says which use the op means."""
    e = op.effects()
    found = [w.barrier.ring for w in (e.wait, e.signal) if w and isinstance(w.barrier, RingBarrier)]
    found += [a.location.ring for a in e.accesses if isinstance(a.location, SlotRef)]
    return tuple(dict.fromkeys(found))


def places_of(*things: Any) -> tuple[Place, ...]:
    """The places of statements and declarations that have one."""
    found = (getattr(thing, "place", None) for thing in things)
    return tuple(place for place in found if place is not None)


def first_line(*things: Any) -> int | None:
    """The first line that any of them stands in."""
    return min((place.line for place in places_of(*things)), default=None)


def field_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Every edit of a field, in text order."""
    for number, role in enumerate(schedule.roles):
        for spec in _FIELDS:
            groups: dict[tuple[object, ...], list[int]] = {}
            items = flat(role.body)
            for at, item in enumerate(items):
                key = spec.key(item) if isinstance(item, Op) else None
                if key is not None:
                    groups.setdefault(key, []).append(at)
            for members in groups.values():
                first = items[members[0]]
                assert isinstance(first, Op)
                if spec.mixed and len({type(items[at]) for at in members}) == 1:
                    continue  # the same edit as that of one keyword
                alone = [[at] for at in members] if spec.alone and len(members) > 1 else []
                for up, changed in spec.values(schedule, role, first):
                    for some in (*alone, members):
                        yield _field(schedule, number, some, spec, up, changed)


@dataclass(frozen=True)
class _Field:
    kind: Kind
    name: str
    key: Callable[[Op], tuple[object, ...] | None]
    values: Callable[[Schedule, Role, Op], Iterator[tuple[int, Any]]]
    mixed: bool = False
    alone: bool = False


def _field(
    schedule: Schedule, number: int, members: list[int], spec: _Field, up: int, value: object
) -> Candidate:
    role = schedule.roles[number]
    items = list(flat(role.body))
    old = [items[at] for at in members]
    for at in members:
        items[at] = dataclasses.replace(items[at], **{spec.name: value})  # pyright: ignore
    first, made = old[0], items[members[0]]
    assert isinstance(first, Op)
    assert isinstance(made, Op)
    same = len({item.text for item in old if isinstance(item, Op)}) == 1
    before, after = (first.text, made.text) if same else (_word(first), _word(made))
    often = "" if len(members) == 1 else f", {len(members)} times"
    subject = first.keyword if same or len({type(o) for o in old}) == 1 else "ops"
    edit = Edit(
        kind=spec.kind, subject=subject, text=f"`{before}` becomes `{after}`{often}",
        role=role.name, places=places_of(*old), side="in", line=first_line(*old),
    )  # fmt: skip
    return Candidate(edit, with_lines(schedule, number, items), up)


def _word(op: Op) -> str:
    """Keyword and offset of an op, for a change of several that differ in the rest."""
    rest = op.text[len(op.keyword) + 1 + len(op.body) :].strip()
    return f"{op.keyword} ... {rest or 'without an offset'}"


# --- the fields: which ops agree, and what else could stand there
def _lag_key(op: Op) -> tuple[object, ...] | None:
    rings = rings_of(op)
    return (op.keyword, rings, op.offset) if rings else None


def _ahead_key(op: Op) -> tuple[object, ...] | None:
    rings = rings_of(op)
    return (rings, op.offset) if rings and op.offset else None


def _lags(_: Schedule, __: Role, op: Op) -> Iterator[tuple[int, int]]:
    yield 1, op.offset - 1
    yield -1, op.offset + 1


def _depth_key(op: Op) -> tuple[object, ...] | None:
    return (op.keyword, op.depth) if isinstance(op, ops.Wait | ops.StoreWait) else None


def _depths(_: Schedule, __: Role, op: Op) -> Iterator[tuple[int, int]]:
    """What can be encoded below it, the deepest first; else one more."""
    assert isinstance(op, ops.Wait | ops.StoreWait)
    for depth in range(min(op.depth - 1, MAX_WAIT_DEPTH), -1, -1):
        yield -1, depth
    yield 1, op.depth + 1


def _executor_key(op: Op) -> tuple[object, ...] | None:
    return None if op.by is None else (op.keyword, op.body, op.by)


def _no_executor(_: Schedule, __: Role, op: Op) -> Iterator[tuple[int, None]]:
    yield 0, None


def _bytes_key(op: Op) -> tuple[object, ...] | None:
    return (op.keyword, rings_of(op), op.bytes) if isinstance(op, ops.ExpectTx) else None


def _byte_numbers(schedule: Schedule, role: Role, op: Op) -> Iterator[tuple[int, int]]:
    """A whole stage, or what the role itself loads in one use."""
    assert isinstance(op, ops.ExpectTx)
    for name in rings_of(op):
        ring = schedule.ring(name)
        for size in dict.fromkeys((ring.stage_bytes, loaded_bytes(ring, role))):
            if size and size != op.bytes:
                yield (1 if size > op.bytes else -1), size


def loaded_bytes(ring: Ring, role: Role) -> int:
    """Bytes of the slabs of a ring that the role's text loads, each counted once."""
    loads = (i for i in flat(role.body) if isinstance(i, ops.Load) and i.into.ring == ring.name)
    return sum(ring.slot(ref.slot).slab_bytes for ref in {load.into for load in loads})


_FIELDS = (
    _Field("lag", "offset", _lag_key, _lags),
    _Field("lag", "offset", _ahead_key, _lags, mixed=True),
    _Field("depth", "depth", _depth_key, _depths, alone=True),
    _Field("executor", "by", _executor_key, _no_executor),
    _Field("bytes", "bytes", _bytes_key, _byte_numbers),
)


# --- the numbers of declarations
def number_edits(schedule: Schedule) -> Iterator[Candidate]:
    """Stages, arrival counts and threads of every declaration, one step up and down."""
    declared: list[tuple[str, Any, str, str, int]] = []
    for ring in schedule.rings:
        declared += [("rings", ring, word, word, 1) for word in ("stages", "empty", "full")]
    declared += [("barriers", b, "count", "count", 1) for b in schedule.barriers]
    declared += [("named", n, "threads", "threads", WARP_THREADS) for n in schedule.named]
    for table, item, field, word, step in declared:
        now = getattr(item, field)
        for up in (1, -1):
            if now + up * step > 0:
                yield _number(schedule, table, item, field, word, now + up * step, up)


def _number(
    schedule: Schedule, table: str, item: Any, field: str, word: str, value: int, up: int
) -> Candidate:
    changed = dataclasses.replace(item, **{field: value})
    items = tuple(changed if i is item else i for i in getattr(schedule, table))
    edit = Edit(
        kind="number", subject=word, role=None, places=places_of(item), side="in",
        line=first_line(item),
        text=f"`{word} {getattr(item, field)}` of {item.name} becomes `{word} {value}`",
    )  # fmt: skip
    return Candidate(edit, dataclasses.replace(schedule, **{table: items}), up)
