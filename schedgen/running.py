"""Execute a schedule on data: on the abstract machine, or its emitted kernel on a GPU.

Both compare with float64 and report the relative Frobenius norm of the difference.
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedgen.build.launch import launch, load_script
from schedgen.happens_before.products import programs_of
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.problems import IllFormed
from schedgen.ir.schedule import Schedule
from schedgen.kernels import KERNELS
from schedgen.machine import UnfitOperands, adversaries, execute, multiply, seeded
from schedgen.markup import Shown

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, kw_only=True)
class RunResult(Shown):
    """A product and how far it is from float64: ``error`` is the relative Frobenius norm."""

    device: str
    why: str
    m: int
    n: int
    k: int
    tile_k: int
    error: float
    limit: float
    hazards: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the product came out right, whatever was seen on the way."""
        return self.error <= self.limit

    @property
    def ok(self) -> bool:
        return self.is_right and not self.hazards

    @property
    def _verdict(self) -> str:
        if not self.is_right:
            return "WRONG"
        return "right in this order, but a hazard was seen" if self.hazards else "right"

    def _styled(self, *, width: int) -> Text:
        from rich.text import Text

        turns = -(-self.k // self.tile_k)
        sizes = f"{self.m} x {self.n} x {self.k} elements"
        tiles = f"{turns} K tile{'' if turns == 1 else 's'} of {self.tile_k}"
        head = f"{sizes}, {tiles}, on {self.device} ({self.why})"
        said = Text(f"{head}: ")
        said.append(self._verdict, style="bold green" if self.ok else "bold red")
        said.append(f", relative error {self.error:.3g} against float64")
        for hazard in self.hazards[:MOST_HAZARDS]:
            said.append(f"\n  saw {hazard}")
        return said


MOST_HAZARDS = 10
"""Hazards that are told of a run."""


OUTPUT_ERROR = {"f32": 5e-4, "f16": 5e-4, "bf16": 4e-3}
"""Relative error that fp32 accumulation and one rounding to the output's type stay under (f16:
2.1e-4 measured at k = 8192)."""

F16_SUMS = 8e-3 / 8192**0.5
"""What fp16 accumulation adds to that, times the square root of k: it rounds after every 16 columns
of k, and such errors grow like those of a random walk (3.3e-3 measured at k = 8192)."""


def error_limit(schedule: Schedule, k: int) -> float:
    """The relative error up to which a product counts as right, by the types it goes through."""
    limit = OUTPUT_ERROR[schedule.problem.out.dtype]
    narrow = any(acc.dtype != "f32" for acc in schedule.accumulators)
    return limit + F16_SUMS * k**0.5 if narrow else limit


MACHINE_BUDGET = 1_000_000
"""Ops of one replica beyond which the abstract machine is not even started."""


def cuda_reason() -> str | None:
    """None where a kernel can run on a GPU here, else why not."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "tilus")):
        return "the tilus extra is not installed"
    import torch

    if not torch.cuda.is_available():
        return "there is no GPU that torch can use"
    if torch.cuda.get_device_capability() != (9, 0):
        return f"{torch.cuda.get_device_name()} is no Hopper GPU"
    return None


def inputs(m: int, n: int, k: int, seed: int) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """Normal fp16 operands, m x k and n x k."""
    source = np.random.default_rng(seed)
    a = source.standard_normal((m, k), dtype=np.float32).astype(np.float16)
    return a, source.standard_normal((n, k), dtype=np.float32).astype(np.float16)


def relative_error(out: NDArray[np.floating], ref: NDArray[np.float64]) -> float:
    """``|out - ref| / |ref|``; NaN counts as infinite, and so does anything nonzero beside zero."""
    difference = float(np.linalg.norm(out.astype(np.float64) - ref))
    size = float(np.linalg.norm(ref))
    if np.isnan(difference):
        return float("inf")
    if size == 0.0:
        return 0.0 if difference == 0.0 else float("inf")
    return difference / size


def run_machine(
    schedule: Schedule, *, m: int, n: int, k: int, seed: int, why: str, accepted: bool,
    progress: Callable[[int, int], None] | None,
) -> RunResult:  # fmt: skip
    """All CTAs on the abstract machine; a schedule that was not ``accepted`` also meets the
    adversarial schedulers.  Raises `IllFormed` (SG116) for what the machine cannot run."""

    try:
        programs_of(schedule, -(-k // schedule.tile.k), MACHINE_BUDGET)
    except OverBudget:
        message = f"a replica runs more than {MACHINE_BUDGET} ops at this k"
        raise IllFormed(code="SG116", message=message, place=None) from None
    a, b = inputs(m, n, k, seed)
    try:
        out, hazards = multiply(schedule, a, b, policy=seeded(seed), progress=progress)
    except UnfitOperands as error:
        message = f"{error}; `schedgen check` says what is wrong"
        raise IllFormed(code="SG116", message=message, place=None) from None
    error = relative_error(out, _reference(schedule, a, b))
    seen = [f"{h.kind}: {h.message}" for h in hazards]
    if not accepted:
        seen += _provoked(schedule, -(-k // schedule.tile.k))
    return RunResult(
        device="abstract machine", why=why, m=m, n=n, k=k, tile_k=schedule.tile.k, error=error,
        limit=error_limit(schedule, k), hazards=tuple(dict.fromkeys(seen)),
    )  # fmt: skip


def _provoked(schedule: Schedule, k_tiles: int) -> list[str]:
    """Hazards of one CTA under the adversarial schedulers, for schedules that were not accepted."""
    found: list[str] = []
    for policy in adversaries(schedule):
        outcome = execute(
            schedule, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
        )
        found += [f"{h.kind}: {h.message}" for h in outcome.hazards]
    return found


def _reference(
    schedule: Schedule, a: NDArray[np.float16], b: NDArray[np.float16]
) -> NDArray[np.float64]:
    kernel = KERNELS.get(schedule.name)
    if kernel is not None:
        return kernel.reference(a, b)
    return a.astype(np.float64) @ b.astype(np.float64).T


@contextmanager
def without_bar() -> Iterator[None]:
    """tilus draws a bar on standard error while it compiles: for eyes only."""
    if sys.stderr.isatty():
        yield
        return
    with redirect_stderr(io.StringIO()):
        yield


def run_cuda(schedule: Schedule, text: str, *, m: int, n: int, k: int, seed: int) -> RunResult:
    """The emitted kernel ``text`` on the GPU that torch sees."""
    import torch

    a, b = (torch.from_numpy(x).cuda() for x in inputs(m, n, k, seed))
    c = torch.full((m, n), float("nan"), dtype=torch.float16, device="cuda")
    with tempfile.TemporaryDirectory(prefix="schedgen-") as folder:
        path = Path(folder) / f"{schedule.name}.py"
        path.write_text(text, encoding="utf-8")
        with without_bar():
            launch(load_script(path), a, b, c)
        torch.cuda.synchronize()
    ref = (a.double() @ b.double().T).cpu().numpy()
    error = relative_error(c.cpu().numpy(), ref)
    return RunResult(
        device=torch.cuda.get_device_name(), why="it is a Hopper GPU", m=m, n=n, k=k,
        tile_k=schedule.tile.k, error=error, limit=error_limit(schedule, k), hazards=(),
    )  # fmt: skip
