"""The two kinds of barriers, holding what the hardware holds and nothing else.

An mbarrier is a parity bit and two counters.  It has no phase number: a waiter can tell the
current phase from the one before and from nothing else, so that a waiter who is lapped is lost,
and a wait on a future phase of the other parity returns at once.
"""

from __future__ import annotations


class Mbarrier:
    """A parity, the arrivals and the bytes that its phase still lacks, and the constant count.

    PTX ISA 9.7.13.15: the phase completes when both counters are 0, in the same instant as its
    last contributor, then the parity flips and the barrier re-arms.  The byte counter is signed:
    bytes may land before they are expected.
    """

    __slots__ = ("bytes", "count", "parity", "pending")

    def __init__(self, count: int) -> None:
        self.count = count
        self.parity = 0
        self.pending = count
        self.bytes = 0

    def has_passed(self, parity: int) -> bool:
        """What mbarrier.try_wait.parity asks: is the current phase of the other parity?"""
        return self.parity != parity

    def expect(self, amount: int) -> None:
        self.bytes += amount
        self._complete()

    def deliver(self, amount: int) -> None:
        self.bytes -= amount
        self._complete()

    def arrive(self, times: int) -> None:
        """Arrivals come one by one: each may be the last of a phase."""
        for _ in range(times):
            self.pending -= 1
            self._complete()

    def _complete(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.parity ^= 1
            self.pending = self.count


class NamedBarrier:
    """bar.sync: counts the threads that entered; when all are there, all of them return."""

    __slots__ = ("entered", "threads", "waiting")

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.entered = 0
        self.waiting: list[int] = []

    def enter(self, actor: int, threads: int) -> list[int]:
        """The actors that may return now: nobody, or everybody who waits here."""
        self.entered += threads
        self.waiting.append(actor)
        if self.entered < self.threads:
            return []
        released, self.waiting, self.entered = self.waiting, [], 0
        return released
