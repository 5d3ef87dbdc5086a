"""By how many turns of the loop over K the completions of a barrier may come later.

The graph
---------
In the folded graph (``proof.folded``) an edge u -> v of weight w says that the u of turn i comes
before the v of turn i + w.  If the completions of a barrier come t turns later, what contributes to
them in turn i is waited for by the waits of turn i + w - t: the edges from its contributors to the
returns of its waits weigh t less.  The middle of the loop, its steady state, still makes progress
iff no cycle has weight <= 0, so the slack of the middle is the greatest t for which there is none.
If no cycle leads through such an edge, nothing limits it.

The judge
---------
For a ring the delayed schedule can be written down: before each wait of a loop over K stands a copy
that names the use of t turns later, under a guard that keeps it to turns that have such a later
turn.  It is judged like any other schedule, which takes the ends of loops, the steps around them
and all other obligations into account; so the slack of the whole can be smaller than that of the
middle, and it is the judged one that is reported.

What it does not mean: a slack is that of one barrier alone (those of a cycle share their room), it
says nothing of time, and a step outside of the loops over K is not delayed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import networkx as nx

from schedgen.happens_before.matching import Matching
from schedgen.happens_before.proof.certificate import Certificate
from schedgen.happens_before.proof.columns import Columns, Edge
from schedgen.happens_before.proof.folded import descent, folded
from schedgen.happens_before.proof.text import Obstacle, read_text
from schedgen.happens_before.proof.turns import stretch_of, turn_starts
from schedgen.ir.effects import RingBarrier
from schedgen.ir.expr import Compare, Name, plus
from schedgen.ir.ops import Acquire, Op
from schedgen.ir.schedule import If, Loop, Schedule, Stmt, statements
from schedgen.margins.edits import Path, k_loops, loop_around, rewritten, walk


class Middle:
    """The middle of each loop over K of a proved schedule: its edges, and those of each barrier.

    ``rates``: for each op (by ``id``) that is executed there, the uses of each ring per turn.
    Raises `OverBudget` where it has more events than the checker unrolls.
    """

    def __init__(self, schedule: Schedule, certificate: Certificate) -> None:
        columns = _columns(schedule, _shows_the_middle(certificate))
        self.edges = [columns.shape(m).inner for m in range(len(columns.lengths))]
        self.of_barrier = [_barrier_edges(columns, m) for m in range(len(columns.lengths))]
        self.rates: dict[int, Mapping[str, int]] = {}
        for stretch in columns.stretches:
            for replica, block in stretch.blocks.items():
                program = columns.matching.replicas[replica]
                for instance in program[block.start : block.start + block.step]:
                    self.rates[id(instance.op)] = stretch.rates

    def waits_for(self, barrier: str) -> bool:
        """Whether a wait in the middle of a loop over K waits for something on the barrier."""
        return any(barrier in edges for edges in self.of_barrier)

    def slack(self, barrier: str) -> int | None:
        """The slack of a barrier in the middle, None where no cycle limits it."""
        found = [
            _slack(edges, of_barrier.get(barrier, set()))
            for edges, of_barrier in zip(self.edges, self.of_barrier, strict=True)
        ]
        return min((t for t in found if t is not None), default=None)


def _shows_the_middle(certificate: Certificate) -> int:
    """A K whose stretches have columns that are far enough from both ends."""
    short = [
        2 * (max(s.left, s.right) + certificate.distance + 1) - s.columns
        for s in certificate.stretches
    ]
    return certificate.explicit + max([0, *short])


def _columns(schedule: Schedule, k_tiles: int) -> Columns:
    matching = Matching(schedule, k_tiles)
    owners = [(r, i) for r in schedule.roles for i in range(r.replica_count)]
    starts = [
        turn_starts(schedule, role, i, k_tiles, read_text(schedule, role, i).growing)
        for role, i in owners
    ]
    count = max(map(len, starts), default=0)
    return Columns(matching, [stretch_of(matching.replicas, starts, m) for m in range(count)])


def _barrier_edges(columns: Columns, stretch: int) -> dict[str, set[Edge]]:
    """The edges of the middle column that lead from a contributor of a barrier to a wait for it."""
    found: dict[str, set[Edge]] = {}
    here, middle = 2 * stretch + 1, columns.lengths[stretch] // 2
    for wait in columns.matching.waits:
        v = wait.returned
        if v is None or wait.matched is None or wait.matched < 0 or columns.key[v] != here:
            continue
        for u in wait.log.phases[wait.matched].contributors:
            if columns.key[u] == here and middle in (columns.column[u], columns.column[v]):
                edge = (columns.label[u], columns.label[v], columns.column[v] - columns.column[u])
                found.setdefault(wait.log.key.name, set()).add(edge)
    return found


def _slack(edges: list[Edge], of_barrier: set[Edge]) -> int | None:
    parts = nx.strongly_connected_components(folded(edges))
    part_of = {node: number for number, nodes in enumerate(parts) for node in nodes}
    if all(part_of[u] != part_of[v] for u, v, _ in of_barrier):
        return None
    turns = 0
    while _progresses([*edges, *((u, v, weight - turns - 1) for u, v, weight in of_barrier)]):
        turns += 1
    return turns


def _progresses(edges: list[Edge]) -> bool:
    try:
        descent(edges)
    except Obstacle:
        return False
    return True


def delayed(
    schedule: Schedule, barrier: RingBarrier, turns: int, rates: Mapping[int, Mapping[str, int]]
) -> Schedule:
    """Each wait for the barrier in a loop over K also waits for what it would ``turns`` later.

    Parities that the text computes in a loop over K are left out: where the schedule is proved,
    they are those of the uses that the waits name.
    """
    loops = {path: _named(loop) for path, loop in k_loops(schedule).items()}
    ahead: dict[Path, int] = {}
    for path, stmt in walk(schedule):
        wait = stmt.effects().wait if isinstance(stmt, Op) else None
        if wait is not None and wait.barrier == barrier and id(stmt) in rates:
            ahead[path] = turns * rates[id(stmt)].get(barrier.ring, 0)

    def change(path: Path, stmt: Stmt) -> tuple[Stmt, ...]:
        around = loop_around(path, loops)
        if path in loops and isinstance(stmt, Loop):
            return (dataclasses.replace(stmt, var=loops[path].var),)
        if around is None or not isinstance(stmt, Acquire):
            return (stmt,)
        by_use = dataclasses.replace(stmt, parity=None)
        if path not in ahead:
            return (by_use,)
        loop = loops[around]
        guard = Compare("<", Name(loop.var), plus(loop.end, -turns))
        later = dataclasses.replace(by_use, offset=stmt.offset + ahead[path])
        return (If(guard=guard, body=(later,), place=stmt.place), by_use)

    return rewritten(schedule, change)


def _named(loop: Loop) -> Loop:
    """The loop with a variable that a guard can name."""
    taken = {s.var for s in statements(loop.body) if isinstance(s, Loop)}
    var = "turn"
    while var in taken:
        var += "_"
    return dataclasses.replace(loop, var=var) if loop.var == "_" else loop


def can_be_delayed(schedule: Schedule) -> bool:
    """Whether `delayed` can write it down: no loop hides the variable of the loop over K around."""
    return not any(
        loop.var in {s.var for s in statements(loop.body) if isinstance(s, Loop)} - {"_"}
        for loop in k_loops(schedule).values()
    )
