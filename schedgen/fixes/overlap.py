"""How many wgmma groups a schedule leaves in flight in its loops over K: what a repair may cost."""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.happens_before.facts import names_k
from schedgen.happens_before.limits import MAX_WAIT_DEPTH
from schedgen.ir import ops
from schedgen.ir.schedule import Loop, Schedule, Stmt, statements

LOST = "no wgmma group stays in flight in the loop any more"


def groups_in_flight(schedule: Schedule) -> int:
    """Summed over the loops over K that commit: the least depth of their waits.

    A loop without a `wait` counts as one of the greatest depth.
    """
    loops = (loop for role in schedule.roles for loop in _k_loops(role.body))
    return sum(_kept(loop) for loop in loops)


def _k_loops(body: tuple[Stmt, ...]) -> Iterator[Loop]:
    for stmt in statements(body):
        if isinstance(stmt, Loop) and any(map(names_k, (stmt.first, stmt.end))):
            yield stmt


def _kept(loop: Loop) -> int:
    """The least depth; a commit without an mma of its own makes an empty group, which is none."""
    inside = list(statements(loop.body))
    commits = sum(isinstance(stmt, ops.Commit) for stmt in inside)
    if not commits:
        return 0
    empty = max(commits - sum(isinstance(stmt, ops.Mma) for stmt in inside), 0)
    least = min([stmt.depth for stmt in inside if isinstance(stmt, ops.Wait)] + [MAX_WAIT_DEPTH])
    return max(least - empty, 0)
