"""What `schedgen check` reads, says and repairs: text, JSON and SARIF of one verdict."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedgen import __version__, api
from schedgen.diagnostics.catalog import CATALOG
from schedgen.diagnostics.render import finding_json, place_json
from schedgen.happens_before.judge import Outcome, Verdict
from schedgen.ir.printer import to_text
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS
from schedgen.options import given, print_json
from schedgen.plugins import kernel_of_plugin
from schedgen.terminal import EXIT, deliver, given_text, print_findings, room, write

if TYPE_CHECKING:
    from schedgen.fixes import Fix, NoFix


@dataclass(frozen=True, kw_only=True)
class Source:
    """A schedule with the text that its places count lines of.

    ``path`` is the file that a repair may be written to, None for a kernel's name, a pipe,
    standard input, and what passes made.
    """

    name: str
    schedule: Schedule
    text: str
    path: Path | None


def read_source(name: str, pipeline: str | None) -> Source:
    """The schedule that INPUT names, after the passes of -p.  Raises `IllFormed`."""
    if pipeline is not None:
        schedule = given(name, pipeline)
        return Source(name=name, schedule=schedule, text=to_text(schedule), path=None)
    if name in KERNELS or (name != "-" and kernel_of_plugin(name) is not None):
        schedule = api.load(name)
        return Source(name=name, schedule=schedule, text=to_text(schedule), path=None)
    if name != "-":
        path = Path(name)
        text = api.read_text(path)
        file = path if path.is_file() else None
        return Source(name=name, schedule=api.parse(text, name=name), text=text, path=file)
    text = given_text()
    return Source(name=name, schedule=api.parse(text, name="<stdin>"), text=text, path=None)


@dataclass(frozen=True, kw_only=True)
class Repair:
    """A proved fix and the text that it makes of the source."""

    fix: Fix
    text: str
    kept: bool

    @property
    def words(self) -> str:
        """The edits, that they are proved, and what they cost."""
        notes = "".join(f"; note: {note}" for note in self.fix.notes)
        return f"{self.fix.text}: proved for every K{notes}"


def repair_of(source: Source, found: Fix | NoFix | None) -> Repair | None:
    """The fix in the words of the source, if there is one."""
    if found is None:
        return None
    from schedgen.fixes import Fix, patched

    if not isinstance(found, Fix):
        return None
    made = patched(source.text, source.schedule, found.schedule)
    return Repair(fix=found, text=made.text, kept=made.kept)


def say_check(
    source: Source, verdict: Verdict, found: Fix | NoFix | None, *, err: bool = False
) -> None:
    """The verdict in words, with the fix that was found as a last line of help.

    ``err``: to standard error, since the repaired text goes to standard output.
    """
    schedule = source.schedule
    line = api.verdict_line(verdict, tile_k=schedule.tile.k)
    click.echo(f"{schedule.name}: {line}", err=err)
    if verdict.ok:
        done = ", ".join(f"{c}_x{n}" for c, n in verdict.obligations.items())  # not broken at _
        columns = room(sys.stderr if err else sys.stdout)
        text = textwrap.fill(f"obligations: {done}", columns, subsequent_indent="  ")
        click.echo(text.replace("_", " "), err=err)
        return
    repair = repair_of(source, found)
    fix = repair and f"{repair.fix.text}: proved for every K, --fix does it"
    text = api.findings_text(
        verdict, tile_k=schedule.tile.k, source=api.lines_of(source.text), fix=fix,
        notes=() if repair is None else repair.fix.notes,
    )  # fmt: skip
    if err:
        click.echo(text, nl=False, err=True)
    else:
        print_findings(text)


def is_filter(source: Source, output: Path | None) -> bool:
    """Whether a repair goes to standard output, which then holds nothing else."""
    return output is None and source.path is None


def apply_fix(
    source: Source, found: Fix | NoFix | None, output: Path | None, *, aloud: bool
) -> bool:
    """Show the repair as a diff and write it, or say that there is none.

    It goes to ``output``, else to the file that it repairs; where there is none, to standard output
    if ``aloud`` (the diff then goes to standard error, and so do all words).  ``found`` is None for
    what is not refuted: the text goes on as it is.
    """
    from schedgen.fixes import diff

    err = not aloud or is_filter(source, output)
    repair = repair_of(source, found)
    if repair is None:
        if found is not None:
            click.echo(found.text, err=err)
        elif aloud:
            click.echo("nothing to fix", err=True)
        if found is None and (output is not None or (aloud and source.path is None)):
            deliver(source.text, output)
        return False
    for line in (f"fix: {repair.fix.text}", *(f"note: {note}" for note in repair.fix.notes)):
        click.echo(line, err=err)
    click.echo(diff(source.text, repair.text, source.name), nl=False, err=err)
    if not repair.kept:
        click.echo("the layout of the text is not kept: it has several ops in a line", err=err)
    proof = api.verdict_line(repair.fix.verdict, tile_k=source.schedule.tile.k)
    click.echo(f"{source.schedule.name} with this fix: {proof}", err=err)
    target = output or source.path
    if target is not None:
        write(repair.text, target)
        click.echo(f"wrote {target}", err=True)
    elif aloud:
        deliver(repair.text, None)
    return True


def verdict_json(
    schedule: Schedule, verdict: Verdict, source: str, pipeline: str | None = None,
    repair: Repair | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The JSON of `check`: a contract that scripts depend on."""
    proof = verdict.certificate
    return {
        "schedule": {
            "name": schedule.name, "source": source, "pipeline": pipeline,
            "text": to_text(schedule),
        },
        "verdict": str(verdict.outcome),
        "scope": {"k": "all" if proof is not None else list(verdict.scope)},
        "reason": verdict.reason,
        "certificate": proof and dataclasses.asdict(proof),
        "obligations": verdict.obligations,
        "findings": [finding_json(f) for f in verdict.findings],
        "fix": repair and _repair_json(repair),
        "version": __version__,
    }  # fmt: skip


def _repair_json(repair: Repair) -> dict[str, Any]:
    fix = repair.fix
    assert fix.verdict.outcome is Outcome.PROVED
    edits = [
        {
            "kind": e.kind, "subject": e.subject, "text": e.text, "role": e.role,
            "places": [place_json(p) for p in e.places], "side": e.side, "line": e.line,
        }
        for e in fix.edits
    ]  # fmt: skip
    return {
        "edits": edits,
        "notes": list(fix.notes),
        "text": repair.text,
        "layout_kept": repair.kept,
        "verdict": str(fix.verdict.outcome),
        "certificate": fix.verdict.certificate and dataclasses.asdict(fix.verdict.certificate),
        "judged": fix.judged,
    }


def check_sarif(source: Source, verdict: Verdict, repair: Repair | None) -> dict[str, Any]:
    """The SARIF log of a verdict; one that is neither right nor refuted is a notification."""
    from schedgen.sarif import sarif_log

    repaired = None if repair is None else (repair.words, repair.text)
    log = sarif_log(
        verdict.findings, source=source.name, text=source.text, repaired=repaired,
        version=__version__,
    )  # fmt: skip
    if not verdict.ok and verdict.outcome is not Outcome.REFUTED:
        line = api.verdict_line(verdict, tile_k=source.schedule.tile.k)
        note = {"level": "error", "message": {"text": line}}
        log["runs"][0]["invocations"] = [
            {"executionSuccessful": False, "toolExecutionNotifications": [note]}
        ]
    return log


def read_for_check(name: str, pipeline: str | None, style: str) -> Source:
    """What INPUT names; in the style ``sarif`` a text that is no schedule is printed as a log."""
    try:
        return read_source(name, pipeline)
    except IllFormed as error:
        if style == "sarif" and error.code in CATALOG:
            from schedgen.sarif import ill_formed_log

            print_json(ill_formed_log(error, source=name, version=__version__))
        raise


A_SCHEDULE = re.compile(r"(\s|#.*\n)*schedule\s+\w")
"""How the text of a schedule begins, and no JSON does."""


def read_verdict(file: str, pipeline: str | None = None) -> object:
    """The JSON of `check` in a file or on standard input; of a schedule, the one that it gets."""
    is_kernel = file != "-" and not Path(file).is_file()
    if is_kernel and (file in KERNELS or kernel_of_plugin(file) is not None):
        return _judged(api.load(file), file, pipeline)
    name = "standard input" if file == "-" else f"`{file}`"
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = data.decode("utf-8-sig")
        value = None if A_SCHEDULE.match(text) else json.loads(text)
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror}"
        raise IllFormed(code="SG115", message=message, place=None) from None
    except (ValueError, RecursionError):
        message = f"{name} is no schedule and no JSON of `schedgen check INPUT --format json`"
        raise IllFormed(code="SG115", message=message, place=None) from None
    if value is None:
        name = "<stdin>" if file == "-" else file
        return _judged(api.parse(text, name=name), file, pipeline)
    if pipeline is not None:
        message = f"-p goes with a schedule; {name} is the JSON of one that was judged"
        help = "give -p to `schedgen check`"
        raise IllFormed(code="SG116", message=message, place=None, help=help)
    return value


def _judged(schedule: Schedule, source: str, pipeline: str | None) -> object:
    """The JSON of a schedule's verdict; ends the command where there is nothing to replay."""
    if pipeline is not None:
        schedule = api.apply(schedule, pipeline)
    verdict = api.check(schedule)
    if not verdict.findings:
        line = api.verdict_line(verdict, tile_k=schedule.tile.k)
        click.echo(f"{schedule.name}: {line}: there is nothing to replay")
        raise SystemExit(EXIT[verdict.outcome])
    return verdict_json(schedule, verdict, source, pipeline)
