"""Passes and kernels of other distributions, by the entry points that they declare.

Groups: ``schedgen.passes``, each a subclass of `Pass` under its own name, and ``schedgen.kernels``,
each a `Schedule` or a function without arguments that makes one.  Looked for only when a name is
not one of ours, or all names are asked for; ours come first.  What cannot be used is SG121 where it
is asked for, and never stands in the way of anything else.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from schedgen.happens_before.kept import KEEPS
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS
from schedgen.passes import PASSES
from schedgen.pipeline import Pass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["schedgen.passes", "schedgen.kernels"]


@dataclass(frozen=True)
class Offer:
    """Something that a distribution declares: its name, and who brings it (``mine 1.0``)."""

    group: Group
    name: str
    provider: str
    entry: EntryPoint

    @property
    def what(self) -> str:
        kind = "pass" if self.group == "schedgen.passes" else "kernel"
        return f"the {kind} `{self.name}` of {self.provider}"

    def unusable(self, why: str) -> IllFormed:
        """SG121, with the way out."""
        project = self.provider.partition(" ")[0]
        way = f"repair it, or take it away: python3 -m pip uninstall {project}"
        return IllFormed(code="SG121", message=f"{self.what} {why}; {way}", place=None)

    def loaded(self) -> Any:
        """What the entry point names.  Raises `IllFormed` (SG121)."""
        try:
            return self.entry.load()
        except (Exception, SystemExit) as error:
            reason = f"cannot be loaded from {self.entry.value}: {described(error)}"
            raise self.unusable(reason) from error


def described(error: BaseException) -> str:
    """``KeyError: 'k' (mine.py:12)``: what was raised, and the last place that it came from."""
    trace, where = error.__traceback__, ""
    while trace is not None:
        where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}{'' if 'importlib' in where else where}"


def offers(group: Group) -> tuple[Offer, ...]:
    """All that is declared under a group, by name."""
    from importlib.metadata import entry_points

    found: list[Offer] = []
    for entry in entry_points(group=group):
        provider = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "a distribution"
        found.append(Offer(group, entry.name, provider, entry))
    return tuple(sorted(found, key=lambda offer: (offer.name, offer.provider)))


def _offer(group: Group, name: str) -> Offer | None:
    """The one offer of that name.  Raises `IllFormed` (SG121) where there are several."""
    found = [offer for offer in offers(group) if offer.name == name]
    for other in found[1:]:
        raise found[0].unusable(f"is one of two, {other.provider} has that name too")
    return found[0] if found else None


def conflict(offer: Offer, among: tuple[Offer, ...]) -> IllFormed | None:
    """What is wrong with the name of an offer: we have it, or somebody else has."""
    if offer.name in (PASSES if offer.group == "schedgen.passes" else KERNELS):
        return offer.unusable("has the name of one of schedgen's own, which is used instead")
    for other in among:
        if other.name == offer.name and other is not offer:
            return offer.unusable(f"is one of two, {other.provider} has that name too")
    return None


# --- Passes


class KnownPasses(Mapping[str, type[Pass]]):
    """The passes by name: ours, then those of other distributions, looked for when needed."""

    def __getitem__(self, name: str) -> type[Pass]:
        if name in PASSES:
            return PASSES[name]
        offer = _offer("schedgen.passes", name)
        if offer is None:
            raise KeyError(name)
        return pass_of(offer)

    def __iter__(self) -> Iterator[str]:
        theirs = (offer.name for offer in offers("schedgen.passes"))
        return iter(dict.fromkeys([*PASSES, *theirs]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def pass_of(offer: Offer) -> type[Pass]:
    """The class that an offer names, once it is known to be a pass.  Raises SG121."""
    cls = offer.loaded()
    why = _pass_fault(cls, offer.name)
    if why is not None:
        raise offer.unusable(why)
    cls.provider = offer.provider
    return cls


def _pass_fault(cls: Any, name: str) -> str | None:
    if not (isinstance(cls, type) and issubclass(cls, Pass)):
        return "is no subclass of schedgen.Pass"
    if getattr(cls, "name", None) != name:
        return f"calls itself `{getattr(cls, 'name', '')}`; entry point and class share one name"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        return "has a name that no pipeline can say: letters, digits, _ and -"
    known, keeps = {keep.name for keep in KEEPS}, getattr(cls, "keeps", None)
    if not isinstance(keeps, frozenset) or not keeps <= known:
        return f"declares no `keeps`: a frozenset of {', '.join(sorted(known))}"
    if cls.__abstractmethods__:
        return f"lacks {', '.join(sorted(cls.__abstractmethods__))}"
    if "__dataclass_fields__" not in vars(cls):
        return "is no dataclass: write @dataclass(frozen=True, kw_only=True) above it"
    return _option_fault(cls)


def _option_fault(cls: type[Pass]) -> str | None:
    try:
        hints = get_type_hints(cls)
    except Exception as error:
        return f"has annotations that mean nothing ({described(error)})"
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        optional = isinstance(kind, types.UnionType) and set(get_args(kind)) == {str, type(None)}
        if kind not in (int, str) and not optional and get_origin(kind) is not Literal:
            return f"has the option `{field.name}`, which is no int, str, str | None or Literal"
    return None


# --- Kernels


def kernel_names() -> tuple[str, ...]:
    """Names of kernels: ours, then those of other distributions."""
    theirs = (offer.name for offer in offers("schedgen.kernels"))
    return tuple(dict.fromkeys([*KERNELS, *theirs]))


def kernel_of_plugin(name: str) -> Schedule | None:
    """The schedule that a distribution offers under a name, None where there is none.

    Raises `IllFormed`: SG121 for what is no schedule, or what the function itself raises.
    """
    offer = _offer("schedgen.kernels", name) if re.fullmatch(r"\w+", name) else None
    if offer is None:
        return None
    found = offer.loaded()
    try:
        made = found() if callable(found) else found
    except IllFormed:
        raise
    except Exception as error:
        raise offer.unusable(f"raises {described(error)}") from error
    if not isinstance(made, Schedule):
        raise offer.unusable(f"is a {type(made).__name__} and no Schedule")
    return dataclasses.replace(made, name=name)


def summary(thing: object) -> str:
    """The first line of a docstring, empty where there is none."""
    lines = (getattr(thing, "__doc__", None) or "").strip().splitlines()
    return lines[0] if lines and not isinstance(thing, Schedule) else ""
