"""Serial ring schedules of a producer and some consumers, written out from a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedgen.ir.parser import parse
from schedgen.ir.schedule import Schedule
from schedgen.testing.edits import SLAB_BYTES


@dataclass(frozen=True, kw_only=True)
class Serial:
    """A serial schedule: ``consumers`` warp groups, each with ``halves`` accumulators.

    One ring holds A and B, or each has its own.  ``commits`` is 1 or ``halves``.
    """

    stages: tuple[int, ...]
    consumers: int
    halves: int
    commits: int
    drain: str | None
    guarded: bool
    b_first: bool

    @property
    def rings(self) -> dict[str, tuple[str, ...]]:
        return {"tma": ("A", "B")} if len(self.stages) == 1 else {"left": ("A",), "right": ("B",)}

    def slab_count(self, slot: str) -> int:
        return self.consumers if slot == "A" else self.halves

    def schedule(self) -> Schedule:
        return parse("\n".join(self._lines()) + "\n", file="generated.sched")

    def _lines(self) -> Iterator[str]:
        yield "schedule generated"
        yield "problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16"
        yield f"tile m {64 * self.consumers}, n {64 * self.halves}, k 64, raster n 2"
        for (ring, slots), stages in zip(self.rings.items(), self.stages, strict=True):
            yield f"ring {ring} stages {stages} empty {self.consumers} full 1 {{"
            for slot in slots:
                slabs, tensor = self.slab_count(slot), slot.lower()
                yield f"slot {slot}[{slabs}] : f16 64x64 = {tensor} rows 64*i"
            yield "}"
        for half in range(self.halves):
            yield f"acc acc{half} : f32 64x64 = c rows 64*self cols {64 * half}"
        yield from ("role producer warp {", *self._producer(), "}")
        yield from (f"role consumer[{self.consumers}] warpgroup {{", *self._consumer(), "}")

    def _producer(self) -> Iterator[str]:
        yield "for k in 0..K {"
        for ring, slots in self.rings.items():
            loads = [f"load {ring}.{s}[{i}] k" for s in slots for i in range(self.slab_count(s))]
            yield f"acquire {ring}.empty"
            yield f"expect {ring}.full bytes {SLAB_BYTES * len(loads)}"
            yield from reversed(loads) if self.b_first else loads
            yield f"advance {ring}"
        yield "}"
        for ring in self.rings if self.drain else ():
            end = f"{ring}.stages" if self.drain == "stages" else f"min({ring}.stages, K)"
            yield f"for _ in 0..{end} {{ acquire {ring}.empty advance {ring} }}"

    def _consumer(self) -> Iterator[str]:
        of_slot = {slot: ring for ring, slots in self.rings.items() for slot in slots}
        if self.guarded:
            yield "if K > 0 {"
        yield "for k in 0..K {"
        yield from (f"acquire {ring}.full" for ring in self.rings)
        yield "fence"
        for half in range(self.halves):
            yield f"mma acc{half}, {of_slot['A']}.A[self], {of_slot['B']}.B[{half}], k"
            if half + self.commits >= self.halves:
                yield "commit"
        yield "wait 0"
        yield from (f"release {ring}.empty" for ring in self.rings)
        yield from (f"advance {ring}" for ring in self.rings)
        yield "}"
        if self.guarded:
            yield "}"
        yield from (f"store acc{half} -> c" for half in range(self.halves))
