"""Checker and explorer compared on tens of thousands of cases, and the interpreter beside them.

    python -m tests.benchmarks.agreement --write docs/agreement.md

goes on where an earlier run of the same seed was stopped (``--journal``), writes the table as it
goes, and ends with 1 where something is left unexplained.  ``--block N`` does one block again and
prints its disagreements.  The statements that are compared are those of `tests.agreement`.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from hypothesis import given

import schedgen as sg
from schedgen.ir.schedule import Schedule
from schedgen.machine import UnfitOperands, adversaries, execute
from tests.agreement import ALL_KINDS, Comparison, compare
from tests.benchmarks.campaign import Clock, Row, counted, distinct, fresh, run, setting, write_page
from tests.benchmarks.evidence import whole_numbers
from tests.mutations import MUTATIONS
from tests.small_cases import FAMILIES, Case, edited_cases

FIRST = (None, *MUTATIONS)
"""The first edit of the cases of a block, in turn; none in every 16th."""

EXAMPLES = 50
STATES = 20_000


def block(number: int, *, campaign: int) -> list[Row]:
    """The cases of a block.  Seeds are the campaign's times a million, and the block's number."""
    rows: list[Row] = []

    @fresh(1_000_000 * campaign + number, EXAMPLES)
    @given(edited_cases(FIRST[number % len(FIRST)]))
    def draw(case: Case) -> None:
        rows.append(judged(case))

    draw()
    return rows


def judged(case: Case) -> Row:
    """Both judges on one case, and the interpreter if they accept it."""
    clock, text = Clock(), sg.show(case.schedule)
    found = compare(case.schedule, case.k_tiles, budget=STATES)
    refused = bool(found.claims)
    wrong = [] if refused else interpreted(case.schedule, case.k_tiles)
    what = [f"reached, not named: {kind}" for kind in found.unnamed]
    what += [f"named, not reached: {code}" for code in found.unreached if found.complete]
    what += [f"accepted, yet {hazard}" for hazard in wrong]
    row: Row = {
        "case": hashlib.sha256(f"{text}{case.k_tiles}".encode()).hexdigest()[:16],
        "family": case.family, "edits": case.edits, "k": case.k_tiles, "refused": refused,
        "causes": sorted(found.causes), "kinds": sorted(found.first.kinds | found.further.kinds),
        "named": named(found), "states": found.first.states, "complete": found.complete,
        "seconds": clock.seconds,
    }  # fmt: skip
    if what:
        row |= {"disagreement": what, "text": text, "said": str(found)}
    return row


def named(found: Comparison) -> dict[str, list[str]]:
    """Each kind that is reached, and the causes that may mean it."""
    kinds = found.first.kinds | found.further.kinds
    return {
        kind: sorted(
            {c.code for c in found.claims if kind in c.names.shows and c.code in found.causes}
        )
        for kind in sorted(kinds)
    }


def interpreted(schedule: Schedule, k_tiles: int) -> list[str]:
    """What goes wrong under the late and the early adversaries, or a product that is another."""
    numbers, exact = whole_numbers(schedule, k_tiles)
    has_product = sg.check(schedule, k_tiles).ok
    wrong: set[str] = set()
    for policy in adversaries(schedule):
        operands = numbers if has_product else None
        try:
            done = execute(
                schedule, k_tiles=k_tiles, policy=policy, operands=operands, stop_at_first=True
            )
        except UnfitOperands as error:
            wrong.add(str(error))
            continue
        wrong |= {f"{hazard.kind} ({policy})" for hazard in done.hazards}
        if has_product and not np.array_equal(done.product, exact):
            wrong.add(f"another product ({policy})")
    return sorted(wrong)


# --- the page
def page(rows: Sequence[Row], campaign: int, blocks: int) -> Iterator[str]:
    """The generated part: the sum, then a row per family, operator and kind of hazard."""
    seeds = f"campaign {campaign}, blocks 0..{blocks - 1} of {EXAMPLES}"
    yield setting(rows, seeds)
    yield ""
    given_up = [r for r in rows if not r["complete"]]
    odd = [r for r in rows if "disagreement" in r]
    yield (
        f"**{len(rows):,} cases, {sum(r['refused'] for r in rows):,} refused, "
        f"{sum(not r['refused'] for r in rows):,} accepted; {len(odd)} disagreements; "
        f"{len(given_up)} ({100 * len(given_up) / max(len(rows), 1):.2f} %) beyond "
        f"{STATES:,} states.**"
    )
    yield ""
    yield from _table("family", {name: [r for r in rows if r["family"] == name]
                                 for name in FAMILIES})  # fmt: skip
    yield ""
    by_edit = {"(none)": [r for r in rows if not r["edits"]]}
    by_edit |= {name: [r for r in rows if name in r["edits"]] for name in MUTATIONS}
    yield from _table("edit", by_edit)
    yield ""
    yield "| kind | cases that reach it | causes that show as it |"
    yield "| --- | ---: | --- |"
    for kind in sorted(ALL_KINDS):
        there = [r for r in rows if kind in r["named"]]
        codes = Counter(code for r in there for code in r["named"][kind])
        yield f"| {kind} | {len(there):,} | {counted(codes)} |"
    if odd:
        yield ""
        yield from (f"- {r['case']}: {'; '.join(r['disagreement'])}" for r in odd)


def _table(title: str, parts: dict[str, list[Row]]) -> Iterator[str]:
    heads = ("cases", "accepted", "refused", "given up", "states, median", "most", "ms, median")
    yield f"| {title} | {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * len(heads)}"
    for name, rows in parts.items():
        if rows:
            refused, given_up = (
                sum(r["refused"] for r in rows),
                sum(not r["complete"] for r in rows),
            )
            states = [r["states"] for r in rows]
            yield (
                f"| {name} | {len(rows):,} | {len(rows) - refused:,} | {refused:,} | {given_up} | "
                f"{statistics.median(states):,.0f} | {max(states):,} | "
                f"{1000 * statistics.median(r['seconds'] for r in rows):.0f} |"
            )


def main() -> int:
    """Run, print, write; 1 if there is a disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="distinct cases (20,000)")
    parser.add_argument("--campaign", type=int, default=1, help="another number, other seeds")
    parser.add_argument("--journal", type=Path, help="what is done (build/agreement-N.jsonl)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the table of a page")
    parser.add_argument("--block", type=int, help="one block again, its disagreements printed")
    asked = parser.parse_args()
    one = partial(block, campaign=asked.campaign)
    if asked.block is not None:
        odd = [row for row in one(asked.block) if "disagreement" in row]
        for row in odd:
            print(row["text"], f"# K = {row['k']}", *row["disagreement"], row["said"], sep="\n")
        return int(bool(odd))
    journal = asked.journal or Path(f"build/agreement-{asked.campaign}.jsonl")
    lines: list[str] = []
    for number, done in enumerate(run(
        one, count(), journal=journal, enough=lambda d: len(distinct(d)) >= asked.cases,
        told=lambda d: f"{len(distinct(d)):,} of {asked.cases:,} cases",
    )):  # fmt: skip
        if number % 20 == 0 or len(distinct(done)) >= asked.cases:
            lines = list(page(distinct(done), asked.campaign, max(done, default=0) + 1))
            if asked.write is not None:
                write_page(asked.write, "agreement", lines)
    print("\n".join(lines))
    return int(any("disagreement" in r for rows in done.values() for r in rows))


if __name__ == "__main__":
    sys.exit(main())
