"""The verdict: every K of a range, causes apart from consequences, deterministic order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.render import tiles
from schedgen.happens_before.case import Breach, Case, Past, Violation
from schedgen.happens_before.causes import causes_at, under_later_causes
from schedgen.happens_before.counting import counting_violations
from schedgen.happens_before.forking import Stem
from schedgen.happens_before.limits import limit_findings
from schedgen.happens_before.matching import Matching
from schedgen.happens_before.products import coverage_violations
from schedgen.happens_before.progress import progress_violations
from schedgen.happens_before.races import storage_violations
from schedgen.happens_before.registers import register_violations
from schedgen.happens_before.staging import operand_violations, staging_violations
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.expr import Binary, Expr, Name, Stages, atoms, evaluate
from schedgen.ir.schedule import If, Loop, Schedule, statements

if TYPE_CHECKING:
    from schedgen.happens_before.proof.certificate import Certificate

TOTAL_EVENTS = 150_000
"""Events that one call executes, over all K, before it says `budget`: a few seconds.  What many K
have in common counts once.  A tenth of it where the declarations alone refute the schedule."""


LEAST_EVENTS = 30
"""What a K costs at least, however little it unrolls."""


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

    ``scope`` is the range of K (both ends included, in tiles) that was judged one by one;
    ``certificate`` says why a proof holds for all others.  ``schedule`` is what was judged, as
    `schedgen.check` has it (with places).
    """

    outcome: Outcome
    scope: tuple[int, int]
    findings: tuple[Finding, ...]
    obligations: dict[str, int]
    reason: str | None
    certificate: Certificate | None = None
    schedule: Schedule | None = field(default=None, compare=False, repr=False)

    @property
    def ok(self) -> bool:
        return self.outcome in (Outcome.CHECKED, Outcome.PROVED)


def explicit_bound(schedule: Schedule) -> int:
    """The largest K that ``--k all`` looks at: 2 * stages + lag + depth + constants + 2.

    Beyond twice the stages, the greatest offset and wait depth and the largest constant of a bound
    or guard the program text repeats itself; that nothing new happens there is not proved here.
    """
    stages = sum(r.stages for r in schedule.rings)
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
                constant = max(constant, *_constants(expr, schedule.stages), 0)
    return 2 * stages + lag + depth + constant + 2


def _constants(expr: Expr, stages: Mapping[str, int]) -> Iterator[int]:
    """The sizes of all parts of an expression that do not depend on K or a loop.

    A bare ``R.stages`` is left out: the bound counts the stages twice anyway.
    """
    if not isinstance(expr, Stages) and not any(isinstance(a, Name) for a in atoms(expr)):
        yield abs(evaluate(expr, {}, stages))
    if isinstance(expr, Binary):
        yield from _constants(expr.left, stages)
        yield from _constants(expr.right, stages)


def judge(schedule: Schedule, *, trips: Iterable[int]) -> Verdict:
    """Judge the schedule for each K of ``trips`` (ascending, in tiles)."""
    checked: Counter[str] = Counter()
    findings = list(_static(schedule, checked))
    seen: set[tuple[str, ...]] = set()
    reached: list[int] = []
    reason = None
    left = TOTAL_EVENTS // 10 if findings else TOTAL_EVENTS
    stem = Stem(schedule, breaches)
    all_clean = True
    for k_tiles, following in _with_next(trips):
        if left <= 0:
            reason = f"the event budget was spent before K = {k_tiles}"
            break
        try:
            clean = stem.judge(k_tiles, following) if all_clean else None
            if clean is not None:
                events, obligations = clean
                checked += obligations
            else:
                all_clean = False
                case = Case(Matching(schedule, k_tiles), checked, Past())
                events = len(case.before)
                findings += causes_at(case, violations(case), seen)
        except OverBudget:
            span = tiles(k_tiles, schedule.tile.k)
            reason = f"K = {span} has more events than the checker unrolls"
            break
        left -= max(events, LEAST_EVENTS)
        reached.append(k_tiles)
    scope = (reached[0], reached[-1]) if reached else (0, -1)
    outcome = Outcome.REFUTED if findings else Outcome.BUDGET if reason else Outcome.CHECKED
    findings = sorted(under_later_causes(findings), key=_order)
    return Verdict(
        outcome=outcome, scope=scope, findings=tuple(findings),
        obligations={code: n for code, n in sorted(checked.items()) if n}, reason=reason,
    )  # fmt: skip


def _with_next(trips: Iterable[int]) -> Iterator[tuple[int, int | None]]:
    """Each K with the one after it."""
    ahead = iter(trips)
    here = next(ahead, None)
    while here is not None:
        following = next(ahead, None)
        yield here, following
        here = following


def _order(f: Finding) -> tuple[int, str, tuple[str, int]]:
    place = next((r.place for r in f.rows if r.place is not None), None)
    at = ("", 0) if place is None else (place.file, place.line)
    return (-1 if f.k is None else f.k, f.code, at)


def _static(schedule: Schedule, checked: Counter[str]) -> Iterator[Finding]:
    """What is wrong whatever K."""
    for code in ("SG501", "SG502", "SG503", "SG211", "SG216"):
        checked[code] += 1
    seen: set[tuple[str, ...]] = set()
    for finding, key in [
        *limit_findings(schedule),
        *operand_violations(schedule),
        *staging_violations(schedule),
    ]:
        if key not in seen:
            seen.add(key)
            yield finding


def breaches(case: Case) -> Iterator[Breach]:
    """Everything that a part of a run violates, to be told when asked."""
    if case.matching.ended:
        yield from progress_violations(case)
    yield from counting_violations(case)
    yield from register_violations(case)
    yield from storage_violations(case)
    yield from coverage_violations(case)


def violations(case: Case) -> Iterator[Violation]:
    """Everything that one K violates, causes and consequences alike."""
    return (breach() for breach in breaches(case))
