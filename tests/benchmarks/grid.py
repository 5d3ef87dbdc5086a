"""All points of the grid by the explorer: which it finishes, and whether it says what is right.

    python -m tests.benchmarks.grid [STATES]

STATES is the budget of each search, 20,000 unless given.  At every K up to 2S + 1.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.grid import GRID, explored

STATES = 20_000


def main(states: int) -> int:
    """Print a line for each number of consumers and stages, and what is wrong or given up."""
    start = time.perf_counter()
    done: Counter[tuple[int, int]] = Counter()
    visited: Counter[tuple[int, int]] = Counter()
    given_up = searches = wrong = 0
    for point in GRID:
        found = explored(point, states=states)
        group = (point.consumers, point.stages)
        done[group] += found.finished
        visited[group] += found.states
        searches += 2 * point.stages + 2
        given_up += len(found.given_up)
        wrong += bool(found.wrong)
        for k_tiles, kinds in found.wrong:
            print(f"{point} at K = {k_tiles}: {', '.join(sorted(kinds)) or 'clean'}")
        if found.given_up:
            print(f"{point}: given up at K = {', '.join(map(str, found.given_up))}")
    for (consumers, stages), finished in sorted(done.items()):
        points = sum((p.consumers, p.stages) == (consumers, stages) for p in GRID)
        print(
            f"{consumers} consumers, {stages} stages: {finished} of {points} points finished, "
            f"{visited[consumers, stages]} states"
        )
    print(
        f"{len(GRID)} points, {searches} searches of at most {states} states: "
        f"{len(GRID) - sum(done.values())} points not finished ({given_up} searches), "
        f"{wrong} points wrong, {time.perf_counter() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else STATES))
