"""Limits as text of 80 columns and as JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from schedgen.ir.ops import Place
from schedgen.margins.values import Beyond, Limits, OrderingOp, Redundancy, Slack

WIDTH = 80


class _Row(NamedTuple):
    """What it is about, the limit, what lies beyond, and where it stands."""

    subject: str
    limit: str
    note: str
    place: Place | None


def limits_text(limits: Limits) -> str:
    """One line for each limit, with its place at the right edge (below where it does not fit)."""
    return "\n".join(_lines(limits)) + "\n"


def _lines(limits: Limits) -> Iterator[str]:
    if limits.stages:
        yield "least stages, all else equal"
        yield from _table(
            _Row(s.ring, f"{s.least} of {s.stages}", _beyond(s.below), s.place)
            for s in limits.stages
        )
    if limits.in_flight:
        yield "greatest depth of `wait` in a loop over K, all else equal"
        yield from _table(
            _Row(d.role, f"{d.greatest} (now {d.depth})", _beyond(d.above), d.places[0])
            for d in limits.in_flight
        )
    if limits.slack:
        yield "slack: turns by which the completions of a barrier may come later, each alone"
        yield from _table(
            _Row(s.barrier, _turns(s), _basis(s) or _beyond(s.above), _own_place(s, limits))
            for s in limits.slack
        )
    yield from _redundant(limits.redundant)


def _beyond(step: Beyond | None) -> str:
    if step is None:
        return ""
    if not step.findings:
        return f"with {step.value}: {step.outcome}"
    named = ", ".join(f"{code} {name}" for code, name in step.findings)
    return f"with {step.value}: {named}"


def _turns(slack: Slack) -> str:
    return "-" if slack.turns is None else str(slack.turns)


def _own_place(slack: Slack, limits: Limits) -> Place | None:
    """The place of a barrier, None for those of rings: they have a line above."""
    return None if slack.place in [s.place for s in limits.stages] else slack.place


def _basis(slack: Slack) -> str:
    match slack.basis:
        case "judged":
            if slack.turns == slack.middle:
                return ""
            return f"{slack.middle} in the middle; {_beyond(slack.above)}"
        case "folded graph":
            return "by the folded graph alone"
        case "no cycle":
            return "unbounded: no cycle leads through it"
        case "no wait":
            return "no loop over K waits for it"
        case "unknown":
            return "unknown: too many events"


def _redundant(found: Redundancy) -> Iterator[str]:
    candidates = f"{found.candidates} ops that only order"
    if not found.each_alone:
        yield f"redundant: none of the {candidates}"
    elif found.together == found.each_alone:
        words = "" if len(found.together) == 1 else ", each alone and all together"
        yield f"redundant{words}: {len(found.together)} of {candidates}"
        yield from _ops(found.together)
    else:
        yield f"redundant, each alone: {len(found.each_alone)} of {candidates}"
        yield from _ops(found.each_alone)
        yield f"redundant together: {len(found.together)} of these"
        yield from _ops(found.together)
    if found.undecided:
        yield f"neither proved nor refuted without it: {len(found.undecided)}"
        yield from _ops(found.undecided)


def _ops(ops: Iterable[OrderingOp]) -> Iterator[str]:
    return _table(_Row(o.role, o.op, "", o.place) for o in ops)


def _table(rows: Iterable[_Row]) -> Iterator[str]:
    listed = list(rows)
    subjects = max(len(row.subject) for row in listed)
    limits = max(len(row.limit) for row in listed)
    for row in listed:
        line = f"  {row.subject:<{subjects}}  {row.limit:<{limits}}  {row.note}".rstrip()
        place = "" if row.place is None else str(row.place)
        if len(line) + 2 + len(place) <= WIDTH:
            yield (line + place.rjust(WIDTH - len(line))).rstrip()
        else:
            yield line
            yield place.rjust(WIDTH)


def limits_json(limits: Limits) -> dict[str, Any]:
    """The fields of `values.Limits` without the verdict.

    ``{"stages": [{"ring", "stages", "least", "below": BEYOND, "place": PLACE}],
    "in_flight": [{"role", "depth", "greatest", "above": BEYOND, "places": [PLACE]}],
    "slack": [{"barrier", "turns", "middle", "basis", "above": BEYOND, "place": PLACE}],
    "redundant": {"candidates", "each_alone": [OP], "together": [OP], "undecided": [OP]}}``

    with BEYOND ``{"value", "verdict", "findings": [{"code", "name"}], "reason"}`` or null, PLACE
    ``{"file", "line", "column"}`` or null, OP ``{"role", "op", "place": PLACE}``.
    """
    return {
        "stages": [{**_plain(s), "below": _beyond_json(s.below)} for s in limits.stages],
        "in_flight": [{**_plain(d), "above": _beyond_json(d.above)} for d in limits.in_flight],
        "slack": [{**_plain(s), "above": _beyond_json(s.above)} for s in limits.slack],
        "redundant": _plain(limits.redundant),
    }


def _plain(value: Any) -> dict[str, Any]:
    return dataclasses.asdict(value)


def _beyond_json(step: Beyond | None) -> dict[str, Any] | None:
    if step is None:
        return None
    findings = [{"code": code, "name": name} for code, name in step.findings]
    return {
        "value": step.value, "verdict": str(step.outcome), "findings": findings,
        "reason": step.reason,
    }  # fmt: skip
