"""The card: documented facts, and the few numbers that were fitted to measurements.

Facts have their source beside them.  The fitted numbers lie in ``h200.json``, each with its unit
and how it was found; ``python -m tests.benchmarks.calibrate`` writes that file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, cast

from schedgen.ir.problems import IllFormed

DATA = Path(__file__).with_name("h200.json")

SMS = 132
"""Streaming multiprocessors of an H100 SXM or H200 (NVIDIA H100 whitepaper, H200 data sheet)."""

FLOP_PER_CYCLE = 4096
"""Dense fp16 or bf16 FLOP of one SM's tensor cores per cycle, whatever they accumulate in (NVIDIA
H100 whitepaper: 989 TFLOPS = 132 SMs x 4096 x 1.83 GHz)."""

STAGING_BYTES_PER_CYCLE = 128
"""Shared memory of one SM: 32 banks of 4 bytes (CUDA C++ Programming Guide, compute capability
9.0)."""

SM_SHARED_BYTES = 233_472
CTA_RESERVED_BYTES = 1024
SM_THREADS = 2048
SM_CTAS = 32
"""Per SM: shared memory, what the system takes of it for each CTA, threads, CTAs (CUDA C++
Programming Guide, compute capability 9.0)."""

REGISTER_UNIT = 8
"""Registers per thread come in units of 8 (256 per warp, same source)."""

MMA_ROWS = 64
MMA_K_BYTES = 32
"""A wgmma multiplies 64 rows and 32 bytes of K (PTX ISA 9.0, 9.7.15.2)."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The fitted numbers, in cycles of the SM's clock unless said.

    ``load_rate``: bytes per cycle that an SM gets from the L2 while all of them load.
    ``load_latency``: from the issue of a TMA load to its landing, without the time of its bytes.
    ``load_queue``: loads wait for ``load_queue * u / (1 - u)`` more where the way is in use for a
    share u of the time (the mean wait of a queue; module `queueing`).
    ``wakeup``: from the last arrival on a barrier, or the end of an mma group, until a waiting
    warp goes on; also what it takes to look at a barrier that is complete.
    ``launch``: from the exit of a CTA to the first op of the next one on its SM.
    ``store_rate``: bytes per cycle and SM of ordinary stores to the output.
    ``clock``: GHz, for turning cycles into ms and for nothing else.
    """

    load_rate: float
    load_latency: int
    load_queue: int
    wakeup: int
    launch: int
    store_rate: float
    clock: float

    def __post_init__(self) -> None:
        for name in RATES:
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} must be a number above 0")
        for name in CYCLES:
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise ValueError(f"{name} must be whole cycles, 0 or more")


RATES = ("load_rate", "store_rate", "clock")
CYCLES = ("load_latency", "load_queue", "wakeup", "launch")


@cache
def h200() -> Numbers:
    """The committed numbers."""
    return Numbers(**_values(DATA.read_text(encoding="utf-8")))


def read_numbers(text: str, *, name: str) -> Numbers:
    """The numbers of a data file, those of the H200 where it has none; others are left alone.

    Raises `IllFormed` (SG115) for a text that is no such file; ``name`` names it in the message.
    """
    try:
        return replace(h200(), **_values(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        known = ", ".join(f.name for f in fields(Numbers))
        message = (
            f'`{name}` is no table {{"numbers": {{NAME: {{"value": N}}}}}} of {known}: {error}'
        )
        raise IllFormed(code="SG115", message=message, place=None) from None


def _values(text: str) -> dict[str, Any]:
    table = cast("Mapping[str, Any]", json.loads(text)["numbers"])
    known = {f.name for f in fields(Numbers)}
    return {key: row["value"] for key, row in table.items() if key in known}
