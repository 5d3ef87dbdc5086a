"""Method A: the middle of a loop over K folded into one turn.

A node for each kind of event of a turn, an edge u -> v of weight d where the u of turn i comes
before the v of turn i + d.  The middle makes progress iff no cycle has weight <= 0; how far an
order can lead back, to earlier turns, is the least weight of a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import networkx as nx

from schedgen.happens_before.proof.columns import Edge
from schedgen.happens_before.proof.text import Obstacle


def folded(edges: Iterable[Edge]) -> nx.DiGraph[int]:
    """The graph, with the least weight where two kinds are ordered in several ways."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    for u, v, weight in edges:
        known = graph.get_edge_data(u, v, default={}).get("weight", weight)
        graph.add_edge(u, v, weight=min(weight, known))
    return graph


def descent(graph: nx.DiGraph[int]) -> int:
    """By how many turns a path leads back at most.

    Raises `Obstacle` where a cycle of weight <= 0 says that the middle does not make progress.
    """
    weights = [(u, v, d["weight"]) for u, v, d in graph.edges(data=True)]
    if all(weight >= 0 for _, _, weight in weights):
        still = nx.DiGraph((u, v) for u, v, weight in weights if weight == 0)
        if nx.is_directed_acyclic_graph(still):
            return 0
        raise Obstacle("the events of one turn wait for each other in a circle")
    scale = len(graph) + 1
    if _least((u, v, weight * scale - 1) for u, v, weight in weights) is None:
        raise Obstacle("the turns of the loop wait for each other in a circle")
    return -(_least(weights) or 0)


def _least(weights: Iterable[Edge]) -> int | None:
    """The least weight of a path (0 for an empty one); None where a cycle is negative."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_weighted_edges_from(weights)
    start = -1
    graph.add_weighted_edges_from([(start, v, 0) for v in list(graph)])
    try:
        lengths = cast(Any, nx).single_source_bellman_ford_path_length(graph, start)
    except nx.NetworkXUnbounded:
        return None
    return min(lengths.values())
