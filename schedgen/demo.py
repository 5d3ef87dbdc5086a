"""The command that shows the main job once: `demo`."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import click

from schedgen import api
from schedgen.ir.printer import to_text
from schedgen.kernels import KERNELS, kernel_schedule
from schedgen.terminal import toolchain_failures, write


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write the kernel here")
def demo(output: Path | None) -> None:
    """V4 becomes V5 by a pass, is judged, emitted and executed."""
    v4, v5 = kernel_schedule("hopper_matmul_v4"), KERNELS["hopper_matmul_v5"]
    assert v5.pipeline is not None
    click.echo(f"== V4: serial consumers\n{to_text(v4)}")
    click.echo(f"== the pass: schedgen opt hopper_matmul_v4 -p '{v5.pipeline}'")
    schedule = v4
    for step, after in api.apply_steps(v4, v5.pipeline):
        schedule = after
        click.echo(f"   {step.text} keeps {', '.join(sorted(step.keeps))}: checked")
    schedule = dataclasses.replace(schedule, name=v5.name)
    click.echo(f"\n== V5: one wgmma group in flight, releases one step behind\n{to_text(schedule)}")
    verdict = api.check(schedule)
    total = sum(verdict.obligations.values())
    click.echo(f"== verdict: {api.verdict_line(verdict, tile_k=schedule.tile.k)}")
    click.echo(f"   {total} obligations under {len(verdict.obligations)} codes, none violated")
    path = output or Path(tempfile.mkdtemp(prefix="schedgen-demo-")) / f"{v5.name}.py"
    write(api.emit(schedule), path)
    click.echo(f"== emitted: {path}")
    with toolchain_failures():
        result = api.run(schedule, m=384, n=512, k=576)
    click.echo(f"== executed: {result}")
    raise SystemExit(0 if verdict.ok and result.ok else 1)
