"""SG2xx, shared memory: something is read or overwritten in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass

from schedgen.diagnostics.finding import Finding


@dataclass(frozen=True, kw_only=True)
class ReadBeforeFill(Finding):
    """A slot or buffer is read before its data are there.

    What it means
        A read may start while the load that fills the slot has not landed, or nothing fills it.
    Why it is wrong
        A TMA load is asynchronous: it writes at any time after its issue. Only a wait on the full
        barrier that counts its bytes orders the read after it (PTX 9.7.9.27).
    Example
        `mma acc, tma.A[self], tma.B, k` with no `acquire tma.full` before it.
    Fix
        `acquire tma.full` before the first read of each use.
    """

    code = "SG201"
    name = "read-before-fill"
    reader: str
    where: str
    filler: str | None

    @property
    def message(self) -> str:
        if self.filler is None:
            return f"{self.reader} reads {self.where}, which nothing has filled"
        return f"{self.reader} may read {self.where} before {self.filler}"


@dataclass(frozen=True, kw_only=True)
class WrongTile(Finding):
    """A slot holds another K tile than its reader means.

    What it means
        The order is fixed, and the last load that landed brought another tile than the mma names.
    Why it is wrong
        The product uses the wrong part of K: a wrong result in every run, with no race in sight.
    Example
        `load tma.B k + 1` in the producer, `mma acc, tma.A[self], tma.B, k` in the consumer.
    Fix
        Make the load and the mma of one use name the same tile, or repair the cursor (`advance`).
        Where a buffer lies in the ring, results stored there are no tile.
    """

    code = "SG202"
    name = "wrong-tile"
    reader: str
    where: str
    wanted: int
    found: int | None

    @property
    def message(self) -> str:
        holds = "results" if self.found is None else f"tile {self.found}"
        return f"{self.reader} means tile {self.wanted}, but {self.where} holds {holds}"


@dataclass(frozen=True, kw_only=True)
class OverwriteBeforeRetire(Finding):
    """A stage is filled again while an earlier read of it may still be running.

    What it means
        The stage was handed back before the mma that reads it had retired, so the next load may
        land under it.
    Why it is wrong
        A wgmma reads shared memory until its group retires. A release orders ordinary accesses,
        not asynchronous ones: only `wait n` before the release does (PTX 9.7.15.7.3).
    Example
        `wait 1` then `release tma.empty` in one step: the mma of this very step is still pending.
    Fix
        Release the stage of the step whose group has retired: `release tma.empty lag 1` after
        `wait 1`; or `wait 0` before the release.
    """

    code = "SG203"
    name = "overwrite-before-retire"
    writer: str
    where: str
    reader: str

    @property
    def message(self) -> str:
        return f"{self.writer} may land in {self.where} while {self.reader} still reads it"


@dataclass(frozen=True, kw_only=True)
class UnorderedWrites(Finding):
    """Two writes to the same storage are in flight at once.

    What it means
        Two loads (or a load and an ordinary store) may reach the same slot in either order.
    Why it is wrong
        Loads land in any order, whatever the order of issue; the slot ends up with either tile.
    Example
        `load tma.B k` and `load tma.B k + 1` in one step of the producer.
    Fix
        Give each load its own slot or use, and acquire the use before loading it.
    """

    code = "SG204"
    name = "unordered-writes"
    first: str
    second: str
    where: str

    @property
    def message(self) -> str:
        return f"{self.first} and {self.second} may be written to {self.where} in either order"


@dataclass(frozen=True, kw_only=True)
class OverwriteWithoutAcquire(Finding):
    """A stage is filled again by a producer that never asked whether it is free.

    What it means
        The load of this use is issued before (or without) acquiring the use on the empty barrier.
    Why it is wrong
        Nothing orders the load after the last read of the stage's previous use.
    Example
        `load tma.B k` standing above `acquire tma.empty`.
    Fix
        `acquire tma.empty` before the first load (and the expect) of each use.
    """

    code = "SG205"
    name = "overwrite-without-acquire"
    writer: str
    where: str
    use: int
    ring: str
    acquired_later: bool

    @property
    def message(self) -> str:
        how = "before use" if self.acquired_later else "though use"
        state = "is acquired" if self.acquired_later else "is never acquired"
        return f"{self.writer} goes into {self.where} {how} {self.use} of {self.ring} {state}"


@dataclass(frozen=True, kw_only=True)
class MissingProxyFence(Finding):
    """An ordinary store is handed to TMA or wgmma without a proxy fence.

    What it means
        A thread stored to shared memory by an ordinary instruction, and the asynchronous access
        that follows is not behind a `fence proxy` of that same thread.
    Why it is wrong
        Order alone does not carry data from the generic to the async proxy (PTX 9.7.13.4); a fence
        by the reader or by one elected thread does not either.
    Example
        `write out`, `sync group[self]`, `tma-store out -> c`.
    Fix
        `fence proxy` by every writer after its last write, before the sync.
    """

    code = "SG210"
    name = "missing-proxy-fence"
    writer: str
    reader: str
    where: str

    @property
    def message(self) -> str:
        return (
            f"{self.reader} uses {self.where} with no `fence proxy` by the warps of {self.writer}"
        )


@dataclass(frozen=True, kw_only=True)
class UnorderedAccess(Finding):
    """Two warps touch the same storage in either order.

    What it means
        An ordinary access and a conflicting one by another warp (or an asynchronous one) are not
        ordered.
    Why it is wrong
        It is a data race: the reader may see the old or the new data.
    Example
        `write out` by every warp, then `read out`, with no `sync` in between.
    Fix
        `sync` the warps, or hand over through a barrier.
    """

    code = "SG212"
    name = "unordered-access"
    first: str
    second: str
    where: str

    @property
    def message(self) -> str:
        return f"{self.first} and {self.second} touch {self.where} in either order"


@dataclass(frozen=True, kw_only=True)
class StoreSourceOverwritten(Finding):
    """The source of a TMA store is overwritten before the store has read it.

    What it means
        A write to the staging buffer is not ordered after the end of the store's reading.
    Why it is wrong
        A TMA store reads its source asynchronously; `store-wait` by the issuing thread covers only
        that thread, so the other warps need a sync after it.
    Example
        `store-wait 0 read` by the elected thread, followed by everybody's `write out`.
    Fix
        `sync` after the store-wait, before the next write.
    """

    code = "SG213"
    name = "store-source-overwritten"
    writer: str
    store: str
    where: str

    @property
    def message(self) -> str:
        return f"{self.writer} may overwrite {self.where} while {self.store} still reads it"


FINDINGS: tuple[type[Finding], ...] = (
    ReadBeforeFill,
    WrongTile,
    OverwriteBeforeRetire,
    UnorderedWrites,
    OverwriteWithoutAcquire,
    MissingProxyFence,
    UnorderedAccess,
    StoreSourceOverwritten,
)
