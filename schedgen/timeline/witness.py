"""A refusal's witness as a timeline: time is the number of a step, as `schedgen replay` counts.

What is in flight has rows of its own, from the issue to the end; the two accesses that collide are
marked, `!` where both are open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schedgen.happens_before.counting_run import unrolled_programs
from schedgen.happens_before.unroll import Instance, Unroller
from schedgen.ir.effects import Engine
from schedgen.ir.schedule import Schedule
from schedgen.machine.hazard import Hazard, Site, Step
from schedgen.machine.retelling import Retelling
from schedgen.timeline.model import Bar, Kind, Lane, Timeline
from schedgen.timeline.trace import bar_of, rings_text

MOST_STEPS = 60
"""Steps that are drawn, the last ones."""

FLIGHTS = {Engine.TMA: Kind.LOAD, Engine.TENSOR: Kind.MMA, Engine.TMA_STORE: Kind.SHIP}
NAMES = {Kind.LOAD: "load", Kind.MMA: "mma", Kind.SHIP: "store"}
MOST_SENTENCES = 4
Who = tuple[str, int]


@dataclass
class _Drawing:
    """The bars so far; open ones by what will end them."""

    schedule: Schedule
    programs: Mapping[Who, list[Instance]]
    roles: dict[tuple[str, int, int], list[Bar]] = field(default_factory=dict)
    waits: dict[tuple[str, int, int], Bar] = field(default_factory=dict)
    flying: dict[tuple[str, int, int], Bar] = field(default_factory=dict)
    landed: list[Bar] = field(default_factory=list)

    def step(self, number: int, step: Step) -> None:
        who = step.role, step.replica
        i = self.programs[who][step.seq]
        engine = i.effects.engine
        if step.event in ("land", "retire", "drain"):
            self._end(number, step, {"land": Kind.LOAD, "retire": Kind.MMA}.get(step.event))
            return
        actor = (*who, step.actor or 0)
        lane = self.roles.setdefault(actor, [])
        if step.event == "start":
            kind = Kind.BARRIER if i.effects.group is None else Kind.GROUP
            self.waits[actor] = bar_of(self.schedule, i, kind, number, number + 1)
        elif step.event == "return" and actor in self.waits:
            lane.append(replace(self.waits.pop(actor), end=number + 1))
        elif step.event != "close":
            lane.append(bar_of(self.schedule, i, Kind.OP, number, number + 1))
        if step.event == "issue" and engine in FLIGHTS:
            bar = bar_of(self.schedule, i, FLIGHTS[engine], number, number + 1)
            self.flying.setdefault((*who, step.seq), bar)

    def _end(self, number: int, step: Step, kind: Kind | None) -> None:
        """A landing ends its load, a retirement or drain all that its commit closed."""
        kind = kind or Kind.SHIP
        over = [
            key for key, bar in self.flying.items()
            if key[:2] == (step.role, step.replica) and bar.kind is kind
            and (key[2] == step.seq if kind is Kind.LOAD else key[2] < step.seq)
        ]  # fmt: skip
        self.landed += [replace(self.flying.pop(key), end=number + 1) for key in over]

    def finish(self, last: int) -> None:
        """What never returned or landed is open to the end."""
        for actor, bar in self.waits.items():
            self.roles[actor].append(replace(bar, end=last + 1))
        self.landed += [replace(bar, end=last + 1) for bar in self.flying.values()]


def witnessed(schedule: Schedule, retelling: Retelling) -> Timeline:
    """The picture of a retelling; what collides is what the machine saw collide."""
    k_tiles = retelling.program.k_tiles
    owners = [(r.name, i) for r in schedule.roles for i in range(r.replica_count)]
    programs = unrolled_programs(Unroller(schedule), k_tiles)
    drawing = _Drawing(schedule, dict(zip(owners, programs, strict=True)))
    for number, step in enumerate(retelling.steps, start=1):
        drawing.step(number, step)
    last = len(retelling.steps)
    drawing.finish(last)
    sites = _sites(retelling)
    first = max(last - MOST_STEPS + 1, 1)
    flights = _marked(_cut(drawing.landed, first), sites)
    if [site.kind for site in sites if isinstance(site, Hazard)] == ["accumulator"]:
        flights = _pending_marked(flights, sites[0].role)
    rest = [site for site in sites if not any(b.matches(site) for b in flights)]
    lanes = [
        Lane(
            name=_name(schedule, actor), serial=False, bars=tuple(_marked(_cut(bars, first), rest))
        )
        for actor, bars in sorted(drawing.roles.items(), key=lambda kv: _rank(owners, kv[0]))
    ]
    lanes += _flights(flights)
    return Timeline(
        schedule=schedule.name, k_tiles=k_tiles, unit="steps", first=first, shown=last + 1,
        end=last + 1, lanes=tuple(lanes), rings=rings_text(schedule),
        refusal=retelling.title,
        sentences=tuple(dict.fromkeys(_sentences(retelling)))[:MOST_SENTENCES],
    )  # fmt: skip


def _sites(retelling: Retelling) -> list[Site]:
    """Where the first hazard is, with what it collides with; of a deadlock everyone who waits."""
    hazards = retelling.hazards
    if hazards and hazards[0].kind == "deadlock":
        return [hazard for hazard in hazards if hazard.kind == "deadlock"]
    return [site for hazard in hazards[:1] for site in (hazard, hazard.other) if site]


def _marked(bars: Sequence[Bar], sites: Sequence[Site]) -> list[Bar]:
    """The bars; the last one at each site collides."""
    last = {max((n for n, b in enumerate(bars) if b.matches(s)), default=-1) for s in sites}
    return [replace(b, clash=n in last) for n, b in enumerate(bars)]


def _pending_marked(bars: Sequence[Bar], who: str) -> list[Bar]:
    """The bars; the mma of a role that is pending at the end collides."""
    mine = [n for n, b in enumerate(bars) if b.kind is Kind.MMA and b.who == who]
    return [replace(b, clash=n in mine[-1:]) for n, b in enumerate(bars)]


def _rank(owners: Sequence[Who], actor: tuple[str, int, int]) -> tuple[int, int]:
    return owners.index(actor[:2]), actor[2]


def _name(schedule: Schedule, actor: tuple[str, int, int]) -> str:
    role = next(r for r in schedule.roles if r.name == actor[0])
    label = role.label(actor[1])
    return label if not actor[2] else f"{label} +{actor[2]}"


def _cut(bars: Sequence[Bar], first: int) -> tuple[Bar, ...]:
    """Those that last beyond the first step that is drawn."""
    kept = [b for b in bars if b.end > first]
    return tuple(sorted(kept, key=lambda b: (b.begin, b.end)))


def _flights(bars: Sequence[Bar]) -> Iterator[Lane]:
    """Rows of what is in flight: each that collides has its own, the others share rows."""
    rows: dict[Kind, list[list[Bar]]] = {}
    for bar in [b for b in bars if not b.clash]:
        mine = rows.setdefault(bar.kind, [])
        row = next((r for r in mine if _fits(r[-1], bar)), None)
        if row is None:
            mine.append([bar])
        elif row[-1].end > bar.begin:
            row[-1] = replace(row[-1], end=max(row[-1].end, bar.end))
        else:
            row.append(bar)
    for kind, mine in rows.items():
        for row in mine:
            yield Lane(name=f"{NAMES[kind]}s", serial=True, bars=tuple(row))
    for bar in [b for b in bars if b.clash]:
        tile = "" if bar.tile is None else f" of tile {bar.tile}"
        yield Lane(name=f"{NAMES[bar.kind]}{tile}", serial=True, bars=(bar,))


def _fits(before: Bar, bar: Bar) -> bool:
    """After it, or of the same tile into or from the same stage: they are drawn as one."""
    alike = (before.letter, before.tile, before.who) == (bar.letter, bar.tile, bar.who)
    return before.end <= bar.begin or alike


def _sentences(retelling: Retelling) -> Iterator[str]:
    if retelling.landing is not None:
        yield retelling.landing
    for hazard in retelling.hazards:
        if retelling.landing is None or hazard.kind not in ("overwrite", "read-early"):
            where = "" if hazard.kind in ("deadlock", "exit") else f"{Site.__str__(hazard)}: "
            yield f"{hazard.kind}: {where}{hazard.message}"
    if not retelling.hazards:
        yield "the machine saw no hazard in this order"
