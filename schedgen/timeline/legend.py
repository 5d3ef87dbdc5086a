"""What is said under a picture: how busy the engines were, bubbles, the cycle that limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from schedgen.timeline.critical import Cycle, Hop
from schedgen.timeline.loads import Loads
from schedgen.timeline.model import Timeline

LEGEND = (
    "letters are stages (A the first), small on the tensor core for odd replicas; a letter in a "
    "role's row: it issues its load or mma; . waits for a barrier  - for its mma  ^ hands a stage "
    "back  _ bubble"
)
PATH_LEGEND = (
    "why the last mma is so late: t loads, m mma, h hand-overs; capital: part of what limits the "
    "settled loop"
)
WITNESS_LEGEND = (
    "letters are stages (A the first): in a role's row it issues its load or mma, small it hands "
    "that stage back, below they are in flight; = another op  . waits for a barrier  - for its "
    "mma  ! what goes wrong"
)


def facts(timeline: Timeline, scale: int) -> Iterator[tuple[str, str]]:
    """Labelled sentences, in their order."""
    for usage in timeline.usages:
        label = "tensor" if usage.lane.startswith("tensor") else "TMA"
        if timeline.until == "exit":
            continue
        text = f"{usage.busy:,} of {usage.window:,} cycles busy: {usage.share:.0%}"
        if usage.settled is not None:
            text += f"; {float(usage.settled):.0%} once the loop has settled"
        yield label, text
    if timeline.unit == "cycles":
        if timeline.loads is not None:
            yield "loads", _loads_text(timeline.loads)
        yield "bubbles", _bubbles_text(timeline)
        yield "settled", settled_text(timeline.cycle)
        if timeline.cycle is not None:
            for text in hops_text(timeline.cycle):
                yield "", text
    if timeline.refusal:
        yield "refused", timeline.refusal
    for sentence in timeline.sentences:
        yield "seen", sentence
    left_out = left_out_text(timeline)
    if left_out:
        yield "then" if is_whole(timeline) else "drawn", left_out
    if timeline.unit == "cycles":
        for role in timeline.serialised:
            yield "note", f"ptxas lets {role} wait after each wgmma (C7520): 128 rows in flight"
    if timeline.unit == "cycles":
        yield "signs", f"a column is {scale:,} cycles; {LEGEND}"
    else:
        yield "signs", WITNESS_LEGEND
    if timeline.path:
        yield "path", PATH_LEGEND


def is_whole(timeline: Timeline) -> bool:
    """Whether all up to the last mma is drawn, or all steps."""
    begin = 1 if timeline.unit == "steps" else 0
    return timeline.first <= begin and timeline.stop >= timeline.shown


def left_out_text(timeline: Timeline) -> str:
    """What is not drawn; empty where everything is."""
    first, stop, end = timeline.first, timeline.stop, timeline.end
    if timeline.unit == "steps":
        return "" if is_whole(timeline) else f"steps {first:,} to {stop - 1:,} of {end - 1:,}"
    after = f"{max(end - stop, 0):,} more cycles to the exit, not drawn"
    if is_whole(timeline):
        return after if end > stop else ""
    rest = timeline.shown - stop
    if rest > 0:
        turns = "" if timeline.cycle is None else _turns_text(rest / timeline.cycle.per_turn)
        after = f"{rest:,} more cycles to the last mma{turns}, and {end - stop:,} to the exit"
    return f"cycles {first:,} to {stop:,} (`--from`, `--to`): {after}"


def _turns_text(turns: Fraction) -> str:
    count = round(turns)
    return f", some {count:,} turns of the loop" if count > 1 else ""


def _loads_text(loads: Loads) -> str:
    """How long loads wait for others, and where that is known from."""
    wait = f"each waits {loads.queued:,} cycle{'' if loads.queued == 1 else 's'} for others"
    source = "as `schedgen predict` says"
    if loads.unfolded:
        source = f"by the use of TMA here: `schedgen predict` cannot say ({loads.unfolded})"
    shared = f"; {loads.ctas} CTAs share an SM, one is drawn" if loads.ctas > 1 else ""
    return f"{wait}, {source}{shared}"


def _bubbles_text(timeline: Timeline) -> str:
    gaps = [end - begin for begin, end in timeline.bubbles]
    if timeline.until == "exit":
        return "none: the tensor core has nothing to do"
    if not gaps:
        return "none: the tensor core never stands idle once it has begun"
    if len(gaps) == 1:
        return f"1 of the tensor core, {gaps[0]:,} cycles"
    return f"{len(gaps)} of the tensor core, {sum(gaps):,} cycles, the longest {max(gaps):,}"


def settled_text(cycle: Cycle | None) -> str:
    """How fast the settled loop is, and what limits it."""
    if cycle is None:
        return "not known: the loop does not come to repeat itself"
    rate = float(cycle.per_turn)
    head = f"{rate:,.0f} cycles a turn of the K-loop"
    if cycle.resource is not None:
        return f"{head}: the {cycle.resource} is always busy"
    turns = "turn goes" if cycle.turns == 1 else f"{cycle.turns} turns go"
    return f"{head}: every {turns} through these waits, {cycle.cycles:,} cycles in all"


def hops_text(cycle: Cycle) -> list[str]:
    """The hops that take time, one each; a run of one who, event and reason is one line."""
    kept = [hop for hop in cycle.hops if hop.cycles]
    lines: list[list[Hop]] = []
    for hop in kept:
        if lines and _same(lines[-1][-1], hop):
            lines[-1].append(hop)
        else:
            lines.append([hop])
    return [text for hops in lines for text in (_line(hops), *_parts(hops))]


def _same(a: Hop, b: Hop) -> bool:
    loads = a.event == b.event == "land"
    return a.who == b.who and loads


def _parts(hops: Sequence[Hop]) -> Iterator[str]:
    """What the cycles of loads consist of."""
    latency, queue = sum(hop.latency for hop in hops), sum(hop.queue for hop in hops)
    if latency or queue:
        rest = sum(hop.cycles for hop in hops) - latency - queue
        yield f"        = {latency:,} latency + {queue:,} queue + {rest:,} transfer"


def _line(hops: Sequence[Hop]) -> str:
    cycles = sum(hop.cycles for hop in hops)
    first, last = hops[0], hops[-1]
    op = first.op if len(hops) == 1 else f"{first.op} .. {last.op}"
    what = {"land": "lands", "retire": "retires", "return": "returns", "issue": "issued"}
    done = what.get(first.event, "")
    reasons = {hop.why for hop in hops}
    why = "" if len(hops) > 1 or reasons & {"transfer", "mma", "program"} else f" ({first.why})"
    return f"{cycles:>6,}  {first.who}: {op} {done}".rstrip() + why
