"""The abstract machine: executes a schedule one step at a time.

It judges the judge: it shares the IR and its declared effects with the checker, and no function.
Axioms (PTX ISA 9.0; those marked *assumption* are not promised there):

- Roles run concurrently; an actor executes its program in order, at its own pace.
- mbarrier (9.7.13.15): a parity and two counters; see `barrier`.  *Assumption*: an arrival on a
  phase whose arrivals are complete leaves the counters negative (PTX leaves it undefined).
- TMA load (cp.async.bulk.tensor, 9.7.9.27): writes its slab at any time after issue, in any order
  with other loads; in the same instant its bytes complete on the full barrier of its use.
  A box that sticks out delivers all its bytes, zeros outside.
- wgmma (9.7.15.7): reads its slots from the first actor's issue until its group retires; commit
  closes everything since the last commit; groups of a role replica retire in order; `wait n`
  blocks while more than n of the actor's committed groups are pending.  *Assumption*: a group
  retires only after every actor issued its mma and the commit.
- wgmma.fence (9.7.15.7.1) orders registers: needed before the first mma and after ordinary
  access of its accumulator.
- Proxies (9.7.13.4): an ordinary store is visible to TMA and wgmma only after `fence proxy` by
  the actor that stored.  Data that came by TMA and was waited for needs no fence.
- TMA store (9.7.9.27.1): reads its source until its bulk group drains; groups belong to the
  issuing actor.  *Assumption*: they drain in order, and reading and writing end together.
- Named barriers (9.7.13.1): count threads of whole warps; all that entered return together.
- Shared memory and barriers outlive nothing: what is in flight when the last role ends is lost.

The state is plain data.  `Machine.enabled` lists the moves that are possible in it and
`Machine.apply` makes one, so that any scheduler, and a search over all of them, can drive it.
"""

from __future__ import annotations

from typing import Literal

from schedgen.ir.effects import Engine
from schedgen.machine.ending import in_flight, stuck, waits_for
from schedgen.machine.hazard import Hazard, HazardKind, Site, Step
from schedgen.machine.memory import Open
from schedgen.machine.program import Instruction, Program
from schedgen.machine.state import BEFORE, INSIDE, RELEASED, Move, first_state
from schedgen.machine.tensors import Tensors


class Machine:
    """A program with a state and, unless only tile names matter, numbers."""

    def __init__(self, program: Program, tensors: Tensors | None) -> None:
        self.program = program
        self.tensors = tensors
        self.state = first_state(program)
        self.hazards: list[Hazard] = []
        self.steps: list[Step] = []
        self._code = [actor.code for actor in program.actors]

    # --- what is possible
    def instruction(self, actor: int) -> Instruction | None:
        """The actor's next instruction, None at its end."""
        at = self.state.position[actor]
        code = self._code[actor]
        return code[at] if at < len(code) else None

    def can_step(self, actor: int) -> bool:
        state = self.state
        at, code = state.position[actor], self._code[actor]
        if at >= len(code):
            return False
        here = code[at]
        if not here.blocking:
            return True
        if here.sync is not None:
            return state.phase[actor] != INSIDE
        if here.negative:
            return True
        if here.wait is not None and not state.barriers[here.wait[0]].has_passed(here.wait[1]):
            return False
        team = self.program.actors[actor].team
        return state.retired[team] >= here.groups and state.drained[actor] >= here.stores

    def can_retire(self, team: int) -> bool:
        groups, ordinal = self.program.teams[team].groups, self.state.retired[team]
        if ordinal >= len(groups):
            return False
        position = self.state.position
        return all(position[actor] >= least for actor, least in groups[ordinal].passed)

    def can_drain(self, actor: int) -> bool:
        known = self.program.actors[actor]
        ordinal = self.state.drained[actor]
        if ordinal >= len(known.batches):
            return False
        return self.state.position[actor] > known.index[known.batches[ordinal].commit]

    def completions(self) -> list[Move]:
        """Everything asynchronous that may complete now, oldest load first."""
        moves = [Move("land", actor, at) for actor, at in self.state.loads]
        moves += [Move("drain", a, 0) for a in range(len(self._code)) if self.can_drain(a)]
        moves += [
            Move("retire", t, 0) for t in range(len(self.program.teams)) if self.can_retire(t)
        ]
        return moves

    def enabled(self) -> list[Move]:
        """Every move that is possible now."""
        actors = [Move("actor", a, 0) for a in range(len(self._code)) if self.can_step(a)]
        return actors + self.completions()

    @property
    def has_ended(self) -> bool:
        return all(
            at >= len(code) for at, code in zip(self.state.position, self._code, strict=True)
        )

    # --- what happens
    def apply(self, move: Move) -> None:
        """Make a possible move."""
        if move.kind == "actor":
            self._step(move.who)
        elif move.kind == "land":
            self._land(move.who, move.at)
        elif move.kind == "retire":
            self._retire(move.who)
        else:
            self._drain(move.who)

    def skip_silent(self, actor: int, until: int | None = None) -> None:
        """Go past instructions that concern nobody else: no order of them can matter."""
        code, position = self._code[actor], self.state.position
        end = len(code) if until is None else until
        while position[actor] < end and code[position[actor]].silent:
            position[actor] += 1

    def enter(self, actor: int) -> None:
        """Begin to wait; only a named barrier notices."""
        here = self._here(actor)
        self._log(actor, "start", here.seq)
        self.state.phase[actor] = INSIDE
        if here.sync is not None:
            threads = self.program.actors[actor].threads
            for other in self.state.named[here.sync].enter(actor, threads):
                self.state.phase[other] = RELEASED

    def _here(self, actor: int) -> Instruction:
        return self._code[actor][self.state.position[actor]]

    def _step(self, actor: int) -> None:
        here, phase = self._here(actor), self.state.phase[actor]
        if here.sync is not None and phase == BEFORE:
            self.enter(actor)
        elif here.blocking:
            self._log(actor, "return", here.seq)
            self._perform(actor, here)
        elif phase == INSIDE:
            self._log(actor, "close", here.seq)
            self._close(actor, here)
        else:
            self._log(actor, "issue", here.seq)
            self._perform(actor, here)

    def _perform(self, actor: int, here: Instruction) -> None:
        """The part of an op that its actor does: all of it, or all but its completion."""
        if here.negative:
            message = f"`{here.op.text}` names a use before the first"
            self._report("negative-use", message, actor, here, None, None)
            self._leave(actor)
            return
        if here.unfenced:
            message = f"`{here.op.text}` without a wgmma fence since its registers were accessed"
            self._report("fence", message, actor, here, None, None)
        if here.free_after > self.state.retired[self.program.actors[actor].team]:
            message = f"`{here.op.text}` while an mma that uses the accumulator is pending"
            self._report("accumulator", message, actor, here, None, None)
        if here.effects.fence == "proxy":
            for slab in self.state.slabs:
                slab.unfenced.discard(actor)
        self._begin(actor, here)
        if here.effects.engine is Engine.WARP and here.touches:
            self.state.phase[actor] = INSIDE
            return
        self._finish(actor, here)

    def _begin(self, actor: int, here: Instruction) -> None:
        team = self.program.actors[actor].team
        at = self.state.position[actor]
        for touch in here.touches:
            access = Open((team, here.seq), actor, at, touch)
            for kind, message, other in self.state.slabs[touch.place].begin(access):
                name = self.program.places[touch.place].name
                site = None if other is None else self.site(other.actor, other.at)
                note = "" if site is None else f" by {site}"
                self._report(kind, f"{name} {message}{note}", actor, here, name, site)
        if here.effects.engine is Engine.TMA:
            self.state.loads.append((actor, at))
        elif here.effects.engine is not Engine.WARP and self.tensors is not None:
            self.tensors.issue(self._key(actor, here), here)

    def _close(self, actor: int, here: Instruction) -> None:
        """End an ordinary access."""
        key = (self.program.actors[actor].team, here.seq)
        for touch in here.touches:
            slab = self.state.slabs[touch.place]
            slab.end(key, actor)
            if touch.writes:
                slab.store(key, touch.box)
        self._finish(actor, here)

    def _finish(self, actor: int, here: Instruction) -> None:
        known = self.program.actors[actor]
        if self.tensors is not None and here.effects.engine is Engine.WARP:
            self.tensors.copy(self.program.teams[known.team], known, here)
        signal = here.effects.signal
        if signal is not None and here.signalled is not None:
            barrier = self.state.barriers[here.signalled]
            warps = len(known.warps)  # each warp that the actor stands for signals
            if signal.expected:
                barrier.expect(signal.expected * warps)
            if signal.arrivals and barrier.pending <= 0:
                name = self.program.barriers[here.signalled][0]
                message = f"{name} gets an arrival more than its phase counts"
                self._report("count", message, actor, here, name, None)
            barrier.arrive(signal.arrivals * warps)
            if here.delivered and here.effects.engine is Engine.WARP:
                barrier.deliver(here.delivered)
        self._leave(actor)

    def _leave(self, actor: int) -> None:
        self.state.position[actor] += 1
        self.state.phase[actor] = BEFORE

    def _land(self, actor: int, at: int) -> None:
        self.state.loads.remove((actor, at))
        load = self._code[actor][at]
        team = self.program.actors[actor].team
        self._note(team, "land", load.seq)
        for touch in load.touches:
            slab = self.state.slabs[touch.place]
            slab.end((team, load.seq), actor)
            slab.land((team, load.seq), touch.tile)
            if self.tensors is not None:
                self.tensors.land(touch)
        if load.signalled is not None:
            self.state.barriers[load.signalled].deliver(load.delivered)

    def _retire(self, team: int) -> None:
        known = self.program.teams[team]
        group = known.groups[self.state.retired[team]]
        self.state.retired[team] += 1
        self._note(team, "retire", group.commit)
        for seq in group.mma:
            issued = False
            for actor in known.actors:
                index = self.program.actors[actor].index.get(seq)
                if index is None or self._code[actor][index].negative:
                    continue
                mma = self._code[actor][index]
                if self.tensors is not None and not issued:
                    self.tensors.multiply(team, (team, seq), mma)
                issued = True
                for touch in mma.touches:
                    self.state.slabs[touch.place].end((team, seq), None)

    def _drain(self, actor: int) -> None:
        known = self.program.actors[actor]
        batch = known.batches[self.state.drained[actor]]
        self.state.drained[actor] += 1
        self._note(known.team, "drain", batch.commit)
        for seq in batch.stores:
            store = self._code[actor][known.index[seq]]
            if store.negative:
                continue
            if self.tensors is not None:
                self.tensors.drain(self._key(actor, store), store)
            for touch in store.touches:
                self.state.slabs[touch.place].end((known.team, seq), actor)

    def _key(self, actor: int, here: Instruction) -> tuple[int, int]:
        return self.program.actors[actor].team, here.seq

    # --- what is said about it
    def why_blocked(self, actor: int) -> str:
        """What the actor waits for at its instruction."""
        return waits_for(self.program, self.state, actor)[0]

    def report_end(self) -> None:
        """No move is left, or none is needed: say what is stuck, or what is still in flight."""
        found = in_flight if self.has_ended else stuck
        for kind, message, actor, at, where in found(self.program, self.state):
            here = self._code[actor][at]
            self._report(kind, message, actor, here, where, None)

    def site(self, actor: int, index: int) -> Site:
        known = self.program.actors[actor]
        here = known.code[index]
        label = self.program.teams[known.team].label
        return Site(role=label, actor=known.rank, op=here.op.text, place=here.op.place, k=here.k)

    def _report(
        self,
        kind: HazardKind,
        message: str,
        actor: int,
        here: Instruction,
        where: str | None,
        other: Site | None,
    ) -> None:
        site = self.site(actor, self.program.actors[actor].index[here.seq])
        self.hazards.append(
            Hazard(
                kind=kind, message=message, role=site.role, actor=site.actor, op=site.op,
                place=site.place, k=site.k, where=where, other=other,
            )
        )  # fmt: skip

    def _log(
        self, actor: int, event: Literal["issue", "close", "start", "return"], seq: int
    ) -> None:
        known = self.program.actors[actor]
        team = self.program.teams[known.team]
        self.steps.append(Step(team.role.name, team.replica, known.rank, event, seq))

    def _note(self, team: int, event: Literal["land", "retire", "drain"], seq: int) -> None:
        known = self.program.teams[team]
        self.steps.append(Step(known.role.name, known.replica, None, event, seq))
