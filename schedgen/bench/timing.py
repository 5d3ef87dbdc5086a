"""How kernels are timed on a power-limited GPU, and what may be computed from the rounds.

A matmul of this size runs at whatever clock the power limit allows: the same kernel differs by 5 to
10 % between separate runs (seen on an H200).  Every method therefore interleaves the contestants
in one process, round by round; a ratio is taken within a round, and the median over the rounds is
reported with its spread.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schedgen.bench.request import Contestant, Shape

Launch = Callable[[], object]
"""Starts one product on the GPU and does not wait for it."""

Round = dict[str, float]
"""Milliseconds per launch of every contestant, by label."""


class Device(Protocol):
    """What a run needs of the GPU; tests inject another one."""

    def describe(self) -> dict[str, str]:
        """Card, driver, highest clocks, versions: what tells one machine from another."""
        ...

    def state(self) -> dict[str, str]:
        """Clocks, power and temperature at this moment."""
        ...

    def use(self, shape: Shape, *, seed: int) -> None:
        """Normal fp16 operands of a problem, and their product in float64; frees the last ones."""
        ...

    def bind(self, contestant: Contestant) -> Launch:
        """A launch of the contestant on these operands, compiled and loaded.  Raises what fails."""
        ...

    def error(self, launch: Launch) -> float:
        """Relative Frobenius norm against float64 of one launch into an output full of NaN."""
        ...

    def milliseconds(self, launch: Launch, *, launches: int) -> float:
        """Per launch, over so many of them back to back between two events."""
        ...

    def idle(self, seconds: float) -> None:
        """Let the chip cool."""
        ...

    def answers(self) -> bool:
        """Whether launches still work: a fault in one kernel ends them for the process."""
        ...


@dataclass(frozen=True, kw_only=True)
class Method:
    """What is done with one contestant in one round, and how many rounds there are.

    ``idle`` is in seconds; ``warm_ups`` and ``launches`` count launches.
    """

    name: str
    idle: float
    warm_ups: int
    launches: int
    rounds: int

    def round(self, device: Device, launches: Mapping[str, Launch], turn: int) -> Round:
        """Every contestant once; another one comes first in every turn."""
        return {
            label: self._once(device, launches[label]) for label in rotated(list(launches), turn)
        }

    def _once(self, device: Device, launch: Launch) -> float:
        if self.idle:
            device.idle(self.idle)
        for _ in range(self.warm_ups):
            launch()
        return device.milliseconds(launch, launches=self.launches)


def burst(rounds: int) -> Method:
    """A cool chip: the headline.  Repeats to 0.2 % within a process."""
    return Method(name="burst", idle=0.15, warm_ups=2, launches=3, rounds=rounds)


def sustained(rounds: int) -> Method:
    """A hot chip, whose clock moves: read it with its spread."""
    return Method(name="sustained", idle=0.0, warm_ups=0, launches=20, rounds=rounds)


def rotated(labels: list[str], turn: int) -> list[str]:
    """Another first contestant in every round, so that none always follows the same neighbour."""
    start = turn % len(labels) if labels else 0
    return labels[start:] + labels[:start]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Of a list of numbers: median, quartiles, least and most."""

    median: float
    low: float
    high: float
    least: float
    most: float

    def as_dict(self) -> dict[str, Any]:
        return {
            "median": self.median, "quartiles": [self.low, self.high],
            "range": [self.least, self.most],
        }  # fmt: skip


def summary(numbers: Sequence[float]) -> Summary:
    """Quartiles by the inclusive method; one number is its own median and quartiles."""
    low, median, high = (
        statistics.quantiles(numbers, n=4, method="inclusive")
        if len(numbers) > 1
        else (numbers[0],) * 3
    )
    return Summary(median=median, low=low, high=high, least=min(numbers), most=max(numbers))


def paired_ratios(rounds: Sequence[Round], label: str, baseline: str) -> list[float]:
    """Baseline's time over the contestant's in each round that has both: above 1 is faster."""
    return [r[baseline] / r[label] for r in rounds if baseline in r and label in r]


def tflops(shape: Shape, milliseconds: float) -> float:
    """2 m n k operations over the time."""
    m, n, k = shape
    return 2 * m * n * k / milliseconds / 1e9
