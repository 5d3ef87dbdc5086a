"""A finding's witness, told again by the machine: step by step, up to what goes wrong.

The witness comes from the JSON of `check`.  That of a race or a deadlock leads to what goes wrong,
and without any one of its steps it does not; where it leads to something uncertain the machine goes
on alone.  Steps that the hazard does without are left out (module `shortening`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.machine.compiler import compile_program
from schedgen.machine.hazard import Event, Hazard, Site, Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.program import Program, Team
from schedgen.machine.replay import ReplayError, follow
from schedgen.machine.shortening import shortened, tell
from schedgen.machine.state import Move

UNCERTAIN = frozenset({"SG207", "SG301", "SG302", "SG303", "SG304", "SG305", "SG306", "SG309"})
"""Codes whose witness may end before anything goes wrong: where a count can go either way, or a
wait for a use before the first has begun."""

SHOWN = 25
"""Steps that are told, the last ones."""


@dataclass(frozen=True, kw_only=True)
class Retelling:
    """The steps in order, how many of them were the witness's, and what was seen at the end."""

    title: str
    places: Mapping[tuple[str, int, int], str]  # of op instances: role, replica, seq
    program: Program
    needed: tuple[Step, ...]  # of the witness
    steps: tuple[Step, ...]
    given: int
    hazards: tuple[Hazard, ...]
    landing: str | None

    @property
    def shows(self) -> bool:
        return bool(self.hazards)

    def lines(self, *, shown: int | None = SHOWN) -> Iterator[str]:
        """The last steps (None: all) and those that begin what collides, numbered.

        Then one sentence for each hazard.
        """
        yield self.title
        count = self.program.k_tiles
        noun = "tile" if count == 1 else "tiles"
        yield f"at K = {count} {noun} (k = {count * self.program.schedule.tile.k})"
        kept = self._kept(shown)
        cells = [self._cells(self.steps[n - 1]) for n in kept]
        widths = [max((len(row[i]) for row in cells), default=0) for i in range(5)]
        before = 0
        for number, row in zip(kept, cells, strict=True):
            left_out, before = number - before - 1, number
            if left_out:
                first = "the first " if left_out == number - 1 else ""
                noun, verb = ("step", "is") if left_out == 1 else ("steps", "are")
                yield f"  ... {first}{left_out} {noun} {verb} left out"
            if number == self.given + 1:
                yield "  ... the witness ends here, and then:"
            padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            yield f"  {number:>4}  {'  '.join(padded)}".rstrip()
        if self.landing is not None:
            yield self.landing
        yield from dict.fromkeys(_sentence(hazard) for hazard in self.hazards)
        if not self.hazards:
            yield "the machine saw no hazard"

    def _kept(self, shown: int | None) -> list[int]:
        """The numbers of the steps that are told."""
        first = 0 if shown is None else max(len(self.steps) - shown, 0)
        sites = [site for h in self.hazards for site in (h, h.other) if site is not None]
        colliding = {(site.role, site.op, site.k) for site in sites}
        early: dict[tuple[str, str, int | None], int] = {}
        for number, step in enumerate(self.steps, start=1):
            who, event, op, k = self._acting(step)
            if event == "issue" and (who, op, k) in colliding:
                early.setdefault((who, op, k), number)
        return sorted({*early.values(), *range(first + 1, len(self.steps) + 1)})

    def _cells(self, step: Step) -> tuple[str, str, str, str, str]:
        who, event, op, k = self._acting(step)
        if step.actor is not None and len(self._team(step).actors) > 1:
            who += " elected warp" if step.actor == 0 else f" sister {step.actor}"
        place = self.places.get((step.role, step.replica, step.seq), "")
        return who, event, op, "" if k is None else f"k = {k}", place

    def _acting(self, step: Step) -> tuple[str, str, str, int | None]:
        """The role replica, what it did, with which op, in which turn."""
        team = self._team(step)
        actors = [self.program.actors[a] for a in team.actors]
        here = next(a.code[a.index[step.seq]] for a in actors if step.seq in a.index)
        return team.label, step.event, here.op.text, here.k

    def _team(self, step: Step) -> Team:
        key = (step.role, step.replica)
        return next(t for t in self.program.teams if (t.role.name, t.replica) == key)


def _sentence(hazard: Hazard) -> str:
    if hazard.kind in ("deadlock", "exit"):
        return f"{hazard.kind}: {hazard.message}"
    return f"{hazard.kind}: {Site.__str__(hazard)}: {hazard.message}"


def retell(
    schedule: Schedule, *, k_tiles: int, witness: Sequence[Step], title: str,
    places: Mapping[tuple[str, int, int], str], go_on: bool,
) -> Retelling:  # fmt: skip
    """Follow a witness, and ``go_on`` from its end; raises `ReplayError` where it is impossible."""
    program = compile_program(schedule, k_tiles=k_tiles)
    told, given, hazard = tell(program, witness, go_on=go_on)
    kept = list(range(len(told)))
    if hazard is not None:
        kept = shortened(program, told, hazard)
    steps = tuple(told[n] for n in kept)
    machine = follow(Machine(program, None), steps, strict=True)
    seen = machine.hazards or ([] if hazard is None else [hazard])
    landing = _landing(machine)
    return Retelling(
        title=title, places=places, program=program, needed=steps,
        steps=(*steps, *machine.steps[-1:]) if landing is not None else steps,
        given=sum(n < given for n in kept), hazards=tuple(seen), landing=landing,
    )  # fmt: skip


def _landing(machine: Machine) -> str | None:
    """Let the load that collides land, so that the damage is done."""
    for hazard in machine.hazards:
        sites = [Site(**{f: getattr(hazard, f) for f in ("role", "actor", "op", "place", "k")})]
        sites += [] if hazard.other is None else [hazard.other]
        for actor, at in machine.state.loads:
            load, site = machine.program.actors[actor].code[at], machine.site(actor, at)
            if hazard.kind in ("overwrite", "read-early") and site in sites:
                victim = sites[1 - sites.index(site)] if len(sites) > 1 else None
                machine.apply(Move("land", actor, at))
                touch = load.touches[0]
                name = machine.program.places[touch.place].name
                text = f"tile {touch.tile} lands in {name}"
                deed = "writes" if "still written" in hazard.message else "reads"
                return text if victim is None else f"{text}, which {victim} still {deed}"
    return None


# --- the JSON of `check`


def retold(schedule: Schedule, finding: Mapping[str, Any]) -> Retelling:
    """What the machine makes of a finding; raises `IllFormed` if it is none of this schedule."""
    k_tiles = finding.get("k")
    if not isinstance(k_tiles, int) or isinstance(k_tiles, bool) or k_tiles < 0:
        raise _bad("the finding holds for every K and has no witness: there is nothing to replay")
    title = f"{finding.get('code')} {finding.get('name')}: {finding.get('message')}"
    witness = witness_of(finding)
    places = {(i["role"], i["replica"], i["seq"]): _place(i) for i in finding["witness"]}
    try:
        return retell(
            schedule, k_tiles=k_tiles, witness=witness, title=title, places=places,
            go_on=finding.get("code") in UNCERTAIN,
        )  # fmt: skip
    except ReplayError as error:
        raise _bad(f"the witness does not fit its schedule: {error}") from None


def witness_of(finding: Mapping[str, Any]) -> list[Step]:
    """The steps of a finding's witness that the machine knows."""
    steps: list[Step] = []
    for item in _list(finding.get("witness"), "the witness of the finding"):
        try:
            role, replica, actor, event, seq = (
                item[key] for key in ("role", "replica", "actor", "event", "seq")
            )
        except (TypeError, KeyError):
            raise _bad("a step of the witness lacks its role, replica, event or seq") from None
        numbers = isinstance(replica, int) and isinstance(seq, int)
        if not (numbers and isinstance(role, str) and isinstance(actor, int | None)):
            raise _bad("a step of the witness is no step")
        if event in get_args(Event):
            steps.append(Step(role, replica, actor, event, seq))
    return steps


def finding_of(value: object, number: int) -> tuple[str, Mapping[str, Any]]:
    """The schedule's text and the finding of a number, counted from 1."""
    if not isinstance(value, dict):
        raise _bad("this is not the JSON of `schedgen check`")
    verdict = cast("dict[str, Any]", value)
    schedule = verdict.get("schedule")
    text = cast("dict[str, Any]", schedule).get("text") if isinstance(schedule, dict) else None
    if not isinstance(text, str):
        raise _bad("the JSON has no text of a schedule")
    findings = _list(verdict.get("findings"), "the JSON")
    if not findings:
        raise _bad("the JSON has no findings: there is nothing to replay")
    if not 1 <= number <= len(findings):
        raise _bad(f"there is no finding {number}: the JSON has {len(findings)}")
    finding = findings[number - 1]
    if not isinstance(finding, dict):
        raise _bad(f"finding {number} is no finding")
    return text, cast("dict[str, Any]", finding)


def _place(item: Mapping[str, Any]) -> str:
    place = item.get("place")
    if not isinstance(place, dict):
        return ""
    at = cast("dict[str, Any]", place)
    return "" if at.get("file") is None else f"{at['file']}:{at.get('line')}"


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise _bad(f"{what} has no list where one belongs")
    return cast("list[Any]", value)


def _bad(message: str) -> IllFormed:
    return IllFormed(code="SG115", message=message, place=None)
