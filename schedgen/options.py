"""What the commands share: their arguments and options, how INPUT and -p are read, refused JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from schedgen import __version__, api
from schedgen.completion import complete_input, complete_pipeline
from schedgen.diagnostics.refused import refused_json
from schedgen.diagnostics.render import finding_json
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.pipeline import PassStopped
from schedgen.terminal import read

INPUT = click.argument("source", metavar="INPUT", shell_complete=complete_input)
UNSAFE = click.option("--unsafe", is_flag=True, help="go on with a schedule that was not accepted")
FORMAT = click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)
PIPELINE = click.option(
    "-p", "--pipeline", metavar="PASSES", shell_complete=complete_pipeline,
    help="apply these passes first, such as 'set-stages{n=4}'; quote it",
)  # fmt: skip


def size(dim: str, *, default: int | None) -> Callable[[Any], Any]:
    """``--m``, ``--n`` or ``--k``; one that has no default must be given."""
    help = f"{dim} of the problem, in elements"
    if default is None:  # to click a default of None would be one, too
        return click.option(f"--{dim}", type=int, required=True, help=help)
    return click.option(f"--{dim}", type=int, default=default, show_default=True, help=help)


def given(source: str, pipeline: str | None) -> Schedule:
    """The schedule that INPUT names, after the passes of -p."""
    schedule = read(source)
    return schedule if pipeline is None else api.apply(schedule, pipeline)


def print_json(value: object) -> None:
    """A value, alone on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


EXAMPLES = {"--m": "8192", "--n": "8192", "--k": "8192", "--shape": "8192x8192x8192",
            "--pipeline": "'set-stages{n=4}'"}  # fmt: skip
"""What options that must be given may be."""


class Verb(click.Command):
    """A command that names all options it lacks.

    Its JSON is a document also where its input or its passes are refused.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = {arg.partition("=")[0] for arg in args}
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if not isinstance(error.param, click.Option):
                raise
            lacking = [
                option.opts[-1] for option in self.params
                if isinstance(option, click.Option) and option.required
                and not typed & set(option.opts)
            ]  # fmt: skip
            *first, last = lacking
            named = f"{', '.join(first)} and {last}" if first else last
            given = " ".join(f"{name} {EXAMPLES[name]}" for name in lacking)
            message = f"{named} must be given, such as {given}"
            raise click.UsageError(message, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.params.get("style") != "json":
            return super().invoke(ctx)
        source, pipeline = ctx.params.get("source"), ctx.params.get("pipeline")
        try:
            return super().invoke(ctx)
        except IllFormed as error:
            found, verdict = refused_json(error), "ill-formed"
            print_json(_refused_document(found, verdict, error.message, source, pipeline))
            raise
        except PassStopped as stopped:
            found, why = [finding_json(stopped.finding)], stopped.finding.message
            print_json(_refused_document(found, "stopped", why, source, pipeline))
            raise


def _refused_document(
    findings: list[dict[str, Any]], verdict: str, reason: str, source: object, pipeline: object
) -> dict[str, Any]:
    """The keys of the JSON of `check`, for what is no schedule: nothing of it was judged."""
    return {
        "schedule": {"name": None, "source": source, "pipeline": pipeline, "text": None},
        "verdict": verdict,
        "scope": {"k": []},
        "reason": reason,
        "certificate": None,
        "obligations": {},
        "findings": findings,
        "fix": None,
        "version": __version__,
    }
