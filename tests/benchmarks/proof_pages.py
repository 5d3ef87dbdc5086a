"""The tables and figures of docs/model.md and docs/proof.md.

    python -m tests.benchmarks.proof_pages [--write]

Prints every section, or writes them between the markers of the pages; a test keeps the pages equal
to what this says.  Figures are parts of the event graphs that the checker makes.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

import schedgen as sg
from schedgen.happens_before.case import Case, Past
from schedgen.happens_before.matching import EventKind, Matching
from schedgen.happens_before.unroll import StorageKey
from schedgen.ir.axioms import AXIOMS
from tests.benchmarks.break_checker import BREAKS, PROOF_BREAKS
from tests.benchmarks.campaign import write_page

DOCS = Path(__file__).parents[2] / "docs"
K = 5
"""Tiles of the example: the least K at which V5 uses a stage twice."""


def run_of(wait: str) -> Matching:
    """V5 at K = 5, with another wait in its loop."""
    text = sg.show(sg.load("hopper_matmul_v5"))
    assert text.count("wait 1\n") == 1
    return Matching(sg.parse(text.replace("wait 1\n", f"{wait}\n")), K)


def axioms() -> Iterator[str]:
    """What `schedgen axioms` prints, as a table; assumptions in bold."""
    yield "| subject | axiom | source |"
    yield "| --- | --- | --- |"
    for a in AXIOMS:
        subject = f"**{a.subject}** (assumed)" if a.assumed else a.subject
        yield f"| {subject} | {a.text} | {a.source} |"


def stage_zero() -> Iterator[str]:
    """The accesses of stage 0 of tma.A[0], each with the events between which it may happen."""
    run = run_of("wait 1")
    yield "| access | may begin with any of | over at |"
    yield "| --- | --- | --- |"
    for i in Case(run, Counter(), Past()).intervals[StorageKey("tma.A", 0, 0)]:
        verb = "write of" if i.writes else "read by"
        assert i.end is not None
        starts, kind = ", ".join(map(str, i.starts)), run.events[i.end].kind
        yield f"| {verb} {i.phrase} | issue: {starts} | {kind}: {i.end} |"


# --- figures
@dataclass(frozen=True)
class Wanted:
    """An event of a figure: its kind, who has it, an op's first words, and the ring's cursor."""

    kind: EventKind
    who: str
    op: str
    cursor: int

    def node(self, run: Matching) -> int:
        """Of several actors the elected thread's."""
        return next(
            e.node for e in run.events
            if e.kind is self.kind and e.instance is not None and e.instance.who == self.who
            and e.instance.op.text.startswith(self.op) and e.instance.uses["tma"] == self.cursor
            and not e.actor
        )  # fmt: skip


def _consumer(who: str, wait: str) -> list[Wanted]:
    return [
        Wanted(EventKind.ISSUE, who, "mma", 0),
        Wanted(EventKind.RETIRE, who, "commit", 0),
        Wanted(EventKind.RETURN, who, wait, 1),
        Wanted(EventKind.ISSUE, who, "release", 1),
    ]


PRODUCER = [
    Wanted(EventKind.RETURN, "producer", "acquire", 4),
    Wanted(EventKind.ISSUE, "producer", "load tma.A[0]", 4),
    Wanted(EventKind.LAND, "producer", "load tma.A[0]", 4),
]
RETIRES, LOADS = Wanted(EventKind.RETIRE, "consumer[0]", "commit", 0), PRODUCER[1]


def chain() -> Iterator[str]:
    """From both mma of tile 0 to the load of tile 4."""
    wanted = [*_consumer("consumer[0]", "wait 1"), *_consumer("consumer[1]", "wait 1"), *PRODUCER]
    yield from figure(run_of("wait 1"), wanted)


def broken() -> Iterator[str]:
    """The same events of one consumer with `wait 2`, and what the retirement is before instead."""
    later = [
        Wanted(EventKind.RETURN, "consumer[0]", "wait 2", 2),
        Wanted(EventKind.ISSUE, "consumer[0]", "release", 2),
        Wanted(EventKind.RETURN, "producer", "acquire", 5),
    ]
    yield from figure(
        run_of("wait 2"), [*_consumer("consumer[0]", "wait 2"), *PRODUCER[:2], *later]
    )


def figure(run: Matching, wanted: list[Wanted]) -> Iterator[str]:
    """Some events and the order among them, shortest edges only; dotted: what must be and is not.

    An edge of the graph says where it comes from.  One that stands for a path of an actor through
    events that are left out is program order, too.
    """
    nodes = sorted(w.node(run) for w in wanted)
    order: nx.DiGraph[int] = nx.DiGraph()
    order.add_nodes_from(nodes)
    order.add_edges_from(
        (u, v) for u in nodes for v in nodes if u != v and nx.has_path(run.graph, u, v)
    )
    yield "```mermaid"
    yield "flowchart TD"
    for node in nodes:
        yield f'  e{node}["{label(run, node)}"]'
    for u, v in sorted(nx.transitive_reduction(order).edges):
        yield f'  e{u} -->|"{edge_kind(run, u, v)}"| e{v}'
    retire, load = RETIRES.node(run), LOADS.node(run)
    if not nx.has_path(run.graph, retire, load):
        yield f'  e{retire} -.-x|"no path"| e{load}'
    yield "```"


def label(run: Matching, node: int) -> str:
    """Number, who, and what."""
    event = run.events[node]
    i = event.instance
    assert i is not None
    if event.kind is EventKind.LAND:
        return f"{node} TMA<br>landing of tile {i.uses['tma']}"
    if event.kind is EventKind.RETIRE:
        return f"{node} tensor core<br>retirement of the mma of tile {i.uses['tma']}, {i.who}"
    named = i.effects.signal or i.effects.wait
    use = "" if named is None else f", use {i.use('tma', named.offset)}"
    if i.effects.group is not None and i.effects.group.action == "wait":
        use = f", k = {i.k}"
    op = re.sub(r"\bk$", str(i.k), i.op.text)
    return f"{node} {i.who}<br>{event.kind} of {op}{use}"


def edge_kind(run: Matching, u: int, v: int) -> str:
    """Where an edge comes from, by its ends."""
    first, second = run.events[u], run.events[v]
    if u not in run.predecessors[v]:
        assert (first.actor, first.instance.who) == (second.actor, second.instance.who)
        return "program order"
    if second.kind is EventKind.LAND:
        return "TMA load"
    if second.kind is EventKind.RETIRE:
        return "wgmma issue"
    if first.kind is EventKind.RETIRE:
        return "group wait"
    waiting = next((w for w in run.waits if w.returned == v), None)
    if waiting is not None and u in waiting.log.phases[waiting.matched].contributors:
        return f"phase {waiting.matched} of {waiting.log.key}"
    return "program order"


# --- evidence
HEADLINES = (
    ("hazards", "mutations", "every single edit of six schedules"),
    ("hazards", "real bugs", "public bug reports and false alarms"),
    ("agreement", "agreement", "checker against explorer, kind by kind"),
    ("agreement", "brute force", "proof against each K judged alone"),
)


def evidence() -> Iterator[str]:
    """The headlines of the pages that say what all of this was tried on, and the broken checkers.

    That each break is noticed is what `tests/unit/test_break_checker.py` asks.
    """
    yield "| what was compared | result |"
    yield "| --- | --- |"
    for page, block, title in HEADLINES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        found = re.search(rf"<!-- {block}: begin -->.*?^\*\*(.*?)\*\*$", text, re.M | re.S)
        assert found is not None, block
        yield f"| [{title}]({page}.md) | {found[1]} |"
    breaks = len(BREAKS) + len(PROOF_BREAKS)
    yield (
        "| a checker that lacks one edge, rule or actor, or half of the explicit range | "
        f"{breaks} such checkers; each judges some schedule of the tests wrongly. |"
    )


PAGES: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "model.md": {"axioms": axioms, "stage 0": stage_zero, "chain": chain, "broken": broken},
    "proof.md": {"evidence": evidence},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="rewrite the pages")
    write = parser.parse_args().write
    for page, sections in PAGES.items():
        for name, lines in sections.items():
            if write:
                write_page(DOCS / page, name, list(lines()))
            else:
                print("\n".join((f"\n{page}: {name}\n", *lines())))


if __name__ == "__main__":
    main()
