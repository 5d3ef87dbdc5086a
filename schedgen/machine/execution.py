"""One execution of a schedule by one CTA, from the first step to its end or its deadlock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schedgen.ir.schedule import Schedule
from schedgen.machine.compiler import compile_program
from schedgen.machine.hazard import Hazard, Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.policy import Policy, scheduler
from schedgen.machine.program import Program
from schedgen.machine.tensors import Operands, Tensors


@dataclass(frozen=True)
class Outcome:
    """What an execution came to.

    ``finished``: every role reached its end.  ``product`` is the CTA's output tile, NaN where
    nothing was stored, None where no operands were given; whether it is right is for the caller
    to compare.  ``steps`` replay to the same hazards.
    """

    hazards: tuple[Hazard, ...]
    finished: bool
    product: npt.NDArray[np.float32] | None
    steps: tuple[Step, ...]

    @property
    def is_clean(self) -> bool:
        return self.finished and not self.hazards


def execute(
    schedule: Schedule,
    *,
    k_tiles: int,
    policy: Policy,
    operands: Operands | None,
    stop_at_first: bool,
) -> Outcome:
    """Execute a well-formed schedule at a trip count.

    Without operands only tile names are tracked.  Execution goes on after a hazard, except after
    a deadlock, unless ``stop_at_first``.
    """
    program = compile_program(schedule, k_tiles=k_tiles)
    return run_program(program, policy=policy, operands=operands, stop_at_first=stop_at_first)


def run_program(
    program: Program, *, policy: Policy, operands: Operands | None, stop_at_first: bool
) -> Outcome:
    """As `execute`, for a program that was compiled before."""
    tensors = None
    if operands is not None:
        tensors = Tensors(program, operands, read_at_issue=policy.reads_at_issue)
    machine = Machine(program, tensors)
    choose = scheduler(policy, machine)
    for actor in range(len(program.actors)):
        machine.skip_silent(actor)
    while not machine.has_ended:
        move = choose(machine)
        if move is None:
            break
        machine.apply(move)
        if move.kind == "actor":
            machine.skip_silent(move.who)
        if stop_at_first and machine.hazards:
            return outcome_of(machine)
    machine.report_end()
    return outcome_of(machine)


def outcome_of(machine: Machine) -> Outcome:
    """What the machine came to so far."""
    product = None if machine.tensors is None else machine.tensors.output
    hazards, steps = tuple(machine.hazards), tuple(machine.steps)
    return Outcome(hazards, machine.has_ended, product, steps)
