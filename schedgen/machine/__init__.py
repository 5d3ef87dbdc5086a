"""The abstract machine: executes schedules and sees what goes wrong; see `interpreter`.

Reading order: `barrier`, `program`, `compiler`, `memory`, `tensors`, `state`, `interpreter`,
`ending`; then what drives it: `policy`, `execution`, `replay`, `problem`; and the search over all
executions of a small case: `rows`, `tables`, `moves`, `first_run`, `ghosts`, `agents`, `stubborn`,
`reduction`, `explorer`; last, `shortening` and `retelling`, which tell a finding's witness.
"""

from schedgen.machine.execution import Outcome, execute
from schedgen.machine.explorer import Exploration, Trace, explore
from schedgen.machine.hazard import Hazard, HazardKind, Site, Step
from schedgen.machine.policy import Policy, adversaries, seeded
from schedgen.machine.problem import estimate_seconds, multiply
from schedgen.machine.replay import ReplayError, replay
from schedgen.machine.tensors import Operands, UnfitOperands

__all__ = [
    "Exploration", "Hazard", "HazardKind", "Operands", "Outcome", "Policy", "ReplayError", "Site",
    "Step", "Trace", "UnfitOperands", "adversaries", "estimate_seconds", "execute", "explore",
    "multiply", "replay", "seeded",
]  # fmt: skip
