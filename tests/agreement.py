"""The checker and the explorer on one case: what each says, and where they differ.

The checker names codes, the explorer reaches kinds of hazards; `KINDS` says which kinds a code may
name.  The explorer ends a branch where a barrier counts otherwise than in a first run of the
program: up to there the checker's graph, which is made by one counting run, is exact.  So, for one
K:

1. Both find nothing, or both find something.
2. Each kind that is reached is named by some violation, cause or consequence.
3. Each cause is reached: one of the kinds that its code shows as.

Where a hazard of data hides another one that always comes later, as the wrong tile in each step
hides what the epilogue does wrong, the third needs executions that go on: nothing that follows
depends on data.  The second holds for those, too.

Consequences are told, not claimed: what comes after the first miscount is read off one counting
run, and other executions may do something else instead.  And a hang may be the cause, since the
text lacks something, where every execution that hangs has miscounted before: such a cause is looked
for past all hazards.  An example is `MISCOUNTS_THEN_HANGS`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple, get_args

import schedgen as sg
from schedgen.happens_before.case import Case, Past
from schedgen.happens_before.judge import violations
from schedgen.happens_before.matching import Matching
from schedgen.ir.schedule import Schedule
from schedgen.machine import HazardKind, explore
from schedgen.machine.explorer import DATA

Kinds = frozenset[str]

ALL_KINDS: frozenset[HazardKind] = frozenset(get_args(HazardKind))

RESULTS = frozenset({"SG209", "SG211", "SG215", "SG216", "SG501", "SG502", "SG503"})
"""Codes of what is computed and of limits: no interleaving shows them."""

RACE: Kinds = frozenset({"overwrite", "read-early", "wrong-tile", "wrong-box", "proxy"})
"""How a race may show.  Two accesses without an order: one begins while the other is open
("overwrite"; "read-early" if it reads what the other is just bringing), or one finds what the other
has left or not yet brought ("wrong-tile", "wrong-box" of results, "read-early"), by an ordinary
store perhaps ("proxy")."""

MISCOUNT: Kinds = frozenset({"count", "bytes", "phase"})


class Names(NamedTuple):
    """What a code may name: it shows as one of some kinds, and others may come with it."""

    shows: Kinds
    also: Kinds


def _names(*shows: str, also: Kinds = frozenset()) -> Names:
    return Names(frozenset(shows), also)


KINDS = {
    # by use, not by tile
    "SG201": _names("read-early", "wrong-tile", "wrong-box", "overwrite", also=RACE),
    "SG202": _names("wrong-tile"),
    "SG203": _names("overwrite", also=RACE),
    "SG204": _names("overwrite", also=RACE),
    # a stage is filled unacquired: a race, or the same seen by its barriers, when the acquire that
    # comes later may be lapped
    "SG205": _names("overwrite", "deadlock", *MISCOUNT, also=RACE),
    "SG206": _names("accumulator"),
    # an mma that never retires: whoever waits for that first; nobody, in a program that hangs
    "SG207": _names("exit", "accumulator", "overwrite", "deadlock"),
    "SG208": _names("fence"),
    "SG210": _names("proxy"),
    "SG212": _names("overwrite", "read-early", also=RACE),
    "SG213": _names("overwrite", also=RACE),
    "SG214": _names("exit"),
    "SG217": _names("wrong-box"),
    # a miscount shows where it is counted, or as the hang of somebody who is lapped
    "SG301": _names("count", "phase", also=frozenset({"deadlock", "bytes"})),
    "SG302": _names("bytes", "phase", also=frozenset({"deadlock", "count"})),
    "SG303": _names(*MISCOUNT, also=frozenset({"deadlock"})),
    "SG304": _names("phase", also=frozenset({"deadlock"})),
    "SG305": _names("phase", "deadlock"),
    "SG306": _names("phase", also=frozenset({"count"})),
    "SG309": _names("negative-use"),
}
"""The kinds of each code of order, counting and progress."""

HANG = _names("deadlock")
"""What the codes of somebody who waits for ever name, whatever code says why."""

LACKING = _names("deadlock", also=MISCOUNT)
"""The same where the reason is a wrong count or a lapped wait: it may show there already."""


class Claim(NamedTuple):
    """A violation of the checker: its code, and whether its counting run hangs in it."""

    code: str
    hangs: bool

    @property
    def names(self) -> Names:
        if not self.hangs:
            return KINDS[self.code]
        return LACKING if self.code in ("SG301", "SG302", "SG305") else HANG


@dataclass(frozen=True, kw_only=True)
class Search:
    """What the explorer reached, and whether it came to an end."""

    kinds: Kinds
    states: int
    complete: bool


NOTHING = Search(kinds=frozenset(), states=0, complete=True)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What both said at one K.

    ``first`` ends each branch at its first hazard, ``further`` goes on past hazards of data, and
    ``beyond`` past all; the latter two are asked for only where the one before found something.
    """

    claims: frozenset[Claim]
    causes: frozenset[str]
    first: Search
    further: Search
    beyond: Search

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Kinds that are reached before any miscount and that no claim names."""
        named = {kind for claim in self.claims for kind in claim.names.shows | claim.names.also}
        return tuple(sorted((self.first.kinds | self.further.kinds) - named))

    @property
    def unreached(self) -> tuple[str, ...]:
        """Causes that show as nothing that is reached."""
        there = self.first.kinds | self.further.kinds | self.beyond.kinds
        return tuple(
            code for code in sorted(self.causes)
            if not any(c.code == code and c.names.shows & there for c in self.claims)
        )  # fmt: skip

    @property
    def complete(self) -> bool:
        """Whether the explorer's budget sufficed for what the statements need."""
        if not self.first.complete:
            return False
        return not self.unreached or (self.further.complete and self.beyond.complete)

    def __str__(self) -> str:
        claims = ", ".join(sorted(c.code + "!" * c.hangs for c in self.claims)) or "nothing"
        causes = ", ".join(sorted(self.causes)) or "nothing"
        found = (
            f"{name}: {', '.join(sorted(s.kinds)) or 'nothing'} in {s.states} states"
            f"{'' if s.complete else ', given up'}"
            for name, s in (
                ("explorer", self.first), ("past data", self.further), ("past all", self.beyond)
            )
        )  # fmt: skip
        return f"checker: {claims}; causes: {causes}\n" + "\n".join(found)


def compare(schedule: Schedule, k_tiles: int, *, budget: int) -> Comparison:
    """Ask both."""

    def search(past: frozenset[HazardKind]) -> Search:
        found = explore(schedule, k_tiles=k_tiles, budget=budget, past=past)
        return Search(kinds=frozenset(found.reached), states=found.states, complete=found.complete)

    violated = list(violations(Case(Matching(schedule, k_tiles), Counter(), Past())))
    claims = {Claim(v.finding.code, v.whole_run) for v in violated}
    causes = {finding.code for finding in sg.check(schedule, k_tiles).findings}
    first = search(frozenset())
    result = Comparison(
        claims=frozenset(c for c in claims if c.code not in RESULTS),
        causes=frozenset(causes - RESULTS), first=first,
        further=search(DATA) if first.kinds & DATA else NOTHING, beyond=NOTHING,
    )  # fmt: skip
    if result.unreached and any(v.counting and not v.whole_run for v in violated):
        return dataclasses.replace(result, beyond=search(ALL_KINDS))
    return result


MISCOUNTS_THEN_HANGS = """schedule miscounts_then_hangs
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring left stages 3 empty 1 full 1 {
  slot A : f16 64x64 = a rows 0
}
ring right stages 1 empty 1 full 1 {
  slot B : f16 64x64 = b rows 0
}
acc acc : f32 64x64 = c rows 0
role producer warp {
  for k in 0..K {
    acquire left.empty
    expect left.full bytes 8192
    load left.A k
    advance left
    acquire right.empty
    expect right.full bytes 8192
    load right.B k
    advance right
  }
}
role consumer warpgroup {
  for k in 0..K {
    acquire left.full
    acquire right.full
    fence
    mma acc, left.A, right.B, k
    commit
    wait 0
    release left.empty
    release left.empty
    advance left
    advance right
  }
  store acc -> c
}
"""
"""K = 4: `right` is never released, so the producer waits for ever (SG308); but `left` is released
twice, and the second arrival meets a phase that nobody has seen complete (SG306), before."""
