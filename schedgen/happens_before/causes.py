"""Causes apart from consequences: one cause, one finding.

Violations of one K are grouped by key (code, ring or role).  A violation is a consequence if it
shows only after another group's violations have made things uncertain; where two show after each
other, counting comes before races, then rank decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.progress import ArrivalCount, LappedWait
from schedgen.happens_before.case import Case, Violation

MEMBERS = 6
"""Violations of a group that are looked at one by one; all of them count as possible causes."""

MOST_ALSO = 3
MOST_CONSEQUENCES = 4

_TEXTUAL = ("SG309", "SG308", "SG301", "SG310", "SG302")  # the earlier explains the later
_RACES = frozenset({"SG201", "SG202", "SG203", "SG204", "SG205", "SG213"})
_RESULTS = frozenset({"SG209", "SG215"})  # what is computed explains nothing about order,
_DATA = frozenset({"SG202", "SG206", "SG208", "SG210"})  # nor do wrong data, but for loose ends
_ORDERLY = frozenset({"SG303", "SG304", "SG305", "SG306"})


@dataclass(eq=False)
class _Group:
    """The violations of one key; ``told`` are the first few."""

    first: Violation
    members: list[Violation] = field(default_factory=list[Violation])

    @property
    def told(self) -> list[Violation]:
        return self.members[:MEMBERS]


def causes_at(
    case: Case, found: Iterable[Violation], seen: set[tuple[str, ...]]
) -> Iterator[Finding]:
    """The causes that this K shows first, each with what follows from it.

    ``seen`` holds what smaller K have shown: a code on a ring or role is reported once, and a ring
    whose text counts wrong is left alone afterwards.
    """
    groups: dict[tuple[str, ...], _Group] = {}
    for v in found:
        groups.setdefault(v.key, _Group(v)).members.append(v)
    roots: dict[tuple[str, ...], list[Violation]] = {}
    consequences: list[Violation] = []
    for key, group in groups.items():
        for v in group.told:
            if any(_explains(case, other, v) for other in groups.values() if other is not group):
                consequences.append(v)
            else:
                roots.setdefault(key, []).append(v)
    if groups and not roots:  # each explains another: take the one that comes first
        least = min(groups.values(), key=lambda g: (g.first.rank, min(g.first.at)))
        roots[least.first.key] = [least.first]
        consequences = [v for v in consequences if v is not least.first]
    also_so = sorted({f"{v.finding.code} {v.finding.message}" for v in consequences})
    fresh = [m for key, m in roots.items() if not _is_known(key, seen)]
    for members in fresh:
        key = members[0].key
        seen.add((key[0], ring_of(key)))
        if key[0] in _TEXTUAL:
            seen.add((ring_of(key),))
        yield _finding(case, members, also_so)


def under_later_causes(findings: Sequence[Finding]) -> list[Finding]:
    """Without the lapped waits of rings whose arrivals count wrong, which may show at a larger K.

    They are told as what follows from that.
    """
    counts = {
        f.barrier.partition(".")[0]: f for f in reversed(findings) if isinstance(f, ArrivalCount)
    }
    kept: list[Finding] = []
    told: dict[int, list[str]] = {}
    for f in findings:
        cause = counts.get(f.barrier.partition(".")[0]) if isinstance(f, LappedWait) else None
        if cause is None:
            kept.append(f)
        else:
            told.setdefault(id(cause), []).append(f"{f.code} {f.message}, from K = {f.k} on")
    return [
        dataclasses.replace(f, consequences=(*told[id(f)], *f.consequences)) if id(f) in told else f
        for f in kept
    ]


def ring_of(key: tuple[str, ...]) -> str:
    """The ring, barrier or role that a key speaks of, empty where there is none."""
    return key[1].partition(".")[0] if len(key) > 1 else ""


def _is_known(key: tuple[str, ...], seen: set[tuple[str, ...]]) -> bool:
    ring = ring_of(key)
    return (key[0], ring) in seen or (bool(ring) and (ring,) in seen)


def _finding(case: Case, members: list[Violation], consequences: list[str]) -> Finding:
    first = members[0]
    messages = dict.fromkeys(v.finding.message for v in members)
    also = [text for text in messages if text != first.finding.message]
    nodes = range(len(case.before)) if first.whole_run else first.leads_to or first.at
    return dataclasses.replace(
        first.finding, k=case.k_tiles, witness=case.witness(nodes),
        also=tuple(also[:MOST_ALSO]), consequences=tuple(consequences[:MOST_CONSEQUENCES]),
    )  # fmt: skip


def _names_the_cause(cause: Violation, other: Violation) -> bool:
    """Pairs on one ring of which the first is the cause whatever the order of events.

    What the text lacks or counts wrong (a release, bytes, arrivals) does not depend on any order.
    A phase that is overtaken, lapped or unobserved on the same ring follows from it, and a circle
    of waits anywhere; from wrong counts, the races on that ring too.  Such a phase also follows
    from a stage that is filled unacquired, and a lapped acquire of the empty barrier from a reader
    that never waited for the fill.
    """
    code, owner = cause.finding.code, cause.key[1:2]
    other_code, other_owner = other.finding.code, other.key[1:2]
    if code in _TEXTUAL and other_code == "SG307":
        return True
    if not owner or not other_owner or ring_of(cause.key) != ring_of(other.key):
        return False
    if code in _TEXTUAL and other_code in _TEXTUAL:
        return _TEXTUAL.index(code) < _TEXTUAL.index(other_code)
    if code == "SG201":
        return other_code == "SG305" and other_owner[0].endswith(".empty")
    if code == "SG204":
        return other_code in ("SG201", "SG213")
    if code in ("SG301", "SG302") and other_code in _RACES:
        return True
    return code in (*_TEXTUAL, "SG205") and other_code in _ORDERLY


def _explains(case: Case, cause: _Group, other: Violation) -> bool:
    """Whether ``other`` shows only after ``cause`` has shown, so that it may be a consequence."""
    first = cause.first
    if first.finding.code in _RESULTS or _names_the_cause(other, first):
        return False
    if first.finding.code in _DATA and other.finding.code not in ("SG209", "SG214"):
        return False
    if _names_the_cause(first, other):
        return True
    return any(_precedes(case, v, other) for v in cause.members)


def _precedes(case: Case, cause: Violation, other: Violation) -> bool:
    if not _follows(case, cause.at, other.shows or other.at):
        return False
    if _follows(case, other.at, cause.shows or cause.at):
        return (not cause.counting, cause.rank) < (not other.counting, other.rank)
    return True


def _follows(case: Case, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether some event of ``second`` is, or comes after, one of ``first``."""
    return any(u == v or case.is_before(u, v) for u in first for v in second)
