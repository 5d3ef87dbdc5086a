"""Ops without which the schedule is just as good.

Candidates are the occurrences of ops that only order: they wait (for a barrier, a group, the other
warps) or fence, and move, signal and count nothing.  One is redundant iff the schedule without it
has the same verdict, scope and products; so it is deleted, and what is left is judged for every K.
A set is reported only if it was deleted and judged as a whole: of two waits that do the same each
is redundant, both are not.

This is what the model of the machine says (`schedgen axioms`).  What a compiler makes of a kernel
without the op is not looked at here: `schedgen build` shows whether ptxas still takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from schedgen.happens_before.every_k import judge_every_k
from schedgen.happens_before.judge import Outcome, Verdict, judge
from schedgen.happens_before.kept import KEEPS, Unrolled, unrolled
from schedgen.ir.ops import Op
from schedgen.ir.schedule import Schedule
from schedgen.margins.edits import Path, walk, without
from schedgen.margins.values import OrderingOp, Redundancy

Occurrence = tuple[Path, Op]
Progress = Callable[[str], None]

PRODUCTS = next(keep for keep in KEEPS if keep.name == "products")


def only_orders(op: Op) -> bool:
    """Whether all that an op does is to wait or to fence."""
    e = op.effects()
    waits = e.wait is not None or e.sync is not None or e.fence is not None
    waits = waits or (e.group is not None and e.group.action == "wait")
    return waits and not (e.accesses or e.signal is not None or e.cursor is not None)


def redundancy(schedule: Schedule, verdict: Verdict, progress: Progress) -> Redundancy:
    """What the schedule, whose verdict is ``verdict``, does without."""
    search = _Search(schedule, verdict, progress)
    found = [(path, op) for path, op in walk(schedule) if isinstance(op, Op) and only_orders(op)]
    outcomes = [(one, search.without([one])) for one in found]
    alone = [one for one, outcome in outcomes if outcome is verdict.outcome]
    known = (verdict.outcome, Outcome.REFUTED)
    return Redundancy(
        candidates=len(found),
        each_alone=tuple(_named(schedule, alone)),
        together=tuple(_named(schedule, search.greatest(alone))),
        undecided=tuple(_named(schedule, [one for one, o in outcomes if o not in known])),
    )


def _named(schedule: Schedule, occurrences: Sequence[Occurrence]) -> Iterator[OrderingOp]:
    for path, op in occurrences:
        yield OrderingOp(role=schedule.roles[path[0]].name, op=op.text, place=op.place)


class _Search:
    """Deletes and judges."""

    def __init__(self, schedule: Schedule, verdict: Verdict, progress: Progress) -> None:
        self.schedule = schedule
        self.verdict = verdict
        self.progress = progress
        self.programs: dict[int, Unrolled] = {}

    def without(self, ops: Sequence[Occurrence]) -> Outcome:
        """The verdict on the rest; also ``refuted`` where the products are others."""
        text = f"`{ops[0][1].text}`" if len(ops) == 1 else f"{len(ops)} ops"
        self.progress(f"without {text}")
        rest = without(self.schedule, {path for path, _ in ops})
        last = self.verdict.scope[1]
        if judge(rest, trips=(last,)).outcome is Outcome.REFUTED:
            return Outcome.REFUTED  # the usual case, and quickly seen
        verdict = judge_every_k(rest)
        if verdict.outcome is not self.verdict.outcome:
            return verdict.outcome
        k_range = range(max(last, verdict.scope[1]) + 1)
        kept = all(self._same_products(rest, k) for k in k_range)
        return verdict.outcome if kept else Outcome.REFUTED

    def _same_products(self, rest: Schedule, k_tiles: int) -> bool:
        if k_tiles not in self.programs:
            self.programs[k_tiles] = unrolled(self.schedule, k_tiles)
        after = unrolled(rest, k_tiles)
        return PRODUCTS.difference(self.programs[k_tiles], after) is None

    def greatest(self, alone: Sequence[Occurrence]) -> list[Occurrence]:
        """A set that can go as a whole, and to which no other of these ops can be added."""
        if len(alone) < 2 or self.without(alone) is self.verdict.outcome:
            return list(alone)
        chosen = [alone[0]]
        grew = True
        while grew:
            grew = False
            for one in (o for o in alone if o not in chosen):
                if self.without([*chosen, one]) is self.verdict.outcome:
                    chosen.append(one)
                    grew = True
        return [one for one in alone if one in chosen]
