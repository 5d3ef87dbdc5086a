"""The pass of docs/python.md, and two that do wrong."""

from dataclasses import dataclass, replace

import schedgen as sg
from schedgen.ir.expr import plus
from schedgen.ir.schedule import Loop


@dataclass(frozen=True, kw_only=True)
class DropDrain(sg.Pass):
    """Leave out loops that count nothing: a producer that drains its ring waits for nobody."""

    name = "drop-drain"
    keeps = frozenset({"products", "traffic", "handover", "numerics"})

    def refusals(self, schedule):
        if self.rewrite(schedule) == schedule:
            yield self.nothing_to_rewrite("no role drains a ring", fix="leave the pass out")

    def rewrite(self, schedule):
        def kept(stmt):
            return not (isinstance(stmt, Loop) and stmt.var == "_")

        roles = [replace(role, body=tuple(filter(kept, role.body))) for role in schedule.roles]
        return replace(schedule, roles=tuple(roles))


@dataclass(frozen=True, kw_only=True)
class LoseLast(sg.Pass):
    """Leave out the last K tile, and say that nothing changed."""

    name = "lose-last"
    keeps = frozenset({"products"})

    def refusals(self, schedule):
        return iter(())

    def rewrite(self, schedule):
        def shorter(stmt):
            return replace(stmt, end=plus(stmt.end, -1)) if isinstance(stmt, Loop) else stmt

        roles = [replace(role, body=tuple(map(shorter, role.body))) for role in schedule.roles]
        return replace(schedule, roles=tuple(roles))


@dataclass(frozen=True, kw_only=True)
class Crash(sg.Pass):
    """Look for a ring that is not there."""

    name = "crash"
    keeps = frozenset()

    def refusals(self, schedule):
        return iter(())

    def rewrite(self, schedule):
        return {}[schedule.name]
