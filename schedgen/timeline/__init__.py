"""When things happen: executions of a schedule with latencies, witnesses, and pictures of both.

`execution` gives every event of the counting run a time, `critical` says what limits the settled
loop, `trace` and `witness` make a `Timeline`; `gantt`, `svg`, `html` and `perfetto` show it.
"""

from schedgen.timeline.gantt import gantt_text, rich_text
from schedgen.timeline.html import html_text
from schedgen.timeline.loads import Loads
from schedgen.timeline.model import Bar, Handover, Kind, Lane, Timeline, Usage
from schedgen.timeline.perfetto import perfetto_text, perfetto_value
from schedgen.timeline.svg import fitted_svg, svg_text
from schedgen.timeline.trace import Stuck, traced
from schedgen.timeline.witness import witnessed

__all__ = [
    "Bar", "Handover", "Kind", "Lane", "Loads", "Stuck", "Timeline", "Usage", "fitted_svg",
    "gantt_text", "html_text", "perfetto_text", "perfetto_value", "rich_text", "svg_text", "traced",
    "witnessed",
]  # fmt: skip
