"""A timeline as one page: the picture inside, light and dark, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from schedgen.markup import folded, section
from schedgen.timeline.legend import facts
from schedgen.timeline.model import Timeline
from schedgen.timeline.svg import fitted_svg

STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5b6675;--back:#ffffff;--line:#d5dae1}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#9aa5b4;--back:#14181e;--line:#39414d}}
body{margin:24px;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:20px;margin:0 0 4px}p{margin:0 0 16px;color:var(--dim)}
.sg-fit{border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;margin-top:16px;max-width:900px}
th{text-align:left;font-weight:600;vertical-align:top;padding:2px 16px 2px 0;white-space:nowrap}
td{padding:2px 0;overflow-wrap:anywhere;white-space:pre-wrap}
.hop{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
""".strip()

WITNESS_SIGNS = (
    "letters are stages (A the first) with their tile, each with a colour of its own; a circle: a "
    "warp issues a load or mma; a triangle: it hands a stage back; dotted box: waits for a "
    "barrier; box: waits for its mma; framed in red: what goes wrong"
)
SIGNS = (
    "letters are stages (A the first) with their tile, each with a colour of its own, small on the "
    "tensor core for odd replicas; a circle: a warp issues a load or mma; a triangle: it hands a "
    "stage back; dotted box: waits for a barrier; box: waits for its mma; red dashes: a bubble; "
    "framed: part of what limits the settled loop; a torn edge: goes on"
)


MONO = ' class="hop"'


def _facts(timeline: Timeline) -> Iterator[tuple[str, str]]:
    for label, text in facts(timeline, 0):
        if label not in ("signs", "path", "then", "drawn"):
            yield label, text


def fragment(timeline: Timeline) -> str:
    """The picture for a notebook; folded, what is said of it."""
    witness = timeline.unit == "steps"
    title = f"<div style='font-weight:600;margin:.5em 0 .2em'>{escape(timeline.title)}</div>"
    chart = fitted_svg(timeline)
    said = [f"{label}: {text}" if label else f"  {text}" for label, text in _facts(timeline)]
    shown = "refused" if witness else "tensor"
    head = next((text for text in said if text.startswith(shown)), "what is to be seen")
    said.append(f"signs: {WITNESS_SIGNS if witness else SIGNS}")
    lines = "".join(f"<div style='white-space:pre-wrap'>{escape(text)}</div>" for text in said)
    return section(timeline.title, title, chart, folded(head, lines))


def html_text(timeline: Timeline) -> str:
    """The page; the picture fits itself to the window as far as it can be read."""
    title = timeline.title
    if timeline.unit == "steps":
        signs = WITNESS_SIGNS
        what = f"a refusal's witness of {timeline.end - 1} steps, numbered as schedgen replay does"
    else:
        signs = SIGNS
        what = f"{timeline.shown:,} cycles to the {timeline.until}, {timeline.end:,} to the exit"
    rows = [
        f"<tr><th>{escape(label)}</th><td{'' if label else MONO}>{escape(text)}</td></tr>"
        for label, text in (*_facts(timeline), ("signs", signs))
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", "</head>", "<body>",
            f"<h1>{escape(title)}</h1>", f"<p>{escape(what)}</p>",
            fitted_svg(timeline),
            f"<table>{''.join(rows)}</table>", "</body>", "</html>", "",
        ]
    )  # fmt: skip
