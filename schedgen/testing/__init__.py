"""For people who test schedules of their own: `assert_proved`, `assert_refuted`, and strategies.

`schedgen.testing.strategies` has schedules for hypothesis (the extra ``testing``); this module
needs nothing.
"""

from __future__ import annotations

from schedgen.api import check, placed, verdict_line, verdict_text
from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.render import finding_json
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.trips import Trips


def assert_proved(schedule: Schedule) -> Verdict:
    """The schedule is right for every K; else `AssertionError`, with the refusal and its witness.

    The witness is told step by step by the abstract machine, as `schedgen replay` does.
    """
    __tracebackhide__ = True
    verdict = check(schedule)
    if verdict.outcome is not Outcome.PROVED:
        raise AssertionError(_refusal(schedule, verdict))
    return verdict


def assert_refuted(schedule: Schedule, *, code: str, k: Trips = "all") -> Finding:
    """The schedule is refuted under that code; returns the first such finding.

    ``k`` is that of `schedgen.check`.  Raises `AssertionError` with what was found instead.
    """
    __tracebackhide__ = True
    verdict = check(schedule, k)
    for finding in verdict.findings:
        if finding.code == code:
            return finding
    found = f"{schedule.name} is not refuted under {code}"
    raise AssertionError(f"{found}\n{verdict_line(verdict, tile_k=schedule.tile.k)}\n"
                         f"{verdict_text(verdict, tile_k=schedule.tile.k)}")  # fmt: skip


def _refusal(schedule: Schedule, verdict: Verdict) -> str:
    head = f"{schedule.name}: {verdict_line(verdict, tile_k=schedule.tile.k)}"
    told = [_witness(schedule, finding) for finding in verdict.findings[:1]]
    return "\n".join([head, verdict_text(verdict, tile_k=schedule.tile.k), *told]).rstrip()


def _witness(schedule: Schedule, finding: Finding) -> str:
    from schedgen.machine.retelling import retold

    try:
        told = list(retold(placed(schedule), finding_json(finding)).lines())
        return "\n".join(told[1:])  # without the finding's own line
    except IllFormed:  # it has no witness: nothing has to run for it to be wrong
        return ""
