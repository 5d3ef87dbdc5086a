"""What a broken schedule meant to compute, and whether a repair still computes it."""

from __future__ import annotations

from collections import Counter

from schedgen.happens_before.judge import explicit_bound
from schedgen.happens_before.kept import KEEPS, Unrolled, unrolled
from schedgen.happens_before.products import products
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.effects import Engine, RingBarrier, SlotRef
from schedgen.ir.schedule import Schedule

_PRODUCTS = next(keep for keep in KEEPS if keep.name == "products")

Part = tuple[str, int, int]
"""A tensor, the first row of a box in it, and a K tile."""


class Intent:
    """The products and loads that a schedule's text names, whatever its order does to them.

    Where the text gives every element of the output every K tile once, a repair must give it the
    same tiles in the same order; where it does not, that every tile arrives once is what the proof
    of the repair says.  Every part of an operand that was loaded is still loaded, and every replica
    waits for each barrier at least as often: what was to be ordered is not up for repair either.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule

    def is_kept(self, repaired: Schedule) -> bool:
        """Whether a proved repair computes what was meant, K by K up to both explicit bounds."""
        last = max(explicit_bound(self.schedule), explicit_bound(repaired))
        try:
            return all(self._kept_at(repaired, k) for k in range(last + 1))
        except OverBudget:
            return False

    def _kept_at(self, repaired: Schedule, k_tiles: int) -> bool:
        old, new = unrolled(self.schedule, k_tiles), unrolled(repaired, k_tiles)
        if _covers(old, k_tiles) and _PRODUCTS.difference(old, new) is not None:
            return False
        if not _loaded(old, k_tiles) <= _loaded(new, k_tiles):
            return False
        before, after = _waits(old), _waits(new)
        return all(after[key] >= n for key, n in before.items() if key[1] not in self._other(new))

    def _other(self, new: Unrolled) -> set[str]:
        """Rings with another number of stages, which loops over the stages may follow."""
        stages = new.schedule.stages
        return {name for name, count in self.schedule.stages.items() if stages[name] != count}


def _covers(u: Unrolled, k_tiles: int) -> bool:
    wanted = [tuple(range(k_tiles))]
    cells = products(u.schedule, u.programs).values()
    return all([tuple(sorted(tiles)) for tiles in stores] == wanted for stores in cells)


def _loaded(u: Unrolled, k_tiles: int) -> set[Part]:
    """The parts of the operands that TMA fetches, of the tiles that there are."""
    found: set[Part] = set()
    for program in u.programs:
        for i in program:
            for access in i.effects.accesses:
                at = access.location
                if i.effects.engine is Engine.TMA and isinstance(at, SlotRef) and access.tile:
                    slot = u.schedule.ring(at.ring).slot(at.slot)
                    slab = 0 if at.slab is None else i.value(at.slab)
                    found.add((slot.tensor, slot.row_of(slab), i.value(access.tile)))
    return {part for part in found if 0 <= part[2] < k_tiles}


def _waits(u: Unrolled) -> Counter[tuple[str, str]]:
    """How often each replica waits at each barrier, those of a ring taken together."""
    found: Counter[tuple[str, str]] = Counter()
    for program in u.programs:
        for i in program:
            e = i.effects
            for ref in (e.wait and e.wait.barrier, e.sync):
                if ref is not None:
                    name = ref.ring if isinstance(ref, RingBarrier) else str(ref)
                    found[i.who, name] += 1
    return found
