"""Look for the smallest repair that is proved: one edit, else two, the likeliest first.

Every candidate is judged at the K of the finding, then at some more, then for every K; and what it
computes is compared with what the broken schedule meant to compute.  Nothing depends on a clock:
budgets count candidates, proofs and the ops that are unrolled, so the answer is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from schedgen.diagnostics.finding import Finding
from schedgen.fixes.edits import Candidate, Edit
from schedgen.fixes.guide import UNTRIED, is_guided, single_edits
from schedgen.fixes.intent import Intent
from schedgen.fixes.overlap import LOST, groups_in_flight
from schedgen.happens_before.every_k import judge_every_k
from schedgen.happens_before.judge import Outcome, Verdict, explicit_bound, judge
from schedgen.happens_before.kept import unrolled
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.ir.spec import verify
from schedgen.markup import Shown

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a search may cost at each of its two depths.

    ``candidates`` are the single edits that are looked at; ``proofs`` are counted one by one;
    ``ops`` are the op instances that are judged for a few K (about 30 microseconds each: 30,000 are
    a second of one processor).  ``first_edits`` are the single edits that a second one is tried
    after, ``second_edits`` those tried after each.  ``more`` are the candidates that are judged
    after a repair which costs overlap: only those that keep more groups in flight.
    """

    candidates: int
    proofs: int
    ops: int
    first_edits: int
    second_edits: int
    more: int


SMALL = Budget(candidates=120, proofs=6, ops=18_000, first_edits=2, second_edits=16, more=16)
"""What `check` spends on a word of help: less than a second on the schedules of the tests."""

FULL = Budget(candidates=500, proofs=24, ops=60_000, first_edits=6, second_edits=32, more=40)
"""What `check --fix` spends."""


@dataclass(frozen=True, kw_only=True)
class Fix(Shown):
    """A repair: the edits in order, the repaired schedule, and its verdict, which is ``proved``.

    ``before`` is the broken schedule, ``judged`` the number of candidates that were looked at,
    ``notes`` say what the repair costs.
    """

    edits: tuple[Edit, ...]
    before: Schedule
    schedule: Schedule
    verdict: Verdict
    judged: int
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The edits in words, in one line."""
        return "; ".join(edit.located for edit in self.edits)

    def _styled(self, *, width: int) -> Text:
        """The edits, and the two schedules side by side."""
        from rich.text import Text

        from schedgen.comparison import compare

        said = Text(f"{self.text}: proved for every K ({self.judged} judged)\n", style="bold green")
        fixed = replace(self.schedule, name=f"{self.schedule.name} (fixed)")
        return Text.assemble(said, compare(self.before, fixed)._styled(width=width))


@dataclass(frozen=True, kw_only=True)
class NoFix:
    """Nothing was found: how many candidates were judged, and whether the budget ended it.

    ``untried`` names what no edit touches and the finding points to, if it does.
    """

    judged: int
    complete: bool
    untried: str | None

    @property
    def text(self) -> str:
        ended = "" if self.complete else ", then the budget was spent"
        some = f"no proved fix: {self.judged} schedules with one or two edits were judged{ended}"
        return some if self.untried is None else f"{some}; never tried: {self.untried}"


def search(schedule: Schedule, verdict: Verdict, budget: Budget) -> Fix | NoFix:
    """A proved repair of a refuted schedule, or how far the search went."""
    if verdict.outcome is not Outcome.REFUTED:
        return NoFix(judged=0, complete=True, untried=None)
    run = _Search(schedule, budget)
    return run.find(verdict.findings[0])


class _Spent(Exception):
    """The budget of one depth is used up."""


class _Try(NamedTuple):
    """A candidate with the edits before its own, and the finding that it is to end."""

    before: tuple[Edit, ...]
    last: Candidate
    finding: Finding


def _may_keep_more(edit: Edit) -> bool:
    """Edits of waits and releases; others pay for the groups in flight with stages or work."""
    words = edit.subject.split(" and ")
    return "wait" in words or (edit.kind in ("lag", "move") and "release" in words)


@dataclass
class _Search:
    schedule: Schedule
    budget: Budget
    judged: int = 0
    proofs: int = 0
    ops: int = 0
    seen: set[str] = field(default_factory=set[str])
    sizes: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self.intent = Intent(self.schedule)
        self.last = explicit_bound(self.schedule)
        self.in_flight = groups_in_flight(self.schedule)
        self.seen.add(to_text(self.schedule))

    def find(self, finding: Finding) -> Fix | NoFix:
        """One edit, else two."""
        complete = True
        better: list[tuple[Candidate, Finding]] = []
        singles = single_edits(self.schedule, finding)[: self.budget.candidates]
        try:
            found = self._best((_Try((), one, finding) for one in singles), better)
            if found is not None:
                return found
        except _Spent:
            complete = False
        self.ops = self.proofs = 0
        better.sort(key=lambda pair: -_reach(pair[1]))
        if finding.code in UNTRIED:
            better = better[:1]
        complete = complete and len(better) <= self.budget.first_edits
        pairs = (
            _Try((first.edit,), second, after)
            for first, after in better[: self.budget.first_edits]
            for second in self._second_edits(first, after)
        )
        try:
            found = self._best(pairs, [])
            if found is not None:
                return found
        except _Spent:
            complete = False
        return NoFix(judged=self.judged, complete=complete, untried=UNTRIED.get(finding.code))

    def _best(self, tries: Iterator[_Try], better: list[tuple[Candidate, Finding]]) -> Fix | None:
        """The first repair, or one of the others that keeps more groups in flight.

        ``better`` gets the edits after which only something else is found.
        """
        for one in tries:
            found = self.tried(one.last, one.finding)
            if isinstance(found, Verdict):
                return self._with_more_in_flight(self._fix(one, found), tries)
            if found is not None:
                better.append((one.last, found))
        return None

    def _with_more_in_flight(self, best: Fix, rest: Iterator[_Try]) -> Fix:
        """A few of the rest, changes of a depth first: those that could keep more than ``best``."""
        if self._kept(best.schedule) == self.in_flight:
            return best
        limit = self.judged + self.budget.more
        left = [one for one in rest if _may_keep_more(one.last.edit)]
        left.sort(key=lambda one: one.last.edit.kind != "depth")
        try:
            for one in left:
                if self.judged >= limit:
                    break
                if self._kept(one.last.schedule) <= self._kept(best.schedule):
                    continue
                found = self.tried(one.last, one.finding)
                if isinstance(found, Verdict):
                    best = self._fix(one, found)
        except _Spent:
            pass
        return replace(best, judged=self.judged)

    def _kept(self, schedule: Schedule) -> int:
        """Groups in flight, as far as the broken schedule had them."""
        return min(groups_in_flight(schedule), self.in_flight)

    def _second_edits(self, first: Candidate, finding: Finding) -> list[Candidate]:
        """What the new finding points to; the rest of all pairs is not looked at.

        Fields and numbers come first, of which there are few, then the first edit once more.
        """
        guided = [c for c in single_edits(first.schedule, finding) if is_guided(c, finding)]
        again = (first.edit.kind, first.edit.subject)
        guided.sort(key=lambda c: (c.up == 0, (c.edit.kind, c.edit.subject) != again))
        return guided[: self.budget.second_edits]

    def _fix(self, one: _Try, verdict: Verdict) -> Fix:
        schedule = one.last.schedule
        lost = self.in_flight > 0 and groups_in_flight(schedule) == 0
        return Fix(
            edits=(*one.before, one.last.edit), before=self.schedule, schedule=schedule,
            verdict=verdict, judged=self.judged, notes=(LOST,) if lost else (),
        )  # fmt: skip

    def tried(self, candidate: Candidate, finding: Finding) -> Verdict | Finding | None:
        """The proof of a repair; else what is found once ``finding`` is gone; else None."""
        text = to_text(candidate.schedule)
        if text in self.seen or (candidate.risky and not _well_formed(candidate.schedule)):
            return None
        self.seen.add(text)
        self.judged += 1
        shown = 2 if finding.k is None else finding.k
        here = self._judged(candidate.schedule, (shown,))
        if here.outcome is Outcome.REFUTED:
            return _progress(here, finding)
        others = sorted({0, 1, 2, 3, shown + 1, self.last})
        verdict = self._judged(candidate.schedule, tuple(others))
        if verdict.outcome is Outcome.CHECKED and _well_formed(candidate.schedule):
            verdict = self._proved(candidate.schedule)
        if verdict.outcome is Outcome.REFUTED:
            return _progress(verdict, finding)
        fits = verdict.outcome is Outcome.PROVED and self.intent.is_kept(candidate.schedule)
        return verdict if fits else None

    def _judged(self, schedule: Schedule, trips: tuple[int, ...]) -> Verdict:
        self.ops += sum(self._size(k) for k in trips)
        if self.ops > self.budget.ops:
            raise _Spent
        return judge(schedule, trips=trips)

    def _proved(self, schedule: Schedule) -> Verdict:
        self.proofs += 1
        if self.proofs > self.budget.proofs:
            raise _Spent
        return judge_every_k(schedule)

    def _size(self, k_tiles: int) -> int:
        """Op instances of the broken schedule; a candidate has about as many."""
        if k_tiles not in self.sizes:
            try:
                self.sizes[k_tiles] = unrolled(self.schedule, k_tiles).size
            except OverBudget:
                raise _Spent from None
        return self.sizes[k_tiles]


def _reach(finding: Finding) -> int:
    return 0 if finding.k is None else finding.k


def _progress(verdict: Verdict, old: Finding) -> Finding | None:
    """The first finding where the old one is gone and nothing is found at a smaller K."""
    if any(f.code == old.code and f.k == old.k for f in verdict.findings):
        return None
    first = verdict.findings[0]
    return first if old.k is None or (first.k is not None and first.k >= old.k) else None


def _well_formed(schedule: Schedule) -> bool:
    try:
        verify(schedule)
    except IllFormed:
        return False
    return True
