"""Parities that the text computes itself are those of the cursor, at every k and K.

A raw test `parity (e)` of a ring barrier is the wait that the cursor names if e is congruent to the
number of that completion modulo 2.  Both repeat with a period that the text gives, so comparing
them over one period decides it for all turns.
"""

from __future__ import annotations

from math import lcm

from schedgen.happens_before.proof.columns import Columns
from schedgen.happens_before.proof.text import Obstacle
from schedgen.happens_before.record import BarrierWaiting
from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import RingBarrier
from schedgen.ir.expr import Binary, Expr, Int, Name, Stages, atoms, evaluate

LONGEST_PERIOD = 5_000


def require_parities(columns: Columns) -> None:
    """Raises `Obstacle` where a raw parity is not that of the completion that the cursor names."""
    seen: set[tuple[int, int, int]] = set()
    for w in columns.matching.waits:
        wait, i = w.instance.effects.wait, w.instance
        if wait is None or wait.parity is None:
            continue
        key = columns.key[w.start]
        settled = isinstance(wait.barrier, RingBarrier) and w.matched == _named(i, 0)
        if key == 0 and not any(a == Name("K") for a in atoms(wait.parity)):
            continue  # before any loop over K the counting run is every K's
        if not settled:
            raise Obstacle(f"`{i.op.text}` tests a parity that is not the cursor's")
        place = (id(i.op), i.replica, key)
        if place not in seen:
            seen.add(place)
            _require_congruent(columns, w, wait.parity, key)


def _named(i: Instance, moved: int) -> int:
    """The completion that the cursor names once it has moved by some uses."""
    wait = i.effects.wait
    assert wait is not None
    assert isinstance(wait.barrier, RingBarrier)
    use = i.use(wait.barrier.ring, wait.offset) + moved
    return use // i.stages[wait.barrier.ring] - (wait.barrier.side == "empty")


def _require_congruent(columns: Columns, w: BarrierWaiting, parity: Expr, key: int) -> None:
    i = w.instance
    wait = i.effects.wait
    assert wait is not None
    assert isinstance(wait.barrier, RingBarrier)
    ring = wait.barrier.ring
    names = {a.name for a in atoms(parity) if isinstance(a, Name)} - {"self"}
    if key % 2:
        variable, rate = names - {"K"}, columns.stretches[key // 2].rates.get(ring, 0)
        known = "K" not in names and len(variable) < 2
    else:
        moving = columns.is_last_turn(i.role.name, i.replica, i.seq)  # there k is K less a constant
        variable = names | {"K"} if moving else {"K"}
        rate = sum(s.rates.get(ring, 0) for s in columns.stretches[: key // 2])
        known = key == 2 * len(columns.stretches)
    whole = lcm(_period(parity, 2, i), 2 * i.stages[ring])
    if not known or len(variable) > 2 or whole > LONGEST_PERIOD:
        raise Obstacle(f"`{i.op.text}` tests a parity that is more than a function of k")
    for step in range(whole):
        moved = {name: i.names[name] + step for name in variable}
        value = evaluate(parity, {**i.names, **moved}, i.stages)
        if (value - _named(i, rate * step)) % 2:
            raise Obstacle(f"`{i.op.text}` tests a parity that is not the cursor's at every k")


def _period(expr: Expr, modulus: int, i: Instance) -> int:
    """After how many steps of its variables an expression has the same value modulo ``modulus``."""
    match expr:
        case Int() | Stages():
            return 1
        case Name(name):
            return 1 if name == "self" else modulus
        case Binary("+" | "-" | "*", left, right):
            return lcm(_period(left, modulus, i), _period(right, modulus, i))
        case Binary("/" | "%" as op, left, right):
            if _period(right, 2, i) != 1:
                raise Obstacle(f"`{expr}` divides by a variable")
            by = abs(evaluate(right, i.names, i.stages))
            return _period(left, by * modulus if op == "/" else by, i)
        case Binary():
            raise Obstacle(f"`{expr}` does not repeat")
