"""What the tutorial claims, what the run says of it, and why: one sentence each.

A claim is a ratio.  It repeats if ours lies within `CLOSE` of it, it repeats in part if ours lies
on the same side of 1, and else it does not repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.benchmarks.ladder_run import SQUARE, Ladder, percent
from tests.benchmarks.published import (
    H100,
    STAGES_OF_V5_MS,
    TENSOR_PIPE,
    V5_OF_CUBLAS,
    V5_OVER_V4,
    V6_OF_CUBLAS,
    V6_OVER_V5,
)

CLOSE = 0.03
SMALL, LARGE = (4096, 4096, 4096), (10240, 10240, 10240)


class Claim(NamedTuple):
    """A ratio that the tutorial publishes, beside ours."""

    text: str
    published: float
    here: float
    why: str

    @property
    def verdict(self) -> str:
        if abs(self.here - self.published) <= CLOSE:
            return "repeats"
        if (self.here > 1) == (self.published > 1):
            more = abs(self.here - 1) > abs(self.published - 1)
            return f"repeats in part, {'more' if more else 'less'} than claimed"
        return "does not repeat"

    @property
    def line(self) -> str:
        numbers = f"tutorial {self.published:.3f}, here {self.here:.3f}"
        return f"- **{self.text}**: {numbers}: **{self.verdict}**. {self.why}"


def claims(run: Ladder) -> Iterator[Claim]:
    yield from _first_rungs(run)
    yield from _overlap(run)
    yield from _stages(run)
    yield from _last_rung(run)


def _first_rungs(run: Ladder) -> Iterator[Claim]:
    yield Claim(
        "V2 is slower than V1", H100["V2"] / H100["V1"], run.gain("V2", "V1"),
        f"It needs {100 * (1 - 1 / run.fewer('V2', 'V1')):.0f} % fewer cycles, at a lower clock "
        f"({run.clock('V2'):.2f} GHz against {run.clock('V1'):.2f}), since the card is limited by "
        f"power and V2 moves the bytes of V1 in less time (L2 at {run.l2('V2'):.0f} % of its "
        f"peak): where the operands nearly fit into L2, at 4096^3, it is "
        f"{percent(run.gain('V2', 'V1', SMALL))}, at 10240^3 "
        f"{percent(run.gain('V2', 'V1', LARGE))}.",
    )  # fmt: skip
    yield Claim(
        "V3 over V2", H100["V3"] / H100["V2"], run.gain("V3", "V2"),
        f"V3 takes {100 * (1 / run.fewer('V3', 'V2') - 1):.1f} % more cycles than V2 here; "
        f"what V3 gains is clock ({run.clock('V3'):.2f} GHz against {run.clock('V2'):.2f}), likely "
        "by the raster in bands that comes with it, which was not measured alone; at 4096^3 V3 is "
        f"{percent(run.gain('V3', 'V2', SMALL))}.",
    )  # fmt: skip
    yield Claim(
        "V4 over V3", H100["V4"] / H100["V3"], run.gain("V4", "V3"),
        "A tile of 128x256 loads a quarter less per product, and V3 is limited by its loads (L2 at "
        f"{run.l2('V3'):.0f} % of its peak, V4 at {run.l2('V4'):.0f} %); that our V3 is the "
        "tutorial's is our reading.",
    )  # fmt: skip


def _overlap(run: Ladder) -> Iterator[Claim]:
    yield Claim(
        "V5 over V4", V5_OVER_V4, run.gain("V5", "V4"),
        "All of it is the fourth stage: V4 with 4 stages is "
        f"{percent(run.gain('V4, 4 stages', 'V5'))} against V5; with two consumers, the mma of one "
        "group covers the wait of the other, and the lag takes a stage.",
    )  # fmt: skip
    v4 = STAGES_OF_V5_MS[4] * V5_OVER_V4
    yield Claim(
        "the overlap alone, at V4's three stages", v4 / STAGES_OF_V5_MS[3],
        run.gain("V5, 3 stages", "V4"),
        "The stage that is released a step later is one that the producer lacks "
        f"({percent(run.fewer('V5, 3 stages', 'V4'))} in cycles); `schedgen predict` does not see "
        "it.",
    )  # fmt: skip
    yield Claim(
        "the tensor pipe idles under V4 (share of the time that it is in use)",
        TENSOR_PIPE["V4"] / 100, run.pipe("V4") / 100,
        "Our V4 leaves less of it idle than the tutorial's, so there is less to win.",
    )  # fmt: skip
    yield Claim(
        "the tensor pipe idles less under V5", TENSOR_PIPE["V5"] / 100, run.pipe("V5") / 100,
        "Most of the rest is the epilogue: staged through the ring, it is "
        f"{run.pipe('V5 ring epilogue'):.1f} %.",
    )  # fmt: skip
    yield Claim(
        "V5 against cuBLAS", V5_OF_CUBLAS, run.gain("V5", "torch.matmul"),
        "On another card, against another cuBLAS.",
    )  # fmt: skip


def _stages(run: Ladder) -> Iterator[Claim]:
    ms = STAGES_OF_V5_MS
    yield Claim(
        "V5 collapses at 2 stages (over 4 stages)", ms[4] / ms[2], run.gain("V5, 2 stages", "V5"),
        "Of two stages one is held by the group in flight, so that every step waits for a load; "
        f"V4 at 2 stages keeps {run.gain('V4, 2 stages', 'V4'):.2f} of its speed.",
    )  # fmt: skip
    yield Claim(
        "V5 at 3 stages ties with 4", ms[4] / ms[3], run.gain("V5, 3 stages", "V5"),
        "One stage of three is held back, and two do not cover the time of a load here; in cycles "
        f"4 stages are {percent(run.fewer('V5', 'V5, 3 stages'))}.",
    )  # fmt: skip


def _last_rung(run: Ladder) -> Iterator[Claim]:
    yield Claim(
        "V6 over V5", V6_OVER_V5, run.gain("V6", "V5"),
        f"In cycles it is {percent(run.fewer('V6', 'V5'))}: most of the gain is clock "
        f"({run.clock('V6'):.2f} GHz against {run.clock('V5'):.2f}), likely since sums in fp16 "
        f"and a square tile (L2 at {run.l2('V6'):.0f} % of its peak against {run.l2('V5'):.0f} %) "
        "cost less power.",
    )  # fmt: skip
    shapes = [s.shape for s in run.results.shapes if s.shape != SQUARE]
    others = ", ".join(f"{run.gain('V6', 'torch.matmul', s):.3f}" for s in shapes)
    hot = [run.ratio("V6", method="sustained", shape=s.shape).median for s in run.results.shapes]
    yield Claim(
        "V6 against cuBLAS", V6_OF_CUBLAS, run.gain("V6", "torch.matmul"),
        f"It is not like for like (fp16 sums, error {run.error('V6'):.1e} against "
        f"{run.error('V5'):.1e}); on the other shapes {others}, sustained {min(hot):.3f} to "
        f"{max(hot):.3f}, as the tutorial, too, sees the lead go on a hot card.",
    )  # fmt: skip
    cublas = run.pipe("torch.matmul")
    yield Claim(
        "V6 keeps the tensor pipe as busy as cuBLAS",
        TENSOR_PIPE["V6"] / TENSOR_PIPE["cuBLAS"], run.pipe("V6") / cublas,
        f"{run.pipe('V6'):.1f} % and {cublas:.1f} %; in cycles torch.matmul is "
        f"{percent(run.fewer('torch.matmul', 'V6'))}.",
    )  # fmt: skip
