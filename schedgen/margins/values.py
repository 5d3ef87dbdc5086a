"""What is reported: values, each with the place that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.ops import Place
from schedgen.markup import Shown

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, kw_only=True)
class Beyond:
    """What one step beyond a limit comes to.

    ``findings`` are the codes and names of the verdict's findings, each once, smallest K first;
    ``reason`` says why there is no proof where there is no finding.
    """

    value: int
    outcome: Outcome
    findings: tuple[tuple[str, str], ...]
    reason: str | None


def beyond(value: int, verdict: Verdict) -> Beyond:
    """The verdict on the step to ``value``."""
    findings = tuple(dict.fromkeys((f.code, f.name) for f in verdict.findings))
    return Beyond(value=value, outcome=verdict.outcome, findings=findings, reason=verdict.reason)


@dataclass(frozen=True, kw_only=True)
class StageLimit:
    """The smallest number of stages of a ring that is proved, all else equal.

    Loops and guards that name ``R.stages`` follow.  ``below`` is the verdict with one stage less,
    None where one stage is enough.
    """

    ring: str
    stages: int
    least: int
    below: Beyond | None
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class DepthLimit:
    """The greatest depth of a wgmma `wait` of a loop over K that is proved, all else equal.

    Releases stay where they are.  ``places`` are the waits that were changed together: all of the
    loop's if their depths agree, else one.  ``above`` is the verdict with one more, None at the
    greatest depth that can be encoded.
    """

    role: str
    depth: int
    greatest: int
    above: Beyond | None
    places: tuple[Place | None, ...]


Basis = Literal["judged", "folded graph", "no cycle", "no wait", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Slack:
    """By how many turns of the loops over K the completions of a barrier may come later.

    ``turns`` is the greatest number that is proved, ``middle`` what the folded graph says of the
    middle of the loops alone.  ``basis`` says where ``turns`` comes from:

    - ``judged``: the schedule in which each wait of a loop over K also waits for what it would
      wait for ``turns`` turns later was proved, with one turn more it was not (``above``);
    - ``folded graph``: plain and named barriers, whose waits name no use; the middle alone;
    - ``no cycle``: nothing limits it, no cycle leads through the barrier (``turns`` is None);
    - ``no wait``: nobody waits for it in a loop over K (None);
    - ``unknown``: the middle has more events than the checker unrolls (None).
    """

    barrier: str
    turns: int | None
    middle: int | None
    basis: Basis
    above: Beyond | None
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class OrderingOp:
    """An occurrence in the text of an op that does nothing but order."""

    role: str
    op: str
    place: Place | None


@dataclass(frozen=True, kw_only=True)
class Redundancy:
    """Ops that the schedule does without: verdict, scope and products stay the same.

    ``each_alone``: every one of them was deleted alone and the rest judged.  ``together``: this set
    was deleted as a whole and the rest judged; no other op of ``each_alone`` can be added to it.
    ``undecided`` are ops without which the schedule is neither proved nor refuted.
    """

    candidates: int
    each_alone: tuple[OrderingOp, ...]
    together: tuple[OrderingOp, ...]
    undecided: tuple[OrderingOp, ...]


@dataclass(frozen=True, kw_only=True)
class Limits(Shown):
    """The room of a schedule whose verdict is ``verdict``, and what it does not need."""

    verdict: Verdict
    stages: tuple[StageLimit, ...]
    in_flight: tuple[DepthLimit, ...]
    slack: tuple[Slack, ...]
    redundant: Redundancy

    def _styled(self, *, width: int) -> Text:
        from rich.text import Text

        from schedgen.margins.report import limits_text

        return Text(limits_text(self))
