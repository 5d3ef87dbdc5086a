"""The emitted ring class, executed on barriers that only remember what they were asked."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedgen.emit import emit_tilus
from schedgen.ir.effects import RingBarrier
from schedgen.ir.ops import Acquire, Advance, Release
from schedgen.ir.parser import parse
from schedgen.ir.schedule import Schedule

V5 = Path(__file__).parents[1] / "golden" / "emitted" / "hopper_matmul_v5.sched"

Ask = tuple[str, int, int | None]


class Barriers:
    """Stands for tilus' mbarrier instructions; a barrier is its stage."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    def alloc(self, counts: list[int]) -> list[int]:
        return list(range(len(counts)))

    def wait(self, stage: int, *, phase: int, sem: str, scope: str) -> None:
        assert (sem, scope) == ("acquire", "cta")
        self.asked.append(("wait", stage, phase))

    def arrive(self, stage: int, *, sem: str, scope: str) -> None:
        assert (sem, scope) == ("release", "cta")
        self.asked.append(("arrive", stage, None))


def producer_that_asks(stages: int, offsets: tuple[int, ...]) -> Schedule:
    """V5 with a producer that waits for and releases uses around the cursor."""
    schedule = parse(V5.read_text(), file=V5.name)
    full, empty = RingBarrier("tma", "full"), RingBarrier("tma", "empty")
    body = [
        op
        for d in offsets
        for op in (
            Acquire(barrier=full, offset=d),
            Acquire(barrier=empty, offset=d),
            Release(barrier=empty, offset=d),
        )
    ]
    producer = dataclasses.replace(schedule.roles[0], body=(*body, Advance(ring="tma")))
    ring = dataclasses.replace(schedule.rings[0], stages=stages)
    return dataclasses.replace(schedule, rings=(ring,), roles=(producer,))


def run(text: str, stages: int, times: int) -> list[list[Ask]]:
    """What every run of the emitted producer asks of its barriers."""
    tree, barriers = ast.parse(text), Barriers()
    base = SimpleNamespace(
        Class=type("Class", (), {"mbarrier": barriers, "single_thread": contextlib.nullcontext})
    )
    names: dict[str, Any] = {"tilus": base, "int32": int, "uint32": int}
    ring = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Ring")
    exec(compile(ast.Module([ring], []), "ring", "exec"), names)
    withs = (n for n in ast.walk(tree) if isinstance(n, ast.With))
    block = next(n for n in withs if "thread_group" in ast.unparse(n.items[0]))
    program = compile(ast.Module(block.body, []), "producer", "exec")
    names["tma"] = names["Ring"](stages=stages, full=1, empty=1)
    asked = []
    for _ in range(times):
        barriers.asked = []
        exec(program, names)
        asked.append(barriers.asked)
    return asked


@pytest.mark.parametrize("stages", range(1, 8))
@pytest.mark.parametrize("offsets", [(0,), (0, -1), (-2, -9), (1,), (3, 9), (-1, 2), (-9, 9, 0)])
def test_ring_arithmetic(stages: int, offsets: tuple[int, ...]) -> None:
    """Use u lies in stage u mod S; its full phase has parity (u div S) mod 2, empty the other."""
    text = emit_tilus(
        producer_that_asks(stages, offsets), static_k=False, made_by="", verdict="", finding=None
    )
    for cursor, asked in enumerate(run(text, stages, 4 * stages + 9)):
        if cursor + min(offsets) < 0:
            continue  # a negative use is an error of the schedule
        uses = [cursor + d for d in offsets]
        expected: list[Ask] = []
        for u in uses:
            stage, turn = u % stages, u // stages
            expected += [("wait", stage, turn % 2), ("wait", stage, 1 - turn % 2)]
            expected += [("arrive", stage, None)]
        assert asked == expected
