"""A run, part by part: check, then time, keep after every round.

No contestant is timed on a shape before this very process has found its product of that shape
right; what is wrong or fails is a row with its reason.  `Run.results` is whole at every moment, so
an interrupted run loses one round at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from schedgen.bench.preparing import Prepared
from schedgen.bench.progress import Progress
from schedgen.bench.request import Shape, shape_text
from schedgen.bench.results import FAILED, RIGHT, WRONG, Check, Part, Results
from schedgen.bench.timing import Device, Launch, Method

Save = Callable[[Results], None]

SEED = 7
"""Of the operands: one seed for every shape and contestant."""


class Stopped(Exception):
    """The GPU no longer answers; what was measured before is kept."""


class Run:
    """One process of a run: measures what ``results`` lacks.

    ``save`` is called after every check and every round with results that are whole; ``progress``
    counts the rounds.
    """

    def __init__(
        self, results: Results, prepared: Mapping[str, Prepared], device: Device, *, save: Save,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.results = results
        self._prepared = prepared
        self._device = device
        self._save = save
        self._progress = progress
        self._process = len(results.processes) - 1

    def measure(self) -> Results:
        """Every unfinished part, shape by shape.  Raises `Stopped` where the GPU is lost."""
        for shape in [s.shape for s in self.results.shapes]:
            missing = [
                method
                for method in self.results.methods
                if not self.results.part_is_complete(shape, method.name)
            ]
            if missing:
                self._progress.say(f"{shape_text(shape)}: checking against float64")
                self._use(shape)
                launches = self._right_ones(shape)
                for method in missing:
                    self._part(shape, method, launches)
        return self.results

    def count(self, shape: Shape) -> None:
        """Cycles of everyone that is right on the shape, by ncu in a process of its own."""
        from schedgen.bench.counters import count

        right = [self._prepared[label] for label in contestants_right(self.results, shape)]
        counts = count(shape, right, seed=SEED, process=self._process)
        self._keep(self.results.with_counts(shape, counts))

    def _use(self, shape: Shape) -> None:
        try:
            self._device.use(shape, seed=SEED)
        except Exception as failure:  # the card's memory, as a rule
            raise Stopped(f"no operands for {shape_text(shape)}: {failure}") from failure

    def _right_ones(self, shape: Shape) -> dict[str, Launch]:
        """Launches of those whose product is right, each checked in this process."""
        found: dict[str, Launch] = {}
        for entry in self.results.on(shape):
            old = self.results.at(shape).checks.get(entry.label)
            if entry.refusal or entry.failure or (old is not None and old.state == FAILED):
                continue
            launch, check = self._checked(self._prepared[entry.label], shape)
            self._keep(self.results.with_check(shape, entry.label, check))
            if launch is not None:
                found[entry.label] = launch
            else:
                self._progress.say(
                    f"{shape_text(shape)}: {entry.label} is {check.state}: {check.reason}"
                )
            if check.state == FAILED and not self._device.answers():
                raise Stopped(f"the GPU was lost when {entry.label} ran at {shape_text(shape)}")
        return found

    def _checked(self, prepared: Prepared, shape: Shape) -> tuple[Launch | None, Check]:
        limit = prepared.limit(shape[2])
        check = Check(process=self._process, state=RIGHT, error=None, limit=limit, reason=None)
        try:
            launch = self._device.bind(prepared.contestant)
            error = self._device.error(launch)
        except Exception as failure:  # whatever a kernel or its runtime raises is a row
            reason = " ".join(f"{type(failure).__name__}: {failure}".split())[-600:]
            return None, replace(check, state=FAILED, reason=reason)
        if not math.isfinite(error):
            return None, replace(check, state=WRONG, reason="the output holds NaN or infinity")
        if error > limit:
            reason = f"relative error {error:.2e}, {limit:.2e} is allowed"
            return None, replace(check, state=WRONG, error=error, reason=reason)
        return launch, replace(check, error=error)

    def _part(self, shape: Shape, method: Method, launches: Mapping[str, Launch]) -> None:
        """All rounds of a method, from the first on: a part never mixes processes."""
        part = Part(process=self._process, complete=not launches, rounds=())
        what = f"{shape_text(shape)}: {method.name}, {method.rounds} rounds of {len(launches)}"
        self._progress.say(what)
        for turn in range(method.rounds if launches else 0):
            try:
                one = method.round(self._device, launches, turn)
            except Exception as failure:
                raise Stopped(f"a launch failed at {shape_text(shape)}: {failure}") from failure
            rounds = (*part.rounds, one)
            part = replace(part, rounds=rounds, complete=len(rounds) == method.rounds)
            self._keep(self.results.with_part(shape, method.name, part))
            self._progress.step(what)
        if not launches:
            self._keep(self.results.with_part(shape, method.name, part))

    def _keep(self, results: Results) -> None:
        self.results = results
        self._save(results)


def contestants_right(results: Results, shape: Shape) -> list[str]:
    """Labels that were found right on the shape, in the order of the table."""
    checks = results.at(shape).checks
    return [
        e.label for e in results.on(shape) if e.label in checks and checks[e.label].state == RIGHT
    ]
