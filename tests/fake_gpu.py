"""A GPU of which the tests know everything: what a launch takes, what was done in which order."""

import math

from schedgen.bench.building import Built
from schedgen.bench.request import shape_text
from schedgen.bench.results import Results, ShapeResults
from schedgen.bench.timing import burst, sustained


class FakeGpu:
    """``times`` are milliseconds by label at full clock; every timing finds the clock ``drift``
    lower than the one before.  ``errors`` are relative errors by label; `math.nan` is told as a
    poisoned output would be, an exception is raised.  ``interrupt_at`` is the number of the timing
    in which the user presses Ctrl-C.
    """

    def __init__(self, times, *, errors=None, drift=0.0, interrupt_at=None, card="Fake H200"):
        self.times = times
        self.errors = errors or {}
        self.drift = drift
        self.interrupt_at = interrupt_at
        self.card = card
        self.log = []
        self.timings = 0
        self.alive = True

    def describe(self):
        return {"card": self.card, "driver": "1.2", "torch": "2.11", "tilus": "0.2.0"}

    def state(self):
        return {"SM clock": "345 MHz"}

    def use(self, shape, *, seed):
        self.log.append(("use", shape_text(shape)))

    def bind(self, contestant):
        label = contestant.label
        if isinstance(self.errors.get(label), Exception):
            raise self.errors[label]

        def launch():
            self.log.append(("launch", label))

        launch.label = label
        return launch

    def error(self, launch):
        self.log.append(("check", launch.label))
        error = self.errors.get(launch.label, 2.1e-4)
        return math.inf if math.isnan(error) else error

    def milliseconds(self, launch, *, launches):
        self.timings += 1
        if self.timings == self.interrupt_at:
            raise KeyboardInterrupt
        self.log.append(("time", launch.label, launches))
        return self.times[launch.label] * (1 + self.drift * self.timings)

    def idle(self, seconds):
        self.log.append(("idle", seconds))

    def answers(self):
        return self.alive

    def of(self, *kinds):
        """What was done of these kinds, in order."""
        return [entry for entry in self.log if entry[0] in kinds]


class Quiet:
    """Progress that nobody sees."""

    def say(self, text):
        pass

    def step(self, text):
        pass


def built_at_once(jobs, *, workers):
    """In place of the compiler: everything builds."""
    for job in jobs:
        yield Built(job=job, failure=None, problems=(), note="built")


def empty_results(entries, *, shapes, rounds=3, hot=False, run="one"):
    """Results before the first round."""
    return Results(
        run=run, machine={"card": "Fake H200"}, processes=({"date": "today"},),
        methods=(burst(rounds), sustained(rounds)) if hot else (burst(rounds),), counted=(),
        baseline=entries[-1].label, entries=tuple(entries),
        shapes=tuple(ShapeResults(shape=s, checks={}, parts={}, counts={}) for s in shapes),
    )  # fmt: skip
