"""The checker and the abstract machine agree: two judges that share the language and no more.

What the checker accepts never misbehaves in the machine, under any adversary or seed, and gives the
reference product.  What it refutes shows in the machine, under an adversary without a seed, in the
replay of its witness, or in a wrong product.
"""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.diagnostics.tensor import OutputCoverage
from schedgen.machine import Operands, adversaries, execute, seeded
from tests.strategies import mutants, serial_schedules

SEEDS = 8


def placed(schedule):
    """The schedule as its text says it; the text is what a failure prints."""
    text = sg.show(schedule)
    note(text)
    try:
        return sg.parse(text, name="generated.sched")
    except sg.IllFormed:  # a mutant whose loop is gone and its variable still used
        assume(False)


def accepted(schedule, k_tiles):
    """Whether the checker finds nothing wrong at one trip count."""
    verdict = sg.check(schedule, k_tiles)
    note("\n".join(f"{f.code} K={f.k} {f.message}" for f in verdict.findings) or "accepted")
    return verdict.ok


def operands(schedule, k_tiles):
    """Small whole numbers: products are exact whatever the order of the sums."""
    source = np.random.default_rng(k_tiles)
    tile = schedule.tile
    left = source.integers(-3, 4, (tile.m, tile.k * k_tiles)).astype(np.float32)
    right = source.integers(-3, 4, (tile.n, tile.k * k_tiles)).astype(np.float32)
    return Operands(left=left, right=right), left @ right.T


def misbehaves(schedule, k_tiles, policy, given_operands=None, exact=None):
    """What goes wrong in one execution, None if nothing does."""
    run = execute(
        schedule, k_tiles=k_tiles, policy=policy, operands=given_operands, stop_at_first=True
    )  # fmt: skip
    if run.hazards:
        return f"{policy}: {run.hazards[0].kind}: {run.hazards[0].message}"
    if not run.finished:
        return f"{policy}: not finished"
    if exact is not None and not np.array_equal(run.product, exact):
        return f"{policy}: wrong product"
    return None


def never_misbehaves(schedule, k_tiles):
    """Every adversary and several seeds, on tile names; some with numbers too."""
    policies = [*adversaries(schedule), *(seeded(seed) for seed in range(SEEDS))]
    numbers, exact = operands(schedule, k_tiles)
    troubles = [misbehaves(schedule, k_tiles, policy) for policy in policies]
    for policy in (policies[0], policies[-1], policies[-2]):
        troubles.append(misbehaves(schedule, k_tiles, policy, numbers, exact))
    assert [t for t in troubles if t is not None] == []


in_flight = st.integers(0, 2)


@given(serial_schedules, in_flight, st.integers(0, 9))
def test_valid_schedules_are_accepted_and_right(schedule, steps, k_tiles):
    if steps < min(ring.stages for ring in schedule.rings):
        schedule = sg.apply(schedule, f"overlap-wgmma{{in-flight={steps}}}")
    schedule = placed(schedule)
    assert accepted(schedule, k_tiles)
    never_misbehaves(schedule, k_tiles)


@given(st.data(), serial_schedules, in_flight, st.integers(0, 6))
def test_what_the_checker_accepts_never_misbehaves(data, schedule, steps, k_tiles):
    if steps < min(ring.stages for ring in schedule.rings):
        schedule = sg.apply(schedule, f"overlap-wgmma{{in-flight={steps}}}")
    mutant = placed(data.draw(mutants(schedule)))
    assume(accepted(mutant, k_tiles))
    never_misbehaves(mutant, k_tiles)


UNSEEN = {"SG304", "SG306", "SG303", "SG301", "SG501", "SG502", "SG503"}
"""What PTX leaves undefined, counts that the machine may happen to survive, and limits."""


def is_double_work(finding):
    """Results that are stored twice are the same results."""
    return isinstance(finding, OutputCoverage) and finding.times > 1


@given(st.data(), serial_schedules, in_flight, st.integers(1, 6))
def test_what_the_checker_refutes_shows(data, schedule, steps, k_tiles):
    """An adversary, a seed, or a wrong product shows it: no alarm is false."""
    if steps < min(ring.stages for ring in schedule.rings):
        schedule = sg.apply(schedule, f"overlap-wgmma{{in-flight={steps}}}")
    mutant = placed(data.draw(mutants(schedule)))
    codes = {f.code for f in sg.check(mutant, k_tiles).findings if not is_double_work(f)}
    assume(codes - UNSEEN)
    note(str(sorted(codes)))
    assert troubles(mutant, k_tiles)


def troubles(schedule, k_tiles):
    """The first thing that goes wrong under adversaries and seeds, on names and with numbers."""
    numbers, exact = operands(schedule, k_tiles)
    for policy in [*adversaries(schedule), *(seeded(seed) for seed in range(SEEDS))]:
        found = misbehaves(schedule, k_tiles, policy)
        if found is not None:
            return found
    return misbehaves(schedule, k_tiles, adversaries(schedule)[0], numbers, exact)
