"""The one place where the tests' schedules are generated: public ones, small ones, and op soup.

Tiles are small (slabs of 64x64), so that the abstract machine is fast.  Everything prints in the
text form, so a failure is a schedule that can be pasted into a file.
"""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from schedgen.api import apply
from schedgen.ir.expr import Binary, Compare, Expr, Int, Name, Stages
from schedgen.ir.parser import parse
from schedgen.ir.schedule import If, Loop, Schedule, Stmt
from schedgen.testing.edits import SLAB_BYTES
from schedgen.testing.serial import Serial
from schedgen.testing.strategies import mutants, serials
from tests.unit.test_ops import FRAME, SAMPLES

__all__ = [
    "SLAB_BYTES", "Serial", "mutants", "pipelines", "serial_schedules", "serials",
    "small_pipelines", "soups", "trip_counts",
]  # fmt: skip

serial_schedules = serials().map(Serial.schedule)


@st.composite
def small_pipelines(draw: st.DrawFn) -> Schedule:
    """Serial or overlapped, as small as interesting: 1 or 2 rings of at most 3 stages, 2 loads."""
    halves = draw(st.integers(1, 2))
    serial = Serial(
        stages=tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3 - halves))),
        consumers=draw(st.integers(1, 3 - halves)),
        halves=halves,
        commits=draw(st.integers(1, halves)),
        drain=draw(st.sampled_from([None, "stages", "min"])),
        guarded=draw(st.booleans()),
        b_first=draw(st.booleans()),
    )
    schedule, depth = serial.schedule(), draw(st.integers(0, 2))
    if depth < min(serial.stages):
        schedule = apply(schedule, f"overlap-wgmma{{in-flight={depth}}}")
    return schedule


@st.composite
def trip_counts(draw: st.DrawFn, schedule: Schedule) -> int:
    """A K around the multiples of the stages, where pipelines go wrong."""
    stages = max((ring.stages for ring in schedule.rings), default=1)
    around = [0, 1, 2, stages - 1, stages, stages + 1, 2 * stages, 2 * stages + 1]
    return draw(st.sampled_from(sorted(set(around))))


@st.composite
def pipelines(draw: st.DrawFn) -> str:
    """A pipeline of the passes that exist, with options in and out of their range."""
    overlap = f"overlap-wgmma{{in-flight={draw(st.integers(0, 3))}}}"
    stages = f"set-stages{{n={draw(st.integers(1, 5))}}}"
    return draw(st.sampled_from([overlap, stages, f"{overlap},{stages}", f"{stages},{overlap}"]))


# --- op soup: well formed in syntax, any meaning


def expressions(names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    """Expressions of every operator over numbers, names and stages."""
    leaves = st.one_of(
        st.integers(-9, 99).map(Int), st.sampled_from(names).map(Name), st.just(Stages("tma"))
    )
    operators = st.sampled_from(["+", "-", "*", "/", "%", "min", "max"])
    return st.recursive(
        leaves, lambda inner: st.builds(Binary, operators, inner, inner), max_leaves=5
    )


bounds = expressions(("K",))
guards = st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), bounds, bounds)
variables = st.sampled_from(["k", "j", "_"])
blocks = st.recursive(
    st.lists(st.sampled_from(SAMPLES), max_size=5).map(tuple),
    lambda inner: st.lists(
        st.one_of(
            st.sampled_from(SAMPLES),
            st.builds(Loop, var=variables, first=bounds, end=bounds, body=inner),
            st.builds(If, guard=guards, body=inner),
        ),
        max_size=4,
    ).map(tuple),
    max_leaves=4,
)  # fmt: skip


@st.composite
def soups(draw: st.DrawFn) -> Schedule:
    """Any ops in any blocks: what the text form must carry, whatever it means."""
    frame = parse(FRAME.format(text=""), file="frame.sched")
    body: tuple[Stmt, ...] = draw(blocks)
    role = dataclasses.replace(frame.roles[0], body=body, replicas=draw(st.sampled_from([None, 2])))
    return dataclasses.replace(frame, roles=(role,))
