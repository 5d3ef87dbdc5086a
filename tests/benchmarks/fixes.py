"""Which broken schedules `schedgen check --fix` repairs, and by which edits.

``python -m tests.benchmarks.fixes --write docs/fixes.md`` searches for a fix of every known-bad
schedule and of every refuted mutant of V5, and writes the tables of that page.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import schedgen as sg
from schedgen.fixes import FULL, SMALL, Fix, patched, search
from schedgen.ir.parser import parse
from schedgen.kernels import KERNELS
from tests.benchmarks.hazards import written
from tests.benchmarks.mutations import OPERATORS, mutants

TESTS = Path(__file__).parents[1]
KNOWN_BAD = sorted(TESTS.glob("known_bad/*.sched"))
PROCESSES = 2


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What the search made of one schedule.

    ``fix`` is None where there is none; ``good`` is the schedule without a fault that the repair is
    equal to; ``soon``: the search of plain `check` finds it too; ``layout``: the file is patched.
    """

    name: str
    group: str
    codes: tuple[str, ...]
    fix: tuple[str, ...] | None
    why: str
    judged: int
    good: str | None
    soon: bool
    layout: bool


def tried(name: str, group: str, schedule: sg.Schedule, text: str) -> Tried | None:
    """The search's result for a refuted schedule; None for any other."""
    verdict = sg.check(schedule)
    if verdict.outcome is not sg.Outcome.REFUTED:
        return None
    found = search(schedule, verdict, FULL)
    fixed = isinstance(found, Fix)
    soon = fixed and isinstance(search(schedule, verdict, SMALL), Fix)
    if fixed:
        assert sg.check(found.schedule).outcome is sg.Outcome.PROVED
    return Tried(
        name=name, group=group, codes=tuple(dict.fromkeys(f.code for f in verdict.findings)),
        fix=tuple(edit.text for edit in found.edits) if fixed else None,
        why="" if fixed else found.text, judged=found.judged,
        good=_same_as(found.schedule) if fixed else None, soon=soon,
        layout=fixed and patched(text, schedule, found.schedule).kept,
    )  # fmt: skip


@cache
def _good_ones() -> list[tuple[str, sg.Schedule]]:
    files = sorted(TESTS.glob("known_good/*.sched"))
    return [
        *((name, sg.load(name)) for name in KERNELS),
        *((file.stem, parse(file.read_text(encoding="utf-8"), file=file.name)) for file in files),
    ]


def _same_as(schedule: sg.Schedule) -> str | None:
    return next((name for name, good in _good_ones() if good == schedule), None)


def _known_bad(file: Path) -> Tried | None:
    text = file.read_text(encoding="utf-8")
    try:
        schedule = sg.load(file)
    except sg.IllFormed:
        return None
    return tried(file.stem, "", schedule, text)


def _mutant(number: int) -> Tried | None:
    mutant = list(mutants(sg.load("hopper_matmul_v5")))[number]
    text = sg.show(mutant.schedule)
    try:
        schedule = sg.parse(text)
    except sg.IllFormed:
        return None
    return tried(mutant.label, mutant.operator, schedule, text)


def known_bad_page(pool: ProcessPoolExecutor) -> Iterator[str]:
    """The generated table of the known-bad schedules."""
    results = [t for t in _progress(pool.map(_known_bad, KNOWN_BAD), "known bad") if t]
    fixed = [t for t in results if t.fix]
    yield (
        f"**{len(fixed)} of {len(results)} refuted schedules are repaired, each repair proved for "
        f"every K**; plain `check` finds {sum(t.soon for t in fixed)} of them. "
        f"{sum(len(t.fix or ()) == 1 for t in fixed)} by one edit, "
        f"{sum(len(t.fix or ()) == 2 for t in fixed)} by two; "
        f"{sum(t.good is not None for t in fixed)} end as a schedule of `kernels/` or "
        f"`tests/known_good/`, op by op."
    )
    yield (
        f"{len(KNOWN_BAD) - len(results)} more known-bad texts are ill formed (SG1xx): they have "
        f"no meaning that a repair could keep, and none is looked for."
    )
    yield ""
    yield "| schedule | codes | repair | judged | is then |"
    yield "| --- | --- | --- | --- | --- |"
    for t in results:
        repair = "<br>".join(t.fix) if t.fix else "none"
        codes = ", ".join(t.codes)
        yield f"| {t.name} | {codes} | {repair} | {t.judged} | {t.good or ''} |"


def mutant_page(pool: ProcessPoolExecutor) -> Iterator[str]:
    """The generated table of V5's refuted mutants."""
    count = sum(1 for _ in mutants(sg.load("hopper_matmul_v5")))
    results = [t for t in _progress(pool.map(_mutant, range(count)), "mutants") if t]
    fixed = [t for t in results if t.fix]
    back = [t for t in fixed if t.good is not None]
    yield (
        f"**{len(fixed)} of {len(results)} refuted mutants of V5 are repaired "
        f"({_percent(len(fixed), len(results))}), each repair proved for every K**; "
        f"{len(back)} come back as V5 or another known-good schedule, op by op."
    )
    yield ""
    yield "| operator | refuted | repaired | by one edit | V5 or another known-good one again |"
    yield "| --- | --- | --- | --- | --- |"
    refuted, repaired, single, again = (
        Counter(t.group for t in ts)
        for ts in (results, fixed, [t for t in fixed if len(t.fix or ()) == 1], back)
    )
    for operator in OPERATORS:
        if refuted[operator]:
            cells = (c[operator] for c in (refuted, repaired, single, again))
            yield f"| {operator} | {' | '.join(map(str, cells))} |"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def _progress(results: Iterator[Tried | None], what: str) -> Iterator[Tried | None]:
    for number, result in enumerate(results):
        print(f"\r{what}: {number + 1} ", end="", file=sys.stderr)
        yield result
    print(file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and write the page if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the tables of a page")
    parser.add_argument("--only", choices=["known-bad", "mutants"], help="one of the two tables")
    asked = parser.parse_args(arguments)
    makers = {"known-bad": known_bad_page, "mutants": mutant_page}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for name, maker in makers.items():
            if asked.only not in (None, name):
                continue
            lines = list(maker(pool))
            print("\n".join([*lines, ""]))
            if asked.write is not None:
                page = asked.write.read_text(encoding="utf-8")
                asked.write.write_text(written(page, name, lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
