"""The axioms of the machine model, each with its source; `schedgen axioms` prints them.

The checker and the abstract machine both stand on these and on nothing else.  Section numbers are
those of the PTX ISA 9.0.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Axiom:
    """One statement; ``assumed`` marks what the documents do not promise in so many words."""

    subject: str
    text: str
    source: str
    assumed: bool


AXIOMS: tuple[Axiom, ...] = (
    Axiom(
        "role",
        "The warps of a role run one program in order, each at its own pace; roles run at once. A "
        "role of more than one warp is judged as three actors: the elected thread's warp and two "
        "others.",
        "CUDA C++ Programming Guide, independent thread scheduling",
        assumed=False,
    ),
    Axiom(
        "mbarrier phase",
        "A phase completes when pending arrivals and pending bytes are both 0, in the same instant "
        "as its last contributor, then flips and re-arms.",
        "PTX 9.7.13.15",
        assumed=False,
    ),
    Axiom(
        "mbarrier wait",
        "wait(parity p) returns when the parity of the current phase differs from p: it tells the "
        "current phase from the one before and nothing else.",
        "PTX 9.7.13.15, mbarrier.test_wait",
        assumed=False,
    ),
    Axiom(
        "mbarrier observation",
        "Every completed phase is waited for by someone before the next arrival.",
        "PTX 9.7.13.15",
        assumed=False,
    ),
    Axiom(
        "TMA load",
        "Writes its slot at any time after issue, in any order with other loads, then completes "
        "its bytes on the full barrier; a box that sticks out of the tensor delivers them all.",
        "PTX 9.7.9.27, cp.async.bulk.tensor",
        assumed=False,
    ),
    Axiom(
        "expect",
        "Announces bytes and makes one arrival, in that order. Landing before the expect of the "
        "same phase is legal.",
        "PTX 9.7.13.15, mbarrier.arrive.expect_tx",
        assumed=False,
    ),
    Axiom(
        "wgmma",
        "Reads its shared-memory operands until its group retires. Mma of one shape on one "
        "accumulator are ordered.",
        "PTX 9.7.15.7",
        assumed=False,
    ),
    Axiom(
        "wgmma groups",
        "commit closes a group of everything issued since the last commit; groups of a warp group "
        "retire in order; wait n blocks until at most n are pending; an uncommitted mma belongs to "
        "no group.",
        "PTX 9.7.15.7.2 and 9.7.15.7.3",
        assumed=False,
    ),
    Axiom(
        "wgmma issue",
        "An mma retires only after all four warps of the warp group issued it.",
        "not stated by PTX; CUTLASS relies on it",
        assumed=True,
    ),
    Axiom(
        "wgmma wait",
        "A group retires for all four warps at once: when one warp's wait for it returns, it is "
        "over for the whole warp group.",
        "not stated by PTX; CUTLASS relies on it",
        assumed=True,
    ),
    Axiom(
        "wgmma fence",
        "Needed before the first mma and after ordinary access to its registers; it orders "
        "registers only.",
        "PTX 9.7.15.7.1",
        assumed=False,
    ),
    Axiom(
        "proxies",
        "An ordinary store is visible to TMA or wgmma iff the same threads executed a proxy fence "
        "after it and that fence precedes the asynchronous access. Data that came by TMA and was "
        "waited for needs none.",
        "PTX 9.7.13.4, fence.proxy.async",
        assumed=False,
    ),
    Axiom(
        "TMA store",
        "Reads its source asynchronously; its groups belong to the issuing thread; .read frees the "
        "source and does not make the output readable.",
        "PTX 9.7.9.27, cp.async.bulk.wait_group",
        assumed=False,
    ),
    Axiom(
        "memory order",
        "A release-arrive orders ordinary accesses, not asynchronous operations: a wait must stand "
        "before the release.",
        "PTX 8, memory consistency model",
        assumed=False,
    ),
    Axiom(
        "named barrier",
        "sync returns when all of its threads have entered; whole warps, counts multiples of 32.",
        "PTX 9.7.13.1, barrier",
        assumed=False,
    ),
    Axiom(
        "barrier setup",
        "Every mbarrier is initialised, and visible to all warps and to TMA, before the first op.",
        "not in the language: the kernel around the roles does it",
        assumed=True,
    ),
    Axiom(
        "one CTA",
        "Nothing outside the CTA signals its barriers or writes its shared memory.",
        "scope of this version: clusters and multicast are not in the language yet",
        assumed=True,
    ),
)
