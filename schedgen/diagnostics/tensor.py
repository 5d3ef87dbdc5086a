"""SG2xx, tensor core and results: accumulators, groups, coverage, what outlives the CTA."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.diagnostics.finding import Finding, Row


@dataclass(frozen=True, kw_only=True)
class AccumulatorRead(Finding):
    """Ordinary code touches an accumulator while an mma on it is pending.

    What it means
        A store or another register access comes before the last group on it has retired.
    Why it is wrong
        Touching an accumulator without waiting for its group is undefined (PTX 9.7.15.7.3); in
        practice the last tiles are missing from the result.
    Example
        `store acc -> c` after a loop with `wait 1`, with no `wait 0` in between.
    Fix
        `wait 0` before the first ordinary access.
    """

    code = "SG206"
    name = "accumulator-read"
    toucher: str
    acc: str
    pending: str

    @property
    def message(self) -> str:
        return f"{self.toucher} touches {self.acc} while {self.pending} may still write it"


@dataclass(frozen=True, kw_only=True)
class UncommittedMma(Finding):
    """An mma belongs to no group.

    What it means
        No `commit` follows the mma, so no `wait` ever covers it.
    Why it is wrong
        `wait n` counts groups. An mma outside every group may read its slots and write its
        accumulator for ever. A later commit also sweeps up earlier mma, whatever step they are of.
    Example
        The peeled first step without its `commit`.
    Fix
        `commit` after the mma of each step.
    """

    code = "SG207"
    name = "uncommitted-mma"
    mma: str

    @property
    def message(self) -> str:
        return f"{self.mma} is never committed: no wait can cover it"


@dataclass(frozen=True, kw_only=True)
class MissingWgmmaFence(Finding):
    """An mma follows an ordinary access to its accumulator without a wgmma fence.

    What it means
        No `fence` stands between the last register access (or the zeroing at the start) and
        the mma.
    Why it is wrong
        wgmma.fence orders register accesses before the asynchronous ones (PTX 9.7.15.7.1).
    Example
        The first step of the loop without `fence`.
    Fix
        `fence` before the first mma and after each ordinary access to the accumulator.
    """

    code = "SG208"
    name = "missing-wgmma-fence"
    mma: str
    acc: str

    @property
    def message(self) -> str:
        return f"{self.mma} uses {self.acc} with no `fence` since its registers were last touched"


@dataclass(frozen=True, kw_only=True)
class KCoverage(Finding):
    """Some K tile is not accumulated exactly once.

    What it means
        When the accumulator is stored, a K tile is missing, doubled, or beyond K.
    Why it is wrong
        Each output element is the sum over every K tile, once.
    Example
        A consumer loop `for k in 1..K` with no peeled first step.
    Fix
        Make the mma of loop and peeled steps cover 0..K once.
    """

    code = "SG209"
    name = "k-coverage"
    acc: str
    tile: int
    times: int

    @property
    def message(self) -> str:
        return f"{self.acc} is stored with K tile {self.tile} accumulated {self.times} times"


@dataclass(frozen=True, kw_only=True)
class OperandMismatch(Finding):
    """An mma multiplies a box that does not belong to its accumulator.

    What it means
        The rows of A or of B (the columns of C) that the slot holds are not those of the
        accumulator, or the operands are swapped.
    Why it is wrong
        The product lands in the wrong part of the output.
    Example
        `mma acc, tma.A[0], tma.B, k` in both consumers, with `acc ... rows 64*self`.
    Fix
        Index the slab by `self`; or change the declaration that the finding points to: the slot's
        rows and columns are those of the accumulator and of the K step.
    """

    code = "SG211"
    name = "operand-mismatch"
    mma: str
    wanted: str
    found: str

    @property
    def message(self) -> str:
        return f"{self.mma} needs {self.wanted}, but the slot holds {self.found}"

    @property
    def main(self) -> Row | None:
        """The declaration that disagrees, where one does."""
        return self.rows[-1]


@dataclass(frozen=True, kw_only=True)
class InFlightAtExit(Finding):
    """Something is still under way when the last role of the CTA ends.

    What it means
        A load that nobody waited for, an mma or a TMA store may touch memory or a barrier after
        the CTA has ended.
    Why it is wrong
        Its shared memory belongs to the next CTA by then.
    Example
        A producer that loads two tiles more than the consumers use.
    Fix
        Load what is used; `wait 0` and `store-wait 0 read` before the end.
    """

    code = "SG214"
    name = "in-flight-at-exit"
    what: str

    @property
    def message(self) -> str:
        return f"{self.what} may still be under way when the CTA ends"


@dataclass(frozen=True, kw_only=True)
class OutputCoverage(Finding):
    """Some output element is not stored exactly once.

    What it means
        The boxes of the stored accumulators leave a part of the tile out, overlap, or lie outside
        it.
    Why it is wrong
        Elements are never written, or written twice with different values.
    Example
        `tile m 128` with one consumer of `acc ... 64x256`.
    Fix
        Let the accumulators of all replicas tile the output, and store each once.
    """

    code = "SG215"
    name = "output-coverage"
    rows_text: str
    times: int
    inside: bool

    @property
    def message(self) -> str:
        if not self.inside:
            return f"{self.rows_text} are stored, and lie outside the tile"
        often = "never stored" if self.times == 0 else f"stored {self.times} times"
        return f"{self.rows_text} of the tile are {often}"


@dataclass(frozen=True, kw_only=True)
class StagingMismatch(Finding):
    """A staging buffer cannot hold what is stored into it.

    What it means
        The accumulators stored into the buffer, or into a part of it, have more elements than it,
        or its element type is not the output's. Where TMA stores name the part of the output that
        they ship, each accumulator has exactly the shape of a part of the buffer.
    Why it is wrong
        The store would run over the buffer, or the TMA store would write other numbers.
    Example
        `buffer out : f16 64x64` for `store acc -> out` of a 64x256 accumulator.
    Fix
        Give the buffer the shape and type of what it stages.
    """

    code = "SG216"
    name = "staging-mismatch"
    buffer: str
    holds: str
    wanted: str

    @property
    def message(self) -> str:
        return f"buffer {self.buffer} is {self.holds}, but {self.wanted} is stored into it"


@dataclass(frozen=True, kw_only=True)
class StagedElsewhere(Finding):
    """A TMA store ships its source as another part of the output than it holds, or an operand.

    What it means
        The accumulator that was last stored into the buffer before the TMA store is not the box of
        the output that the TMA store names; or its source holds a tile that a load brought.
    Why it is wrong
        The numbers land in the wrong place, or another role's results are shipped: a wrong result
        in every run.
    Example
        `tma-store out -> c rows 0` after `store acc -> out` by the role whose accumulator has rows
        64..128.
    Fix
        Name the rows and columns of what was stored last, and take turns in that order.
    """

    code = "SG217"
    name = "staged-elsewhere"
    store: str
    where: str
    wanted: str
    found: str

    @property
    def message(self) -> str:
        return f"{self.store} ships {self.where} as {self.wanted}, but it holds {self.found}"


FINDINGS: tuple[type[Finding], ...] = (
    AccumulatorRead,
    UncommittedMma,
    MissingWgmmaFence,
    KCoverage,
    OperandMismatch,
    InFlightAtExit,
    OutputCoverage,
    StagingMismatch,
    StagedElsewhere,
)
