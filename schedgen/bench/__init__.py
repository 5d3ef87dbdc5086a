"""Measure kernels side by side on one GPU: build, check, time, keep, show.

Reading order: `request` (what is asked for), `preparing` (schedules to files to machine code),
`timing` (what a round is, and the arithmetic on rounds), `measuring` (a run, part by part),
`results` (the file it leaves), `table` and `plot` (what a person sees), `command` (the command
line).  `cuda_device`, `peers`, `triton_matmul`, `counters` and `profiled` touch the GPU; nothing
else does, so that everything but them is tested without one.
"""

from schedgen.bench.request import Contestant, Request, Shape

__all__ = ["Contestant", "Request", "Shape"]
