"""Flowcharts of the pages as SVG: a page needs no script from elsewhere to show them.

Reads the part of mermaid's language that `tests.benchmarks.proof_pages` writes; where the pages
are read as they stand, mermaid draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

import networkx as nx

NODE = re.compile(r'^\s*(\w+)\["(.*)"\]$', flags=re.MULTILINE)
EDGE = re.compile(r'^\s*(\w+) (-->|-\.-x)\|"(.*)"\| (\w+)$', flags=re.MULTILINE)
FENCE = re.compile(r"^```mermaid\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

WIDTH, HEIGHT, APART, BELOW, ASIDE = 345, 44, 26, 40, 150
STYLE = (
    ".flow{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:100%}"
    ".flow rect{fill:none;stroke:currentColor;opacity:.6}.flow text{fill:currentColor}"
    ".flow path{fill:none;stroke:currentColor}.flow .on{font-size:11px}"
    ".flow .on,.flow .none-on{paint-order:stroke;stroke-width:5px}"
    ".flow .on,.flow .none-on{stroke:var(--md-default-bg-color,Canvas)}"
    ".flow .none{stroke:#d1242f;stroke-dasharray:5 4}.flow .none-on{fill:#d1242f}"
)


def drawn(markdown: str) -> str:
    """The page with a picture in the place of each flowchart."""
    return FENCE.sub(lambda found: "".join(_picture(found[1])), markdown)


def _picture(text: str) -> Iterator[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from((node, {"text": words}) for node, words in NODE.findall(text))
    edges = [(u, v, arrow == "-->", words) for u, arrow, words, v in EDGE.findall(text)]
    graph.add_edges_from((u, v) for u, v, is_edge, _ in edges if is_edge)
    if not edges or set(graph) != {node for node, _ in NODE.findall(text)}:
        raise ValueError("a flowchart that cannot be read")
    at = _places(graph)
    width = max(x for x, _ in at.values()) + WIDTH + ASIDE
    height = max(y for _, y in at.values()) + HEIGHT + 4
    yield f'<svg class="flow" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
    yield 'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8"/></marker></defs>'
    for node, (x, y) in at.items():
        who, _, what = graph.nodes[node]["text"].partition("<br>")
        yield f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
        yield f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{escape(who)}</text>'
        yield f'<text x="{x + 10}" y="{y + 34}">{escape(what)}</text>'
    for u, v, is_edge, words in edges:
        yield from _edge(at[u], at[v], words, is_edge=is_edge)
    yield "</svg>\n"


def _places(graph: nx.DiGraph[str]) -> dict[str, tuple[int, int]]:
    """Generations from the top down; in one, nodes stand below what they come from."""
    at: dict[str, tuple[int, int]] = {}
    for row, nodes in enumerate(nx.topological_generations(graph)):
        ordered = sorted(nodes, key=lambda n: (_above(graph, n, at), n))
        for column, node in enumerate(ordered):
            at[node] = column * (WIDTH + APART) + 2, row * (HEIGHT + BELOW) + 2
    return at


def _above(graph: nx.DiGraph[str], node: str, at: dict[str, tuple[int, int]]) -> float:
    places = [at[u][0] for u in graph.predecessors(node)]
    return sum(places) / len(places) if places else 0


def _edge(
    start: tuple[int, int], end: tuple[int, int], words: str, *, is_edge: bool
) -> Iterator[str]:
    """Straight down to the next row, else around the right side."""
    (x1, y1), (x2, y2) = start, end
    kind, on = ('marker-end="url(#tip)"', "on") if is_edge else ('class="none"', "none-on")
    if y2 - y1 == HEIGHT + BELOW:
        a, b = x1 + WIDTH // 2, x2 + WIDTH // 2
        yield f'<path {kind} d="M{a} {y1 + HEIGHT}L{b} {y2}"/>'
        x, y = (a + b) // 2 + 8, y2 - BELOW // 2 + 4
    else:
        a, b = x1 + WIDTH, x2 + WIDTH
        side = max(a, b) + (40 if is_edge else 90)
        yield f'<path {kind} d="M{a} {y1 + HEIGHT // 2}C{side} {y1} {side} {y2 + HEIGHT} '
        yield f'{b} {y2 + HEIGHT // 2}"/>'
        x, y = max(a, b) + (24 if is_edge else 62), (y1 + y2 + HEIGHT) // 2
    yield f'<text class="{on}" x="{x}" y="{y}">{escape(words)}</text>'
