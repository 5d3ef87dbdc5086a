"""Cases small enough for the explorer: schedules of every shape that the language has, and a K.

At most 3 stages, 2 consumers, 2 loads per stage and 14 ops per body before they are edited.  Where
one ring feeds two consumers they read the same slabs: what they compute is no product, which is
another question.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hypothesis import assume, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.api import apply
from schedgen.ir.schedule import If, Loop, Schedule, statements
from tests.mutations import MUTATIONS, mutants
from tests.staged_cases import staged_results
from tests.strategies import trip_counts

MOST_STAGES, MOST_OPS = 3, 14

GOOD = Path(__file__).parent / "known_good"
SAMPLES = tuple(
    sg.load(GOOD / f"{name}.sched")
    for name in (
        "b29_one_arrival_by_each_warp_group", "b29_sync_before_the_release",
        "plain_barrier_handover", "read_and_proxy_fenced_slot_reuse", "staged_buffer_used_again",
        "staged_epilogue",
    )
)  # fmt: skip
"""Sister warps that arrive, plain and named barriers, ordinary stores, TMA stores."""

HEAD = """schedule {name}
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
"""

PIPELINE = """ring tma stages {stages} empty {consumers} full 1 {{
  {slots}
}}
acc acc : f32 64x64 = c rows 0
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes {bytes}
    {loads}
    advance tma
  }}
  {drain}
}}
role consumer{replicas} warpgroup {{
  for k in 0..K {{
    acquire tma.full
    fence
    mma acc, tma.A, tma.{right}, k
    commit
    wait 0
    release tma.empty
    advance tma
  }}
  store acc -> c
}}
"""

TWO_RINGS = """ring left stages {left} empty {consumers} full 1 {{
  slot A[{consumers}] : f16 64x64 = a rows 64*i
}}
ring right stages {right} empty {consumers} full 1 {{
  slot B : f16 64x64 = b rows 0
}}
acc acc : f32 64x64 = c rows 64*self
role producer warp {{
  for k in 0..K {{
    acquire left.empty
    expect left.full bytes {bytes}
    {loads}
    advance left
    acquire right.empty
    expect right.full bytes 8192
    load right.B k
    advance right
  }}
}}
role consumer[{consumers}] warpgroup {{
  for k in 0..K {{
    acquire left.full
    acquire right.full
    fence
    mma acc, left.A[self], right.B, k
    commit
    wait 0
    release left.empty
    release right.empty
    advance left
    advance right
  }}
  store acc -> c
}}
"""

ONE_ROLE = """named group threads 128
ring tma stages {stages} empty 1 full 1 {{
  {slots}
}}
acc acc : f32 64x64 = c rows 0
role worker warpgroup {{
  {first}
  for k in 0..K {{
    {before}
    acquire tma.full
    fence
    mma acc, tma.A, tma.{right}, k
    commit
    wait {depth}
    sync group
    {after}
    advance tma
  }}
  wait 0
  store acc -> c
}}
"""

TWO_WORK_TILES = """ring tma stages {stages} empty 1 full 1 {{
  slot A    : f16 64x64 = a rows 0
  slot B[2] : f16 64x64 = b rows 64*i
}}
acc acc0 : f32 64x64 = c rows 0
acc acc1 : f32 64x64 = c rows 0 cols 64
role producer warp {{
  {loads}
}}
role consumer warpgroup {{
  {mmas}
}}
"""

LOADS = """for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes 16384
    load tma.A k
    load tma.B[{tile}] k
    advance tma
  }}
"""

MMAS = """for k in 0..K {{
    acquire tma.full
    fence
    mma acc{tile}, tma.A, tma.B[{tile}], k
    commit
    {release}
    advance tma
  }}
  wait 0
  {last}
  store acc{tile} -> c
"""

STAGED = """named group threads 128
ring tma stages {stages} empty 1 full 1 {{
  slot A : f16 64x64 = a rows 0
}}
acc acc : f32 64x64 = c rows 0
buffer out : f16 64x64
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes 8192
    load tma.A k
    advance tma
  }}
}}
role consumer warpgroup {{
  for k in 0..K {{
    acquire tma.full
    fence
    mma acc, tma.A, tma.A, k
    commit
    wait 0
    {each}
    release tma.empty
    advance tma
  }}
  store acc -> out
  fence proxy
  sync group
  tma-store out -> c
  store-commit
  store-wait 0{read}
  {again}
}}
"""

HANDOVER = """barrier there count 1
barrier back count 1
named mine threads 64
named yours threads 64
buffer box : f16 64x64
acc acc : f32 64x64 = c rows 0
role ping warps 2 {{
  for k in 0..K {{
    if k > {ahead} {{ await back }}
    write box
    {fence}
    sync mine
    arrive there
  }}
}}
role pong warps 2 {{
  for k in 0..K {{
    await there
    {use}
    sync yours
    arrive back
  }}
}}
"""


def _slots(loads: int) -> str:
    return "\n".join(f"slot {s} : f16 64x64 = {s.lower()} rows 0" for s in "AB"[:loads])


@st.composite
def overlapped(draw: st.DrawFn, schedule: Schedule, stages: int) -> Schedule:
    """With some groups in flight, if there are stages enough."""
    depth = draw(st.integers(0, 2))
    if depth >= stages or draw(st.booleans()):
        return schedule
    return apply(schedule, f"overlap-wgmma{{in-flight={depth}}}")


@st.composite
def pipelines_of_one_ring(draw: st.DrawFn) -> Schedule:
    """A producer and one or two consumers."""
    stages, loads = draw(st.integers(1, MOST_STAGES)), draw(st.integers(1, 2))
    consumers = draw(st.integers(1, 2))
    end = draw(st.sampled_from([None, "tma.stages", "min(tma.stages, K)"]))
    drain = "" if end is None else f"for _ in 0..{end} {{ acquire tma.empty advance tma }}"
    text = HEAD.format(name="one_ring") + PIPELINE.format(
        stages=stages, consumers=consumers, slots=_slots(loads), bytes=8192 * loads,
        loads=" ".join(f"load tma.{s} k" for s in "AB"[:loads]), right="AB"[loads - 1],
        drain=drain, replicas=f"[{consumers}]" if consumers > 1 else "",
    )  # fmt: skip
    return draw(overlapped(sg.parse(text), stages))


@st.composite
def pipelines_of_two_rings(draw: st.DrawFn) -> Schedule:
    """A ring for A, whose slabs belong to one consumer each, and one for B."""
    left, right = draw(st.integers(1, MOST_STAGES)), draw(st.integers(1, MOST_STAGES))
    consumers = draw(st.integers(1, 2))
    text = HEAD.format(name="two_rings") + TWO_RINGS.format(
        left=left, right=right, consumers=consumers, bytes=8192 * consumers,
        loads=" ".join(f"load left.A[{i}] k" for i in range(consumers)),
    )  # fmt: skip
    return draw(overlapped(sg.parse(text), min(left, right)))


@st.composite
def loops_of_one_role(draw: st.DrawFn) -> Schedule:
    """One warp group loads tile k + d itself, before or after the mma of tile k."""
    stages, loads = draw(st.integers(1, MOST_STAGES)), draw(st.integers(1, 2))
    is_before = draw(st.booleans())
    ahead = draw(st.integers(0, stages - 1) if is_before else st.integers(1, stages))

    def fill(tile: str, offset: int) -> str:
        shift = f" ahead {offset}" if offset else ""
        lines = [f"expect tma.full bytes {8192 * loads}{shift}"]
        lines += [f"load tma.{s} {tile}{shift}" for s in "AB"[:loads]]
        return " ".join(lines)

    tile = f"k + {ahead}" if ahead else "k"
    loop = f"if k < K - {ahead} {{ {fill(tile, ahead)} }}"
    first = " ".join(f"if K > {i} {{ {fill(str(i), i)} }}" for i in range(ahead))
    text = HEAD.format(name="one_role") + ONE_ROLE.format(
        stages=stages, slots=_slots(loads), first=first, before=loop if is_before else "",
        after="" if is_before else loop, right="AB"[loads - 1],
        depth=draw(st.sampled_from([0, 0, 1])),
    )  # fmt: skip
    return sg.parse(text)


@st.composite
def handovers(draw: st.DrawFn) -> Schedule:
    """Two roles of two warps hand a buffer to and fro, each at the pace of plain barriers."""
    is_stored = draw(st.booleans())
    text = HEAD.format(name="handover") + HANDOVER.format(
        ahead=draw(st.sampled_from([0, 0, 1])), fence="fence proxy" if is_stored else "",
        use="tma-store box -> c store-commit store-wait 0" if is_stored else "read box",
    )  # fmt: skip
    return sg.parse(text)


@st.composite
def two_work_tiles(draw: st.DrawFn) -> Schedule:
    """Two column halves of the output in turn; stages and phases carry over."""
    stages = draw(st.integers(1, 2))
    is_in_flight = stages > 1 and draw(st.booleans())
    release = "wait 0 release tma.empty"
    if is_in_flight:
        release = "wait 1 if k > 0 { release tma.empty lag 1 }"
    last = "if K > 0 { release tma.empty lag 1 }" if is_in_flight else ""
    text = HEAD.replace("n 64", "n 128").format(name="two_work_tiles") + TWO_WORK_TILES.format(
        stages=stages, loads="".join(LOADS.format(tile=t) for t in range(2)),
        mmas="".join(MMAS.format(tile=t, release=release, last=last) for t in range(2)),
    )  # fmt: skip
    return sg.parse(text)


@st.composite
def staged(draw: st.DrawFn) -> Schedule:
    """The result goes through shared memory and out by a TMA store; the buffer may serve again."""
    text = HEAD.format(name="staged") + STAGED.format(
        stages=draw(st.integers(1, 2)), each=draw(st.sampled_from(["", "sync group"])),
        read=draw(st.sampled_from(["", " read"])),
        again=draw(st.sampled_from(["", "sync group write out", "sync group read out"])),
    )  # fmt: skip
    return sg.parse(text)


FAMILIES: dict[str, st.SearchStrategy[Schedule]] = {
    "one ring": pipelines_of_one_ring(),
    "two rings": pipelines_of_two_rings(),
    "one role": loops_of_one_role(),
    "two work tiles": two_work_tiles(),
    "plain barriers": handovers(),
    "staging": staged(),
    "results": staged_results().flatmap(lambda s: overlapped(s, s.rings[0].stages)),
    "samples": st.sampled_from(SAMPLES),
}
"""Schedules that are right, most of them."""

OFTEN = ("one ring", "one role")
"""Families with most to vary: they are drawn twice as often."""

families = st.sampled_from([*FAMILIES, *OFTEN])

bases = families.flatmap(FAMILIES.__getitem__)


def is_small(schedule: Schedule) -> bool:
    """Whether the schedule keeps to the stages and ops of a small case."""
    bodies = [role.body for role in schedule.roles]
    bodies += [s.body for body in bodies for s in statements(body) if isinstance(s, Loop | If)]
    return max((r.stages for r in schedule.rings), default=0) <= MOST_STAGES and all(
        sum(not isinstance(s, Loop | If) for s in body) <= MOST_OPS for body in bodies
    )


class Case(NamedTuple):
    """A schedule as its text says it, a K, and where they come from."""

    family: str
    edits: tuple[str, ...]
    schedule: Schedule
    k_tiles: int


@st.composite
def edited_cases(draw: st.DrawFn, first: str | None = None) -> Case:
    """With ``first``: an edit of this operator and perhaps a second one; else no edit."""
    family = draw(families)
    schedule = draw(FAMILIES[family])
    names: list[str] = []
    for name in (first, draw(st.sampled_from([None, None, *MUTATIONS]))) if first else ():
        if name is not None:
            schedule = draw(mutants(schedule, name))
            names.append(name)
    assume(is_small(schedule))
    k_tiles = draw(trip_counts(schedule))
    text = sg.show(schedule)
    note(f"{text}# K = {k_tiles}, {family}, edits: {', '.join(names) or 'none'}")
    try:
        schedule = sg.parse(text, name="generated.sched")
    except sg.IllFormed:  # a loop is gone and its variable still used, say
        assume(False)
        raise
    return Case(family, tuple(names), schedule, k_tiles)


def cases() -> st.SearchStrategy[tuple[Schedule, int]]:
    """A schedule with up to two edits, and a K."""
    any_edit = st.sampled_from([None, None, *MUTATIONS, *MUTATIONS]).flatmap(edited_cases)
    return any_edit.map(lambda case: (case.schedule, case.k_tiles))
