"""Passes and pipelines.

A pass is a frozen dataclass: its kebab-case ``name``, its fields as options, preconditions apart
from the rewrite.  A pipeline is a string such as ``overlap-wgmma{in-flight=1},set-stages{n=4}``
that parses and prints.  The manager verifies well-formedness after each pass and checks what the
pass declares to keep, for each K of a range; it never trusts a pass.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from schedgen.diagnostics.finding import Finding
from schedgen.diagnostics.render import finding_text
from schedgen.diagnostics.target import (
    NothingToRewrite,
    PassBrokeTheSchedule,
    PluginBrokeTheSchedule,
)
from schedgen.happens_before.judge import explicit_bound
from schedgen.happens_before.kept import KEEPS, Keep, unrolled
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.ops import Place
from schedgen.ir.problems import IllFormed, did_you_mean
from schedgen.ir.schedule import Schedule
from schedgen.ir.spec import verify


class PassStopped(Exception):
    """A pass refused (SG4xx) or broke what it promised to keep (SG901).

    ``tile_k`` is the K step of the schedule, in which the finding counts.
    """

    def __init__(self, finding: Finding, *, tile_k: int) -> None:
        super().__init__(finding_text(finding, tile_k=tile_k).rstrip("\n"))
        self.finding = finding
        self.tile_k = tile_k


@dataclass(frozen=True, kw_only=True)
class Pass(ABC):
    """Base of all passes; a subclass's fields are its options.

    The docstring of a pass has two parts, ``args:`` and ``rewrite:`` (a before -> after picture).
    """

    name: ClassVar[str]
    keeps: ClassVar[frozenset[Keep]]
    provider: ClassVar[str | None] = None
    """The distribution that brings the pass, None for ours; `plugins` sets it."""

    @abstractmethod
    def refusals(self, schedule: Schedule) -> Iterator[Finding]:
        """Why the pass cannot be applied; the first one is reported."""

    @abstractmethod
    def rewrite(self, schedule: Schedule) -> Schedule:
        """The new schedule; the same object if nothing changed.  Preconditions hold."""

    def apply(self, schedule: Schedule) -> Schedule:
        """Check the preconditions, then rewrite.  Raises `PassStopped` with the refusal."""
        for finding in self.refusals(schedule):
            raise PassStopped(finding, tile_k=schedule.tile.k)
        return self.rewrite(schedule)

    def nothing_to_rewrite(self, reason: str, *, fix: str) -> Finding:
        """SG401, for `refusals`."""
        return NothingToRewrite(
            pass_name=self.text, reason=reason, rows=(), missing=None, fix=fix
        )  # fmt: skip

    @property
    def text(self) -> str:
        """``name{option=value}``; options that are None are left out."""
        values = (
            (f.name.replace("_", "-"), getattr(self, f.name)) for f in dataclasses.fields(self)
        )
        options = ",".join(f"{name}={value}" for name, value in values if value is not None)
        return self.name + (f"{{{options}}}" if options else "")


@dataclass(frozen=True)
class Pipeline:
    """Passes in the order in which they are applied."""

    passes: tuple[Pass, ...]

    @property
    def text(self) -> str:
        return ",".join(p.text for p in self.passes)

    def rewrite_unchecked(self, schedule: Schedule) -> Schedule:
        """Apply all passes with their preconditions and well-formedness, nothing more: what they
        keep is not compared, as `steps` and `schedgen.apply` do."""
        for step in self.passes:
            schedule = _verified(step, step.apply(schedule))
        return schedule

    def steps(self, schedule: Schedule) -> Iterator[tuple[Pass, Schedule]]:
        """Apply pass by pass, checking what each one keeps.  Raises `PassStopped`."""
        for step in self.passes:
            after = _applied(step, schedule)
            check_kept(step, schedule, after)
            schedule = after
            yield step, schedule


def _applied(step: Pass, schedule: Schedule) -> Schedule:
    """What a pass makes of a schedule; whatever a plugin's pass does wrong is SG902."""
    if step.provider is None:
        return _verified(step, step.apply(schedule))
    try:
        after: object = step.apply(schedule)
        if isinstance(after, Schedule):
            return _verified(step, after)
        raise TypeError(f"`rewrite` gives a {type(after).__name__}, no Schedule")
    except (PassStopped, IllFormed):
        raise
    except Exception as error:
        what = f"raises {type(error).__name__}: {error}"
        fault = _plugin_fault(step, step.provider, what, None)
        raise PassStopped(fault, tile_k=schedule.tile.k) from error


def _verified(step: Pass, schedule: Schedule) -> Schedule:
    try:
        verify(schedule)
    except IllFormed as error:
        fault = _broken(step, "well-formedness", error.message, None)
        raise PassStopped(fault, tile_k=schedule.tile.k) from error
    return schedule


KEPT_BUDGET = 200_000
"""Op instances that are compared for one pass, over all K; the verdict says what was judged."""


def check_kept(step: Pass, before: Schedule, after: Schedule) -> None:
    """Raise SG901 at the smallest K where a property that the pass declares is lost.

    K runs from 0 to the larger bound of the two schedules, as far as the budget goes.
    """
    left = KEPT_BUDGET
    for k_tiles in range(max(explicit_bound(before), explicit_bound(after)) + 1):
        if before is after or left <= 0:
            return
        try:
            old, new = unrolled(before, k_tiles), unrolled(after, k_tiles)
        except OverBudget:
            return
        left -= old.size + new.size
        for keep in KEEPS:
            difference = keep.difference(old, new) if keep.name in step.keeps else None
            if difference is not None:
                fault = _broken(step, keep.name, difference, k_tiles)
                raise PassStopped(fault, tile_k=before.tile.k)


def _broken(step: Pass, what: str, difference: str, k: int | None) -> Finding:
    if step.provider is not None:
        return _plugin_fault(step, step.provider, f"does not keep {what}: {difference}", k)
    return PassBrokeTheSchedule(
        pass_name=step.text, property_name=what, difference=difference, k=k, rows=(), missing=None,
        fix="this is a bug of the pass: report it with the schedule and the pipeline string",
    )  # fmt: skip


def _plugin_fault(step: Pass, provider: str, what: str, k: int | None) -> Finding:
    return PluginBrokeTheSchedule(
        pass_name=step.text, provider=provider, what=what, k=k, rows=(), missing=None,
        fix=f"report it to {provider}, with the schedule and the pipeline string",
    )  # fmt: skip


Passes = str | Pass | Pipeline | Iterable[Pass]
"""What may be applied: a pipeline string, one pass, or several in their order."""


def pipeline_of(passes: Passes, table: Mapping[str, type[Pass]]) -> Pipeline:
    """The pipeline that is meant.  Raises `IllFormed` (SG114) for a string that is none."""
    if isinstance(passes, Pipeline):
        return passes
    if isinstance(passes, str):
        return parse_pipeline(passes, table)
    several: object = (passes,) if isinstance(passes, Pass) else passes
    items = tuple(several) if isinstance(several, Iterable) else (several,)
    for item in items:
        if not isinstance(item, Pass):
            shown = f"the class {item.__name__}" if isinstance(item, type) else repr(item)
            way = f"`{item.__name__}(...)` makes one" if isinstance(item, type) else "use a string"
            raise TypeError(f"{shown} is not a Pass: {way}, a Pass, a Pipeline or several passes")
    return Pipeline(items)


_ITEM = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\{([^{}]*)\})?\s*")


def parse_pipeline(text: str, table: Mapping[str, type[Pass]]) -> Pipeline:
    """The pipeline that a string describes.  Raises `IllFormed` (SG114) with the column."""
    try:
        return Pipeline(tuple(_passes(text, table)))
    except IllFormed as error:
        raise error.within([text]) from error.__cause__


def _passes(text: str, table: Mapping[str, type[Pass]]) -> Iterator[Pass]:
    position, found = 0, False
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None:
            raise _bad(f"expected a pass name at `{text[position:][:20]}`", position)
        if text[item.end() :].startswith("{"):
            raise _bad("`{` is never closed", item.end())
        yield _make(item.group(1), item.group(2) or "", table, item.start(1))
        position, found = item.end(), True
        if position < len(text):
            if text[position] != "," or not text[position + 1 :].strip():
                raise _bad(f"expected `,` and a pass at `{text[position:][:20]}`", position)
            position += 1
    if not found:
        raise _bad("a pipeline names at least one pass", 0)


def _bad(message: str, position: int, help: str | None = None) -> IllFormed:
    place = Place("<pipeline>", 1, position + 1)
    return IllFormed(code="SG114", message=message, place=place, help=help)


def _make(name: str, options: str, table: Mapping[str, type[Pass]], position: int) -> Pass:
    cls = table.get(name)
    if cls is None:
        near = did_you_mean(name, table) or f"known are {', '.join(table)}"
        raise _bad(f"there is no pass `{name}`", position, near)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for option in filter(None, (o.strip() for o in options.split(","))):
        key, equals, value = (part.strip() for part in option.partition("="))
        field = key.replace("-", "_")
        if not equals or field not in fields or field in values:
            known = [f.replace("_", "-") for f in fields]
            message = f"`{option}` is no option of `{name}` (once each: {', '.join(known)})"
            near = None if key in known else did_you_mean(key, known)
            raise _bad(message, position, near)
        values[field] = _value(cls, name, field, value, position)
    missing = [
        f.name.replace("_", "-")
        for f in fields.values()
        if f.default is dataclasses.MISSING and f.name not in values
    ]
    if missing:
        raise _bad(
            f"`{name}` needs the option {missing[0]}: `{name}{{{missing[0]}=...}}`", position
        )
    return cls(**values)


def _value(cls: type[Pass], name: str, field: str, value: str, position: int) -> object:
    kind, option = get_type_hints(cls)[field], field.replace("_", "-")
    if kind is int:
        if not re.fullmatch(r"\d{1,9}", value):
            raise _bad(f"`{option}` of `{name}` is a number of 0 or more, not `{value}`", position)
        return int(value)
    if get_origin(kind) is Literal and value not in get_args(kind):
        words = " or ".join(get_args(kind))
        near = did_you_mean(value, get_args(kind))
        raise _bad(f"`{option}` of `{name}` is {words}, not `{value}`", position, near)
    return value
