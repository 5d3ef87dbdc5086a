"""What a schedule takes on a shape: the loop's cycles per K step, the ends, the waves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from schedgen.happens_before.proof.text import Obstacle
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.schedule import Schedule
from schedgen.markup import Shown
from schedgen.predict.card import Numbers, h200
from schedgen.predict.costs import Costs, serialised_roles
from schedgen.predict.limiting import Limiting, limiting
from schedgen.predict.occupancy import Occupancy, Waves, occupancy, waves
from schedgen.predict.queueing import Settled, settle
from schedgen.predict.ratio import Circle
from schedgen.predict.timeline import Ends, Timeline, settled

if TYPE_CHECKING:
    from rich.text import Text


class CannotPredict(Exception):
    """The graph of the schedule does not fold into one turn of its loop; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """The settled loop of one CTA, whatever the shape.

    ``alone`` are its cycles per K step by its own waits and resources, ``work`` those of the
    busiest resource per K step, ``loads`` those of its loads; ``occupancy`` says how many CTAs
    share them.  ``limiting`` is what limits them together; a load waits ``queued`` cycles for
    others.  At ``k_tiles`` one CTA takes ``ends``.
    """

    alone: Fraction
    work: Fraction
    loads: Fraction
    queued: int
    limiting: Limiting | None
    occupancy: Occupancy
    k_tiles: int
    ends: Ends
    serialised: tuple[str, ...]

    @property
    def shared(self) -> Fraction:
        """Cycles between two K steps of a CTA while its neighbours are at work as well."""
        return max(self.alone, self.work * self.occupancy.ctas)

    @property
    def epilogue(self) -> int:
        return self.ends.exit - self.ends.last_retire

    @property
    def prologue(self) -> Fraction:
        """What the steps up to ``k_tiles`` take beyond their number times ``alone``."""
        return self.ends.last_retire - self.k_tiles * self.alone


@dataclass(frozen=True, kw_only=True)
class Prediction(Shown):
    """The predicted time of a schedule on a shape (m, n, k); cycles are those of the SM's clock.

    ``cycles_per_step`` of one CTA, its neighbours on the SM at work; ``prologue`` and ``epilogue``
    of one CTA, its launch in the former; ``cycles`` of the whole kernel, ``ms`` at ``clock`` GHz.
    The way from the L2 is in use for ``loads_share`` of the time, and each load waits
    ``loads_queued`` cycles for others.
    """

    schedule: str
    shape: tuple[int, int, int]
    steps: int
    cycles_per_step: float
    limiting: Limiting | None
    loads_share: float
    loads_queued: int
    prologue: float
    epilogue: int
    occupancy: Occupancy
    waves: Waves
    cycles: int
    clock: float
    serialised: tuple[str, ...]

    def _styled(self, *, width: int) -> Text:
        from rich.text import Text

        from schedgen.predict.text import prediction_text

        return Text(prediction_text(self))

    @property
    def ms(self) -> float:
        return self.cycles / (self.clock * 1e6)


def loop_of(schedule: Schedule, numbers: Numbers) -> Loop:
    """The settled loop.  Raises `CannotPredict` where the turns of the loop do not repeat."""
    return loop_on(timeline_of(schedule), numbers)


def loads_queued(schedule: Schedule, numbers: Numbers) -> int:
    """How long each load waits for others once the loop has settled; raises as `loop_of` does."""
    timeline = timeline_of(schedule)
    ctas = occupancy(schedule).ctas
    try:
        return max((loop.queued for loop in _settled(timeline, numbers, ctas)), default=0)
    except Obstacle as reason:
        raise CannotPredict(str(reason)) from reason


def timeline_of(schedule: Schedule) -> Timeline:
    """The events of a schedule that was proved, whatever they cost; raises as `loop_of` does."""
    try:
        return Timeline(schedule, settled(schedule))
    except (Obstacle, OverBudget) as reason:
        raise CannotPredict(str(reason) or "it has too many events") from reason


def loop_on(timeline: Timeline, numbers: Numbers) -> Loop:
    """The settled loop of a schedule's events; raises as `loop_of` does."""
    try:
        return _loop(timeline, numbers)
    except Obstacle as reason:
        raise CannotPredict(str(reason)) from reason


def _loop(timeline: Timeline, numbers: Numbers) -> Loop:
    schedule = timeline.schedule
    room = occupancy(schedule)
    alone = work = loads = Fraction(0)
    loops = _settled(timeline, numbers, room.ctas)
    queued = max((loop.queued for loop in loops), default=0)
    worst: tuple[Fraction, Limiting | None] = (Fraction(0), None)
    for stretch, loop in enumerate(loops):
        alone += loop.alone.ratio
        work += loop.busiest.ratio
        loads += loop.loads
        shared = loop.busiest.ratio * room.ctas
        circle, ctas = (loop.busiest, room.ctas) if shared >= loop.alone.ratio else (loop.alone, 1)
        if circle.ratio * ctas > worst[0]:
            worst = circle.ratio * ctas, _told(timeline, stretch, circle, ctas)
    return Loop(
        alone=alone, work=work, loads=loads, queued=queued, limiting=worst[1], occupancy=room,
        k_tiles=timeline.k_tiles, ends=timeline.ends(Costs(schedule, numbers, queued=queued)),
        serialised=serialised_roles(schedule),
    )  # fmt: skip


def _settled(timeline: Timeline, numbers: Numbers, ctas: int) -> list[Settled]:
    """The loop of each stretch."""
    return [settle(timeline, m, numbers, ctas=ctas) for m in range(len(timeline.nodes))]


def _told(timeline: Timeline, stretch: int, circle: Circle, ctas: int) -> Limiting:
    nodes = timeline.nodes[stretch][timeline.middles[stretch]]
    events = [timeline.matching.events[nodes[d.source]] for d in circle.delays]
    return limiting(timeline.schedule, circle, events, ctas)


def predict(
    schedule: Schedule, *, shape: tuple[int, int, int], numbers: Numbers, clock: float | None
) -> Prediction:
    """The prediction for a schedule that was proved; ``clock`` None is the fitted one.

    Raises `CannotPredict` where the turns of its loop do not repeat.
    """
    return on_shape(schedule, loop_of(schedule, numbers), shape=shape, numbers=numbers, clock=clock)


def on_shape(
    schedule: Schedule, loop: Loop, *, shape: tuple[int, int, int], numbers: Numbers,
    clock: float | None,
) -> Prediction:  # fmt: skip
    """The prediction of a loop on a shape."""
    m, n, k = shape
    steps = -(-k // schedule.tile.k)
    grid = waves(-(-m // schedule.tile.m) * -(-n // schedule.tile.n), loop.occupancy.ctas)
    prologue = loop.prologue + numbers.launch
    alone = prologue + steps * loop.alone + loop.epilogue
    busy = steps * loop.work

    def round_of(ctas: int) -> Fraction:
        """One round of CTAs that start together: by their own waits, or by what they share."""
        return max(alone, ctas * busy) if ctas else Fraction(0)

    cycles = grid.rounds * round_of(grid.ctas) + round_of(grid.rest)
    if grid.ctas > 1 and grid.ctas * busy > alone:  # the first and the last CTA hide nowhere
        cycles += prologue + loop.epilogue
    share = loop.loads * grid.ctas / loop.shared if loop.shared else 0
    return Prediction(
        schedule=schedule.name, shape=shape, steps=steps, cycles_per_step=float(loop.shared),
        limiting=loop.limiting, loads_share=float(share), loads_queued=loop.queued,
        prologue=float(prologue), epilogue=loop.epilogue,
        occupancy=loop.occupancy, waves=grid, cycles=round(cycles),
        clock=numbers.clock if clock is None else clock, serialised=loop.serialised,
    )  # fmt: skip


def predicted_ms(schedule: Schedule, m: int, n: int, k: int) -> float | None:
    """Milliseconds at the fitted clock for a proved schedule; None where none can be said."""
    try:
        return predict(schedule, shape=(m, n, k), numbers=h200(), clock=None).ms
    except CannotPredict:
        return None
