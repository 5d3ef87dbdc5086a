"""Method A: the middle of a loop over K folded into one turn.

A node for each kind of event of a turn, an edge u -> v of weight d where the u of turn i comes
before the v of turn i + d.  The middle makes progress iff no cycle has weight <= 0; how far an
order can lead back, to earlier turns, is the least weight of a path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, cast

from schedgen.happens_before.proof.columns import Edge
from schedgen.happens_before.proof.text import Obstacle

if TYPE_CHECKING:
    import networkx as nx


def folded(edges: Iterable[Edge]) -> nx.DiGraph[int]:
    """The graph, with the least weight where two kinds are ordered in several ways."""
    import networkx as nx  # takes longer to import than most checks take to run

    graph: nx.DiGraph[int] = nx.DiGraph()
    least_last: list[Edge] = sorted(edges, key=lambda edge: -edge[2])
    graph.add_weighted_edges_from(least_last)
    return graph


def descent(edges: Collection[Edge]) -> int:
    """By how many turns a path leads back at most.

    Raises `Obstacle` where a cycle of weight <= 0 says that the middle does not make progress.
    """
    if all(weight >= 0 for _, _, weight in edges):
        still: TopologicalSorter[int] = TopologicalSorter()
        for u, v, weight in edges:
            if weight == 0:
                still.add(v, u)
        try:
            still.prepare()
        except CycleError:
            raise Obstacle("the events of one turn wait for each other in a circle") from None
        return 0
    scale = 2 * len(edges) + 1
    if _least((u, v, weight * scale - 1) for u, v, weight in edges) is None:
        raise Obstacle("the turns of the loop wait for each other in a circle")
    return -(_least(edges) or 0)


def _least(edges: Iterable[Edge]) -> int | None:
    """The least weight of a path (0 for an empty one); None where a cycle is negative."""
    import networkx as nx

    graph, start = folded(edges), -1
    graph.add_weighted_edges_from([(start, v, 0) for v in list(graph)])
    try:
        lengths = cast(Any, nx).single_source_bellman_ford_path_length(graph, start)
    except nx.NetworkXUnbounded:
        return None
    return min(lengths.values())
