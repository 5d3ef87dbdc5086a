"""The command that tells times: `predict`."""

from __future__ import annotations

import json

import click

from schedgen import api
from schedgen.happens_before.judge import Outcome
from schedgen.refusing import refuse
from schedgen.terminal import EXIT, read, stop


@click.command()
@click.argument("source", metavar="INPUT")
@click.option("-p", "--pipeline", help="predict what these passes make of it; quote it")
@click.option("--shape", required=True, metavar="MxNxK", help="in elements, such as 8192x8192x8192")
@click.option("--clock", type=click.FloatRange(0, min_open=True), help="GHz, for the milliseconds")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text",
              show_default=True)  # fmt: skip
def predict(source: str, pipeline: str | None, shape: str, clock: float | None, style: str) -> None:
    """Say how long a proved schedule takes on an H200, and what limits it; needs no GPU."""
    from schedgen.predict import CannotPredict
    from schedgen.predict.text import prediction_json, prediction_text, shape_of

    schedule = read(source)
    if pipeline is not None:
        schedule = api.apply(schedule, pipeline)
    try:
        found = api.predict(schedule, shape=shape_of(shape), clock=clock)
    except api.Refused as error:
        refuse(f"no prediction: {schedule.name} is not proved", error.verdict)
    except CannotPredict as error:
        stop(f"no prediction for {schedule.name}: {error}", EXIT[Outcome.UNSUPPORTED])
    if style == "json":
        click.echo(json.dumps(prediction_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo(prediction_text(found), nl=False)
