"""What a run found, as a value: raw rounds, checks, counts, and what is still missing.

Numbers are compared within one part only: the rounds of one shape and one method, all measured in
one process.  A run that is resumed measures unfinished parts anew and keeps finished ones, so a
part never mixes processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schedgen.bench.request import Shape, shape_text
from schedgen.bench.timing import Method, Round, Summary, paired_ratios, summary

RIGHT, WRONG, FAILED = "right", "wrong", "failed"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A contestant as the file tells of it: what was asked, and what became of it.

    ``digest`` is of the schedule's text or of the file, ``kernel`` of the file that is compiled.
    ``refusal`` says why nothing was emitted, ``failure`` why what was emitted does not compile;
    ``problems`` are what the compiled kernel does not keep of its schedule (spills, a serialised
    mma).  ``predicted`` holds milliseconds by shape.
    """

    label: str
    kind: str
    source: str
    pipeline: str
    static_k: bool
    shapes: tuple[Shape, ...]
    schedule: str | None
    digest: str | None
    kernel: str | None
    proof: str | None
    sums: str
    refusal: str | None
    failure: str | None
    problems: tuple[str, ...]
    predicted: Mapping[str, float]

    @property
    def asked(self) -> tuple[object, ...]:
        """What a resumed run must ask for, too."""
        return self.source, self.pipeline, self.static_k, self.shapes, self.digest, self.kernel


@dataclass(frozen=True, kw_only=True)
class Check:
    """Whether a contestant computes the product of a shape; ``error`` is None where it holds NaN
    or there was no product."""

    process: int
    state: str
    error: float | None
    limit: float
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Part:
    """The rounds of one method on one shape, in one process."""

    process: int
    complete: bool
    rounds: tuple[Round, ...]


@dataclass(frozen=True, kw_only=True)
class Count:
    """What the hardware counters said of one launch, or why they said nothing."""

    process: int
    metrics: Mapping[str, float]
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ShapeResults:
    """Everything about one shape, by label and by method."""

    shape: Shape
    checks: Mapping[str, Check]
    parts: Mapping[str, Part]
    counts: Mapping[str, Count]

    def rounds_of(self, method: str) -> tuple[Round, ...]:
        return self.parts[method].rounds if method in self.parts else ()

    def times(self, method: str, label: str) -> list[float]:
        return [r[label] for r in self.rounds_of(method) if label in r]

    def ratio(self, method: str, label: str, baseline: str) -> Summary | None:
        """Of the paired ratios, None without a round that has both."""
        ratios = paired_ratios(self.rounds_of(method), label, baseline)
        return summary(ratios) if ratios else None


@dataclass(frozen=True, kw_only=True)
class Results:
    """One run: one request on one kind of machine, in one process or several one after another."""

    run: str
    machine: Mapping[str, str]
    processes: tuple[Mapping[str, str], ...]
    methods: tuple[Method, ...]
    counted: tuple[Shape, ...]
    baseline: str
    entries: tuple[Entry, ...]
    shapes: tuple[ShapeResults, ...]

    def at(self, shape: Shape) -> ShapeResults:
        return next(s for s in self.shapes if s.shape == shape)

    def on(self, shape: Shape) -> tuple[Entry, ...]:
        return tuple(e for e in self.entries if shape in e.shapes)

    def replaced(self, new: ShapeResults) -> Results:
        return replace(self, shapes=tuple(new if s.shape == new.shape else s for s in self.shapes))

    def with_check(self, shape: Shape, label: str, check: Check) -> Results:
        old = self.at(shape)
        return self.replaced(replace(old, checks={**old.checks, label: check}))

    def with_part(self, shape: Shape, method: str, part: Part) -> Results:
        old = self.at(shape)
        return self.replaced(replace(old, parts={**old.parts, method: part}))

    def with_counts(self, shape: Shape, counts: Mapping[str, Count]) -> Results:
        old = self.at(shape)
        return self.replaced(replace(old, counts={**old.counts, **counts}))

    def part_is_complete(self, shape: Shape, method: str) -> bool:
        part = self.at(shape).parts.get(method)
        return part is not None and part.complete

    def counts_are_complete(self, shape: Shape) -> bool:
        here = self.at(shape)
        right = [label for label, check in here.checks.items() if check.state == RIGHT]
        return bool(here.checks) and all(
            label in here.counts and here.counts[label].reason is None for label in right
        )

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Parts that were asked for and are not complete."""
        found = [
            f"{shape_text(s.shape)} {method.name}"
            for s in self.shapes
            for method in self.methods
            if not self.part_is_complete(s.shape, method.name)
        ]
        return (
            *found,
            *(f"{shape_text(s)} cycles" for s in self.counted if not self.counts_are_complete(s)),
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """What was accepted and does not compile, or runs and is wrong or fails."""
        failed = tuple(f"{e.label}: {e.failure}" for e in self.entries if e.failure is not None)
        return failed + tuple(
            f"{label} {shape_text(s.shape)}: {check.state}"
            for s in self.shapes
            for label, check in s.checks.items()
            if check.state != RIGHT
        )


MACHINE_OF_A_RUN = ("card", "driver", "nvcc", "torch", "triton", "tilus")


def differences(old: Results, new: Results) -> list[str]:
    """Why a run cannot be resumed as ``new``: empty where it can."""
    found: list[str] = []
    for key in MACHINE_OF_A_RUN:
        was, now = old.machine.get(key), new.machine.get(key)
        if was != now:
            found.append(f"{key} was {was}, is {now}")
    if [e.label for e in old.entries] != [e.label for e in new.entries]:
        found.append("other contestants")
    else:
        found += [
            f"`{was.label}` was another kernel or had other shapes"
            for was, now in zip(old.entries, new.entries, strict=True)
            if was.asked != now.asked
        ]
    if [s.shape for s in old.shapes] != [s.shape for s in new.shapes]:
        found.append("other shapes")
    before = {method.name: method for method in old.methods}
    for method in new.methods:
        if before.get(method.name, method) != method:
            found.append(f"{method.name} had {before[method.name].rounds} rounds")
    return found


def resumed(old: Results, new: Results) -> Results:
    """``old``, going on in the process that ``new`` begins; methods of both are asked for."""
    names = {method.name for method in old.methods}
    return replace(
        old,
        processes=(*old.processes, *new.processes),
        methods=(*old.methods, *(m for m in new.methods if m.name not in names)),
        counted=old.counted or new.counted,
        entries=new.entries,
    )
