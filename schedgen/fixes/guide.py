"""Which edits to try first for a finding, and near which lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from schedgen.diagnostics.finding import Finding
from schedgen.fixes.edits import Candidate, field_edits, number_edits
from schedgen.fixes.moves import add_edits, move_edits, remove_edits
from schedgen.ir.schedule import Schedule

GUIDE: Mapping[str, tuple[str, ...]] = {
    "SG201": ("executor", "move", "add acquire", "add sync", "lag", "bytes", "add load"),
    "SG202": ("lag", "add advance", "move", "remove advance"),
    "SG203": ("lag release +", "move", "depth wait -", "add wait", "executor", "lag", "add commit"),
    "SG204": ("remove load", "lag", "move", "add acquire"),
    "SG205": ("move", "lag", "add acquire"),
    "SG206": ("move", "depth wait -", "add wait", "remove touch"),
    "SG207": ("add commit", "move", "add wait"),
    "SG208": ("add fence", "move"),
    "SG209": ("remove mma", "remove", "move"),
    "SG210": ("executor", "move", "add fence proxy", "add sync"),
    "SG212": ("add sync", "move", "executor"),
    "SG213": ("add sync", "move", "executor"),
    "SG214": ("add store-commit", "add store-wait", "add wait", "move", "add acquire"),
    "SG215": ("remove store", "remove tma-store"),
    "SG301": ("number empty", "number full", "number count", "number threads",
              "add expect", "add advance", "move", "remove", "executor", "add release",
              "add arrive", "add sync"),
    "SG302": ("bytes", "move", "add load", "add expect", "remove load", "executor"),
    "SG303": ("move", "number full", "number empty", "number count", "add acquire", "remove",
              "add sync"),
    "SG304": ("lag", "move", "number count", "executor", "add await", "remove"),
    "SG305": ("add sync", "move", "executor", "number empty", "lag"),
    "SG306": ("lag", "move", "remove arrive", "add await", "add acquire", "remove"),
    "SG307": ("lag release -", "number stages +", "move", "lag", "depth", "remove"),
    "SG308": ("lag release", "move release", "add advance", "add release", "number empty",
              "lag", "add arrive"),
    "SG309": ("lag", "add advance", "move", "remove"),
    "SG310": ("lag", "move", "add load", "add expect", "remove"),
    "SG501": ("number stages -",),
    "SG502": ("depth", "remove"),
}  # fmt: skip
"""For each code the patterns of edits, the likeliest first; only what is named here is added."""

OTHERS = (
    "lag", "depth", "executor", "bytes", "number empty", "number full", "number count",
    "number threads", "move", "remove",
)  # fmt: skip
"""What is tried after the patterns of the code; other stages only where a code names them."""


UNTRIED: Mapping[str, str] = {
    "SG202": "another K tile or slab of a load or an mma, other bounds of a loop",
    "SG209": "another K tile of an mma, other bounds of a loop, another guard",
    "SG211": "other operands and slabs of an mma, other rows of a slot",
    "SG215": "other rows of an accumulator, another number of replicas",
    "SG216": "another type or size of a buffer",
    "SG310": "other bounds of a loop, another guard",
    "SG503": "another tile, another number of replicas",
}
"""What a finding may point to and no edit touches; little time is spent on two edits there."""


def single_edits(schedule: Schedule, finding: Finding) -> list[Candidate]:
    """Every single edit by the patterns of the finding's code, what is near its rows first.

    Moves, additions and removals far from the rows come last, since there are many of them, and
    additions where nobody would write the line after their like.  An `advance` or `expect` has one
    place in a step: there it counts as near, and elsewhere comes after all.
    The order depends on the schedule and the finding alone.
    """
    patterns = (*GUIDE.get(finding.code, ()), *OTHERS)
    near = _Nearness(finding)
    everything = list(_all(schedule, patterns))
    made = [one for one in everything if _rank(one, patterns) < len(patterns)]
    keys: list[tuple[int, int, bool, int, int]] = []
    for number, one in enumerate(made):
        distance = near.of(one)
        far = distance > NEAR and one.edit.kind in ("move", "add", "remove")
        late = int(far)
        if one.edit.kind == "add" and one.edit.subject in ("advance", "expect"):
            late = 2 if one.odd else 0
        keys.append((late, _rank(one, patterns), one.odd, distance, number))
    return [made[key[-1]] for key in sorted(keys)]


def is_guided(candidate: Candidate, finding: Finding) -> bool:
    """Whether the code's own patterns name the edit, in a role that the finding shows."""
    patterns = GUIDE.get(finding.code, ())
    named = _rank(candidate, patterns) < len(patterns)
    return named and _Nearness(finding).of(candidate) <= ROLE


def _all(schedule: Schedule, patterns: Iterable[str]) -> Iterator[Candidate]:
    yield from field_edits(schedule)
    yield from number_edits(schedule)
    yield from move_edits(schedule)
    for pattern in patterns:
        if pattern.startswith("add "):
            yield from add_edits(schedule, pattern.removeprefix("add "))
    yield from remove_edits(schedule)


def _rank(candidate: Candidate, patterns: tuple[str, ...]) -> int:
    """The number of the first pattern that fits: kind, then a keyword, then ``+`` or ``-``."""
    kind, subject = candidate.edit.kind, candidate.edit.subject
    sign = {1: "+", -1: "-"}.get(candidate.up)
    for number, pattern in enumerate(patterns):
        wanted, _, rest = pattern.partition(" ")
        keyword, signed = (rest[:-2], rest[-1]) if rest.endswith((" +", " -")) else (rest, sign)
        if wanted == kind and signed == sign and keyword in ("", *subject.split(" and ")):
            return number
    return len(patterns)


AT, NEAR, ROLE, ELSEWHERE = range(4)
FEW_LINES = 10


class _Nearness:
    """How near an edit is to the rows of a finding.

    It changes one of their lines, a line few lines away in the same role, one in a role of theirs,
    or another.
    """

    def __init__(self, finding: Finding) -> None:
        self.places = {row.place for row in finding.rows if row.place is not None}
        self.roles = {row.role for row in finding.rows if row.role}
        self.lines = [(r.role, r.place.line) for r in finding.rows if r.role and r.place]

    def of(self, candidate: Candidate) -> int:
        edit = candidate.edit
        if any(place in self.places for place in edit.places):
            return AT
        lines = [place.line for place in edit.places]
        if any(
            edit.role == role and abs(line - at) <= FEW_LINES
            for role, at in self.lines
            for line in lines
        ):
            return NEAR
        return NEAR if edit.role is None else ROLE if edit.role in self.roles else ELSEWHERE
