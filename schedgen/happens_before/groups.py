"""Async groups: which commit closes which ops, and which groups a wait covers.

A commit closes everything issued since the last commit, whatever step it came from, so mma and
commit are never paired by position.  wgmma groups belong to the warp group (the replica), bulk
store groups to the thread that issues them (the actor); PTX 9.7.15.7.3 and 9.7.9.27.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from schedgen.happens_before.unroll import Instance
from schedgen.ir.effects import Executor, Queue


def executes(instance: Instance, actor: int) -> bool:
    """Whether an actor runs the instance; actor 0 is the elected thread's warp."""
    return actor == 0 or instance.effects.executor is not Executor.ELECTED


@dataclass(eq=False)
class Group:
    """One async group; ``read`` and ``done`` are the events that end it, once they happened."""

    queue: Queue
    index: int
    commit: int
    members: list[int]
    previous: Group | None
    waiting_for: int = 0
    issues: list[int] = field(default_factory=list[int])
    read: int | None = None
    done: int | None = None


@dataclass(eq=False)
class _Owner:
    """The groups of one queue of one replica (wgmma) or actor (stores)."""

    groups: list[Group] = field(default_factory=list[Group])
    of_seq: dict[int, Group] = field(default_factory=dict[int, Group])
    commits_before: dict[int, int] = field(default_factory=dict[int, int])


class GroupTable:
    """All groups of all replicas, known from the programs before anything runs."""

    def __init__(self, replicas: list[list[Instance]], actors: list[int]) -> None:
        self._owners: dict[tuple[int, int, Queue], _Owner] = {}
        for replica, program in enumerate(replicas):
            self._owners[replica, -1, "wgmma"] = _wgmma(program, actors[replica])
            for actor in range(actors[replica]):
                self._owners[replica, actor, "tma-store"] = _stores(program, actor)

    def _owner(self, replica: int, actor: int, queue: Queue) -> _Owner:
        return self._owners[replica, -1 if queue == "wgmma" else actor, queue]

    def issued(self, replica: int, actor: int, seq: int, node: int) -> Iterator[Group]:
        """Note an issue; yields the groups that can end now, oldest first."""
        for queue in ("wgmma", "tma-store"):
            owner = self._owner(replica, actor, queue)
            group = owner.of_seq.get(seq)
            if group is None:
                continue
            group.waiting_for -= 1
            group.issues.append(node)
            for candidate in owner.groups[group.index :]:
                previous = candidate.previous
                ready = queue == "tma-store" or previous is None or previous.done is not None
                if candidate.waiting_for or candidate.done is not None or not ready:
                    break
                yield candidate

    def covered(self, replica: int, actor: int, wait: Instance) -> list[Group]:
        """The groups that a wait blocks for: all committed before it but the ``depth`` newest."""
        effect = wait.effects.group
        assert effect is not None
        owner = self._owner(replica, actor, effect.queue)
        committed = owner.commits_before[wait.seq]
        covered = owner.groups[: max(committed - effect.depth, 0)]
        return covered[-1:] if effect.queue == "wgmma" else covered

    def group_of(self, replica: int, actor: int, seq: int) -> Group | None:
        """The group that an op belongs to, None for an uncommitted one."""
        for queue in ("wgmma", "tma-store"):
            group = self._owner(replica, actor, queue).of_seq.get(seq)
            if group is not None:
                return group
        return None


def _wgmma(program: list[Instance], actors: int) -> _Owner:
    everyone = range(actors)
    return _collect(program, "wgmma", lambda i: sum(executes(i, a) for a in everyone))


def _stores(program: list[Instance], actor: int) -> _Owner:
    return _collect(program, "tma-store", lambda i: int(executes(i, actor)))


def _collect(program: list[Instance], queue: Queue, issuers: Callable[[Instance], int]) -> _Owner:
    owner = _Owner()
    open_members: list[Instance] = []
    for instance in program:
        effect = instance.effects.group
        if effect is None or effect.queue != queue or not issuers(instance):
            continue
        if effect.action == "join":
            open_members.append(instance)
        elif effect.action == "commit":
            previous = owner.groups[-1] if owner.groups else None
            group = Group(
                queue, len(owner.groups), instance.seq, [m.seq for m in open_members], previous
            )
            for member in (*open_members, instance):
                owner.of_seq[member.seq] = group
                group.waiting_for += issuers(member)
            owner.groups.append(group)
            open_members = []
        else:
            owner.commits_before[instance.seq] = len(owner.groups)
    return owner
