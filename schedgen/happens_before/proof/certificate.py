"""The proof for every K.

Setting
-------
For large K the program of a role is: a fixed text, the turns of its first loop over K, a fixed
text, and so on (module `text`).  The event graph G_K is laid out in *zones* and *stretches* of
*columns* (module `turns`): a column holds one turn of each role, the turns that use the same ring
uses together.  All columns of a stretch have the same events (their *labels*), K + a of them.

The matching is declared (module `phases`): every contribution and wait of G_K is known from the
text, and what it means moves on by the same number of uses or phases from column to column.  So
the edges are known as well, for every K: with D the greatest distance in columns of an edge, the
edges of a column are those of the middle column unless it lies within a few columns of an end.
(These and D are read off one G_K whose middle is longer than what the declarations say that an
edge can span, ``declared_reach``; that its edges repeat there is checked.)

Method A (module `folded`): the edges of the middle column as a graph of labels, each edge with its
distance as a weight.  No cycle has weight <= 0 (the middle makes progress), and M, the least weight
of a path with its sign changed, is by how many columns an order can lead back.

Method B.  A cut of a stretch lies between two columns, with n columns of the stretch on its left
and n' on its right.  Let W >= D.  A_n is the order among the events of the zones on the left and of
the last W columns on the left, by paths that stay on the left; B_n' is the same on the right.

Lemma.  A_(n+1) is a function f of A_n and of the edges that join column n + 1 to what is on its
left: a path on the left of the new cut that dips below the window starts and ends the excursion in
the window or a zone, and A_n contains its summary.  Beyond the *ragged* columns, those near an end
whose edges differ from the middle's, f is the same at every n.  So if A_n = A_(n+1) (up to the
shift) for one such n = j, then A_n = A_j for every n >= j; and B_n' = B_i for n' >= i likewise.

Theorem
-------
*Let N be more than the largest constant of a bound or guard, and such that every stretch of G_N has
at least j + i columns, each with its own j and i.  Let every K <= N be judged without a finding.
Then no K has one.*  (Case 3 asks for a larger N where an edge leads back or buffers lie in a ring.)

Proof.  Take K > N and the declared matching.  It suffices that its P1-P6 and all other obligations
hold, and that G_K has no cycle: then the theorem of `matching` makes it the matching of every
execution.  Sums (counts, bytes) are those of a column that also occurs in G_N.  What is left is
order: obligations "u before v".

(1) Near.  Let u and v lie in zones or within W columns on either side of one cut.  A path from u to
v is a chain of paths on the left, paths on the right, and edges across the cut, whose ends lie in
the windows or in zones.  So whether u is before v depends on A_n, B_n' and the middle's edges
alone.  The stretch has more than j + i columns, so n >= j or n' >= i.  In the first case the cut of
G_N with the same n' (or, if n' > i, with n' = i) has at least j columns on its left, hence the same
A and B, and u and v have their counterparts there; in the second case likewise.  In particular G_K
has no cycle, since G_N has none.

(2) Far.  Let u and v lie in columns of one stretch, v more than T columns after u, where T is at
least M plus the columns of a lap of any ring, and at least the distance over which P3-P6 ask.  Move
v back by laps until the distance d is in (T - lap, T]; this is a near pair (2 W > T), with the same
obligation, which G_N meets.  As d > M it is not met by v before u; so u before v holds.  Every op
is before the same op of the next turn, and so are the retirements of groups; a landing has no
predecessor but its issue.  Hence u is before every later counterpart of v.

(3) A zone and a column, or two zones, or columns of two stretches.  Zones are part of every A_n and
B_n', so (1) applies to them; but whether two uses lie in one stage may depend on K.  If no edge
leads back, a path from u to v stays between them, and inserting a column keeps it: it crosses the
column by an edge whose end, or beginning, is before its counterpart of the next turn.  So G_K has
every order that G_K' has, K' being K less some laps, between counterparts; K' <= N can be chosen
so that u and v keep their stages.  If some edge leads back, there must be one stretch, and N leaves
T columns more, a lap among them, so that (1) finds every stage.  A buffer that lies in a ring names
a stage and no use, so which columns meet it depends on K modulo the lap; N then leaves a lap more
(common to all rings with buffers), so that every remainder has a K <= N whose cuts are settled.

(4) Obligations that name "some" or "the last" event (an observer of a phase, a fence, the last
write before a read) are met in G_N by events that are near or before all; their counterparts meet
them in G_K.

(5) Coverage: the tiles that are multiplied are fixed numbers, K plus fixed numbers, and runs of
consecutive tiles between such ends.  From K to K + 1 the collection changes by tiles that lie at
fixed distances from K, the same for every K; at K = N it changes by the tile N.  QED

The certificate names the numbers; ``tests/recheck.py`` checks them without this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

from schedgen.happens_before.matching import Matching
from schedgen.happens_before.proof.columns import Columns, Shape
from schedgen.happens_before.proof.folded import descent
from schedgen.happens_before.proof.parities import require_parities
from schedgen.happens_before.proof.phases import (
    phase_reach,
    require_declared,
    require_moving_uses,
)
from schedgen.happens_before.proof.text import Obstacle, ProgramText, read_text
from schedgen.happens_before.proof.turns import Stretch, stretch_of, turn_starts
from schedgen.happens_before.proof.windows import State, Windows
from schedgen.happens_before.unroll import OverBudget
from schedgen.ir.schedule import Schedule, ops_of

MOST_ROUNDS = 8


@dataclass(frozen=True, kw_only=True)
class StretchProof:
    """One stretch: its columns at K = N, and from how many columns on A and B repeat.

    ``blocks``: for each replica (numbered in the order of the roles) the ordinal of the first
    instance of its first column in its unrolled program, and the instances of a column.
    """

    columns: int
    left: int
    right: int
    blocks: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Why what holds for K = 0..``explicit`` holds for every K.

    ``constant`` is the largest constant of a bound or guard (c), ``distance`` the greatest distance
    of an edge (D), ``reach`` that of an obligation that is near (T), ``descent`` how far a path
    leads back (M), ``window`` the columns on each side of a cut (W); all in columns.
    """

    constant: int
    distance: int
    reach: int
    descent: int
    window: int
    explicit: int
    stretches: tuple[StretchProof, ...]

    @property
    def repeat(self) -> int:
        """From how many columns on, from the left, nothing new happens."""
        return max((s.left for s in self.stretches), default=0)


def prove(schedule: Schedule) -> Certificate:
    """The numbers of the proof; the K up to ``explicit`` are still to be judged.

    Raises `Obstacle` where the argument does not apply.
    """
    texts = [
        read_text(schedule, role, i) for role in schedule.roles for i in range(role.replica_count)
    ]
    slopes = {slope for text in texts for slope in text.tiles}
    if len(slopes) > 1:
        raise Obstacle("the roles walk through K in different directions")
    turns = {text.turns for text in texts if text.turns}
    if len(turns) > 1:
        raise Obstacle(f"the roles have {' and '.join(map(str, sorted(turns)))} loops over K")
    largest = max((text.largest for text in texts), default=0)
    try:
        return _Prover(schedule, texts, largest).certificate()
    except OverBudget:
        raise Obstacle(
            f"with the constant {largest} in its text a K that shows the middle of the loop has "
            f"more events than the checker unrolls"
        ) from None


@dataclass
class _Prover:
    schedule: Schedule
    texts: list[ProgramText]
    largest: int

    def certificate(self) -> Certificate:
        """Look for a K that shows a repeat on both sides."""
        k_tiles = 3 * self.largest + 2 * self._guess() + 6
        for _ in range(MOST_ROUNDS):
            columns = self._columns(k_tiles)
            reach = self.declared_reach(columns.stretches)
            short = 2 * reach + 2 - min(columns.lengths, default=2 * reach + 2)
            if short <= 0:
                made = self._repeats(columns, k_tiles, reach)
                if isinstance(made, Certificate):
                    return made
                short = made
            k_tiles += short
        raise Obstacle(f"the order of events did not settle up to K = {k_tiles}")

    def _guess(self) -> int:
        offsets = [abs(op.offset) for role in self.schedule.roles for op in ops_of(role.body)]
        return max((r.stages for r in self.schedule.rings), default=1) + max(offsets, default=0)

    def declared_reach(self, stretches: Sequence[Stretch]) -> int:
        """How many columns an edge can span, from stages, offsets, depths and cursors."""
        reach = 1
        ops = [op for role in self.schedule.roles for op in ops_of(role.body)]
        offset = max((abs(op.offset) for op in ops), default=0)
        groups = [op.effects().group for op in ops]
        depth = max((g.depth for g in groups if g is not None), default=0)
        for stretch in stretches:
            for ring, rate in stretch.rates.items():
                lap = -(-(self.schedule.ring(ring).stages + offset) // rate)
                reach = max(reach, lap + stretch.skew + 1, depth + 1)
        return reach

    def _columns(self, k_tiles: int) -> Columns:
        matching = Matching(self.schedule, k_tiles)
        if matching.blocked:
            raise Obstacle(f"it does not come to its end at K = {k_tiles}")
        owners = [(r, i) for r in self.schedule.roles for i in range(r.replica_count)]
        starts = [
            turn_starts(self.schedule, role, i, k_tiles, text.growing)
            for (role, i), text in zip(owners, self.texts, strict=True)
        ]
        count = max(map(len, starts), default=0)
        stretches = [stretch_of(matching.replicas, starts, m) for m in range(count)]
        return Columns(matching, stretches)

    def _repeats(self, columns: Columns, k_tiles: int, reach: int) -> Certificate | int:
        """The certificate, or how much larger K must be to show the repeats."""
        require_declared(columns)
        require_parities(columns)
        require_moving_uses(columns)
        shapes = [columns.shape(m) for m in range(len(columns.lengths))]
        back = max((descent(s.inner) for s in shapes), default=0)
        distance = max((abs(d) for s in shapes for _, _, d in s.inner), default=0)
        ragged = max((max(s.left, s.right) for s in shapes), default=0)
        if max(distance, ragged - 1) > reach:
            raise Obstacle("an order reaches over more turns than stages and offsets explain")
        near = max(phase_reach(columns), back + self._lap(columns.stretches))
        window = max(distance, (near + 2) // 2)
        found: list[StretchProof] = []
        spare, slack = k_tiles, 0
        if columns.goes_back:
            slack = near
            if len(shapes) > 1:
                raise Obstacle("several loops over K, and an order that leads back")
        for m, shape in enumerate(shapes):
            proof = _stretch_proof(columns, m, shape, window)
            if isinstance(proof, int):
                return proof
            found.append(proof)
            spare = min(spare, proof.columns - proof.left - proof.right - slack)
        if spare < 0:
            return -spare
        explicit = max(k_tiles - spare, self.largest + 2) + self._alias_lap()
        return Certificate(
            constant=self.largest, distance=distance, reach=near, descent=back, window=window,
            explicit=explicit, stretches=_shortened(found, k_tiles - explicit),
        )  # fmt: skip

    def _alias_lap(self) -> int:
        """A common lap of the rings in which buffers lie: the K that stand for all larger ones have
        every remainder, with all cuts settled."""
        rings = {b.alias.ring for b in self.schedule.buffers if b.alias is not None}
        return lcm(*(self.schedule.ring(ring).stages for ring in rings)) if rings else 0

    def _lap(self, stretches: Sequence[Stretch]) -> int:
        laps = [
            self.schedule.ring(ring).stages // gcd(self.schedule.ring(ring).stages, rate)
            for stretch in stretches
            for ring, rate in stretch.rates.items()
        ]
        return max(laps, default=1)


def _shortened(found: Sequence[StretchProof], drop: int) -> tuple[StretchProof, ...]:
    """The same stretches for a K that is smaller by ``drop``."""
    made: list[StretchProof] = []
    for number, proof in enumerate(found):
        blocks = {
            replica: (start - drop * sum(s.blocks[replica][1] for s in found[:number]), step)
            for replica, (start, step) in proof.blocks.items()
        }
        made.append(replace(proof, columns=proof.columns - drop, blocks=blocks))
    return tuple(made)


def _stretch_proof(columns: Columns, m: int, shape: Shape, window: int) -> StretchProof | int:
    windows = Windows(columns, m, window)
    length = windows.length
    left = _first_repeat(windows.left, max(window, shape.left), length)
    right = _first_repeat(windows.right, max(window, shape.right), length)
    if left is None or right is None:
        return length
    blocks = {r: (b.start, b.step) for r, b in columns.stretches[m].blocks.items()}
    return StretchProof(columns=length, left=left, right=right, blocks=blocks)


def _first_repeat(state: Callable[[int], State], first: int, length: int) -> int | None:
    """The least n >= ``first`` whose state is that of n + 1."""
    known = state(first) if first <= length else ()
    for n in range(first, length):
        following = state(n + 1)
        if following == known:
            return n
        known = following
    return None
