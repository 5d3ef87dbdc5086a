"""Async groups: which commit closes which ops, and which groups a wait covers.

A commit closes everything issued since the last commit, whatever step it came from, so mma and
commit are never paired by position.  wgmma groups belong to the warp group (the replica), bulk
store groups to the thread that issues them (the actor); PTX 9.7.15.7.3 and 9.7.9.27.  Groups are
formed as the counting run issues their ops: an op joins the group that its actor's next commit
closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Queue


def executes(instance: Instance, actor: int) -> bool:
    """Whether an actor runs the instance; actor 0 is the elected thread's warp."""
    return actor == 0 or not instance.facts.elected


@dataclass(slots=True, eq=False)
class Group:
    """One async group; ``read`` and ``done`` are the events that end it, once they happened.

    ``commits`` counts the actors that closed it; ``lost``: an op of it names a use before the
    first, so that it never ends.
    """

    index: int
    issues: list[int] = field(default_factory=list[int])
    commits: int = 0
    lost: bool = False
    read: int | None = None
    done: int | None = None

    def fork(self) -> Group:
        if self.done is not None:
            return self
        return Group(self.index, self.issues.copy(), self.commits, self.lost, self.read, self.done)


@dataclass(slots=True, eq=False)
class _Owner:
    """The groups of one queue of one replica (wgmma) or actor (stores).

    ``closed``: how many groups each actor has committed; ``of_seq``: the group of each op.
    """

    closed: dict[int, int]
    groups: list[Group] = field(default_factory=list[Group])
    of_seq: dict[int, int] = field(default_factory=dict[int, int])

    def fork(self) -> _Owner:
        groups = [group.fork() for group in self.groups]
        return _Owner(self.closed.copy(), groups, self.of_seq.copy())

    def open_group(self, actor: int, seq: int) -> Group:
        """The group that the actor's next commit closes; the op joins it."""
        index = self.of_seq[seq] = self.closed[actor]
        if index == len(self.groups):
            self.groups.append(Group(index))
        return self.groups[index]


class GroupTable:
    """The groups of all replicas, as far as they were issued."""

    def __init__(self, actors: Sequence[int]) -> None:
        """``actors``: how many each replica has."""
        self._wgmma = [_Owner(dict.fromkeys(range(count), 0)) for count in actors]
        self._stores = [[_Owner({actor: 0}) for actor in range(count)] for count in actors]

    def fork(self) -> GroupTable:
        made = GroupTable(())
        made._wgmma = [owner.fork() for owner in self._wgmma]
        made._stores = [[owner.fork() for owner in owners] for owners in self._stores]
        return made

    def _owner(self, replica: int, actor: int, queue: Queue) -> _Owner:
        return self._wgmma[replica] if queue == "wgmma" else self._stores[replica][actor]

    def lose(self, replica: int, actor: int, queue: Queue, seq: int) -> None:
        """Note an op that joins its group but is never issued."""
        self._owner(replica, actor, queue).open_group(actor, seq).lost = True

    def join(self, replica: int, actor: int, queue: Queue, seq: int, node: int) -> None:
        """Note the issue of an op that joins the open group."""
        self._owner(replica, actor, queue).open_group(actor, seq).issues.append(node)

    def commit(
        self, replica: int, actor: int, queue: Queue, seq: int, node: int
    ) -> tuple[Group, Group | None] | None:
        """Note a commit; the group that can end now, if one can, and the one before it."""
        owner = self._owner(replica, actor, queue)
        group = owner.open_group(actor, seq)
        group.issues.append(node)
        group.commits += 1
        owner.closed[actor] += 1
        previous = owner.groups[group.index - 1] if group.index else None
        if group.lost or group.commits < len(owner.closed):
            return None
        if queue == "wgmma" and previous is not None and previous.done is None:
            return None
        return group, previous

    def covered(self, replica: int, actor: int, wait: Instance) -> list[Group]:
        """The groups that a wait blocks for: all committed before it but the ``depth`` newest."""
        effect = wait.effects.group
        assert effect is not None
        owner = self._owner(replica, actor, effect.queue)
        end = max(owner.closed[actor] - effect.depth, 0)
        return owner.groups[max(end - 1, 0) if effect.queue == "wgmma" else 0 : end]

    def end_of_reading(self, replica: int, actor: int, queue: Queue, seq: int) -> int | None:
        """When the group of an op has read its sources, None if it never does (so far)."""
        owner = self._owner(replica, actor, queue)
        index = owner.of_seq.get(seq)
        return None if index is None else owner.groups[index].read
