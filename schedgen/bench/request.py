"""What is to be measured: contestants and shapes, from the command line or from a suite file.

A contestant is ``[LABEL=]INPUT[:PIPELINE]``: INPUT is a kernel, a .sched file, or a .py file with a
tilus kernel, which is measured as it is.  A suite is a TOML file with the same words, one table a
contestant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schedgen.ir.problems import IllFormed

Shape = tuple[int, int, int]
"""m, n, k in elements."""

DEFAULT_SHAPE: Shape = (8192, 8192, 8192)
PEERS = {"torch": "torch.matmul", "triton": "Triton persistent"}
"""Peers by the word that asks for them, with their labels."""


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """Something that is measured: a schedule (through a pipeline), a tilus file, or a peer.

    ``source`` is INPUT, or the word of a peer.  ``script`` is the file of its kernel and ``name``
    the class in it, once they are known.
    """

    label: str
    kind: str
    source: str
    pipeline: str
    static_k: bool
    shapes: tuple[Shape, ...]
    script: str | None = None
    class_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """Contestants in the order of the table, peers last; every shape of any of them, in order."""

    contestants: tuple[Contestant, ...]
    shapes: tuple[Shape, ...]
    counted: tuple[Shape, ...]
    """Shapes for which cycles are counted where that is asked for."""

    def on(self, shape: Shape) -> tuple[Contestant, ...]:
        return tuple(c for c in self.contestants if shape in c.shapes)

    @property
    def baseline(self) -> str:
        """The first peer, or the first contestant: what ratios are against by default."""
        peers = (c for c in self.contestants if c.kind == "peer")
        return next(peers, self.contestants[0]).label


def bad(message: str) -> IllFormed:
    return IllFormed(code="SG116", message=message, place=None)


def parse_shape(text: str) -> Shape:
    """``MxNxK``.  Raises `IllFormed` (SG116)."""
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})x(\d{1,6})", text.strip())
    if found is None or not all(int(size) for size in found.groups()):
        raise bad(f"`{text}` is no shape: give MxNxK in elements, such as 8192x8192x8192")
    m, n, k = (int(size) for size in found.groups())
    return m, n, k


def shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape))


def parse_contestant(
    text: str, *, pipelines: Sequence[str], static_k: bool, shapes: tuple[Shape, ...]
) -> list[Contestant]:
    """The contestants of one argument: one, or one for each of ``pipelines``.

    The pipelines are for inputs that name none of their own; ``INPUT:`` names none on purpose.
    """
    label, equals, rest = text.partition("=")
    if not equals or re.search(r"[:{}/]", label):
        label, rest = "", text
    source, colon, own = rest.partition(":")
    if not source:
        raise bad(f"`{text}` names no input; a contestant is [LABEL=]INPUT[:PIPELINE]")
    chosen = [own] if colon or not pipelines else list(pipelines)
    found: list[Contestant] = []
    for pipeline in chosen:
        name = label.strip() or source
        if pipeline and (not label or len(chosen) > 1):
            name = f"{name} {pipeline}"
        found.append(
            _contestant(
                label=name, source=source, pipeline=pipeline, static_k=static_k, shapes=shapes
            )
        )
    return found


def _contestant(
    *, label: str, source: str, pipeline: str, static_k: bool, shapes: tuple[Shape, ...]
) -> Contestant:
    kind = "file" if source.endswith(".py") else "schedule"
    if kind == "file" and pipeline:
        raise bad(f"`{source}` is a kernel's file, not a schedule: it takes no pipeline")
    return Contestant(
        label=label, kind=kind, source=source, pipeline=pipeline,
        static_k=static_k and kind == "schedule", shapes=shapes,
    )  # fmt: skip


def make_request(
    *, inputs: Sequence[str], pipelines: Sequence[str], peers: Sequence[str],
    shapes: Sequence[Shape], static_k: bool, suite: Suite | None,
) -> Request:  # fmt: skip
    """What the command line and the suite ask for together.

    ``shapes`` are those of the run: a contestant of the suite is measured on those of its own
    shapes that are among them, one of the command line on all.  Without any, the suite's shapes.
    """
    known = tuple(dict.fromkeys(shapes)) or (suite.shapes if suite else (DEFAULT_SHAPE,))
    found: list[Contestant] = []
    if suite is not None:
        for c in suite.contestants:
            kept = tuple(shape for shape in known if shape in c.shapes)
            found += [replace(c, shapes=kept)] if kept else []
    for text in inputs:
        found += parse_contestant(text, pipelines=pipelines, static_k=static_k, shapes=known)
    words = dict.fromkeys([*peers, *(suite.peers if suite else ())])
    found += [_peer(word, known) for word in words]
    return _checked(found, known, suite.counted if suite else known)


def _peer(word: str, shapes: tuple[Shape, ...]) -> Contestant:
    return Contestant(
        label=PEERS[word], kind="peer", source=word, pipeline="", static_k=False, shapes=shapes
    )


def _checked(
    found: list[Contestant], shapes: tuple[Shape, ...], counted: Iterable[Shape]
) -> Request:
    if not found:
        raise bad("nothing to measure: name a kernel, a .sched file, --peer or --suite")
    labels = [c.label for c in found]
    for label in labels:
        if labels.count(label) > 1:
            raise bad(f"two contestants are called `{label}`: name them, LABEL=INPUT:PIPELINE")
    used = tuple(shape for shape in shapes if any(shape in c.shapes for c in found))
    return Request(
        contestants=tuple(found), shapes=used, counted=tuple(s for s in used if s in counted)
    )


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A file of contestants; ``counted`` are the shapes for which cycles are counted."""

    contestants: tuple[Contestant, ...]
    shapes: tuple[Shape, ...]
    counted: tuple[Shape, ...]
    peers: tuple[str, ...]


def read_suite(what: str) -> Suite:
    """The suite in a TOML file, or that of a name in `schedgen.kernels`.  Raises `IllFormed`."""
    import tomllib

    try:
        table = tomllib.loads(_suite_text(what))
        return _suite(table)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise bad(f"`{what}` is no suite: {reason}") from None


def _suite_text(what: str) -> str:
    from importlib import resources

    bundled = resources.files("schedgen.kernels") / f"{what}.toml"
    try:
        if not Path(what).exists() and bundled.is_file():
            return bundled.read_text(encoding="utf-8")
        return Path(what).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        message = f"the suite `{what}` cannot be read: {reason}"
        raise IllFormed(code="SG115", message=message, place=None) from None


_SUITE_KEYS = {"shapes", "cycles-shapes", "peers", "contestant"}
_KEYS = {"label", "input", "pipeline", "static-k", "shapes"}


def _suite(table: dict[str, Any]) -> Suite:
    _only(table, _SUITE_KEYS, "the suite")
    shapes = tuple(parse_shape(text) for text in table["shapes"])
    for word in table.get("peers", []):
        if word not in PEERS:
            raise bad(f"there is no peer `{word}`; known are {', '.join(PEERS)}")
    return Suite(
        contestants=tuple(_row(row, shapes) for row in table["contestant"]),
        shapes=shapes,
        counted=tuple(parse_shape(text) for text in table.get("cycles-shapes", table["shapes"])),
        peers=tuple(table.get("peers", ())),
    )


def _row(row: dict[str, Any], shapes: tuple[Shape, ...]) -> Contestant:
    _only(row, _KEYS, f"contestant `{row.get('label', '?')}`")
    own = tuple(parse_shape(text) for text in row["shapes"]) if "shapes" in row else shapes
    for shape in own:
        if shape not in shapes:
            raise bad(f"{shape_text(shape)} of `{row['label']}` is none of the suite's shapes")
    return _contestant(
        label=row["label"], source=row["input"], pipeline=row.get("pipeline", ""),
        static_k=row.get("static-k", False), shapes=own,
    )  # fmt: skip


def _only(table: dict[str, Any], keys: set[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise bad(f"{where} has the key `{key}`; known are {', '.join(sorted(keys))}")
