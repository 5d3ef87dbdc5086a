"""How long a check takes, and how that grows.

    python tests/benchmarks/speed.py

prints tables (Markdown): kernels and a wide schedule judged for a range of K in process, the
command line as a whole, the cost of one more K, and the explorer of the abstract machine on the
same schedules.  The machine should have nothing else to do.
"""

from __future__ import annotations

import datetime
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import schedgen as sg  # noqa: E402
from schedgen.happens_before.forking import Stem  # noqa: E402
from schedgen.happens_before.judge import breaches, judge  # noqa: E402
from schedgen.happens_before.matching import Matching  # noqa: E402
from schedgen.machine import explore  # noqa: E402

RUNS = 50
STARTS = 5
STATES = 100_000
"""States that the explorer visits before it gives up."""

WIDE = """\
schedule eight_stages_four_consumers
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 256, n 64, k 32, raster n 2
ring tma stages 8 empty 4 full 1 {
  slot A[4] : f16 64x32 = a rows 64*i
  slot B    : f16 64x32 = b rows 0
}
acc acc : f32 64x64 = c rows 64*self
role producer warp {
  for k in 0..K {
    acquire tma.empty
    expect tma.full bytes 20480
    load tma.A[0] k
    load tma.A[1] k
    load tma.A[2] k
    load tma.A[3] k
    load tma.B k
    advance tma
  }
  for _ in 0..tma.stages { acquire tma.empty advance tma }
}
role consumer[4] warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A[self], tma.B, k
    commit
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
"""


def wide() -> sg.Schedule:
    """Eight stages, four consumers, three groups in flight and releases three steps behind."""
    return sg.apply(sg.parse(WIDE), "overlap-wgmma{in-flight=3}")


@dataclass(frozen=True)
class Spent:
    """Milliseconds by the clock, and of the processor (also by other processes that were waited
    for): they differ where the machine has something else to do."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} ({self.cpu:.1f})"


def now() -> Spent:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(time.perf_counter() * 1e3, sum(u.ru_utime + u.ru_stime for u in used) * 1e3)


def since(start: Spent) -> Spent:
    end = now()
    return Spent(end.wall - start.wall, end.cpu - start.cpu)


def median(times: Sequence[Spent]) -> Spent:
    return Spent(statistics.median(t.wall for t in times), statistics.median(t.cpu for t in times))


def measured(work: Callable[[], object], *, runs: int = RUNS) -> Spent:
    """The median, after one run that is not counted."""
    work()
    times: list[Spent] = []
    for _ in range(runs):
        start = now()
        work()
        times.append(since(start))
    return median(times)


def table(*rows: Sequence[object]) -> None:
    """Markdown; the first row is the head, the first column is text."""
    first, *others = (f"| {' | '.join(map(str, row))} |" for row in rows)
    rule = f"| --- |{' ---: |' * (len(rows[0]) - 1)}"
    print("\n".join([first, rule, *others, ""]), flush=True)


def ranges(v5: sg.Schedule, large: sg.Schedule) -> None:
    """A range of K judged together, and a check for every K."""
    rows: list[Sequence[object]] = [(f"in process, median of {RUNS}", "K", "events", "ms")]
    for schedule, last in ((v5, 13), (large, 31)):
        trips = range(last + 1)
        assert judge(schedule, trips=trips).ok
        events = sum(len(Matching(schedule, k).events) for k in trips)
        spent = measured(partial(judge, schedule, trips=trips))
        rows.append((f"judge {schedule.name}", f"0..{last}", events, spent))
    for schedule in (v5, large):
        verdict = sg.check(schedule)
        events = sum(len(Matching(schedule, k).events) for k in range(verdict.scope[1] + 1))
        what = f"check {schedule.name}: {verdict.outcome}"
        rows.append((what, f"all, 0..{verdict.scope[1]} one by one", events,
                     measured(partial(sg.check, schedule))))  # fmt: skip
    table(*rows)


def command_line() -> None:
    """The whole command, from the shell's point of view."""
    rows: list[Sequence[object]] = [(f"command line, median of {STARTS}", "ms")]
    for words in (["check", "hopper_matmul_v5"], ["--version"]):
        command = [sys.executable, "-m", "schedgen", *words]
        work = partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True)
        rows.append((f"`schedgen {' '.join(words)}`", measured(work, runs=STARTS)))
    table(*rows)


STEPS = (10, 20, 40, 80)


def one_more(schedule: sg.Schedule) -> None:
    """One K after the K before, and by itself."""
    times: dict[int, list[Spent]] = {k: [] for k in STEPS}
    for _ in range(STARTS):
        stem = Stem(schedule, breaches)
        for k in range(max(STEPS) + 3):
            start = now()
            assert stem.judge(k, k + 1) is not None
            spent = since(start)
            for step in STEPS:
                if abs(k - step) <= 2:  # neighbours cost the same, and make the median steady
                    times[step].append(spent)
    alone = [measured(partial(judge, schedule, trips=[k]), runs=STARTS) for k in STEPS]
    table(
        (f"one K of {schedule.name}, ms", *(f"K = {k}" for k in STEPS)),
        ("after the K before", *(median(times[k]) for k in STEPS)),
        ("by itself", *alone),
    )


def explorer(schedules: Sequence[sg.Schedule]) -> None:
    """One K by the checker, and every interleaving by the machine, with and without reduction."""
    head = ("one K, ms", "K", "check", "explorer", "times", "without reduction", "times")
    rows: list[Sequence[object]] = [head]
    for schedule in schedules:
        for k in (1, 2, 4, 8):
            mine = measured(partial(judge, schedule, trips=[k]), runs=STARTS)
            cells: list[str] = []
            for reduce in (True, False):
                start = now()
                found = explore(schedule, k_tiles=k, budget=STATES, reduce=reduce)
                spent = since(start)
                assert not found.reached
                done = (str(spent), f"{spent.cpu / mine.cpu:.0f}")
                cells += done if found.complete else ("budget", "")
            rows.append((schedule.name, k, mine, *cells))
    table(*rows)


def main() -> None:
    v4, v5, large = sg.load("hopper_matmul_v4"), sg.load("hopper_matmul_v5"), wide()
    print(
        f"{datetime.date.today()}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, {processor()}.  Times by the clock (and "
        f"of the processor).\n"
    )
    ranges(v5, large)
    command_line()
    one_more(v5)
    print(f"The explorer visits at most {STATES} states (else: budget).\n")
    explorer([v4, v5, large])


def processor() -> str:
    """The processor's name, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")


if __name__ == "__main__":
    main()
