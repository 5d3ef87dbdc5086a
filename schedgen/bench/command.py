"""``schedgen bench``: what the options mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from schedgen.bench.request import PEERS, bad, make_request, parse_shape, read_suite
from schedgen.options import FORMAT, Verb
from schedgen.terminal import toolchain_failures


@click.command(cls=Verb)
@click.argument("inputs", nargs=-1, metavar="[LABEL=]INPUT[:PIPELINE]...")
@click.option(
    "-p",
    "--pipeline",
    "pipelines",
    multiple=True,
    help="measure each INPUT without a pipeline of its own through this; repeatable",
)
@click.option("--suite", help="a TOML file of contestants, or `ladder`, which comes along")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice(list(PEERS)),
    help="measure this, too; the first peer is the baseline; repeatable",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="MxNxK",
    help="elements; repeatable (default: the suite's, else 8192x8192x8192)",
)
@click.option("--static-k", is_flag=True, help="make k_size a constant of emitted kernels")
@click.option(
    "--rounds",
    type=click.IntRange(1, 1000),
    default=9,
    show_default=True,
    help="interleaved rounds of each method",
)
@click.option("--sustained", "hot", is_flag=True, help="also time 20 launches back to back")
@click.option("--cycles", is_flag=True, help="also count cycles with ncu")
@click.option("--baseline", metavar="LABEL", help="what ratios are against (default: first peer)")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="keep results here (JSON)")
@click.option("--resume", is_flag=True, help="go on with the unfinished run in the -o file")
@click.option("--plot", type=click.Path(path_type=Path), help="draw the burst times here (SVG)")
@click.option("--dry-run", is_flag=True, help="judge and compile everything; needs no GPU")
@click.option(
    "--show",
    multiple=True,
    type=click.Path(path_type=Path),
    help="print the tables of a results file again, and measure nothing",
)
@FORMAT
def bench(
    inputs: tuple[str, ...], pipelines: tuple[str, ...], suite: str | None,
    peers: tuple[str, ...], shapes: tuple[str, ...], static_k: bool, rounds: int, hot: bool,
    cycles: bool, baseline: str | None, output: Path | None, resume: bool, plot: Path | None,
    dry_run: bool, show: tuple[Path, ...], style: str,
) -> None:  # fmt: skip
    """Measure kernels side by side on this machine's GPU, interleaved, in one process.

    INPUT is a kernel, a .sched file, or a .py file with a tilus kernel.  Each one is compiled in a
    process of its own, compared with float64 on every shape, and timed only if it is right.

    \b
    schedgen bench hopper_matmul_v4 hopper_matmul_v5 --peer torch -o results.json
    schedgen bench V4=hopper_matmul_v4 -p 'set-stages{n=3}' -p 'set-stages{n=4}'
    schedgen bench --suite ladder --sustained -o ladder.json --plot ladder.svg
    """
    # Compiling and measuring have imports of their own, which no other command should pay for.
    from schedgen.bench.conducting import Options, dry, measured
    from schedgen.bench.timing import burst, sustained

    if show:
        if inputs or suite or peers:
            raise bad("--show prints files and measures nothing: leave contestants out")
        show_files(show, baseline=baseline, plot=plot, style=style)
        return
    request = make_request(
        inputs=inputs, pipelines=pipelines, peers=peers, static_k=static_k,
        shapes=[parse_shape(text) for text in shapes], suite=read_suite(suite) if suite else None,
    )  # fmt: skip
    methods = (burst(rounds), sustained(rounds)) if hot else (burst(rounds),)
    options = Options(
        request=request, methods=methods, cycles=cycles, baseline=baseline, output=output,
        plot=plot, resume=resume, style=style,
    )  # fmt: skip
    with toolchain_failures():
        code = dry(options) if dry_run else measured(options)
    raise SystemExit(code)


def show_files(
    paths: Sequence[Path], *, baseline: str | None, plot: Path | None, style: str
) -> None:
    """Print files again; several only if they are of one run."""
    from schedgen.bench.conducting import show_results
    from schedgen.bench.results_json import read_results
    from schedgen.bench.table import refuse_comparison

    files = [(str(path), read_results(path)) for path in paths]
    refuse_comparison(files)
    for _, results in files:
        show_results(results, baseline=baseline, plot=plot, style=style)
