"""The verdict: every K of a range, causes apart from consequences, deterministic order."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from schedgen.diagnostics.finding import Finding
from schedgen.happens_before.case import Case, Violation
from schedgen.happens_before.counting import counting_violations
from schedgen.happens_before.limits import limit_findings
from schedgen.happens_before.products import coverage_violations, operand_violations
from schedgen.happens_before.progress import progress_violations
from schedgen.happens_before.races import storage_violations
from schedgen.happens_before.registers import register_violations
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.expr import Int, atoms
from schedgen.ir.schedule import If, Loop, Schedule, statements

TOTAL_EVENTS = 300_000
"""Events that one call looks at, over all K, before it says `budget`: some ten seconds."""


class Outcome(StrEnum):
    """Verdicts, worst first."""

    REFUTED = "refuted"
    UNSUPPORTED = "unsupported"
    BUDGET = "budget"
    CHECKED = "checked"
    PROVED = "proved"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found, for which K, and how often each obligation was checked.

    ``scope`` is the range of K (both ends included, in tiles) that was judged.
    """

    outcome: Outcome
    scope: tuple[int, int]
    findings: tuple[Finding, ...]
    obligations: dict[str, int]
    reason: str | None

    @property
    def ok(self) -> bool:
        return self.outcome in (Outcome.CHECKED, Outcome.PROVED)


def explicit_bound(schedule: Schedule) -> int:
    """The largest K that ``--k all`` looks at: 2 * stages + lag + depth + constants + 2.

    Beyond twice the stages, the greatest offset and wait depth and the largest constant of a bound
    or guard the program text repeats itself; that nothing new happens there is not proved here.
    """
    stages = max((r.stages for r in schedule.rings), default=1)
    lag = depth = constant = 0
    for role in schedule.roles:
        for stmt in statements(role.body):
            if isinstance(stmt, Loop):
                exprs = (stmt.first, stmt.end)
            elif isinstance(stmt, If):
                exprs = (stmt.guard.left, stmt.guard.right)
            else:
                lag = max(lag, abs(stmt.offset))
                group = stmt.effects().group
                depth = max(depth, group.depth if group is not None else 0)
                continue
            for expr in exprs:
                literals = [abs(a.value) for a in atoms(expr) if isinstance(a, Int)]
                constant = max(constant, *literals, 0)
    return 2 * stages + lag + depth + constant + 2


def judge(schedule: Schedule, *, trips: Iterable[int]) -> Verdict:
    """Judge the schedule for each K of ``trips`` (ascending, in tiles)."""
    wanted = list(trips)
    checked: Counter[str] = Counter()
    findings = list(_static(schedule, checked))
    seen: set[tuple[str, ...]] = set()
    reached: list[int] = []
    reason = None
    left = TOTAL_EVENTS
    for k_tiles in wanted:
        if left <= 0:
            reason = f"more than {TOTAL_EVENTS} events before K = {k_tiles}"
            break
        try:
            case = Case(schedule, k_tiles, checked)
            left -= len(case.before)
        except OverBudget:
            reason = f"K = {k_tiles} has more events than the checker unrolls"
            break
        findings += _causes_at(case, seen)
        reached.append(k_tiles)
    scope = (reached[0], reached[-1]) if reached else (0, -1)
    outcome = Outcome.REFUTED if findings else Outcome.BUDGET if reason else Outcome.CHECKED
    findings.sort(key=_order)
    return Verdict(
        outcome=outcome, scope=scope, findings=tuple(findings),
        obligations=dict(sorted(checked.items())), reason=reason,
    )  # fmt: skip


def _order(f: Finding) -> tuple[int, str, tuple[str, int]]:
    place = next((r.place for r in f.rows if r.place is not None), None)
    at = ("", 0) if place is None else (place.file, place.line)
    return (-1 if f.k is None else f.k, f.code, at)


def _static(schedule: Schedule, checked: Counter[str]) -> Iterator[Finding]:
    """What is wrong whatever K."""
    for code in ("SG501", "SG502", "SG503", "SG211"):
        checked[code] += 1
    seen: set[tuple[str, ...]] = set()
    for finding, key in [*limit_findings(schedule), *operand_violations(schedule)]:
        if key not in seen:
            seen.add(key)
            yield finding


def violations(case: Case) -> list[Violation]:
    """Everything that one K violates, causes and consequences alike."""
    found = [*progress_violations(case), *counting_violations(case)]
    found += [*register_violations(case), *storage_violations(case), *coverage_violations(case)]
    return found


def _causes_at(case: Case, seen: set[tuple[str, ...]]) -> Iterator[Finding]:
    """The causes that this K shows first, each with what follows from it."""
    found = violations(case)
    causes = [v for v in found if not any(_explains(case, w, v) for w in found if w is not v)]
    if found and not causes:  # mutual: take the one that comes first
        causes = [min(found, key=lambda v: (v.rank, min(v.at)))]
    merged: dict[tuple[str, ...], list[Violation]] = {}
    for v in causes:
        merged.setdefault(v.key, []).append(v)
    cause_ids = {id(v) for v in causes}
    consequences = sorted(
        {f"{v.finding.code} {v.finding.message}" for v in found if id(v) not in cause_ids}
    )
    for key, group in merged.items():
        if key in seen:
            continue
        seen.add(key)
        first = group[0]
        also = list(dict.fromkeys(v.finding.message for v in group[1:]))
        also = [text for text in also if text != first.finding.message]
        yield dataclasses.replace(
            first.finding, k=case.k_tiles, witness=case.witness(first.at), also=tuple(also[:3]),
            consequences=tuple(consequences[:4]),
        )  # fmt: skip


_TEXTUAL = frozenset({"SG301", "SG302", "SG308", "SG309", "SG310"})
_ORDERLY = frozenset({"SG303", "SG304", "SG305", "SG306"})


def _names_the_cause(cause: Violation, other: Violation) -> bool:
    """Pairs on one ring of which the first is the cause whatever the order of events.

    What the text lacks or counts wrong (a release, bytes, arrivals) does not depend on any order,
    so a phase that is overtaken, lapped or unobserved on the same ring follows from it; so does it
    from a stage that is filled unacquired, and a lapped acquire of the empty barrier from a reader
    that never waited for the fill.
    """
    code, owner = cause.finding.code, cause.key[1:2]
    other_code, other_owner = other.finding.code, other.key[1:2]
    if not owner or not other_owner or owner[0].split(".")[0] != other_owner[0].split(".")[0]:
        return False
    if code == "SG309":
        return other_code in _TEXTUAL - {"SG309"} or other_code in _ORDERLY
    if code == "SG201":
        return other_code == "SG305" and other_owner[0].endswith(".empty")
    return code in _TEXTUAL | {"SG205"} and other_code in _ORDERLY


def _explains(case: Case, cause: Violation, other: Violation) -> bool:
    """Whether ``other`` shows only after ``cause`` has shown, so that it may be a consequence."""
    if cause.key == other.key or _names_the_cause(other, cause):
        return False
    if _names_the_cause(cause, other):
        return True
    later = _after(case, cause.at, other.shows or other.at)
    earlier = _after(case, other.at, cause.shows or cause.at)
    if later and earlier:
        return (not cause.counting, cause.rank) < (not other.counting, other.rank)
    return later


def _after(case: Case, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return any(u == v or case.is_before(u, v) for u in first for v in second)
