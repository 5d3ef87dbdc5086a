"""A timeline as Chrome trace events, which ui.perfetto.dev and chrome://tracing open.

The format is that of "Trace Event Format" (the Chromium project): complete events ``X`` with ``ts``
and ``dur`` in microseconds, metadata ``M`` for the names of rows, flows ``s`` to ``f`` from an
arrival on a barrier to what the wait that it ended let go on.  A cycle is a nanosecond, a step of a
witness a microsecond.  Slices of a row must not overlap and flows start in slices, so
an op that takes no time gets the least one, and what follows in its row begins so much later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from schedgen.timeline.model import Bar, Timeline

PER_MICROSECOND = {"cycles": 1000, "steps": 1}
PROCESS = 100
"""No number of a row: Perfetto calls a thread with the number of its process the main thread."""

Event = dict[str, Any]


def perfetto_text(timeline: Timeline) -> str:
    """The JSON, one event a line."""
    value = perfetto_value(timeline)
    events = ",\n".join(json.dumps(e, ensure_ascii=False) for e in value.pop("traceEvents"))
    rest = "".join(f",\n{json.dumps(key)}: {json.dumps(value[key])}" for key in value)
    return f'{{"traceEvents": [\n{events}\n]{rest}}}\n'


def perfetto_value(timeline: Timeline) -> dict[str, Any]:
    """The JSON as a value."""
    events = [*_names(timeline)]
    rows = [_spread(lane.bars) for lane in timeline.lanes]
    per = PER_MICROSECOND[timeline.unit]
    for number, row in enumerate(rows):
        events += [_slice(number, bar, begin, end, per) for bar, begin, end in row]
    events += _flows(timeline, rows, per)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "schedule": timeline.schedule, "k_tiles": str(timeline.k_tiles),
            "unit": f"1 us = {per} {timeline.unit}",
        },
    }  # fmt: skip


def _names(timeline: Timeline) -> Iterator[Event]:
    what = f"{timeline.schedule} at K = {timeline.k_tiles}"
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "args": {"name": what}}
    for number, lane in enumerate(timeline.lanes):
        row = {"ph": "M", "pid": PROCESS, "tid": number + 1}
        yield {**row, "name": "thread_name", "args": {"name": lane.name}}
        yield {**row, "name": "thread_sort_index", "args": {"sort_index": number}}


def _spread(bars: tuple[Bar, ...]) -> list[tuple[Bar, int, int]]:
    """The bars one after the other, each at least one unit long."""
    made: list[tuple[Bar, int, int]] = []
    free = 0
    for bar in bars:
        begin = max(bar.begin, free)
        free = max(bar.end, begin + 1)
        made.append((bar, begin, free))
    return made


def _slice(lane: int, bar: Bar, begin: int, end: int, per: int) -> Event:
    tile = "" if bar.tile is None else f" tile {bar.tile}"
    stage = f" [{bar.letter}]" if bar.letter else ""
    args: Event = {"by": bar.who, "op": bar.op}
    args |= {
        key: value
        for key, value in (("k", bar.k), ("tile", bar.tile), ("stage", bar.letter or None),
                           ("place", bar.place or None), ("limits", bar.critical or None),
                           ("collides", bar.clash or None))
        if value is not None
    }  # fmt: skip
    return {
        "ph": "X", "name": f"{bar.op.split(' ')[0]}{tile}{stage}", "cat": str(bar.kind),
        "pid": PROCESS, "tid": lane + 1, "ts": begin / per, "dur": (end - begin) / per,
        "args": args,
    }  # fmt: skip


def _flows(timeline: Timeline, rows: list[list[tuple[Bar, int, int]]], per: int) -> Iterator[Event]:
    """From the end of what arrives to the begin of what the wait let go on.

    Not to the wait itself, which began before: Perfetto turns a flow around whose target begins
    before its source.  A wait with which a row ends has none.
    """
    for number, h in enumerate(timeline.handovers, start=1):
        lane = timeline.lanes[h.source]
        begin, end = next(
            (begin, end) for bar, begin, end in rows[h.source]
            if (bar.end if lane.serial else bar.begin) == h.sent and bar.op == h.op
        )  # fmt: skip
        sent = end - 1 if lane.serial else begin
        after = [b for bar, b, _ in rows[h.target] if bar.begin >= h.received and b >= sent]
        if not after:
            continue
        same = {"name": h.barrier, "cat": "hand-over", "id": number, "pid": PROCESS}
        yield {**same, "ph": "s", "tid": h.source + 1, "ts": sent / per}
        yield {**same, "ph": "f", "bp": "e", "tid": h.target + 1, "ts": after[0] / per}
