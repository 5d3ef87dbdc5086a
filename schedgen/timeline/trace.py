"""From an execution to a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from schedgen.happens_before.counting_run import CountingRun
from schedgen.happens_before.matching import Matching
from schedgen.happens_before.record import Event, EventKind
from schedgen.happens_before.unroll import Instance, OverBudget
from schedgen.ir.effects import Engine, RingBarrier
from schedgen.ir.schedule import Schedule
from schedgen.predict.card import Numbers
from schedgen.predict.costs import RESOURCES, Costs, serialised_roles
from schedgen.timeline.critical import Cycle, critical_cycle, label_of, members_of, why, work
from schedgen.timeline.execution import Execution, execute
from schedgen.timeline.loads import loads_of
from schedgen.timeline.model import Bar, Handover, Kind, Lane, Step, Timeline, Usage

ENGINES = {EventKind.LAND: Kind.LOAD, EventKind.RETIRE: Kind.MMA, EventKind.DRAIN: Kind.SHIP}
SETTLED_TURNS = 16
"""Turns for each stage of the deepest ring after which a loop is taken to have settled."""


class Stuck(Exception):
    """The schedule does not come to its end at this K; the message says who waits."""


def settled_tiles(schedule: Schedule, k_tiles: int) -> int:
    """A K whose middle shows the settled loop."""
    deepest = max((r.stages for r in schedule.rings), default=1)
    return max(k_tiles, SETTLED_TURNS * min(deepest + 1, 6))


def traced(schedule: Schedule, k_tiles: int, numbers: Numbers) -> Timeline:
    """The execution of a schedule for one K.

    Raises `Stuck` for one that waits for ever, `OverBudget` for one of too many events.
    """
    run = Matching(schedule, k_tiles)
    if run.blocked:
        blocked = run.blocked[0]
        waits = next(blocked.rest())
        raise Stuck(f"at K = {k_tiles} `{waits.op.text}` of {waits.who} never returns")
    settled = settled_run(schedule, k_tiles)
    loads = loads_of(schedule, settled or run, numbers)
    costs = Costs(schedule, numbers, queued=loads.queued)
    long = None if settled is None else execute(settled, costs)
    cycle = None if long is None else critical_cycle(long)
    picture = _Picture(schedule, execute(run, costs), cycle)
    return replace(picture.timeline(long), loads=loads)


def settled_run(schedule: Schedule, k_tiles: int) -> CountingRun | None:
    """A run of many turns; None where it waits for ever or has too many events."""
    try:
        run = Matching(schedule, settled_tiles(schedule, k_tiles))
    except OverBudget:
        return None
    return None if run.blocked else run


class _Picture:
    """What the parts of a timeline have in common."""

    def __init__(self, schedule: Schedule, execution: Execution, cycle: Cycle | None) -> None:
        self.schedule = schedule
        self.execution = execution
        self.run = execution.run
        self.at = execution.at
        self.cycle = cycle
        owners = [(r, i) for r in schedule.roles for i in range(r.replica_count)]
        self.names = [role.label(i) for role, i in owners]

    def timeline(self, settled: Execution | None) -> Timeline:
        lanes = [*map(self._role_lane, range(len(self.names))), *self._engine_lanes()]
        retired = [self.at[e.node] for e in self.run.events if e.kind is EventKind.RETIRE]
        shown = max(retired, default=self.execution.end)
        return Timeline(
            schedule=self.schedule.name, k_tiles=self.run.k_tiles, unit="cycles", shown=shown,
            end=self.execution.end, lanes=tuple(lanes), handovers=tuple(self._handovers(lanes)),
            rings=rings_text(self.schedule),
            usages=tuple(self._usages(lanes, shown, settled)), path=tuple(self._path()),
            cycle=self.cycle, serialised=serialised_roles(self.schedule),
        )  # fmt: skip

    # --- bars
    def is_critical(self, event: Event) -> bool:
        return self.cycle is not None and label_of(event) in self.cycle.labels

    def _role_lane(self, replica: int) -> Lane:
        """What the elected thread's warp of a replica does."""
        name = self.names[replica]
        own = [
            e for e in self.run.events
            if e.actor == 0 and e.instance is not None and e.instance.who == name
            and e.kind in (EventKind.ISSUE, EventKind.START, EventKind.RETURN)
        ]  # fmt: skip
        bars: list[Bar] = []
        for number, event in enumerate(own):
            if event.kind is EventKind.RETURN:
                continue
            following = own[number + 1].node if number + 1 < len(own) else self.run.exit
            bars.append(self._role_bar(event, following))
        return Lane(name=name, serial=False, bars=tuple(bars))

    def _role_bar(self, event: Event, following: int | None) -> Bar:
        i, begin = event.instance, self.at[event.node]
        assert i is not None
        end = begin
        kind = Kind.OP
        critical = self.is_critical(event)
        if event.kind is EventKind.START:
            assert following is not None
            kind = Kind.BARRIER if i.effects.group is None else Kind.GROUP
            end = self.at[following]
            critical = critical or self.is_critical(self.run.events[following])
        elif following is not None:
            end = begin + self.execution.costs.between(self.run, event.node, following)
            kind = Kind.STORE if i.facts.moves_results and i.effects.group is None else Kind.OP
        return replace(bar_of(self.schedule, i, kind, begin, end), critical=critical)

    def _engine_lanes(self) -> Iterator[Lane]:
        """Engines that have anything to do; loads and the tensor core always."""
        for kind, name in RESOURCES.items():
            served = [e for e in self.run.events if e.kind is kind]
            served.sort(key=lambda e: (self.at[e.node], e.node))
            if served or kind is not EventKind.DRAIN:
                bars = tuple(self._engine_bar(e) for e in served)
                yield Lane(name=name, serial=True, bars=bars)

    def _engine_bar(self, event: Event) -> Bar:
        i, end = event.instance, self.at[event.node]
        assert i is not None
        engines = (Engine.TENSOR, Engine.TMA_STORE)
        members = [m for m in members_of(self.execution, event.node) if m.effects.engine in engines]
        before = [self.at[u] for u in self.run.predecessors[event.node]
                  if self.run.events[u].kind is EventKind.ISSUE]  # fmt: skip
        begin = end - self.execution.busy[event.node]
        made = bar_of(self.schedule, members[0] if members else i, ENGINES[event.kind], begin, end)
        issued = min(before, default=begin)
        return replace(made, issued=min(issued, begin), critical=self.is_critical(event))

    # --- what happens between lanes
    def _handovers(self, lanes: list[Lane]) -> Iterator[Handover]:
        """For each wait of an elected warp the last event that its phase waited for."""
        numbers = {lane.name: n for n, lane in enumerate(lanes)}
        for w in self.run.waits:
            phase = None if w.matched is None or w.matched < 0 else w.log.phases[w.matched]
            if w.actor or w.returned is None or phase is None:
                continue
            last = max(phase.contributors, key=lambda n: (self.at[n], n))
            event = self.run.events[last]
            assert event.instance is not None
            engine = RESOURCES.get(event.kind)
            yield Handover(
                barrier=str(w.log.key), op=event.instance.op.text,
                source=numbers[engine or event.instance.who], sent=self.at[last],
                target=numbers[w.instance.who], received=self.at[w.returned],
                critical=self.is_critical(self.run.events[w.returned]),
            )  # fmt: skip

    def _path(self) -> Iterator[Step]:
        """Why the last mma retires so late, from the start on."""
        retired = [e.node for e in self.run.events if e.kind is EventKind.RETIRE]
        last = max(retired, key=lambda node: (self.at[node], node), default=-1)
        for node in reversed(list(self.execution.path(last))):
            cause = self.execution.cause[node]
            begin = 0 if cause < 0 else self.at[cause]
            event = self.run.events[node]
            if self.at[node] > begin:
                reason = why(self.execution, node)
                if reason == "in turn":
                    reason = "mma" if event.kind is EventKind.RETIRE else "transfer"
                settled = self.is_critical(event)
                yield Step(begin=begin, end=self.at[node], why=reason, settled=settled)

    def _usages(self, lanes: list[Lane], shown: int, settled: Execution | None) -> Iterator[Usage]:
        for kind, name in RESOURCES.items():
            lane = next((lane for lane in lanes if lane.name == name), None)
            if lane is None or kind is EventKind.DRAIN:
                continue
            share = None
            if settled is not None and self.cycle is not None:
                share = Fraction(work(settled, kind, self.cycle), max(self.cycle.cycles, 1))
            busy = sum(bar.length for bar in lane.bars)
            yield Usage(lane=name, busy=busy, window=shown, settled=share)


def bar_of(schedule: Schedule, i: Instance, kind: Kind, begin: int, end: int) -> Bar:
    """A bar of an op instance."""
    tiles = [i.value(a.tile) for a in i.effects.accesses if a.tile is not None]
    return Bar(
        kind=kind, begin=begin, end=end, issued=begin, op=i.op.text, who=i.who, replica=i.replica,
        letter=letter_of(schedule, i), tile=tiles[0] if tiles else None, k=i.k,
        place="" if i.op.place is None else str(i.op.place),
    )  # fmt: skip


def letter_of(schedule: Schedule, i: Instance) -> str:
    """The letter of the stage that an op names first; the rings share the alphabet in turn."""
    rings = list(i.facts.rings)
    if i.effects.wait is not None and isinstance(i.effects.wait.barrier, RingBarrier):
        rings.insert(0, (i.effects.wait.barrier.ring, i.effects.wait.offset))
    if not rings:
        return ""
    ring, offset = rings[0]
    first = 0
    for known in schedule.rings:
        if known.name == ring:
            break
        first += known.stages
    return stage_letter(first + i.use(ring, offset) % i.stages[ring])


def rings_text(schedule: Schedule) -> str:
    """``4 stages``, or ``4 stages of ta and 3 of tb``."""
    counts = [f"{r.stages} stage{'' if r.stages == 1 else 's'}" for r in schedule.rings]
    if len(counts) == 1:
        return counts[0]
    return " and ".join(
        f"{count} of {ring.name}" for count, ring in zip(counts, schedule.rings, strict=True)
    )


def stage_letter(number: int) -> str:
    return chr(ord("A") + number % 26)
