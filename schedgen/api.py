"""What one does with a schedule: load, apply, check, emit, build, run.

`Schedule` has no verbs; they are here, and `schedgen` re-exports them.  The command line is a thin
face of this module.  What emits, builds and runs is imported where it is asked for, so that a check
starts quickly.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from schedgen.diagnostics.finding import Finding, Row
from schedgen.diagnostics.render import finding_json
from schedgen.diagnostics.target import TargetCannotSay
from schedgen.happens_before.every_k import judge_every_k
from schedgen.happens_before.judge import Outcome, Verdict, judge
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.parser import parse as parse_text
from schedgen.ir.places import has_places, with_places
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import ELEMENT_BYTES, Schedule, expect_schedule
from schedgen.ir.spec import verify
from schedgen.kernels import KERNELS, kernel_schedule
from schedgen.missing import unreadable
from schedgen.pipeline import Pass, Passes, pipeline_of
from schedgen.plugins import KnownPasses, kernel_of_plugin
from schedgen.provenance import command, origin
from schedgen.trips import Trips, span
from schedgen.wording import findings_text as findings_text
from schedgen.wording import verdict_line, verdict_text

if TYPE_CHECKING:
    from schedgen.build import BuildReport
    from schedgen.comparison import Comparison
    from schedgen.emit import EmitUnsupported
    from schedgen.fixes import Budget, Fix, NoFix
    from schedgen.machine.retelling import Retelling
    from schedgen.margins import Limits
    from schedgen.predict import Numbers, Prediction
    from schedgen.running import RunResult
    from schedgen.timeline import Timeline


PICTURE_TILES = 6
"""K tiles of a picture where none are asked for: every stage of a ring is used again."""


class Refused(Exception):
    """The schedule was not emitted, run or measured: the verdict says why, ``verb`` what was
    refused."""

    def __init__(self, verdict: Verdict, text: str, *, verb: str) -> None:
        super().__init__(text)
        self.verdict = verdict
        self.verb = verb


class CannotEmit(Exception):
    """The emitter has no tilus form for a construct (SG504)."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code} {finding.name}: {finding.message}")
        self.finding = finding


def parse(text: str, *, name: str = "<text>") -> Schedule:
    """The well-formed schedule of a text.  Raises `IllFormed` (SG1xx)."""
    lines = lines_of(text)
    try:
        schedule = parse_text("\n".join(lines), file=name)
        verify(schedule)
    except IllFormed as error:
        raise error.within(lines) from None
    return schedule


def lines_of(text: str) -> list[str]:
    """The lines that places count: they end at a line feed, a carriage return, or both."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def load(what: str | Path) -> Schedule:
    """A kernel by name, ours or a plugin's, or a ``.sched`` file.  Raises `IllFormed`."""
    if str(what) in KERNELS:
        return kernel_schedule(str(what))
    found = kernel_of_plugin(str(what))
    if found is not None:
        return replace(placed(found), source=found.name)
    return parse(read_text(Path(what)), name=str(Path(what)))


def read_text(path: Path) -> str:
    """The text of a file, its line ends as they are.  Raises `IllFormed` (SG115)."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise IllFormed(code="SG115", message=f"`{path}` is not text", place=None) from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def placed(schedule: Schedule) -> Schedule:
    """The schedule with places, well formed; one from no file counts lines in its printed text.

    Raises `IllFormed` for a value that was built wrong.
    """
    expect_schedule(schedule)
    verify(schedule)
    if schedule.source is not None or has_places(schedule):
        return schedule
    return _read_back(schedule)


def _read_back(schedule: Schedule) -> Schedule:
    """The schedule that its printed text gives: every statement an object of its own."""
    return replace(parse_text(to_text(schedule), file=schedule.name), source=None)


def apply_steps(schedule: Schedule, pipeline: Passes) -> Iterator[tuple[Pass, Schedule]]:
    """The schedule after each pass; ``pipeline`` is a string, a `Pass`, a `Pipeline` or passes.

    What each declares to keep is compared.  What a pass left or changed has the place that it had,
    what it made has none.  Raises `IllFormed` (SG114) and `PassStopped`.
    """
    expect_schedule(schedule)
    for step, after in pipeline_of(pipeline, KnownPasses()).steps(schedule):
        fresh = _read_back(after)
        yield step, with_places(fresh, after) if has_places(after) else fresh


def apply(schedule: Schedule, pipeline: Passes, *, name: str | None = None) -> Schedule:
    """The schedule after a pipeline such as ``overlap-wgmma{in-flight=1},set-stages{n=4}``, or
    after passes of one's own, under its old name or a new one.  See `apply_steps`."""
    for _, after in apply_steps(schedule, pipeline):
        schedule = after
    return schedule if name is None else named(replace(schedule, source=None), name)


def named(schedule: Schedule, name: str) -> Schedule:
    """The schedule under another name.  Raises `IllFormed` (SG116) for what is no name."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII):
        message = f"`{name}` is no name: letters, digits and _, not beginning with a digit"
        raise IllFormed(code="SG116", message=message, place=None)
    return replace(schedule, name=name)


def check(schedule: Schedule, k: Trips = "all") -> Verdict:
    """Judge a schedule.  ``"all"`` is a proof for every K >= 0 (or says why there is none).

    Else one K, (first, last) or a range, in tiles.  Raises `IllFormed` (SG116) for a range that is
    negative or reversed.
    """
    schedule = placed(schedule)
    if k == "all":
        return replace(judge_every_k(schedule), schedule=schedule)
    return replace(judge(schedule, trips=span(k)), schedule=schedule)


def suggest_fix(schedule: Schedule) -> Fix | None:
    """The smallest edit, else two, that makes a refuted schedule proved for every K.

    The repair loads and computes what the schedule meant to; `Fix.edits` say it in words and
    `Fix.schedule` is the result.  None for a schedule that is not refuted, and where nothing was
    found within `schedgen.fixes.FULL`.  Raises `IllFormed`.
    """
    from schedgen.fixes import FULL, Fix

    schedule = placed(schedule)
    found = find_fix(schedule, check(schedule), FULL)
    return found if isinstance(found, Fix) else None


def find_fix(schedule: Schedule, verdict: Verdict, budget: Budget) -> Fix | NoFix:
    """A proved repair of a schedule with that verdict, within a budget, or how far it went."""
    from schedgen.fixes import search

    return search(placed(schedule), verdict, budget)


def limits(schedule: Schedule, *, progress: Callable[[str], None] | None = None) -> Limits:
    """Least stages, greatest depths, slack of the barriers, redundant ops: each judged for every K.

    ``progress`` is told what is judged next.  Raises `Refused` for a schedule that is not proved.
    """
    from schedgen.margins import measured

    schedule = placed(schedule)
    verdict = _judged(schedule, unsafe=False, verb="measured")
    return measured(schedule, verdict, progress=progress)


def predict(
    schedule: Schedule, *, shape: tuple[int, int, int], clock: float | None = None
) -> Prediction:
    """The time of a schedule on ``shape`` (m, n, k, in elements) on an H200, in cycles and ms.

    ``clock`` is in GHz, None the one that was measured; cycles do not depend on it.  Raises
    `IllFormed` (SG116) for sizes that cannot run, `Refused` for a schedule that is not proved,
    `CannotPredict` where the turns of its loop do not repeat.
    """
    from schedgen.predict import h200
    from schedgen.predict import predict as predict_proved

    m, n, k = shape
    require_rows(schedule, n=n, k=k)
    if min(m, n) < 1:
        raise IllFormed(code="SG116", message="m and n must be 1 or more", place=None)
    schedule = placed(schedule)
    _judged(schedule, unsafe=False, verb="predicted")
    return predict_proved(schedule, shape=shape, numbers=h200(), clock=clock)


def trace(
    schedule: Schedule, *, k_tiles: int = PICTURE_TILES, numbers: Numbers | None = None
) -> Timeline:
    """What happens when: the execution for one K, each event as soon as ``numbers`` allow.

    None stands for those of `predict`, fitted to an H200.  The schedule is not judged.  Raises
    `IllFormed` (SG116) for a K that is negative or unrolls to too many events, or where the
    schedule waits for ever.
    """
    from schedgen.predict import h200
    from schedgen.timeline import Stuck, traced

    schedule = placed(schedule)
    try:
        if k_tiles < 0:
            raise Stuck("K is negative")
        return traced(schedule, k_tiles, numbers or h200())
    except OverBudget:
        message = f"K = {k_tiles} has too many events to draw; take a smaller one"
    except Stuck as stuck:
        message = f"{stuck}; `schedgen check` says why"
    raise IllFormed(code="SG116", message=message, place=None)


def diff(left: Schedule, right: Schedule) -> Comparison:
    """Two schedules side by side: which lines a pass changed, moved, peeled, added or removed."""
    from schedgen.comparison import compare

    expect_schedule(left)
    expect_schedule(right)
    return compare(left, right)


def trace_finding(schedule: Schedule, finding: Finding) -> Timeline:
    """The witness of a finding, step by step as `replay_finding` tells it.

    Raises `IllFormed` (SG115) for a finding that has no witness.
    """
    from schedgen.machine.retelling import retold
    from schedgen.timeline import witnessed

    return witnessed(placed(schedule), retold(placed(schedule), finding_json(finding)))


def replay_finding(value: object, number: int = 1) -> Retelling:
    """Step the witness of a finding through the abstract machine.

    ``value`` is the JSON of `schedgen check`, ``number`` counts its findings from 1.  Raises
    `IllFormed` (SG115) for a value that is no such JSON.
    """
    from schedgen.machine.retelling import finding_of, retold

    text, finding = finding_of(value, number)
    return retold(parse(text), finding)


def emit(
    schedule: Schedule, *, static_k: bool = False, unsafe: bool = False,
    made_by: str | None = None, made_from: str | None = None,
) -> str:  # fmt: skip
    """The tilus kernel as Python source; its header says what it was ``made_by``, and with which
    command: ``made_from`` is that command's INPUT and ``-p``, found out where it is None.

    Raises `Refused` for a schedule that was not proved (``unsafe`` writes the finding into the
    header instead), `CannotEmit` (SG504) for constructs without a tilus form.
    """
    from schedgen.emit import EmitUnsupported, emit_tilus

    verdict = _judged(schedule, unsafe=unsafe, verb="emitted")
    step = schedule.tile.k
    finding = None if verdict.ok else verdict_text(verdict, tile_k=step)
    try:
        return emit_tilus(
            schedule, static_k=static_k, made_by=made_by or origin(schedule),
            verdict=verdict_line(verdict, tile_k=step), finding=finding,
            regenerate=command(schedule, made_from, static_k=static_k, unsafe=unsafe),
        )  # fmt: skip
    except EmitUnsupported as error:
        raise CannotEmit(_unsupported(error)) from error


def _unsupported(error: EmitUnsupported) -> TargetCannotSay:
    text = error.op.text if error.op is not None else ""
    row = Row(label="op", text=text, place=error.place, role="", replica=None, k=None, tile=None)
    return TargetCannotSay(
        construct=text, reason=error.message, rows=(row,), missing=None,
        fix="use the constructs that passes produce",
    )  # fmt: skip


def build(
    schedule: Schedule, *, m: int = 8192, n: int = 8192, k: int = 8192, static_k: bool = False,
    unsafe: bool = False,
) -> BuildReport:  # fmt: skip
    """Compile for sm_90a without a GPU; sizes are elements.  Raises what `emit` and
    `build.build_kernel` raise."""
    from schedgen.build import build_kernel
    from schedgen.emit import class_name, tma_stores, wait_depths

    require_rows(schedule, n=n, k=k)
    text = emit(schedule, static_k=static_k, unsafe=unsafe)
    with tempfile.TemporaryDirectory(prefix="schedgen-") as folder:
        path = Path(folder) / f"{schedule.name}.py"
        path.write_text(text, encoding="utf-8")
        return build_kernel(
            path, class_name=class_name(schedule), kernel=schedule.name, shape=(m, n, k),
            wait_depths=wait_depths(schedule), tma_stores=tma_stores(schedule),
        )  # fmt: skip


def require_rows(schedule: Schedule, *, n: int, k: int) -> None:
    """Refuse sizes whose rows are not a multiple of 16 bytes: TMA cannot address them."""
    expect_schedule(schedule)
    from schedgen.build.launch import ROW_BYTES

    p = schedule.problem
    for word, extent, tensor in (("k", k, p.left), ("k", k, p.right), ("n", n, p.out)):
        size = extent * ELEMENT_BYTES[tensor.dtype]
        if extent < 0 or size % ROW_BYTES:
            unit = ROW_BYTES // ELEMENT_BYTES[tensor.dtype]
            message = (
                f"{word} = {extent}: rows of {tensor.name} are {size} bytes, not a multiple of "
                f"{ROW_BYTES}; use a multiple of {unit}"
            )
            raise IllFormed(code="SG116", message=message, place=None)


def run(
    schedule: Schedule, *, m: int, n: int, k: int, device: str = "auto", seed: int = 0,
    unsafe: bool = False, progress: Callable[[int, int], None] | None = None,
) -> RunResult:  # fmt: skip
    """Execute on a GPU or on the abstract machine and compare with float64; sizes are elements.

    Inputs are normal fp16 numbers of ``seed``.  With ``unsafe`` a schedule that was not accepted
    runs too, on the machine under the adversarial schedulers as well.  Raises `IllFormed` (SG116)
    for sizes that TMA cannot address or a GPU that is not there, `Refused` as `emit` does.
    """
    from schedgen.running import cuda_reason, run_cuda, run_machine

    require_rows(schedule, n=n, k=k)
    if min(m, n) < 1:
        raise IllFormed(code="SG116", message="m and n must be 1 or more", place=None)
    reason = None if device == "cpu" else cuda_reason()
    if device == "cuda" and reason is not None:
        raise IllFormed(code="SG116", message=f"cannot run on a GPU: {reason}", place=None)
    if device == "cpu" or reason is not None:
        why = "asked for" if device == "cpu" else reason or ""
        schedule = placed(schedule)
        accepted = _judged(schedule, unsafe=unsafe, verb="run").ok
        return run_machine(
            schedule, m=m, n=n, k=k, seed=seed, why=why, accepted=accepted, progress=progress
        )
    text = emit(schedule, unsafe=unsafe)
    return run_cuda(schedule, text, m=m, n=n, k=k, seed=seed)


def _judged(schedule: Schedule, *, unsafe: bool, verb: str) -> Verdict:
    """The verdict; raises `Refused` for a schedule that was not proved, unless ``unsafe``."""
    verdict = check(schedule)
    if verdict.outcome is not Outcome.PROVED and not unsafe:
        raise Refused(verdict, verdict_text(verdict, tile_k=schedule.tile.k), verb=verb)
    return verdict
