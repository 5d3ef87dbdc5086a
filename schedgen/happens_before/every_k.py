"""The verdict for every K: an explicit range, and the proof that nothing new happens beyond it."""

from __future__ import annotations

import dataclasses

from schedgen.happens_before.judge import Outcome, Verdict, explicit_bound, judge
from schedgen.happens_before.proof.certificate import prove
from schedgen.happens_before.proof.text import Obstacle
from schedgen.ir.schedule import Schedule

MOST_EXPLICIT = 48
"""Without a proof, K up to `explicit_bound`, but no further than this, are looked at."""


def judge_every_k(schedule: Schedule) -> Verdict:
    """``proved`` for every K >= 0, or what stands against it.

    ``refuted`` where some K of the explicit range breaks the schedule, ``unsupported`` where none
    does and the proof does not apply; its reason says why.
    """
    try:
        certificate = prove(schedule)
    except Obstacle as obstacle:
        last = min(explicit_bound(schedule), MOST_EXPLICIT)
        verdict = judge(schedule, trips=range(last + 1))
        if verdict.outcome is Outcome.REFUTED:
            return verdict
        reason = f"no proof for every K: {obstacle}"
        return dataclasses.replace(verdict, outcome=Outcome.UNSUPPORTED, reason=reason)
    verdict = judge(schedule, trips=range(certificate.explicit + 1))
    if verdict.outcome is not Outcome.CHECKED:
        return verdict
    return dataclasses.replace(verdict, outcome=Outcome.PROVED, certificate=certificate)
