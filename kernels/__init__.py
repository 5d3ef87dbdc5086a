"""The kernels, from the serial one up."""

from __future__ import annotations

if __name__ != "schedgen.kernels":
    raise ImportError(f"import this package as schedgen.kernels, not {__name__}")

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from schedgen.ir.parser import parse
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import Schedule
from schedgen.ir.spec import verify
from schedgen.kernels import hopper_matmul
from schedgen.passes import PASSES
from schedgen.pipeline import parse_pipeline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A named schedule: a text, or another kernel through a pipeline."""

    name: str
    summary: str
    text: str | None
    base: str | None
    pipeline: str | None
    reference: Callable[[NDArray[np.float16], NDArray[np.float16]], NDArray[np.float64]]


def _through(base: str, name: str, pipeline: str, summary: str) -> Kernel:
    """A rung of the ladder that is made of another one."""
    return Kernel(
        name=f"hopper_matmul_{name}",
        summary=summary,
        text=None,
        base=f"hopper_matmul_{base}",
        pipeline=pipeline,
        reference=hopper_matmul.reference,
    )


KERNELS: Mapping[str, Kernel] = {
    k.name: k
    for k in (
        Kernel(
            name="hopper_matmul_v1",
            summary="one warp group, serial, 1 stage",
            text=hopper_matmul.V1,
            base=None,
            pipeline=None,
            reference=hopper_matmul.reference,
        ),
        _through("v1", "v2", hopper_matmul.V2, "fetches ahead, 3 stages"),
        _through("v2", "v3", hopper_matmul.V3, "a producer warp and a consumer, 3 stages"),
        _through("v3", "v4", hopper_matmul.V4, "two serial consumers, 3 stages"),
        _through("v4", "v5", hopper_matmul.V5, "one wgmma group in flight per consumer, 4 stages"),
        _through("v5", "v6", hopper_matmul.V6, "four consumers, fp16 sums, epilogue in turns"),
        _through("v5", "v5_ring", hopper_matmul.V5_RING, "V5, epilogue through the ring"),
        _through("v5", "v5_own", hopper_matmul.V5_OWN, "V5, epilogue through its own buffer"),
        _through("v4", "v4_ring", hopper_matmul.V4_RING, "V4, epilogue through the ring"),
    )
}
"""Adding a kernel: its family's file, and a row here."""


@cache
def kernel_schedule(name: str) -> Schedule:
    """The schedule of a kernel, with places that count lines in its printed text."""
    kernel = KERNELS[name]
    if kernel.text is not None:
        return _placed(parse(kernel.text, file=name))
    assert kernel.base is not None
    assert kernel.pipeline is not None
    base = kernel_schedule(kernel.base)
    made = parse_pipeline(kernel.pipeline, PASSES).rewrite_unchecked(base)
    return _placed(replace(made, name=name))


def _placed(schedule: Schedule) -> Schedule:
    placed = parse(to_text(schedule), file=schedule.name)
    verify(placed)
    return replace(placed, source=None)
