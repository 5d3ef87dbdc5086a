"""The abstract machine: executes schedules and sees what goes wrong; see `interpreter`.

Reading order: `barrier`, `program`, `compiler`, `memory`, `tensors`, `state`, `interpreter`,
`ending`; then what drives it: `policy`, `execution`, `replay`, `problem`.
"""

from schedgen.machine.execution import Outcome, execute
from schedgen.machine.hazard import Hazard, HazardKind, Site, Step
from schedgen.machine.policy import Policy, adversaries, seeded
from schedgen.machine.problem import estimate_seconds, multiply
from schedgen.machine.replay import ReplayError, replay
from schedgen.machine.tensors import Operands, UnfitOperands

__all__ = [
    "Hazard", "HazardKind", "Operands", "Outcome", "Policy", "ReplayError", "Site", "Step",
    "UnfitOperands", "adversaries", "estimate_seconds", "execute", "multiply", "replay", "seeded",
]  # fmt: skip
