"""The proof for every K against brute force: each K up to 40 judged alone, certificates re-checked.

    python -m tests.benchmarks.brute_force --write docs/agreement.md

Schedules change their ways at some K or k (`tests.guarded`).  What is proved must be clean at each
K; what is refuted must go wrong first at the K that the verdict names.  `tests/recheck.py` reads
the certificates.  Resumable, as `tests.benchmarks.agreement`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from hypothesis import given

import schedgen as sg
from schedgen.cli import verdict_json
from schedgen.ir.schedule import Schedule
from tests.benchmarks.campaign import Clock, Row, counted, distinct, fresh, run, setting, write_page
from tests.guarded import guarded_schedules
from tests.recheck import complaints

EXAMPLES = 25
LAST = 40
"""The largest K that is judged alone."""

OUTCOMES = ("proved", "refuted", "unsupported", "budget")


def block(number: int, *, campaign: int) -> list[Row]:
    """The schedules of a block; seeds are the campaign's times a million, and the block's."""
    rows: list[Row] = []

    @fresh(1_000_000 * campaign + 500_000 + number, EXAMPLES)
    @given(guarded_schedules())
    def draw(schedule: Schedule) -> None:
        try:
            rows.append(judged(sg.parse(sg.show(schedule), name="generated.sched")))
        except sg.IllFormed:  # a loop variable that is used outside of its loop now
            return

    draw()
    return rows


def judged(schedule: Schedule) -> Row:
    """The verdict over every K and what each K alone says."""
    clock, text = Clock(), sg.show(schedule)
    verdict = sg.check(schedule)
    outcome, ks = str(verdict.outcome), [f.k for f in verdict.findings if f.k is not None]
    first = min(ks, default=LAST)
    wrong = next((k for k in range(LAST + 1) if sg.check(schedule, k).findings), None)
    what: list[str] = []
    if outcome == "proved":
        what += [f"proved, yet wrong at K = {wrong}"] * (wrong is not None)
        value = json.loads(json.dumps(verdict_json(schedule, verdict, schedule.name)))
        what += [f"certificate: {text}" for text in complaints(value)]
    if ks and first <= LAST and wrong != first:
        what.append(f"refuted at K = {first}, alone first at {wrong}")
    row: Row = {
        "case": hashlib.sha256(text.encode()).hexdigest()[:16], "outcome": outcome,
        "upto": verdict.scope[1] if outcome == "proved" else None,
        "first": wrong, "reason": str(verdict.reason or ""),
        "codes": sorted({f.code for f in verdict.findings}), "seconds": clock.seconds,
    }  # fmt: skip
    return row | ({"disagreement": what, "text": text} if what else {})


# --- the page
def page(rows: Sequence[Row], campaign: int, blocks: int) -> Iterator[str]:
    """The generated part: what became of the schedules, and where they go wrong first."""
    yield setting(rows, f"campaign {campaign}, blocks 0..{blocks - 1} of {EXAMPLES}")
    yield ""
    odd = [r for r in rows if "disagreement" in r]
    proved = [r for r in rows if r["outcome"] == "proved"]
    yield (
        f"**{len(rows):,} schedules with guards, {len(proved):,} proved, each K = 0..{LAST} judged "
        f"alone, every certificate re-checked; {len(odd)} disagreements.**"
    )
    yield ""
    yield "| verdict | schedules | clean for K = 0..40 | wrong first at K: schedules |"
    yield "| --- | ---: | ---: | --- |"
    for outcome in OUTCOMES:
        some = [r for r in rows if r["outcome"] == outcome]
        if some:
            firsts = Counter(r["first"] for r in some if r["first"] is not None)
            told = ", ".join(f"{k}: {n}" for k, n in sorted(firsts.items())) or "-"
            clean = sum(r["first"] is None for r in some)
            yield f"| {outcome} | {len(some):,} | {clean:,} | {told} |"
    yield ""
    upto = Counter(r["upto"] for r in proved)
    ranges = ", ".join(f"{k}: {n}" for k, n in sorted(upto.items()))
    yield f"Explicit up to K: proofs that need it: {ranges}."
    yield ""
    reasons = Counter(r["reason"].split(":", 1)[-1].strip() for r in rows if r["reason"])
    kinds = Counter(_without_names(text) for text in reasons.elements())
    yield f"Why there is no proof: {counted(kinds)}."
    if odd:
        yield ""
        yield from (f"- {r['case']}: {'; '.join(r['disagreement'])}" for r in odd)


def _without_names(reason: str) -> str:
    """A reason without what it is about: text between backquotes, barriers, numbers."""
    quoted = "".join(part if i % 2 == 0 else "..." for i, part in enumerate(reason.split("`")))
    return re.sub(r"\b\d+\b", "N", re.sub(r"\b\w+\.\w+\[\d+\]", "a barrier", quoted))


def main() -> int:
    """Run, print, write; 1 if there is a disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=2_000, help="how many (2,000)")
    parser.add_argument("--campaign", type=int, default=1, help="another number, other seeds")
    parser.add_argument("--journal", type=Path, help="what is done (build/brute-force-N.jsonl)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the table of a page")
    asked = parser.parse_args()
    journal = asked.journal or Path(f"build/brute-force-{asked.campaign}.jsonl")

    lines: list[str] = []
    for number, done in enumerate(run(
        partial(block, campaign=asked.campaign), count(), journal=journal,
        enough=lambda d: len(distinct(d)) >= asked.schedules,
        told=lambda d: f"{len(distinct(d)):,} of {asked.schedules:,} schedules",
    )):  # fmt: skip
        if number % 20 == 0 or len(distinct(done)) >= asked.schedules:
            lines = list(page(distinct(done), asked.campaign, max(done, default=0) + 1))
            if asked.write is not None:
                write_page(asked.write, "brute force", lines)
    print("\n".join(lines))
    return int(any("disagreement" in r for rows in done.values() for r in rows))


if __name__ == "__main__":
    sys.exit(main())
