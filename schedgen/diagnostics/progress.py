"""SG3xx: counting (P1-P6) and progress: a barrier counts wrong, or somebody waits for ever."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.diagnostics.finding import Finding


@dataclass(frozen=True, kw_only=True)
class ArrivalCount(Finding):
    """A phase gets more or fewer arrivals than its barrier counts (P1).

    What it means
        The count declared for the barrier is not the number of arrivals that its phase receives.
    Why it is wrong
        Too few: the phase never completes. Too many: it completes before the last of them, and the
        rest counts in the next phase.
    Example
        `ring tma stages 4 empty 1 full 1` with two consumers that release.
    Fix
        Set the count to the number of arrivals of one use, or mend the arrivals.
    """

    code = "SG301"
    name = "arrival-count"
    barrier: str
    what: str
    arrivals: int
    count: int

    @property
    def message(self) -> str:
        some = f"{self.arrivals} arrival" + ("" if self.arrivals == 1 else "s")
        return f"{self.what} of {self.barrier} gets {some}, its count is {self.count}"


@dataclass(frozen=True, kw_only=True)
class ByteCount(Finding):
    """The bytes expected of a phase are not the bytes delivered (P2).

    What it means
        `expect` announces another number than the loads of the use complete, or the announcement
        comes after the arrival that it belongs to.
    Why it is wrong
        Too many expected: the phase never completes. Too few: it may complete before the last load
        has landed.
    Example
        `expect tma.full bytes 40960` before loads of 49152 bytes.
    Fix
        Expect the sum of the boxes that the use loads; announce with the arrival (`expect`).
    """

    code = "SG302"
    name = "byte-count"
    barrier: str
    what: str
    expected: int
    delivered: int
    loads: tuple[tuple[str, int], ...]
    late: bool

    @property
    def message(self) -> str:
        if self.late:
            return f"{self.what} of {self.barrier} may complete before its bytes are announced"
        parts = ", ".join(f"{name} {size}" for name, size in self.loads)
        return (
            f"{self.what} of {self.barrier} expects {self.expected} bytes, "
            f"its loads deliver {self.delivered}" + (f" ({parts})" if parts else "")
        )


@dataclass(frozen=True, kw_only=True)
class PhaseOvertaken(Finding):
    """A contribution may count in an earlier phase than it is meant for (P3).

    What it means
        An arrival, expect or landing is not ordered after the phase before its own.
    Why it is wrong
        A barrier counts in its current phase, whatever the text meant; an overtaking arrival
        completes the wrong phase.
    Example
        Two roles that both arrive on a barrier of count 1, neither after the other.
    Fix
        Wait for the previous phase before contributing to the next.
    """

    code = "SG303"
    name = "phase-overtaken"
    barrier: str
    phase: int
    contributor: str

    @property
    def message(self) -> str:
        return (
            f"{self.contributor} counts in phase {self.phase} of {self.barrier}, but may come "
            f"before phase {self.phase - 1} is complete"
        )


@dataclass(frozen=True, kw_only=True)
class EarlyWait(Finding):
    """A wait may start before the phase ahead of its own is past (P4).

    What it means
        A parity tells the current phase from the one before and nothing else; a wait that starts
        two phases early returns at once.
    Why it is wrong
        What follows the wait is not ordered after the phase that it names.
    Example
        Two roles of which one may reach `await b` for the second phase before the first completed.
    Fix
        Order the start of the wait after the previous phase, by a wait of the same actor for it.
    """

    code = "SG304"
    name = "early-wait"
    barrier: str
    phase: int
    waiter: str

    @property
    def message(self) -> str:
        return (
            f"{self.waiter} waits for phase {self.phase} of {self.barrier}, but may start before "
            f"phase {self.phase - 1} is past and return at once"
        )


@dataclass(frozen=True, kw_only=True)
class LappedWait(Finding):
    """A wait may find its phase gone and the next one past (P5).

    What it means
        While one warp still waits, the barrier may complete a further phase and show the old
        parity again. A sister warp is one that runs the same program as the elected warp of its
        role, at its own pace. A fresh barrier has completed no phase yet: a wait for the phase
        before its first returns at once, unless that first phase completes meanwhile.
    Why it is wrong
        The waiter takes the new phase for the old one and waits for ever.
    Example
        The elected warp releases a stage that its sister warps have not finished waiting for.
    Fix
        `sync` the warps before the release, or let each warp arrive (and raise the count).
    """

    code = "SG305"
    name = "lapped-wait"
    barrier: str
    phase: int
    waiter: str

    @property
    def message(self) -> str:
        what = f"phase {self.phase} of" if self.phase >= 0 else "the fresh"
        return (
            f"{self.waiter} may still wait for {what} {self.barrier} when phase "
            f"{self.phase + 1} completes"
        )


@dataclass(frozen=True, kw_only=True)
class UnobservedPhase(Finding):
    """A completed phase is followed by an arrival that nobody's wait stands before (P6).

    What it means
        No wait for the phase returns before the next arrival on the barrier.
    Why it is wrong
        PTX leaves it undefined (9.7.13.15), and a reader that should have waited probably did not.
    Example
        A consumer that never acquires `tma.full`.
    Fix
        Wait for each phase, or drop the barrier.
    """

    code = "SG306"
    name = "unobserved-phase"
    barrier: str
    phase: int
    contributor: str

    @property
    def message(self) -> str:
        return (
            f"nobody waits for phase {self.phase} of {self.barrier} before {self.contributor} "
            f"counts in the next"
        )


@dataclass(frozen=True, kw_only=True)
class WaitCycle(Finding):
    """Roles wait for each other in a circle.

    What it means
        Each blocked wait needs a signal that stands behind another blocked wait.
    Why it is wrong
        It hangs, in every execution.
    Example
        `release tma.empty lag 4` on a ring of 4 stages: the stage is needed before it is released.
    Fix
        Release earlier (a smaller lag), or give the ring more stages.
    """

    code = "SG307"
    name = "wait-cycle"
    chain: str

    @property
    def message(self) -> str:
        return f"deadlock: {self.chain}"


@dataclass(frozen=True, kw_only=True)
class ReleaseMissing(Finding):
    """A use of a ring is never released, and somebody waits for it.

    What it means
        An acquire of the empty barrier waits for a release that no role makes.
    Why it is wrong
        The producer waits for ever.
    Example
        V5 with the lag removed: the peeled step advances without a release, so use 0 stays taken.
    Fix
        Release every use once: in the loop, in the peeled steps, and for the last ones after it.
    """

    code = "SG308"
    name = "release-missing"
    ring: str
    use: int
    by: str
    waiter: str

    @property
    def message(self) -> str:
        return (
            f"deadlock: use {self.use} of {self.ring} is never released by {self.by}, "
            f"and {self.waiter} waits for it"
        )


@dataclass(frozen=True, kw_only=True)
class NegativeUse(Finding):
    """A lag reaches before the first use.

    What it means
        `lag d` names use cursor - d, which is negative at this K: an error, not a wrap.
    Why it is wrong
        The arrival would go to a stage of another use.
    Example
        `release tma.empty lag 1` in the first step of a loop that starts at 0.
    Fix
        Peel the first steps, or guard the release.
    """

    code = "SG309"
    name = "negative-use"
    op: str
    ring: str
    use: int

    @property
    def message(self) -> str:
        return f"`{self.op}` names use {self.use} of {self.ring}: before the first"


@dataclass(frozen=True, kw_only=True)
class FillMissing(Finding):
    """A use of a ring is never filled, and somebody waits for it.

    What it means
        An acquire of the full barrier waits for an expect (or arrival) that no role makes.
    Why it is wrong
        The consumer waits for ever.
    Example
        The tutorial's peeled step without a guard: at K = 0 it waits for a tile that never comes.
    Fix
        Guard the peeled step (`if K > 0`), or let the producer load what the consumer uses.
    """

    code = "SG310"
    name = "fill-missing"
    ring: str
    use: int
    waiter: str

    @property
    def message(self) -> str:
        return (
            f"deadlock: use {self.use} of {self.ring} is never filled, "
            f"and {self.waiter} waits for it"
        )


FINDINGS: tuple[type[Finding], ...] = (
    ArrivalCount, ByteCount, PhaseOvertaken, EarlyWait, LappedWait, UnobservedPhase, WaitCycle,
    ReleaseMissing, NegativeUse, FillMissing,
)  # fmt: skip
