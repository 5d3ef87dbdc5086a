"""How a schedule came to be, and the command that emits it again: the header of its kernel."""

from __future__ import annotations

from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS, kernel_schedule


def command(schedule: Schedule, given: str | None, *, static_k: bool, unsafe: bool) -> str:
    """The command that emits a schedule; ``given`` is its INPUT and ``-p`` where they are known."""
    known = schedule.name in KERNELS and kernel_schedule(schedule.name) == schedule
    source = schedule.source or ""
    is_program = source.endswith(".py")  # built there; no input of the command line
    what = schedule.name if known else f"{schedule.name}.sched" if is_program else source
    what = given or what or f"{schedule.name}.sched"
    flags = [flag for flag, on in (("--static-k", static_k), ("--unsafe", unsafe)) if on]
    return " ".join(["schedgen emit", what, *flags])


def origin(schedule: Schedule) -> str:
    """How a schedule came to be, for the header of its kernel."""
    kernel = KERNELS.get(schedule.name)
    if kernel is not None and kernel_schedule(schedule.name) == schedule:
        return kernel.name if kernel.base is None else f"{kernel.base} -p '{kernel.pipeline}'"
    return schedule.source or f"the schedule {schedule.name}"
