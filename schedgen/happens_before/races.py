"""Races, stale contents and missing proxy fences, storage by storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from schedgen.diagnostics.finding import Finding, Row
from schedgen.diagnostics.order import (
    MissingProxyFence,
    OverwriteBeforeRetire,
    ReadBeforeFill,
    StoreSourceOverwritten,
    UnorderedAccess,
    UnorderedWrites,
    WrongTile,
)
from schedgen.diagnostics.tensor import StagedElsewhere
from schedgen.happens_before.accesses import Interval, is_ordered
from schedgen.happens_before.blame import (
    acquired_before,
    is_handed_back,
    waits_for,
    without_acquire,
)
from schedgen.happens_before.case import Breach, Case, Violation, declared_use, row
from schedgen.happens_before.products import Box, accumulator_box, shipped_box
from schedgen.happens_before.suggest import release_fix
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Engine


def storage_violations(case: Case) -> Iterator[Breach]:
    """Every violation of the order of accesses to shared memory."""
    told: dict[tuple[str, int, int], Violation] = {}
    for key, accesses in case.intervals.items():
        judged = {id(i) for i in case.past.accesses.get(key, ())}
        racing: set[int] = set()
        for first, second in _conflicts(accesses, judged):
            case.checked["SG203"] += 1
            if not is_ordered(case, first, second) and not is_ordered(case, second, first):
                racing |= {id(first), id(second)}
                yield partial(_race_again, case, first, second, told)
        yield from _contents(case, accesses, judged, racing)
        yield from _proxies(case, accesses, judged)


def _conflicts(accesses: list[Interval], judged: set[int]) -> Iterator[tuple[Interval, Interval]]:
    """Pairs that conflict, but those that were judged before."""
    for number, first in enumerate(accesses):
        old = id(first) in judged
        for second in accesses[number + 1 :]:
            if _conflict(first, second) and not (old and id(second) in judged):
                yield first, second


def _conflict(first: Interval, second: Interval) -> bool:
    return (first.writes or second.writes) and first.instance is not second.instance


def _race_again(
    case: Case, first: Interval, second: Interval, told: dict[tuple[str, int, int], Violation]
) -> Violation:
    """The race of two ops, told once; every other pair of their accesses is the same one again."""
    ops = (first.key.name, id(first.instance.op), id(second.instance.op))
    if ops in told:
        return replace(told[ops], at=_pair_nodes(case, first, second))
    told[ops] = _race(case, first, second)
    return told[ops]


def _pair_nodes(case: Case, first: Interval, second: Interval) -> tuple[int, ...]:
    """A start of each that the end of the other is not before: both can be open at once."""

    def open_start(mine: Interval, other: Interval) -> int:
        end = other.end
        return next(s for s in mine.starts if end is None or not case.is_before(end, s))

    return open_start(first, second), open_start(second, first)


def _race(case: Case, first: Interval, second: Interval) -> Violation:
    if first.writes and second.writes:
        return _two_writes(case, first, second)
    writer, reader = (first, second) if first.writes else (second, first)
    if writer.ordinary and reader.ordinary:
        return _violation(case, _ordinary(case, first, second), "SG212", first, second)
    if reader.instance.effects.engine is Engine.TMA_STORE and not _fills(
        case, writer, reader, first
    ):
        finding = StoreSourceOverwritten(
            writer=writer.phrase, store=reader.phrase, where=case.where(writer.key),
            rows=_rows(case, writer, reader),
            missing=f"end of reading by {reader.phrase} -> {writer.phrase}",
            fix="`store-wait 0 read` by the storing warp, then `sync`, before the next write",
        )  # fmt: skip
        return _violation(case, finding, "SG213", writer, reader)
    if _fills(case, writer, reader, first):
        return _early_read(case, writer, reader)
    return _overwrite(case, writer, reader)


def _fills(case: Case, writer: Interval, reader: Interval, first: Interval) -> bool:
    """Whether the write is the one that the reader should have waited for."""
    if reader.instance.effects.engine is Engine.TMA_STORE and not writer.ordinary:
        return False  # what a store ships was put there by ordinary code
    if writer.use is not None and reader.use is not None and not writer.ordinary:
        return writer.use <= reader.use or _is_meant(case, writer, reader)
    if writer.replica == reader.replica:
        return writer.instance.seq < reader.instance.seq
    return writer is first


def _is_meant(case: Case, writer: Interval, reader: Interval) -> bool:
    """The reader names another use, but means this tile, whose load is always issued before."""
    begun = all(case.is_before(writer.starts[0], start) for start in reader.starts)
    return begun and writer.tile is not None and writer.tile == reader.tile


def _early_read(case: Case, writer: Interval, reader: Interval) -> Violation:
    landed = f"{writer.phrase} has landed" if not writer.ordinary else f"{writer.phrase} is done"
    barrier = writer.key.name.partition(".")[0]
    by_code = "`sync` the writing warps, or let them arrive, before the read"
    by_load = f"`acquire {barrier}.full` before the first read of each use"
    finding = ReadBeforeFill(
        reader=reader.phrase, where=case.where(reader.key), filler=landed,
        rows=_rows(case, writer, reader), missing=f"{landed} -> {reader.phrase}",
        fix=by_code if writer.ordinary else by_load,
    )  # fmt: skip
    return _violation(case, finding, "SG201", writer, reader)


def _overwrite(case: Case, writer: Interval, reader: Interval) -> Violation:
    missing_acquire = _unacquired(case, writer)
    if missing_acquire is not None:
        return missing_acquire
    ring = writer.key.name.partition(".")[0]
    ends = "end of reading" if reader.ordinary else f"retire mma k={reader.tile}"
    missing = f"{ends} -> {writer.phrase}"
    fix = release_fix(case, reader.replica, ring, reader.use)
    if reader.use is not None and writer.use is not None:
        missing = " -> ".join((ends, *_handover(case, ring, reader, writer)))
    elif writer.ordinary:
        fix = "wait for the mma in every role that reads the stage, and `arrive` before the store"
    finding = OverwriteBeforeRetire(
        writer=writer.phrase, where=case.where(writer.key), reader=reader.phrase,
        rows=_rows(case, writer, reader), missing=missing,
        fix=fix,
    )  # fmt: skip
    return _violation(case, finding, "SG203", writer, reader)


def _handover(case: Case, ring: str, reader: Interval, writer: Interval) -> Iterator[str]:
    """The release and the acquire that should have kept the write from the read, with lines."""
    assert reader.use is not None
    assert writer.use is not None
    released = (
        i for i in case.matching.replicas[reader.replica]
        if declared_use(i) == (ring, "empty", reader.use)
    )  # fmt: skip
    acquired = (
        i for i in case.matching.replicas[writer.replica] if waits_for(i, ring, writer.use)
    )  # fmt: skip
    yield f"release use {reader.use}{_in_line(next(released, None))}"
    yield f"acquire use {writer.use}{_in_line(next(acquired, None))}"


def _in_line(i: Instance | None) -> str:
    return "" if i is None or i.op.place is None else f" (line {i.op.place.line})"


def _unacquired(case: Case, writer: Interval) -> Violation | None:
    """The write goes into a ring use that its actor did not acquire."""
    ring = writer.key.name.partition(".")[0]
    if writer.use is None or writer.ordinary or not is_handed_back(case, ring):
        return None
    if acquired_before(case, writer.instance, writer.starts[0], ring, writer.use):
        return None
    return without_acquire(case, writer.instance, writer.starts[0], ring, writer.use)


def _two_writes(case: Case, first: Interval, second: Interval) -> Violation:
    if first.ordinary and second.ordinary:
        return _violation(case, _ordinary(case, first, second), "SG212", first, second)
    later = max(first, second, key=lambda i: -1 if i.use is None else i.use)
    if first.use != second.use:
        missing_acquire = _unacquired(case, later)
        if missing_acquire is not None:
            return missing_acquire
    finding = UnorderedWrites(
        first=first.phrase, second=second.phrase, where=case.where(first.key),
        rows=(case.storage_row(first.key), row("write", first.instance, tile=first.tile),
              row("write", second.instance, tile=second.tile)),
        missing=f"{first.phrase} -> {second.phrase}",
        fix="give each write its own slot or use, and acquire the use first",
    )  # fmt: skip
    return _violation(case, finding, "SG204", first, second)


def _ordinary(case: Case, first: Interval, second: Interval) -> Finding:
    return UnorderedAccess(
        first=first.phrase, second=second.phrase, where=case.where(first.key),
        rows=_rows(case, first, second), missing=f"{first.phrase} -> {second.phrase} by every warp",
        fix="`sync` the warps between the two",
    )  # fmt: skip


def _rows(case: Case, writer: Interval, reader: Interval) -> tuple[Row, ...]:
    labels = ("write" if writer.writes else "read", "write" if reader.writes else "read")
    return (
        case.storage_row(writer.key),
        *case.alias_rows(writer.instance, reader.instance),
        row(labels[0], writer.instance, tile=writer.tile),
        row(labels[1], reader.instance, tile=reader.tile),
    )


def _violation(
    case: Case, finding: Finding, code: str, first: Interval, second: Interval
) -> Violation:
    owner = first.key.name.partition(".")[0]
    who = () if code == "SG212" else (second.instance.role.name, second.instance.op.keyword)
    key = (code, owner, *who)
    return Violation(finding, _pair_nodes(case, first, second), False, key)


def _contents(
    case: Case, accesses: list[Interval], judged: set[int], racing: set[int]
) -> Iterator[Breach]:
    """What a read finds: the last write before it, which must be there and be the right tile."""
    for number, reader in enumerate(accesses):
        if reader.writes or id(reader) in racing or id(reader) in judged:
            continue
        case.checked["SG201"] += 1
        before = (w for w in reversed(accesses[:number]) if w.writes)
        writer = next((w for w in before if is_ordered(case, w, reader)), None)
        if writer is None:
            yield partial(_never_filled, case, reader)
        elif reader.tile is not None:
            case.checked["SG202"] += 1
            named = _last_named(case, reader, chain([writer], before))
            if named is not None and named.tile != reader.tile:
                yield partial(_wrong_tile, case, reader, named)
        elif reader.instance.effects.engine is Engine.TMA_STORE:
            box = shipped_box(case.schedule, reader.instance)
            case.checked["SG217"] += box is not None
            named = _last_named(case, reader, chain([writer], before))
            if box is not None and box != _staged_box(case, writer):
                yield partial(_staged_elsewhere, case, reader, writer, box)
            elif named is not None and named.tile is not None:
                yield partial(_operand_shipped, case, reader, named)


def _last_named(case: Case, reader: Interval, before: Iterable[Interval]) -> Interval | None:
    """The write that says what is there: a load or results.  A `write` works on what it finds."""
    named = (w for w in before if w.tile is not None or w.instance.facts.accumulators)
    return next((w for w in named if is_ordered(case, w, reader)), None)


def _never_filled(case: Case, reader: Interval) -> Violation:
    finding = ReadBeforeFill(
        reader=reader.phrase, where=case.where(reader.key), filler=None,
        rows=(case.storage_row(reader.key), row("read", reader.instance, tile=reader.tile)),
        missing=f"a write to {case.where(reader.key)} -> {reader.phrase}",
        fix="load or write it before it is read",
    )  # fmt: skip
    return Violation(finding, reader.starts, False, _content_key("SG201", reader))


def _wrong_tile(case: Case, reader: Interval, writer: Interval) -> Violation:
    assert reader.tile is not None
    finding = WrongTile(
        reader=f"the mma of {reader.instance.who}", where=case.where(reader.key),
        wanted=reader.tile, found=writer.tile, rows=_rows(case, writer, reader), missing=None,
        fix="let the load and the mma of one use name the same tile",
    )  # fmt: skip
    return Violation(finding, reader.starts, False, _content_key("SG202", reader), rank=1)


def _staged_box(case: Case, writer: Interval) -> Box | None:
    """The part of the output that a write brings, if it stores an accumulator."""
    accumulators = writer.instance.facts.accumulators
    if not accumulators:
        return None
    return accumulator_box(case.schedule, writer.instance, accumulators[0][0])


def _staged_elsewhere(case: Case, reader: Interval, writer: Interval, box: Box) -> Violation:
    found = _staged_box(case, writer)
    finding = StagedElsewhere(
        store=reader.phrase, where=case.where(reader.key), wanted=str(box),
        found=f"what {writer.phrase} left" if found is None else str(found),
        rows=_rows(case, writer, reader), missing=None,
        fix="name the rows and columns of what was stored last, and take turns in that order",
    )  # fmt: skip
    return Violation(finding, reader.starts, False, _content_key("SG217", reader), rank=1)


def _operand_shipped(case: Case, reader: Interval, load: Interval) -> Violation:
    finding = StagedElsewhere(
        store=reader.phrase, where=case.where(reader.key), wanted="results", found=load.phrase,
        rows=_rows(case, load, reader), missing=None,
        fix="store the accumulator there first, or ship the buffer that has it",
    )  # fmt: skip
    return Violation(finding, reader.starts, False, _content_key("SG217", reader), rank=1)


def _content_key(code: str, reader: Interval) -> tuple[str, ...]:
    return (code, reader.key.name.partition(".")[0], reader.instance.role.name)


def _proxies(case: Case, accesses: list[Interval], judged: set[int]) -> Iterator[Breach]:
    """An ordinary store needs a proxy fence by the same warp before an asynchronous access."""
    ordinary_writes = [w for w in accesses if w.writes and w.ordinary]
    for user in accesses if ordinary_writes else ():
        if user.ordinary:
            continue
        for writer in ordinary_writes:
            old = id(user) in judged and id(writer) in judged
            if old or not is_ordered(case, writer, user):
                continue
            case.checked["SG210"] += 1
            mine = case.matching.proxy_fences.get((writer.replica, writer.actor), [])
            if not any(f > writer.first and _before_all(case, f, user) for f in mine):
                yield partial(_unfenced, case, writer, user)


def _before_all(case: Case, node: int, user: Interval) -> bool:
    return all(case.is_before(node, s) for s in user.starts)


def _unfenced(case: Case, writer: Interval, user: Interval) -> Violation:
    finding = MissingProxyFence(
        writer=writer.phrase, reader=user.phrase, where=case.where(user.key),
        rows=_rows(case, writer, user),
        missing=f"{writer.phrase} -> fence proxy by the same warps -> {user.phrase}",
        fix="`fence proxy` by every writer after its last write, before the sync",
    )  # fmt: skip
    key = ("SG210", user.key.name.partition(".")[0])
    return Violation(finding, user.starts, False, key, rank=2)
