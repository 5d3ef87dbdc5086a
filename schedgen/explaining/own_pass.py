"""A pass of one's own that cannot be used, lies or fails, and the one that it was meant to be.

The text of the pass is what is shown and what is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from schedgen import api
from schedgen.explaining import answers
from schedgen.explaining.answers import Answer
from schedgen.explaining.parts import Section, difference
from schedgen.explaining.repairs import Edits, edited
from schedgen.ir.problems import IllFormed
from schedgen.pipeline import Pass
from schedgen.plugins import Offer, pass_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NAME = "drop-drain"
ENTRY = "mine.passes:DropDrain"
PROVIDER = "mine 1.0"
KERNEL = "hopper_matmul_v4"

RIGHT = '''\
from dataclasses import dataclass, replace

import schedgen as sg
from schedgen.ir.schedule import Loop


@dataclass(frozen=True, kw_only=True)
class DropDrain(sg.Pass):
    """Leave out the loops that wait for the last stages of a ring."""

    name = "drop-drain"
    keeps = frozenset({"products", "traffic", "handover", "numerics"})

    def refusals(self, schedule):
        return iter(())

    def rewrite(self, schedule):
        def kept(stmt):
            return not (isinstance(stmt, Loop) and stmt.var == "_")

        roles = [replace(r, body=tuple(filter(kept, r.body))) for r in schedule.roles]
        return replace(schedule, roles=tuple(roles))
'''
"""The pass as it should be."""

KEPT = 'return not (isinstance(stmt, Loop) and stmt.var == "_")'


@dataclass(frozen=True, kw_only=True)
class Fault:
    """How the pass is broken, and whose it is: None for ours."""

    edits: Edits
    provider: str | None


OWN_PASSES = {
    "SG121": Fault(
        edits=(('    keeps = frozenset({"products", "traffic", "handover", "numerics"})\n', ""),),
        provider=PROVIDER,
    ),
    "SG901": Fault(edits=((KEPT, "return not isinstance(stmt, Loop)"),), provider=None),
    "SG902": Fault(edits=((KEPT, 'return stmt.var != "_"'),), provider=PROVIDER),
}


@dataclass(frozen=True)
class _Written:
    """Stands for the entry point of a distribution that holds this text."""

    text: str
    value: str = ENTRY

    def load(self) -> Any:
        namespace: dict[str, Any] = {"__name__": "mine.passes"}
        exec(compile(self.text, "mine/passes.py", "exec"), namespace)
        return namespace["DropDrain"]


def _applied(text: str, provider: str | None) -> Answer:
    """What `schedgen opt` answers where the pass is the one of the text."""
    schedule = api.load(KERNEL)
    entry = _Written(text)
    try:
        if provider is None:
            cls: type[Pass] = entry.load()
        else:
            offer = Offer("schedgen.passes", NAME, provider, cast("EntryPoint", entry))
            cls = pass_of(offer)
    except IllFormed as error:
        return answers.unknown_pass(KERNEL, NAME, error)
    return answers.opt(KERNEL, schedule, NAME, {NAME: cls}, None)


def own_pass_sections(code: str) -> Iterator[Section]:
    """The pass as a difference from the right one, then what is said of the broken one."""
    fault = OWN_PASSES[code]
    broken = edited(RIGHT, fault.edits)
    works = _applied(RIGHT, fault.provider)
    yield Section(
        heading=f"A pass that shows it, and its repair ({KERNEL} after it: {works.outcome})",
        part="fix", kind="diff", text=difference(broken, RIGHT, context=len(RIGHT)),
        works=works.works,
    )  # fmt: skip
    yield Section(
        heading="A command that is refused, and where", part="picture", kind="console",
        text=_applied(broken, fault.provider).text,
    )  # fmt: skip
