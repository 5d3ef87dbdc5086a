"""Re-check a proof by other code: `schedgen check X --format json | python tests/recheck.py`."""

import json
import sys
from math import gcd, lcm

import networkx as nx

import schedgen as sg
from schedgen.happens_before.matching import Matching


def complaints(value):
    """What of the certificate in a verdict's JSON does not hold, by the counting run of one K."""
    schedule, c = sg.parse(value["schedule"]["text"]), value["certificate"]
    run, last, stretches = Matching(schedule, c["explicit"]), c["explicit"], c["stretches"]
    if not sg.check(schedule, (0, last)).ok or any(w.declared != w.matched for w in run.waits):
        yield f"some K of 0..{last} is not clean, or a wait returns by another phase than it names"
    for more in (1, 2, 7):  # the text of a larger K: as many columns more in every stretch
        for r, program in enumerate(Matching(schedule, last + more).replicas):
            ops, text, at = [i.op for i in run.replicas[r]], [], 0
            for s in (s for s in stretches if str(r) in s["blocks"]):
                start, step = s["blocks"][str(r)]
                text += ops[at:start] + ops[start : start + step] * (s["columns"] + more)
                at = start + step * s["columns"]
            if [i.op for i in program] != text + ops[at:]:
                yield f"replica {r} at K = {last + more} is not its text with {more} columns more"
    place, tag = placed(run, schedule, stretches)
    for m, s in enumerate(stretches):
        here, size, laps, steps = 2 * m + 1, s["columns"], [1], [set() for _ in range(s["columns"])]
        for u, v in run.graph.edges:
            if place[u][0] == place[v][0] == here:
                steps[place[v][1]].add((tag[u], tag[v], place[v][1] - place[u][1]))
        for r, (start, step) in s["blocks"].items():
            a, b = (run.replicas[int(r)][at].uses for at in (start, start + step))
            laps += [x.stages // gcd(x.stages, b[x.name] - a[x.name]) for x in schedule.rings]
        far = max([0, *(abs(edge[2]) for step in steps for edge in step)])
        steady = nx.DiGraph([("", v, {"weight": c["descent"]}) for v in set(tag.values())])
        steady.add_weighted_edges_from(sorted(steps[size // 2], key=lambda edge: -edge[2]))
        ways = nx.single_source_bellman_ford_path_length(steady, "").values()
        same = min(ways) >= 0 and {*map(frozenset, steps[s["left"] : 1 - s["right"]])}
        near = far <= c["distance"] <= c["window"] and c["descent"] + max(laps) <= c["reach"]
        lap = lcm(*(schedule.ring(b.alias.ring).stages for b in schedule.buffers if b.alias))
        near = near and c["reach"] < 2 * c["window"] and s["left"] + s["right"] + lap <= size + 1
        if not near or same != {frozenset(steps[size // 2])}:
            yield f"stretch {m}: columns differ, do not meet, or edges are longer than said"
        for left, n in ((True, s["left"]), (False, s["right"])):
            cuts = [(here, n + more if left else size - n - more) for more in (0, 1)]
            if len({order(run, place, tag, cut, left, c["window"]) for cut in cuts}) > 1:
                yield f"stretch {m}: beyond {n} columns the order does not repeat (left: {left})"


def placed(run, schedule, stretches):
    """Zone 2m or stretch 2m + 1, and column; and what an event is called in every column."""
    replicas = [(x.name, i) for x in schedule.roles for i in range(x.replica_count)]
    place, tag = {}, {e.node: e.node for e in run.events}
    for e, before in zip(run.events, run.predecessors, strict=True):
        place[e.node] = max([(0, 0), *((k + k % 2, 0) for k, _ in map(place.get, before))])
        r = replicas.index((e.instance.role.name, e.instance.replica)) if e.instance else -1
        blocks = [s["blocks"][str(r)] for s in stretches if str(r) in s["blocks"]]
        for m, (start, step) in reversed([*enumerate(blocks)]):
            column, ordinal = divmod(e.instance.seq - start, step)
            if 0 <= column < stretches[m]["columns"]:
                place[e.node], tag[e.node] = (2 * m + 1, column), (r, ordinal, e.actor, e.kind)
            elif column < 0 or m == len(blocks) - 1:
                place[e.node] = (2 * m + 2 * (column > 0), 0)
    return place, tag


def order(run, place, tag, cut, left, window):
    """Who is before whom among zones and the columns next to a cut, by paths on one side of it."""
    graph = run.graph.subgraph([n for n in place if (place[n] < cut) == left])
    near = {(cut[0], cut[1] + n) for n in (range(-window, 0) if left else range(window))}
    known = [n for n in graph if not place[n][0] % 2 or place[n] in near]
    name = {n: (tag[n], place[n] in near and place[n][1] - cut[1]) for n in known}
    return frozenset((name[u], name[v]) for u in name for v in nx.descendants(graph, u) & {*name})


if __name__ == "__main__":
    sys.exit("\n".join(complaints(json.load(sys.stdin))) or print("the certificate holds"))
