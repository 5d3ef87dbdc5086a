"""The table of ops is complete: each has text that parses back, and effects with an executor."""

import dataclasses

import pytest

from schedgen.ir import ops
from schedgen.ir.effects import (
    BufferRef,
    Engine,
    Executor,
    NamedRef,
    OutRef,
    PlainBarrier,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Int, Name
from schedgen.ir.ops import OPS
from schedgen.ir.ops.base import Op
from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text

FULL, EMPTY = RingBarrier("tma", "full"), RingBarrier("tma", "empty")
A, B = SlotRef("tma", "A", Name("self")), SlotRef("tma", "B", None)
SAMPLES = [
    ops.Acquire(barrier=FULL),
    ops.Acquire(barrier=EMPTY, parity=Int(1), offset=-1),
    ops.Await(barrier=PlainBarrier("done")),
    ops.Await(barrier=PlainBarrier("done"), parity=Name("k")),
    ops.Await(barrier=PlainBarrier("each", Name("self"))),
    ops.Expect(barrier=FULL, bytes=49152),
    ops.ExpectTx(barrier=PlainBarrier("done"), bytes=16),
    ops.ExpectTx(barrier=FULL, bytes=16, offset=2),
    ops.Arrive(barrier=PlainBarrier("done"), by=Executor.ALL),
    ops.Arrive(barrier=FULL),
    ops.Release(barrier=EMPTY, offset=-1),
    ops.Load(into=A, tile=Name("k"), by=Executor.ALL),
    ops.Load(into=B, tile=Int(0), offset=1),
    ops.Fence(),
    ops.FenceProxy(),
    ops.FenceProxy(by=Executor.ELECTED),
    ops.Mma(acc="acc", a=A, b=B, tile=Name("k")),
    ops.Commit(),
    ops.Wait(depth=0),
    ops.Advance(ring="tma"),
    ops.SetCursor(ring="tma", to=Name("k")),
    ops.SetCursor(ring="tma", to=Int(0)),
    ops.Sync(barrier=NamedRef("group", Name("self"))),
    ops.Sync(barrier=NamedRef("all_warps", None)),
    ops.Store(acc="acc", to=OutRef("c")),
    ops.Store(acc="acc", to=BufferRef("out")),
    ops.Store(acc="acc", to=BufferRef("parts", Name("self"))),
    ops.Touch(acc="acc"),
    ops.Write(to=BufferRef("out")),
    ops.Write(to=A),
    ops.Read(source=B),
    ops.Read(source=BufferRef("out"), by=Executor.ELECTED),
    ops.TmaStore(source=BufferRef("out"), to=OutRef("c")),
    ops.TmaStore(source=B, to=OutRef("c")),
    ops.TmaStore(source=BufferRef("parts", Int(1)), to=OutRef("c", Int(64), None)),
    ops.TmaStore(source=BufferRef("out"), to=OutRef("c", Name("self"), Int(0))),
    ops.StoreCommit(),
    ops.StoreWait(depth=0, reads_only=True),
    ops.StoreWait(depth=1, reads_only=False),
]
"""At least one of each op, with the suffixes and forms that it has."""

FRAME = """schedule frame
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 128, n 256, k 64, raster n 4
ring tma stages 4 empty 2 full 1 {{
  slot A[2] : f16 64x64  = a rows 64*i
  slot B    : f16 256x64 = b rows 0
}}
barrier done count 1
barrier each[2] count 1
named group[2] threads 128
named all_warps threads 288
acc acc : f32 64x256 = c rows 64*self
buffer out : f16 64x256
buffer parts[2] : f16 64x256 in tma.B stage tma.stages - 1 - i
role consumer[2] warpgroup {{
  for k in 0..K {{
    {text}
  }}
}}
"""


def test_every_op_has_a_sample():
    assert {type(op) for op in SAMPLES} == set(OPS)


def test_every_op_class_is_in_the_table():
    def below(cls):
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    here = {c for c in below(Op) - {Op} if c.__module__.startswith("schedgen.ir.ops")}
    assert here == set(OPS)


def test_keywords_are_given_once():
    keywords = [cls.keyword for cls in OPS]
    assert sorted(set(keywords)) == sorted(keywords)


@pytest.mark.parametrize("op", SAMPLES, ids=lambda op: op.text)
def test_text_parses_back_to_an_equal_op(op):
    schedule = parse(FRAME.format(text=op.text), file="frame.sched")
    assert schedule.roles[0].body[0].body == (op,)
    assert parse(to_text(schedule), file="again.sched") == schedule


@pytest.mark.parametrize("first", SAMPLES, ids=lambda op: op.text)
def test_every_op_may_follow_every_op(first):
    body = tuple(op for second in SAMPLES for op in (first, second))
    text = FRAME.format(text="\n    ".join(op.text for op in body))
    assert parse(text, file="frame.sched").roles[0].body[0].body == body


@pytest.mark.parametrize("op", SAMPLES, ids=lambda op: op.text)
def test_effects_are_declared(op):
    effects = op.effects()
    assert effects.executor is (op.by or type(op).executed_by)
    asynchronous = {"load": Engine.TMA, "mma": Engine.TENSOR, "tma-store": Engine.TMA_STORE}
    assert effects.engine is asynchronous.get(op.keyword, Engine.WARP)
    acts = [
        effects.wait,
        effects.signal,
        effects.sync,
        effects.group,
        effects.cursor,
        effects.fence,
    ]
    assert any(acts) or effects.accesses


@pytest.mark.parametrize("cls", OPS)
def test_executor_is_the_one_of_the_machine_model(cls):
    elected = {"arrive", "release", "expect", "expect-tx", "load", "tma-store", "store-commit",
               "store-wait"}  # fmt: skip
    wanted = Executor.ELECTED if cls.keyword in elected else Executor.ALL
    wanted = Executor.COLLECTIVE if cls.keyword in {"mma", "commit", "sync"} else wanted
    assert cls.executed_by is wanted


@pytest.mark.parametrize("op", SAMPLES, ids=lambda op: op.text)
def test_ops_are_frozen_and_places_take_no_part_in_equality(op):
    with pytest.raises(dataclasses.FrozenInstanceError):
        op.offset = 3
    moved = dataclasses.replace(op, place=ops.Place("x.sched", 1, 1))
    assert (moved, hash(moved)) == (op, hash(op))
