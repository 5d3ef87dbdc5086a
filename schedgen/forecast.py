"""The command that tells times: `predict`."""

from __future__ import annotations

import click

from schedgen import api
from schedgen.happens_before.judge import Outcome
from schedgen.options import FORMAT, INPUT, PIPELINE, Verb, given, print_json
from schedgen.refusing import refuse
from schedgen.terminal import EXIT, stop


@click.command(cls=Verb)
@INPUT
@PIPELINE
@click.option("--shape", required=True, metavar="MxNxK", help="in elements, such as 8192x8192x8192")
@click.option("--clock", type=click.FloatRange(0, min_open=True), help="GHz, for the milliseconds")
@FORMAT
def predict(source: str, pipeline: str | None, shape: str, clock: float | None, style: str) -> None:
    """Say how long a proved schedule takes on an H200, and what limits it; needs no GPU."""
    from schedgen.predict import CannotPredict
    from schedgen.predict.text import prediction_json, prediction_text, shape_of

    schedule = given(source, pipeline)
    try:
        found = api.predict(schedule, shape=shape_of(shape), clock=clock)
    except api.Refused as error:
        refuse(f"no prediction: {schedule.name} is not proved", error.verdict)
    except CannotPredict as error:
        stop(f"no prediction for {schedule.name}: {error}", EXIT[Outcome.UNSUPPORTED])
    if style == "json":
        print_json(prediction_json(found))
    else:
        click.echo(prediction_text(found), nl=False)
