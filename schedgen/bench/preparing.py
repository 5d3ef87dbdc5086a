"""From contestants to files that compile: apply, judge, emit; what is refused keeps its reason.

A refusal (of a pass, of the checker, of the emitter) is a result, not the end of the run.  Bad
input (an unknown kernel, a pipeline that does not parse) ends the run before it begins.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from schedgen import api
from schedgen.bench.request import Contestant, Request, Shape, shape_text
from schedgen.bench.results import Entry
from schedgen.build import ToolchainMissing
from schedgen.build.script import text_hash
from schedgen.emit import EmitUnsupported, class_name, emit_tilus, tma_stores, wait_depths
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.pipeline import PassStopped
from schedgen.refusing import way_out
from schedgen.running import OUTPUT_ERROR, error_limit


class CannotMeasure(ToolchainMissing):
    """This machine lacks what measuring needs; the text says what, and the way out."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A contestant with its kernel's file, or with the reason why there is none."""

    contestant: Contestant
    schedule: Schedule | None
    digest: str | None
    proof: str | None
    refusal: str | None
    predicted: Mapping[str, float] = field(default_factory=dict)

    def limit(self, k: int) -> float:
        """The relative error up to which its product counts as right."""
        return OUTPUT_ERROR["f16"] if self.schedule is None else error_limit(self.schedule, k)

    @property
    def sums(self) -> str:
        """The type in which it sums up; of files and peers it is taken to be f32."""
        types = {acc.dtype for acc in self.schedule.accumulators} if self.schedule else set()
        return ", ".join(sorted(types)) or "f32"

    @property
    def wait_depths(self) -> frozenset[int] | None:
        return wait_depths(self.schedule) if self.schedule else None

    @property
    def tma_stores(self) -> int:
        return tma_stores(self.schedule) if self.schedule else 0

    def entry(self, *, failure: str | None, problems: tuple[str, ...]) -> Entry:
        """What the results say of it; ``failure`` and ``problems`` are what the build said."""
        c = self.contestant
        return Entry(
            label=c.label, kind=c.kind, source=c.source, pipeline=c.pipeline, static_k=c.static_k,
            shapes=c.shapes, schedule=self.schedule and self.schedule.name, digest=self.digest,
            kernel=c.script and text_hash(Path(c.script)), proof=self.proof, sums=self.sums,
            refusal=self.refusal, failure=failure, problems=problems, predicted=self.predicted,
        )  # fmt: skip


def predictions(schedule: Schedule, shapes: Iterable[Shape]) -> dict[str, float]:
    """Milliseconds by shape, as far as this schedgen can tell them."""
    predict = prediction()
    told = {shape_text(s): predict(schedule, *s) for s in shapes} if predict else {}
    return {shape: ms for shape, ms in told.items() if ms is not None and math.isfinite(ms)}


def prediction() -> Callable[[Schedule, int, int, int], float | None] | None:
    """`schedgen.predict.predicted_ms`, where this schedgen has it."""
    if importlib.util.find_spec("schedgen.predict") is None:
        return None
    return getattr(importlib.import_module("schedgen.predict"), "predicted_ms", None)


def prepare(request: Request, folder: Path) -> Iterator[Prepared]:
    """Every contestant in order; kernels' files go into ``folder``.  Raises `IllFormed`."""
    for n, k in dict.fromkeys((n, k) for _, n, k in request.shapes):
        api.require_rows(api.load("hopper_matmul_v1"), n=n, k=k)
    for number, contestant in enumerate(request.contestants):
        if contestant.kind == "peer":
            yield Prepared(
                contestant=contestant, schedule=None, digest=None, proof=None, refusal=None
            )
        elif contestant.kind == "file":
            yield _file(contestant)
        else:
            yield _schedule(contestant, folder / f"{number:02}")


def _file(contestant: Contestant) -> Prepared:
    path = Path(contestant.source)
    try:
        digest = text_hash(path)
    except OSError as error:
        message = f"`{path}` cannot be read: {error.strerror}"
        raise IllFormed(code="SG115", message=message, place=None) from None
    return Prepared(
        contestant=replace(contestant, script=str(path.resolve())), schedule=None, digest=digest,
        proof=None, refusal=None,
    )  # fmt: skip


def _schedule(contestant: Contestant, folder: Path) -> Prepared:
    schedule = api.load(contestant.source)
    base = Prepared(
        contestant=contestant, schedule=schedule, digest=_digest(schedule), proof=None,
        refusal=None,
    )  # fmt: skip
    try:
        if contestant.pipeline:
            schedule = api.apply(schedule, contestant.pipeline)
    except PassStopped as stopped:
        return replace(base, schedule=None, digest=None, refusal=str(stopped))
    verdict = api.check(schedule)
    line = api.verdict_line(verdict, tile_k=schedule.tile.k)
    found = replace(base, schedule=schedule, digest=_digest(schedule), proof=line)
    if verdict.outcome is not Outcome.PROVED:
        return replace(found, refusal=_refusal(verdict, line))
    try:
        text = emit_tilus(
            schedule, static_k=contestant.static_k, made_by=_made_by(contestant), verdict=line,
            finding=None,
        )  # fmt: skip
    except EmitUnsupported as error:
        return replace(found, refusal=f"SG504: {error.message}")
    folder.mkdir(parents=True)
    path = folder / f"{schedule.name}.py"
    path.write_text(text, encoding="utf-8")
    script = replace(contestant, script=str(path), class_name=class_name(schedule))
    predicted = predictions(schedule, contestant.shapes)
    return replace(found, contestant=script, predicted=predicted)


def _made_by(contestant: Contestant) -> str:
    pipeline = f" -p '{contestant.pipeline}'" if contestant.pipeline else ""
    return contestant.source + pipeline


def _refusal(verdict: Verdict, line: str) -> str:
    if not verdict.findings:
        return line
    finding, way = verdict.findings[0], way_out(verdict)
    text = f"{finding.code} {finding.name}: {finding.message}"
    return f"{text}; {way.rstrip()}" if way else text


def _digest(schedule: Schedule) -> str:
    return hashlib.sha256(to_text(schedule).encode()).hexdigest()[:16]
