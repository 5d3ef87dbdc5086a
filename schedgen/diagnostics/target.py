"""SG4xx a pass refuses, SG5xx the target cannot hold or say it, SG9xx our own fault."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.diagnostics.finding import Finding


@dataclass(frozen=True, kw_only=True)
class Refusal(Finding):
    """Base of a pass's refusals: which pass, and why."""

    pass_name: str
    reason: str

    @property
    def message(self) -> str:
        return f"`{self.pass_name}` refuses: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class NothingToRewrite(Refusal):
    """The schedule has nothing that the pass works on.

    What it means
        No loop, ring or op of the kind that the pass rewrites is there.
    Why it is wrong
        Doing nothing in silence would let a pipeline look applied that was not.
    Example
        `overlap-wgmma{in-flight=1}` on a schedule whose loops have no `wait`.
    Fix
        Check the spelling of ring and role names, or drop the pass from the pipeline.
    """

    code = "SG401"
    name = "nothing-to-rewrite"


@dataclass(frozen=True, kw_only=True)
class LagNeedsStages(Refusal):
    """A release would lag by as many steps as the ring has stages, or more.

    What it means
        With S stages, use u + S needs use u released; a release that lags S steps comes after it.
        A role that fills what it reads, and fetches tiles further ahead than S uses, is the same.
    Why it is wrong
        Producer and consumer wait for each other: a deadlock from K = S + 1 on.  Where one role
        does both, a stage is filled while it is read.
    Example
        `set-stages{n=1}` on V5, whose releases lag by one, or on V2, which fetches three ahead.
    Fix
        Keep at least lag + 1 stages, and as many as tiles are fetched ahead.
    """

    code = "SG402"
    name = "lag-needs-stages"


@dataclass(frozen=True, kw_only=True)
class AlreadyInFlight(Refusal):
    """The loop keeps groups in flight already.

    What it means
        A `wait n` with n > 0 or a lagged release shows that the loop was retimed before.
    Why it is wrong
        Retiming it again would count the same groups twice.
    Example
        `overlap-wgmma{in-flight=1}` twice in one pipeline.
    Fix
        Apply `overlap-wgmma{in-flight=2}` once, to the serial schedule.
    """

    code = "SG403"
    name = "already-in-flight"


@dataclass(frozen=True, kw_only=True)
class DepthNotEncodable(Refusal):
    """The wait depth would not fit the instruction.

    What it means
        d steps in flight with c commits each need `wait d*c`; the immediate holds 0..7.
    Why it is wrong
        wgmma.wait_group takes no larger number (PTX 9.7.15.7.3).
    Example
        `overlap-wgmma{in-flight=4}` on a loop with two commits per step.
    Fix
        Fewer steps in flight, or one commit per step.
    """

    code = "SG404"
    name = "depth-not-encodable"


@dataclass(frozen=True, kw_only=True)
class LoopNotRetimable(Refusal):
    """The loop has a shape that cannot be retimed.

    What it means
        An op after the wait needs its result in the same step, or the loop's bounds are not of the
        form number..K + number.  For passes that move the loads: the fills are not one for each
        tile, or something stands between them.
    Why it is wrong
        Moving it by an iteration, or to another role, would change what is computed.
    Example
        `touch acc` in the loop body.
    Fix
        Take the op out of the loop, or leave the loop serial.
    """

    code = "SG405"
    name = "loop-not-retimable"


@dataclass(frozen=True, kw_only=True)
class AlreadyStaged(Refusal):
    """The schedule stages its results already.

    What it means
        Staging buffers, plain barriers or named barriers are declared, whose sizes and counts
        belong to the tile and to the groups that there are now.
    Why it is wrong
        The pass would leave them as they are, or stage the same results twice.
    Example
        `split-consumers{n=4}` behind `stage-epilogue{buffer=own}`.
    Fix
        Stage the epilogue last in the pipeline.
    """

    code = "SG406"
    name = "already-staged"


@dataclass(frozen=True, kw_only=True)
class SizesDoNotFit(Refusal):
    """The sizes of the schedule do not divide into what the pass would make of them.

    What it means
        Rows, columns or bytes do not come out whole: a wgmma takes 64 rows, a TMA store slabs of 64
        columns of 2 bytes, an `expect` announces one whole stage, and results that lie in a ring
        fill a slot exactly.
    Why it is wrong
        The parts would not cover the tile, or not fit their place.
    Example
        `split-consumers{n=4}` on a tile of 128 rows.
    Fix
        Change the tile first (`set-tile`), or ask for fewer parts.
    """

    code = "SG407"
    name = "sizes-do-not-fit"


@dataclass(frozen=True, kw_only=True)
class NoSuchMma(Refusal):
    """The target has no wgmma of the types that the pass would leave.

    What it means
        wgmma multiplies f16 by f16 into f16 or f32, and bf16 by bf16 into f32.
    Why it is wrong
        No instruction computes the schedule (PTX 9.7.15.3).
    Example
        `accumulate{type=f16}` where the operands are bf16.
    Fix
        Accumulate in a type that goes with the operands.
    """

    code = "SG408"
    name = "no-such-mma"


@dataclass(frozen=True, kw_only=True)
class SharedMemoryCapacity(Finding):
    """The schedule needs more shared memory than a CTA has.

    What it means
        Stages times slots, staging buffers and barriers exceed 232,448 bytes.
    Why it is wrong
        The kernel does not launch (sm_90a: 227 KB per CTA).
    Example
        `set-stages{n=5}` with stages of 49,152 bytes.
    Fix
        Fewer stages or a smaller tile.
    """

    code = "SG501"
    name = "shared-memory-capacity"
    needed: int
    limit: int
    detail: str

    @property
    def message(self) -> str:
        return f"{self.needed} bytes of shared memory ({self.detail}); a CTA has {self.limit}"


@dataclass(frozen=True, kw_only=True)
class EncodingLimit(Finding):
    """A number does not fit its instruction or descriptor.

    What it means
        A wait depth over 7, an mbarrier count or byte number of 2^20 or more, a TMA box over 256
        per dimension or over 128 bytes inner, an mma shape that wgmma does not have, too many
        threads or named barriers.
    Why it is wrong
        ptxas, the driver or the hardware rejects it.
    Example
        `wait 8`.
    Fix
        Stay inside the limit that the message names.
    """

    code = "SG502"
    name = "encoding-limit"
    what: str
    limit: str

    @property
    def message(self) -> str:
        return f"{self.what}; {self.limit}"


@dataclass(frozen=True, kw_only=True)
class RegisterCapacity(Finding):
    """The accumulators do not fit the registers of a thread.

    What it means
        The accumulators of one warp group, and what a K-loop needs beside them, take more registers
        per thread than the CTA's warps leave it (65,536 per SM, in units of 8, at most 255).
    Why it is wrong
        ptxas spills and serialises the mma (C7511).
    Example
        One consumer warp group with a 128x256 f32 accumulator: 256 registers per thread.
    Fix
        Smaller accumulators; several warp groups share a tile, but each of them lowers the cap.
    """

    code = "SG503"
    name = "register-capacity"
    who: str
    accumulators: int
    others: int
    limit: int

    @property
    def message(self) -> str:
        return (
            f"{self.who} needs {self.accumulators} registers per thread for accumulators and about "
            f"{self.others} more; a thread of this CTA has at most {self.limit}"
        )


@dataclass(frozen=True, kw_only=True)
class TargetCannotSay(Finding):
    """The emitter has no tilus form for a construct.

    What it means
        The schedule is meaningful, but uses an op that the tilus 0.2.0 emitter does not write.
    Why it is wrong
        A kernel without it would not be this schedule.
    Example
        `set tma = 0`, or `acquire tma.full parity (0)`.
    Fix
        Use the constructs that passes produce; escapes are for judging existing kernels.
    """

    code = "SG504"
    name = "target-cannot-say"
    construct: str
    reason: str

    @property
    def message(self) -> str:
        what = f"`{self.construct}`" if self.construct else "this schedule"
        return f"the tilus emitter has no form for {what}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class PassBrokeTheSchedule(Finding):
    """A pass did not keep what it declares.

    What it means
        The result of the pass differs from its input in products, traffic, hand-over or numerics,
        which it promised to keep, or is not well formed.
    Why it is wrong
        It is our fault, not yours: a pass has a bug.
    Example
        A pass that drops the last K tile and still calls it the same product.
    Fix
        Report it, with the schedule and the pipeline string.
    """

    code = "SG901"
    name = "pass-broke-the-schedule"
    pass_name: str
    property_name: str
    difference: str

    @property
    def message(self) -> str:
        return f"pass `{self.pass_name}` does not keep {self.property_name}: {self.difference}"


@dataclass(frozen=True, kw_only=True)
class PluginBrokeTheSchedule(Finding):
    """A pass of another distribution fails, or did not keep what it declares.

    What it means
        The pass raises an exception, gives something that is no schedule, or a schedule that
        differs from its input in what it promised to keep.  Nothing of its result is used.
    Why it is wrong
        A pass is believed by nobody, wherever it comes from; this one has a bug.
    Example
        A pass that drops the last K tile and declares `keeps = frozenset({"products"})`.
    Fix
        Report it to the distribution that the message names; if it is yours, keep less or do it
        right.
    """

    code = "SG902"
    name = "plugin-broke-the-schedule"
    pass_name: str
    provider: str
    what: str

    @property
    def message(self) -> str:
        return f"pass `{self.pass_name}` of {self.provider} {self.what}"


FINDINGS: tuple[type[Finding], ...] = (
    NothingToRewrite, LagNeedsStages, AlreadyInFlight, DepthNotEncodable, LoopNotRetimable,
    AlreadyStaged, SizesDoNotFit, NoSuchMma, SharedMemoryCapacity, EncodingLimit, RegisterCapacity,
    TargetCannotSay, PassBrokeTheSchedule, PluginBrokeTheSchedule,
)  # fmt: skip
