"""Bars of the burst times as SVG, written as text: no plotting library, readable on light and dark.

One panel a shape; a bar is TFLOPS at the median time, its whisker the quartiles, and beside it
stands the median of the paired ratios to the baseline.
"""

from __future__ import annotations

from html import escape

from schedgen.bench.request import shape_text
from schedgen.bench.results import Results, ShapeResults
from schedgen.bench.timing import summary, tflops

WIDTH, LEFT, RIGHT = 760, 190, 150
SPEEDS, RATIOS = WIDTH - RIGHT + 70, WIDTH - 20
"""Where the columns of numbers end."""

ROW, BAR, TITLE = 22, 13, 34
STYLE = """
  .bg { fill: #ffffff } .ink { fill: #1f2328 } .dim { fill: #59636e }
  .bar { fill: #4c78a8 } .peer { fill: #9aa5b1 } .grid { stroke: #d1d9e0 }
  .whisker { stroke: #1f2328; stroke-width: 1.5 }
  text { font: 12px system-ui, sans-serif } .head { font-weight: 600; font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #0d1117 } .ink { fill: #e6edf3 } .dim { fill: #9198a1 }
    .bar { fill: #6aa3dc } .peer { fill: #6e7681 } .grid { stroke: #3d444d }
    .whisker { stroke: #e6edf3 }
  }"""


def svg(results: Results, *, baseline: str, method: str = "burst") -> str:
    """The whole picture; shapes without rounds are left out."""
    panels = [s for s in results.shapes if s.rounds_of(method)]
    speeds = [
        tflops(s.shape, min(s.times(method, entry.label)))
        for s in panels
        for entry in results.on(s.shape)
        if s.times(method, entry.label)
    ]
    top = _round_up(max(speeds, default=1.0))
    body: list[str] = []
    y = 50
    for s in panels:
        lines, y = _panel(results, s, method=method, baseline=baseline, top=top, y=y)
        body += lines
    card = results.machine.get("card", "unknown card")
    mark = "" if not results.unfinished else " (incomplete)"
    head = f"TFLOPS on {card}, {method}, run {results.run}{mark}"
    note = (
        f"bar: median of the rounds; whisker: quartiles; ratio: to {baseline}, paired in each round"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 6}" role="img">',
            f"<title>{escape(head)}</title>",
            f"<style>{STYLE}\n</style>",
            f'<rect class="bg" width="{WIDTH}" height="{y + 6}"/>',
            _text(12, 22, head, "ink head"),
            _text(12, 40, note, "dim"),
            *body,
            "</svg>",
            "",
        ]
    )


def _panel(
    results: Results, s: ShapeResults, *, method: str, baseline: str, top: float, y: int
) -> tuple[list[str], int]:
    """The lines of one shape, and where the next one begins."""
    rows = [e for e in results.on(s.shape) if s.times(method, e.label)]
    found = [_text(12, y + 22, shape_text(s.shape).replace("x", " x "), "ink head")]
    end = y + TITLE + ROW * len(rows)
    for step in range(5):
        x = LEFT + (WIDTH - LEFT - RIGHT) * step / 4
        found.append(f'<line class="grid" x1="{x:.1f}" y1="{y + TITLE}" x2="{x:.1f}" y2="{end}"/>')
        found.append(_text(x, y + TITLE - 5, f"{top * step / 4:.0f}", "dim", "middle"))
    found.append(_text(SPEEDS, y + TITLE - 5, "TFLOPS", "dim", "end"))
    found.append(_text(RATIOS, y + TITLE - 5, "ratio", "dim", "end"))
    for number, entry in enumerate(rows):
        t = summary(s.times(method, entry.label))
        middle = y + TITLE + ROW * number + ROW / 2
        length, low, high = (_x(tflops(s.shape, time), top) for time in (t.median, t.high, t.low))
        kind = "peer" if entry.kind == "peer" else "bar"
        ratio = s.ratio(method, entry.label, baseline)
        found += [
            _text(LEFT - 8, middle + 4, _cut(entry.label), "ink", "end"),
            f'<rect class="{kind}" x="{LEFT}" y="{middle - BAR / 2:.1f}" '
            f'width="{length - LEFT:.1f}" height="{BAR}"/>',
            f'<line class="whisker" x1="{low:.1f}" y1="{middle:.1f}" x2="{high:.1f}" '
            f'y2="{middle:.1f}"/>',
            _text(SPEEDS, middle + 4, f"{tflops(s.shape, t.median):.0f}", "ink", "end"),
            _text(RATIOS, middle + 4, f"{ratio.median:.3f}" if ratio else "", "ink", "end"),
        ]
    return found, end + 12


def _x(value: float, top: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / top


def _round_up(value: float) -> float:
    """The next multiple of 200: four steps with whole numbers."""
    return max(200.0, -(-value // 200) * 200)


def _cut(label: str, most: int = 28) -> str:
    return label if len(label) <= most else label[: most - 1] + "\u2026"


def _text(x: float, y: float, text: str, classes: str, anchor: str = "start") -> str:
    return (
        f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
