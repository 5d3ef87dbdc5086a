"""A timeline as SVG: it carries its own style, for light and dark, and needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from schedgen.timeline.columns import rounded
from schedgen.timeline.legend import left_out_text
from schedgen.timeline.model import Bar, Handover, Kind, Lane, Timeline

LETTER = 7.3
"""Pixels of a letter of a lane's name."""

ROOM = 920
"""Pixels for the bars where they are all wide enough."""

LEAST_BAR = 22
"""Pixels that the shortest mma gets at least, so that its letter fits."""

MOST_ROOM = 30_000
TORN = 12
"""Pixels right of where the picture ends, in which bars that go on are torn off."""

ROW, BAR, TOP, NOTE = 30, 20, 30, 22
LEAST_SIZE, MOST_SIZE = 0.8, 1.3
"""Of the size in which it is made, where it fits itself to what it stands in (class `sg-fit`)."""

FILLS = ("#8ecae6", "#ffd166", "#95d5b2", "#cdb4db", "#f4a261", "#b7c68b", "#e5989b", "#a9bcd0")
"""Fills of the stages in turn; the text on them is dark in either mode."""

# A notebook or a page of documentation that says whether it is dark is believed.

LIGHT = (
    "--ink:#1c2430;--dim:#5b6675;--line:#d5dae1;--back:#ffffff;--band:#f5f7f9;--bad:#c1121f;"
    "--limit:#b5179e"
)
DARK = (
    "--ink:#e6e9ee;--dim:#9aa5b4;--line:#39414d;--back:#14181e;--band:#1b2028;--bad:#ff6b6b;"
    "--limit:#f58be0"
)
STYLE = f"""
.sg-t{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}}
.sg-t{{{LIGHT}}}
@media (prefers-color-scheme:dark){{.sg-t{{{DARK}}}}}
[data-jp-theme-light=true] .sg-t,[data-md-color-scheme=default] .sg-t{{{LIGHT}}}
[data-jp-theme-light=false] .sg-t,[data-md-color-scheme=slate] .sg-t{{{DARK}}}
"""
STYLE += """.sg-t .ink{fill:var(--ink)}.sg-t .dim{fill:var(--dim)}.sg-t .back{fill:var(--back)}
.sg-t .band{fill:var(--band)}.sg-t .line{stroke:var(--line)}.sg-t .on{fill:#10151c}
.sg-t .barrier{fill:none;stroke:var(--dim);stroke-dasharray:2 3}
.sg-t .group{fill:none;stroke:var(--dim)}
.sg-t .bubble{fill:none;stroke:var(--bad);stroke-width:1.5;stroke-dasharray:4 2}
.sg-t .settled{fill:var(--limit)}.sg-t .limit{stroke:var(--limit);stroke-width:2.5}
.sg-t .clash{stroke:var(--bad);stroke-width:3}.sg-t .back-to{stroke:var(--ink);stroke-width:1}
.sg-t .hand{stroke:var(--limit);fill:none;opacity:.7}
.sg-t .torn{fill:none;stroke:var(--dim);stroke-width:1.5}
.sg-fit{overflow-x:auto}
.sg-fit>.sg-t{display:block;direction:ltr;margin-right:auto;width:100%;height:auto;
min-width:var(--least);max-width:var(--most)}
.sg-end{direction:rtl}
"""


def svg_text(timeline: Timeline) -> str:
    """The picture as an ``svg`` element that stands alone in a page or, as it is, in a file."""
    return "\n".join(_elements(timeline, _Scale(timeline))) + "\n"


def fitted_svg(timeline: Timeline) -> str:
    """The picture in a box that it fits itself to as long as its letters can be read; else the box
    scrolls, and that of a witness begins at its end, where it goes wrong."""
    names = "sg-fit sg-end" if timeline.unit == "steps" else "sg-fit"
    return f'<div class="{names}" tabindex="0">{svg_text(timeline)}</div>'


class _Scale:
    """Pixels per unit of time."""

    def __init__(self, timeline: Timeline) -> None:
        bars = [b.length for lane in timeline.lanes for b in lane.bars if b.kind is Kind.MMA]
        longest = max((len(lane.name) for lane in timeline.lanes), default=0)
        self.left = max(round(longest * LETTER) + 16, 118)
        self.first = timeline.first
        self.stop = timeline.stop
        length = max(timeline.stop - timeline.first, 1)
        least = LEAST_BAR / max(min(bars, default=length), 1)
        self.factor = min(max(ROOM / length, least), MOST_ROOM / length)
        self.width = self.left + round(length * self.factor) + TORN

    def x(self, time: int) -> float:
        """Where a time is, an end for those beyond it."""
        return round(
            self.left + (min(max(time, self.first), self.stop) - self.first) * self.factor, 1
        )


def _elements(timeline: Timeline, scale: _Scale) -> Iterator[str]:
    lanes = [lane for lane in timeline.lanes if any(map(timeline.sees, lane.bars))]
    left_out = left_out_text(timeline)
    path = any(s.begin < timeline.stop and s.end > timeline.first for s in timeline.path)
    rows = len(lanes) + path
    width, height = scale.width, TOP + rows * ROW + 8
    least, most = (round(width * size) for size in (LEAST_SIZE, MOST_SIZE))
    axis = _axis(timeline, scale, height)
    height += NOTE * bool(left_out)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sg-t" role="img" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" aria-label="{escape(timeline.title)}" '
        f'style="--least:{least}px;--most:{most}px">'
    )
    yield f"<style>{STYLE.strip()}</style>"
    yield f'<rect class="back" width="{width}" height="{height}"/>'
    yield from axis
    for number, lane in enumerate(lanes):
        yield from _lane(timeline, lane, scale, TOP + number * ROW)
    if path:
        yield from _path(timeline, scale, TOP + len(lanes) * ROW)
    for handover in timeline.handovers:
        yield from _handover(timeline, handover, scale, lanes)
    if left_out:
        text, x = escape(left_out.replace(" (`--from`, `--to`)", "")), width - TORN
        yield f'<text class="dim" x="{x}" y="{height - 10}" text-anchor="end">{text}</text>'
    yield "</svg>"


def _axis(timeline: Timeline, scale: _Scale, height: int) -> Iterator[str]:
    step = rounded(max(round(80 / scale.factor), 1))
    for time in range(-(-timeline.first // step) * step, timeline.stop + 1, step):
        x = scale.x(time)
        yield f'<line class="line" x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{height - 8}"/>'
        yield f'<text class="dim" x="{x}" y="{TOP - 12}" text-anchor="middle">{time:,}</text>'
    yield f'<text class="dim" x="6" y="{TOP - 12}">{timeline.unit}</text>'


def _lane(timeline: Timeline, lane: Lane, scale: _Scale, y: int) -> Iterator[str]:
    yield f'<text class="ink" x="6" y="{y + 19}">{escape(lane.name)}</text>'
    y += (ROW - BAR) // 2
    tensor = lane.name == "tensor core"
    for begin, end in timeline.bubbles if tensor else ():
        if end <= timeline.first or begin >= timeline.stop:
            continue
        x, width = scale.x(begin), round(scale.x(end) - scale.x(begin), 1)
        note = f"bubble: {end - begin:,} cycles from {begin:,} to {end:,}"
        yield _rect(x + 1, y, max(width - 2, 1), "bubble", note)
    for bar in filter(timeline.sees, lane.bars):
        yield from _bar(timeline, bar, scale, y, engine=lane.serial, small=tensor)
    if any(bar.begin < timeline.stop < bar.end for bar in lane.bars):
        yield _torn(scale.x(timeline.stop), y)


def _torn(x: float, y: int) -> str:
    """The edge of what goes on beyond the picture."""
    quarter = BAR / 4
    edge = " ".join(f"{round(x + 4 * (n % 2) + 2, 1)},{y + n * quarter:g}" for n in range(5))
    return f'<polyline class="torn" points="{edge}"/>'


def _bar(
    timeline: Timeline, bar: Bar, scale: _Scale, y: int, *, engine: bool, small: bool
) -> Iterator[str]:
    x = scale.x(bar.begin)
    width = max(round(scale.x(bar.end) - x, 1), 0.0)
    marks = " limit" * bar.critical + " clash" * bar.clash
    note = _note(timeline, bar)
    if engine:
        yield from _engine_bar(bar, (x, y, width), marks, note, small=small)
    elif bar.kind in (Kind.BARRIER, Kind.GROUP):
        if width >= 1:
            height = 8
            yield _rect(x, y + BAR - height, width, f"{bar.kind}{marks}", note, height=height)
    elif bar.kind is Kind.STORE:
        yield f'<g opacity=".6">{_rect(x, y, width, "dim" + marks, note)}</g>'
        if width > 50:
            yield f'<text class="ink" x="{x + 4}" y="{y + 14}">store</text>'
    else:
        yield from _moment(bar, x, y, marks, note)


def _engine_bar(
    bar: Bar, box: tuple[float, int, float], marks: str, note: str, *, small: bool
) -> Iterator[str]:
    x, y, width = box
    yield _rect(x + 0.5, y, max(width - 1, 1), f"on{marks}", note, fill=_fill(bar))
    letter = bar.letter.lower() if small and bar.replica % 2 else bar.letter
    text = letter if bar.tile is None else f"{letter}{bar.tile}"
    if width < 9 * len(text):
        text = letter
    if text and width >= 9 * len(text):
        yield (
            f'<text class="on" x="{round(x + width / 2, 1)}" y="{y + 14}" '
            f'text-anchor="middle">{text}</text>'
        )


def _fill(bar: Bar) -> str:
    return FILLS[(ord(bar.letter) - ord("A")) % len(FILLS)] if bar.letter else "#b0b8c3"


def _moment(bar: Bar, x: float, y: int, marks: str, note: str) -> Iterator[str]:
    """An op that takes no time to speak of: a letter, a mark for what goes back, or a tick."""
    if bar.op.startswith(("mma ", "load ")):
        yield f'<g style="fill:{_fill(bar)}"><circle cx="{x}" cy="{y}" r="4.5" class="{marks}">'
        yield f"<title>{note}</title></circle></g>"
    elif bar.op.startswith("release"):
        points = f"{x},{y + 4} {x - 4},{y + 11} {x + 4},{y + 11}"
        yield f'<g style="fill:{_fill(bar)}"><polygon class="back-to{marks}" points="{points}">'
        yield f"<title>{note}</title></polygon></g>"
    elif bar.clash:
        yield f'<line class="clash" x1="{x}" x2="{x}" y1="{y}" y2="{y + BAR}"/>'


def _rect(
    x: float, y: float, width: float, names: str, note: str, *, fill: str = "", height: int = BAR
) -> str:
    paint = f' style="fill:{fill}"' if fill else ""
    box = f'x="{round(x, 1)}" y="{y}" width="{round(width, 1)}" height="{height}"'
    return f'<rect class="{names}" {box} rx="2"{paint}><title>{note}</title></rect>'


def _note(timeline: Timeline, bar: Bar) -> str:
    unit = "steps" if timeline.unit == "steps" else "cycles"
    turn = "" if bar.k is None else f", k = {bar.k}"
    place = f" {bar.place}" if bar.place else ""
    limit = "; part of what limits the settled loop" if bar.critical else ""
    span = f"{bar.begin:,} to {bar.end:,} {unit}"
    return escape(f"{bar.who}{turn}: {bar.op}{place}; {span}{limit}")


def _path(timeline: Timeline, scale: _Scale, y: int) -> Iterator[str]:
    """Why the last mma is so late: thick where it is part of what limits the settled loop."""
    yield f'<text class="ink" x="6" y="{y + 19}">path</text>'
    for step in timeline.path:
        if step.end <= timeline.first or step.begin >= timeline.stop:
            continue
        x, width = scale.x(step.begin), scale.x(step.end) - scale.x(step.begin)
        names, height = ("settled", 8) if step.settled else ("dim", 3)
        note = escape(f"{step.why}: {step.end - step.begin:,} cycles")
        yield _rect(x, y + 12, max(width - 1, 1), names, note, height=height)
        word = {"hand-over": "", "wake-up": "", "program": ""}.get(step.why, step.why)
        if width > 8 * len(word) > 0:
            centre = round(x + width / 2, 1)
            yield (
                f'<text class="dim" x="{centre}" y="{y + 8}" text-anchor="middle" '
                f'font-size="10">{word}</text>'
            )


def _handover(
    timeline: Timeline, h: Handover, scale: _Scale, lanes: Sequence[Lane]
) -> Iterator[str]:
    """A thin line from the last arrival to the wait that it ended."""
    ends = [timeline.lanes[h.source], timeline.lanes[h.target]]
    seen = timeline.first <= h.sent and h.received < timeline.stop
    if not h.critical or not seen or not all(lane in lanes for lane in ends):
        return
    y1, y2 = (TOP + lanes.index(lane) * ROW + ROW // 2 for lane in ends)
    x1, x2 = scale.x(h.sent), scale.x(h.received)
    yield (
        f'<line class="hand" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}">'
        f"<title>{escape(h.barrier)}</title></line>"
    )
