"""The hazard benchmark: every single edit of some kernels, and real bugs, judged and judged again.

``python -m tests.benchmarks.hazards --write docs/hazards.md`` runs everything and writes the tables
of that page; all but the times is the same in each run.  ``--kernel V5`` tries one column alone.
"""

from __future__ import annotations

import argparse
import platform
import resource
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import schedgen as sg
from schedgen.ir.schedule import Schedule
from tests.benchmarks.evidence import Judged, judged
from tests.benchmarks.mutations import OPERATORS, mutants
from tests.real_bugs.cases import CASES, DISAGREES, KINDS, Case, header

KERNELS = {
    "V4": "hopper_matmul_v4",
    "V5": "hopper_matmul_v5",
    "two rings": "v5_two_rings",
    "two in flight": "three_consumers_two_in_flight",
    "handover": "plain_barrier_handover",
    "staged": "staged_epilogue",
}
"""Columns of the table: kernels by name, and schedules of tests/known_good."""

PROCESSES = 2
CHUNK = 8
RESULTS = ("killed", "equivalent", "missed", "false alarm", "unsupported")


def base_of(name: str) -> Schedule:
    """The schedule that is mutated, with the places of its printed text."""
    file = Path(__file__).parents[1] / "known_good" / f"{name}.sched"
    return sg.load(file if file.exists() else name)


@dataclass
class Tally:
    """What the mutants of one operator on one kernel came to."""

    results: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)

    def add(self, one: Judged) -> None:
        self.results[one.result] += 1
        if one.result != "ill-formed":
            self.times.append(one.milliseconds)

    @property
    def cell(self) -> str:
        """``mutants / killed / equivalent``, and the rest where there is any."""
        r = self.results
        if not (total := sum(r[name] for name in RESULTS)):
            return ""
        text = f"{total} / {r['killed']} / {r['equivalent']}"
        rest = [f"{r[name]} {name}" for name in RESULTS[2:] if r[name]]
        return ", ".join([text, *rest])


def _part(task: tuple[str, int, int, bool]) -> list[Judged]:
    """The verdicts on some mutants of a kernel (in a process of its own)."""
    name, first, end, explored = task
    base = base_of(name)
    return [judged(base, m, explored=explored) for m in list(mutants(base))[first:end]]


def run(names: Iterable[str], *, explored: bool = True) -> dict[str, list[Judged]]:
    """Every mutant of these kernels, judged in two processes, in order."""
    tasks: list[tuple[str, int, int, bool]] = []
    for name in names:
        count = sum(1 for _ in mutants(base_of(name)))
        tasks += [(name, at, at + CHUNK, explored) for at in range(0, count, CHUNK)]
    found: dict[str, list[Judged]] = {name: [] for name in names}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for number, (task, part) in enumerate(zip(tasks, pool.map(_part, tasks), strict=True)):
            found[task[0]] += part
            print(f"\r{task[0]}: {number + 1} of {len(tasks)} parts ", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


# --- the tables of mutations
def mutation_page(found: dict[str, list[Judged]], seconds: float) -> Iterator[str]:
    """The generated part on mutations."""
    titles = {name: title for title, name in KERNELS.items()}
    everything = [j for judged_ones in found.values() for j in judged_ones]
    yield from _summary(everything, seconds)
    yield ""
    columns = [titles[name] for name in found]
    yield f"| operator | {' | '.join(columns)} | all | ms per check |"
    yield f"| --- |{' --- |' * (len(columns) + 2)}"
    for operator in [*OPERATORS, "all"]:
        tallies = [_tally(js, operator) for js in found.values()]
        total = _tally(everything, operator)
        cells = [t.cell for t in (*tallies, total)]
        spent = f"{statistics.median(total.times):.0f}" if total.times else ""
        yield f"| {operator} | {' | '.join(cells)} | {spent} |"
    yield f"| ms per check | {' | '.join(_times(js) for js in found.values())} |  |  |"
    yield ""
    yield from _details(found, everything)


def _tally(ones: Sequence[Judged], operator: str) -> Tally:
    tally = Tally()
    for one in ones:
        if operator in ("all", one.operator):
            tally.add(one)
    return tally


def _times(ones: Sequence[Judged]) -> str:
    return f"{statistics.median(j.milliseconds for j in ones if j.result != 'ill-formed'):.0f}"


def _summary(everything: Sequence[Judged], seconds: float) -> Iterator[str]:
    r = Counter(j.result for j in everything)
    total = sum(r[name] for name in RESULTS)
    real = total - r["equivalent"] - r["unsupported"]
    rate = 100 * (r["killed"] + r["false alarm"]) / real if real else 100.0
    machine = f"{date.today()}, {platform.machine()}, Python {platform.python_version()}"
    yield f"{machine}, {seconds / 60:.0f} minutes of one processor."
    yield ""
    yield (
        f"**{total} mutants, {r['killed']} killed, {r['equivalent']} equivalent, "
        f"{r['missed']} missed, {r['false alarm']} false alarms: {rate:.1f} % of the mutants that "
        f"are not equivalent are killed.**"
    )
    silent = f" {r['unsupported']} get no verdict (`unsupported`)." if r["unsupported"] else ""
    yield f"{r['ill-formed']} more are not well formed and not counted.{silent}"


def _details(found: dict[str, list[Judged]], everything: Sequence[Judged]) -> Iterator[str]:
    killed = Counter(_kind(j.how) for j in everything if j.result == "killed")
    yield "How a kill is shown to be right: " + _counts(killed) + "."
    same = Counter(_kind(j.how) for j in everything if j.result == "equivalent")
    yield "How an equivalent is shown to be one: " + _counts(same) + "."
    yield ""
    upto = {
        title: min((j.explored for j in found[name] if j.how == "clean"), default=None)
        for title, name in KERNELS.items()
        if name in found
    }
    least = ", ".join(f"{title} {k}" for title, k in upto.items() if k is not None)
    yield f"Least K up to which every interleaving of an equivalent was followed: {least}."
    codes = Counter(code for j in everything for code in j.codes if j.result == "killed")
    yield ""
    yield "Codes of the killed: " + _counts(dict(sorted(codes.items()))) + "."
    odd = [
        f"- {j.result}, {title}: {j.operator}, {j.label} ({'; '.join([*j.codes, j.how])})"
        for title, name in KERNELS.items()
        for j in found.get(name, [])
        if j.result in RESULTS[2:] or j.how in ("not shown", "work done twice")
    ]
    if odd:
        yield ""
        yield "One by one:"
        yield ""
        yield from odd


def _kind(how: str) -> str:
    return how.partition(",")[0]


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counted.items())


# --- the table of real bugs
def real_bug_page() -> Iterator[str]:
    """The generated part on real bugs."""
    bad = [f for c in CASES for f in c.files if header(f)["expect"] != "clean"]
    good = [f for c in CASES for f in c.files if header(f)["expect"] == "clean"]
    states = Counter(case.status for case in CASES)
    others = [f for f in (*bad, *good) if f.stem in DISAGREES]
    yield (
        f"**{len(CASES)} cases: {states['in']} in, {states['part']} in part, {states['out']} out; "
        f"{len(bad)} bad forms, {len(good)} good ones; {len(others)} judged otherwise.**"
    )
    yield ""
    told = [f"{kind} {'/'.join(codes)}" for kind, codes in KINDS.items() if codes]
    yield f"Kinds of the reports and the codes that tell them: {', '.join(told)}."
    yield ""
    yield "| case | kind | in | form: verdict | remark |"
    yield "| --- | --- | --- | --- | --- |"
    for case in CASES:
        yield _row(case)


def _row(case: Case) -> str:
    forms = "<br>".join(f"`{file.stem}`: {_verdict(file)}" for file in case.files)
    return f"| {case.id} {case.title} | {case.kinds} | {case.status} | {forms} | {case.remark} |"


def _verdict(file: Path) -> str:
    """What the checker says of a form, as its first line puts it."""
    try:
        verdict = sg.check(sg.load(file))
    except sg.IllFormed as error:
        return error.code
    by_k = sorted(verdict.findings, key=lambda f: (-1 if f.k is None else f.k, f.code))
    codes = dict.fromkeys(f.code if f.k is None else f"{f.code} K={f.k}" for f in by_k)
    text = ", ".join(codes) or str(verdict.outcome)
    if file.stem not in DISAGREES:
        return text
    return f"{text} (**should be {header(file)['expect']}**: {DISAGREES[file.stem]})"


# --- the page
def written(page: str, name: str, lines: Iterable[str]) -> str:
    """The page with the lines between its two markers of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"the page has no `{begin}` ... `{end}`")
    return before + "\n".join([begin, *lines, end]) + after


def main() -> int:
    """Run, print, and write the page if asked for; 1 if a mutant was missed or wrongly refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite the tables of a page")
    parser.add_argument("--kernel", action="append", choices=list(KERNELS), help="only these")
    parser.add_argument("--bugs", action="store_true", help="the table of real bugs alone")
    asked = parser.parse_args()
    if asked.kernel and asked.write:
        parser.error("a page has all kernels: `--write` goes without `--kernel`")
    parts, wrong = {"real bugs": list(real_bug_page())}, False
    if not asked.bugs:
        found = run([KERNELS[title] for title in asked.kernel or KERNELS])
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        parts["mutations"] = list(mutation_page(found, seconds))
        wrong = any(j.result in ("missed", "false alarm") for js in found.values() for j in js)
    for name, lines in parts.items():
        print("\n".join([*lines, ""]))
        if asked.write is not None:
            page = asked.write.read_text(encoding="utf-8")
            asked.write.write_text(written(page, name, lines), encoding="utf-8")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
