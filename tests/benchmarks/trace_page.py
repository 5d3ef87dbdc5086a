"""The tables of docs/trace.md: V4 and V5 at 2, 3 and 4 stages as `schedgen trace` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import schedgen as sg
from schedgen.timeline import Timeline
from schedgen.timeline.critical import Cycle
from tests.benchmarks.ladder_run import Ladder, table

K_TILES = 6


@dataclass(frozen=True)
class Row:
    """A schedule, and its label in the results."""

    name: str
    kernel: str
    stages: int
    label: str


ROWS = (
    Row("V4, 2 stages", "hopper_matmul_v4", 2, "V4, 2 stages"),
    Row("V4, 3 stages", "hopper_matmul_v4", 3, "V4"),
    Row("V4, 4 stages", "hopper_matmul_v4", 4, "V4, 4 stages"),
    Row("V5, 2 stages", "hopper_matmul_v5", 2, "V5, 2 stages"),
    Row("V5, 3 stages", "hopper_matmul_v5", 3, "V5, 3 stages"),
    Row("V5, 4 stages", "hopper_matmul_v5", 4, "V5"),
)

HEADINGS = [
    "schedule", "cycles to the last mma", "bubbles", "cycles a turn", "tensor core", "TMA",
    "a load waits", "what limits it", "cycles counted at 8192^3",
]  # fmt: skip


@cache
def timeline(row: Row) -> Timeline:
    schedule = sg.apply(sg.load(row.kernel), f"set-stages{{n={row.stages}}}")
    return sg.trace(schedule, k_tiles=K_TILES)


def stages(run: Ladder) -> list[str]:
    return table(HEADINGS, [_cells(row, run) for row in ROWS])


def _cells(row: Row, run: Ladder) -> list[str]:
    made = timeline(row)
    assert made.cycle is not None
    assert made.loads is not None
    gaps = [end - begin for begin, end in made.bubbles]
    shares = {usage.lane: f"{float(usage.settled or 0):.0%}" for usage in made.usages}
    return [
        row.name, f"{made.shown:,}", f"{len(gaps)}, {sum(gaps):,} cycles" if gaps else "none",
        f"{float(made.cycle.per_turn):,.0f}", shares["tensor core"], shares["TMA loads"],
        f"{made.loads.queued}", _limit(made.cycle), f"{run.cycles(row.label):,}",
    ]  # fmt: skip


def _limit(cycle: Cycle) -> str:
    """The engine that is always busy, or the engines that the circle goes through."""
    if cycle.resource is not None:
        return cycle.resource
    kinds = {hop.event for hop in cycle.hops if hop.cycles}
    names = [name for event, name in (("land", "load"), ("retire", "mma")) if event in kinds]
    turns = f"{cycle.turns} turn{'' if cycle.turns == 1 else 's'}"
    return f"{' + '.join(names)}, {cycle.cycles:,} cycles in {turns}"


SECTIONS = {"stages": stages}
