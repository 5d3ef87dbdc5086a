"""One-line repairs for early releases: which lag, or which wait depth, would be right."""

from __future__ import annotations

from schedgen.happens_before.case import Case, declared_use
from schedgen.happens_before.unroll import Instance


def release_fix(case: Case, replica: int, ring: str, use: int | None) -> str:
    """A repair of the release of ``use`` by the replica that still reads it."""
    program = case.matching.replicas[replica]
    release = next((i for i in program if declared_use(i) == (ring, "empty", use)), None)
    if release is None:
        return f"release {ring}.empty only after the reading op has retired"
    depth = _depth_before(program, release)
    if depth is None:
        return "`commit` and `wait` for the mma before the release"
    commits = _commits_per_use(program)
    lag = -(release.op.offset)
    needed = -(-depth // commits)
    if depth <= lag * commits:
        return f"order the release of {ring} after the wait that covers its mma"
    if lag or not _can_lag(program, release, ring, needed):
        return f"`wait {lag * commits}` instead of `wait {depth}` before the release"
    tile = "the previous tile has" if needed == 1 else f"tiles {needed} or more back have"
    return f"`release {ring}.empty lag {needed}`: after `wait {depth}` only {tile} retired"


def _can_lag(program: list[Instance], release: Instance, ring: str, lag: int) -> bool:
    """Whether the op could name earlier uses: its first run stands late enough, and the ring has
    the stages for it."""
    first = next(i for i in program if i.op is release.op)
    return first.uses[ring] >= lag and lag < first.stages[ring]


def _depth_before(program: list[Instance], release: Instance) -> int | None:
    depth = None
    for i in program[: release.seq]:
        group = i.effects.group
        if group is not None and group.queue == "wgmma" and group.action == "wait":
            depth = group.depth
    return depth


def _commits_per_use(program: list[Instance]) -> int:
    """Commits per step, from the densest stretch between two cursor moves."""
    best = current = 0
    for i in program:
        group = i.effects.group
        if group is not None and group.queue == "wgmma" and group.action == "commit":
            current += 1
            best = max(best, current)
        if i.effects.cursor is not None:
            current = 0
    return max(best, 1)
