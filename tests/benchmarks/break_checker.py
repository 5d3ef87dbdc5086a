"""Break the checker on purpose, one edge or obligation at a time, and see who notices.

    python tests/benchmarks/break_checker.py

prints a table (Markdown): for each break, how many known-bad and known-good schedules no longer get
exactly the codes that they are expected to get, and the first of them.  A break that nobody notices
is a rule without a test: exit code 1.  Nothing here is random.

One edge is not broken, since no verdict can depend on it: commit -> drain of TMA stores.  Whatever
is before the commit is before the store-wait by the order of the same warp's program, and nobody
else can come after the drain.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import schedgen as sg  # noqa: E402
from schedgen.happens_before import (  # noqa: E402
    case,
    counting,
    counting_run,
    every_k,
    judge,
    races,
    registers,
)
from schedgen.happens_before.counting_run import CountingRun as Run  # noqa: E402
from schedgen.happens_before.record import BarrierLog, EventKind  # noqa: E402
from schedgen.ir.effects import Engine  # noqa: E402
from schedgen.ir.schedule import WARP_THREADS  # noqa: E402

MOST_K = 5
"""The largest K that is looked at: later findings are the business of the proof's break."""

Codes = frozenset[tuple[str, int | None]]
Patch = tuple[object, str, Any]


class Sample(NamedTuple):
    """A schedule, the K that are judged (all: None), and the codes that it gets."""

    name: str
    schedule: sg.Schedule
    last: int | None
    expected: Codes


def expected_codes(file: Path) -> Codes:
    """What the first line of a known-bad schedule names; nothing for a known-good one."""
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith("# expect: "):
        return frozenset()
    pairs = (item.partition(" K=") for item in first.removeprefix("# expect: ").split(", "))
    return frozenset((code, int(k) if k else None) for code, _, k in pairs)


def samples(*, late: bool) -> Iterator[Sample]:
    """Known-bad and known-good schedules; the late ones are those beyond `MOST_K`."""
    files = [*(ROOT / "tests/known_bad").glob("sg[235]*.sched")]
    files += [] if late else (ROOT / "tests/known_good").glob("*.sched")
    for file in sorted(files):
        expected = expected_codes(file)
        largest = max((k for _, k in expected if k is not None), default=0)
        if (largest > MOST_K) == late:
            last = None if late else largest if expected else MOST_K
            yield Sample(file.stem, sg.load(file), last, expected)


def found(sample: Sample) -> Codes:
    """The codes of a sample's verdict, each with its smallest K."""
    verdict = sg.check(sample.schedule, "all" if sample.last is None else (0, sample.last))
    return frozenset((f.code, f.k) for f in verdict.findings)


# --- how to break it

NOTHING: Callable[..., Iterator[Any]] = lambda *_a, **_k: iter(())  # noqa: E731


def rule(module: object, name: str) -> list[Patch]:
    """An obligation is dropped: the generator of its violations yields none."""
    assert callable(getattr(module, name))
    return [(module, name, NOTHING)]


Edit = Callable[[Run, EventKind, Any, int | None, list[int]], Iterable[int]]


def edges(edit: Edit) -> list[Patch]:
    """The event graph is built with other predecessors."""
    original = Run._event

    def event(self: Run, kind: EventKind, instance: Any, actor: int | None, after: Any) -> int:
        return original(self, kind, instance, actor, edit(self, kind, instance, actor, [*after]))

    return [(Run, "_event", event)]


def by_actor(m: Run, nodes: Iterable[int], instance: Any, actor: int | None) -> list[int]:
    """Those of the nodes that the actor of a replica executed itself."""
    return [
        n for n in nodes
        if (e := m.events[n]).actor == actor and e.instance is not None
        and e.instance.role is instance.role and e.instance.replica == instance.replica
    ]  # fmt: skip


def without(kind: EventKind, *, of: EventKind) -> list[Patch]:
    """Events of a kind come without their predecessors of another kind."""

    def edit(m: Run, k: EventKind, _i: Any, _a: int | None, after: list[int]) -> list[int]:
        return [n for n in after if m.events[n].kind is not of] if k is kind else after

    return edges(edit)


def returns_without_others(effect: str) -> list[Patch]:
    """A wait returns with nothing before it but its own actor."""

    def edit(m: Run, k: EventKind, i: Any, a: int | None, after: list[int]) -> list[int]:
        concerned = k is EventKind.RETURN and getattr(i.effects, effect) is not None
        return by_actor(m, after, i, a) if concerned else after

    return edges(edit)


def sisters_at_random(m: Run, k: EventKind, i: Any, a: int | None, after: list[int]) -> list[int]:
    """Sister warps do not execute their program in order."""
    if i is None or not a or k not in (EventKind.ISSUE, EventKind.START, EventKind.RETURN):
        return after
    own = by_actor(m, after, i, a)
    return [n for n in after if n not in own]


def elected_alone(m: Run, k: EventKind, _i: Any, _a: int | None, after: list[int]):
    """An mma may retire when the elected warp has issued it."""
    if k is not EventKind.RETIRE:
        return after
    return [n for n in after if m.events[n].actor in (0, None)]


def ends_at_issue(engine: Engine) -> list[Patch]:
    """Accesses of an engine are over when they are issued."""
    original = Run.end_of

    def end_of(self: Run, replica: int, seq: int, actor: int) -> int | None:
        if self.replicas[replica][seq].effects.engine is engine:
            return self.issues[replica, seq][actor]
        return original(self, replica, seq, actor)

    return [(Run, "end_of", end_of)]


def intervals_of_the_elected(judged: Any) -> Any:
    """A collective access is taken to begin with the elected warp's issue."""
    made = INTERVALS(judged)
    return {
        key: sorted((dataclasses.replace(i, starts=i.starts[:1]) for i in group), key=_first)
        for key, group in made.items()
    }


def _first(interval: Any) -> int:
    return interval.starts[0]


def exact_count_ignored(log: Any) -> None:
    """A phase closes at its first arrival."""
    if log.tx == 0 and log.pending < log.count:
        log.phases.append(type(log.phases[-1])())
        log.pending = log.count


def half_as_far(schedule: sg.Schedule) -> Any:
    """The certificate of the proof with half of the explicit range."""
    made = PROVE(schedule)
    return dataclasses.replace(made, explicit=made.explicit // 2)


PROVE = every_k.prove
INTERVALS = case.intervals
E = EventKind
BREAKS: dict[str, list[Patch]] = {
    "edge: program order of sister warps": edges(sisters_at_random),
    "edge: issue -> land": without(E.LAND, of=E.ISSUE),
    "edge: issue -> retire": without(E.RETIRE, of=E.ISSUE),
    "edge: issue -> retire, of sister warps": edges(elected_alone),
    "edge: retire -> retire of the next group": without(E.RETIRE, of=E.RETIRE),
    "edge: retire -> return of a wait": without(E.RETURN, of=E.RETIRE),
    "edge: drain -> return of a store-wait read": without(E.RETURN, of=E.DRAIN),
    "edge: written -> return of a store-wait": without(E.RETURN, of=E.WRITTEN),
    "edge: contributor -> return of a barrier wait": returns_without_others("wait"),
    "edge: entry -> return of a named barrier": returns_without_others("sync"),
    "edge: landing -> return of a barrier wait": without(E.RETURN, of=E.LAND),
    "actors: one for each role": [
        (counting_run, "actor_threads", lambda role: [WARP_THREADS * role.warps])
    ],
    "interval: an mma ends at its issue": ends_at_issue(Engine.TENSOR),
    "interval: a load ends at its issue": ends_at_issue(Engine.TMA),
    "interval: a TMA store ends at its issue": ends_at_issue(Engine.TMA_STORE),
    "interval: a collective op begins with the elected warp": [
        (case, "intervals", intervals_of_the_elected)
    ],
    "barrier: a phase closes at its first arrival": [(BarrierLog, "_flip", exact_count_ignored)],
    "P1: surplus of arrivals": rule(counting, "_too_many"),
    "P1, P2: a wait that lacks arrivals or bytes": rule(judge, "progress_violations"),
    "P2: an expect after the arrivals": rule(counting, "_late_expects"),
    "P2: bytes that are left over": rule(counting, "_bytes_left_over"),
    "P3: no overtaking": rule(counting, "_overtaken"),
    "P4: not early": rule(counting, "_early"),
    "P5: not lapped": rule(counting, "_lapped"),
    "P6: observed": rule(counting, "_unobserved"),
    "rule: negative uses": rule(counting, "_negative_uses"),
    "rule: races": [(races, "_conflict", lambda *_: False)],
    "rule: contents of a slot": rule(races, "_contents"),
    "rule: proxy fences": rule(races, "_proxies"),
    "rule: wgmma fences, accumulators": rule(registers, "_accumulators"),
    "rule: uncommitted mma": rule(registers, "_uncommitted"),
    "rule: in flight at exit": rule(registers, "_at_exit"),
    "rule: coverage": rule(judge, "coverage_violations"),
    "rule: limits": rule(judge, "limit_findings"),
    "rule: operands": rule(judge, "operand_violations"),
    "rule: staging buffers": rule(judge, "staging_violations"),
}
PROOF_BREAKS: dict[str, list[Patch]] = {
    "proof: half of the explicit range": [(every_k, "prove", half_as_far)],
}


def changed(patches: list[Patch], over: list[Sample]) -> list[str]:
    """The names of the samples whose codes are not the expected ones under the patches."""
    with ExitStack() as stack:
        for target, name, value in patches:
            stack.enter_context(mock.patch.object(target, name, value))
        names: list[str] = []
        for sample in over:
            try:
                codes = found(sample)
            except Exception as error:  # a broken checker may trip over itself: noticed too
                codes = frozenset({(type(error).__name__, None)})
            if codes != sample.expected:
                names.append(sample.name)
        return names


def main() -> int:
    early, late = list(samples(late=False)), list(samples(late=True))
    assert changed([], early) == []
    assert changed([], late) == []
    print(f"{len(early)} schedules, {len(late)} more for the proof\n")
    print("| break | schedules that notice | first |\n| --- | ---: | --- |")
    unnoticed = 0
    for breaks, over in ((BREAKS, early), (PROOF_BREAKS, late)):
        for name, patches in breaks.items():
            names = changed(patches, over)
            unnoticed += not names
            print(f"| {name} | {len(names)} | {names[0] if names else '-'} |", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    raise SystemExit(main())
