"""Many K at once come to the same as each K by itself: what they have in common is judged once.

The schedules that tell a fork that forgets something go wrong late: they are right for small K, and
from some K on an op is missing or another, so that what breaks then was executed long before.
"""

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.happens_before.case import Case, Past
from schedgen.happens_before.forking import Stem
from schedgen.happens_before.judge import breaches, explicit_bound, judge
from schedgen.happens_before.matching import Matching, reachability
from schedgen.ir.expr import Compare, Int, Name
from schedgen.ir.schedule import If
from schedgen.testing.edits import count, edited, variants
from tests.strategies import mutants, small_pipelines

TESTS = Path(__file__).parents[1]
FILES = sorted([*TESTS.glob("known_good/*.sched"), *TESTS.glob("known_bad/sg[23]*.sched")])
MOST = 12
BY_TRANSITIVITY = {"SG203", "SG210"}
"""Pairs of accesses: a pair with a write in between is ordered if both parts are."""


@st.composite
def late_mutants(draw, base):
    """The schedule, which from some K on runs a mutant's statement instead of its own."""
    index = draw(st.integers(0, len(base.roles) - 1))
    role = base.roles[index]
    number = draw(st.integers(0, count(role.body) - 1))
    first = draw(st.integers(1, 7))

    def become(stmt, after):
        made = draw(st.sampled_from([v for v in variants(stmt, after) if v[:1] != (after,)]))
        guards = [Compare(op, Name("K"), Int(first)) for op in ("<", ">=")]
        return tuple(If(guard=g, body=b) for g, b in zip(guards, ((stmt,), made), strict=True) if b)

    changed = dataclasses.replace(role, body=edited(role.body, number, become))
    return dataclasses.replace(base, roles=(*base.roles[:index], changed, *base.roles[index + 1 :]))


def placed(schedule):
    """The schedule as its text says it; the text is what a failure prints."""
    text = sg.show(schedule)
    note(text)
    try:
        return sg.parse(text, name="generated.sched")
    except sg.IllFormed:  # a mutant whose loop is gone and its variable still used
        assume(False)


def first_refuted(schedule, trips):
    """The first K of the range that is refuted by itself, with what is found there."""
    for k in trips:
        findings = [f for f in judge(schedule, trips=[k]).findings if f.k is not None]
        if findings:
            return k, findings
    return None, []


def agree(schedule, trips):
    """At once and one by one: the same first K, and there the same findings to the last word."""
    k, alone = first_refuted(schedule, trips)
    together = [f for f in judge(schedule, trips=trips).findings if f.k is not None]
    assert [f for f in together if f.k == k] == alone
    assert min((f.k for f in together), default=None) == k


def named_graph(run):
    """What comes directly after what, by names that do not depend on the order of the run."""
    names = [
        (e.kind, e.actor, e.instance and (e.instance.role.name, e.instance.replica, e.instance.seq))
        for e in run.events
    ]
    return {
        name: {names[u] for u in before}
        for name, before in zip(names, run.predecessors, strict=True)
    }


def forked(schedule, trips):
    """For each K the last part of its run and what all parts checked, as long as all is clean."""
    shared = Counter()
    own = []

    def rules(case):
        before = case.checked.copy()
        found = list(breaches(case))
        if case.matching.ended:
            own.append((case, case.checked - before))
        else:
            shared.update(case.checked - before)
        return iter(found)

    stem = Stem(schedule, rules)
    for k, following in zip(trips, [*trips[1:], None], strict=True):
        if stem.judge(k, following) is None:
            return
        case, checked = own[-1]
        yield k, case, shared + checked
        if stem.run is None:  # K had nothing in common with the next
            shared.clear()


def same_parts(schedule, trips):
    """The parts have the graph of the run from the beginning, and check all that it checks."""
    for k, case, checked in forked(schedule, trips):
        alone = Case(Matching(schedule, k), Counter(), Past())
        assert list(breaches(alone)) == []
        assert named_graph(case.matching) == named_graph(alone.matching), f"K = {k}"
        assert case.before == reachability(case.matching.predecessors)
        codes = {*checked, *alone.checked} - BY_TRANSITIVITY
        assert {c: checked[c] for c in codes} == {c: alone.checked[c] for c in codes}, f"K = {k}"


def bounded(schedule):
    return range(min(explicit_bound(schedule), MOST) + 1)


def compare(schedule, trips):
    agree(schedule, trips)
    same_parts(schedule, trips)


@given(small_pipelines())
def test_pipelines(schedule):
    schedule = placed(schedule)
    compare(schedule, bounded(schedule))


@given(st.data(), small_pipelines())
def test_mutants(data, schedule):
    mutant = placed(data.draw(mutants(schedule)))
    compare(mutant, bounded(mutant))


@given(st.data(), small_pipelines())
def test_late_mutants(data, schedule):
    mutant = placed(data.draw(late_mutants(schedule)))
    compare(mutant, range(MOST + 1))


@given(st.data(), st.sampled_from(FILES))
def test_late_mutants_of_known_schedules(data, file):
    mutant = placed(data.draw(late_mutants(sg.load(file))))
    compare(mutant, range(MOST + 1))


@given(st.data(), small_pipelines(), st.sets(st.integers(0, MOST), min_size=2))
def test_any_trips(data, schedule, trips):
    """K that do not follow one another share what they share."""
    mutant = placed(data.draw(late_mutants(schedule)))
    compare(mutant, sorted(trips))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_schedules(file):
    schedule = sg.load(file)
    compare(schedule, bounded(schedule))


LATE = {
    "a tile that depends on K": ("v4", {"load tma.B k": "load tma.B max(k, K - 3)"}, 4),
    "another use": ("v4", {
        "warpgroup {": "warpgroup { if K < 4 { fence } if K > 3 { advance tma }",
    }, 4),
    "a later wait": ("v4", {"    wait 0": "    if K < 4 { wait 0 } wait 1"}, 4),
    "a write over what was read long ago": ("v4", {
        "role consumer": "role late warp { if K > 2 { write tma.B } }\nrole consumer",
    }, 3),
    "a store of what is in flight": ("v5", {
        "  store acc -> c": "if K < 4 { store acc -> c }",
        "  wait 0": "if K > 3 { store acc -> c }\n  wait 0",
    }, 4),
    "a commit beyond what is common": ("v4", {
        "    commit\n    wait 0\n    release tma.empty\n": (
            "    if k < K - 1 { commit wait 0 release tma.empty }\n"
        ),
        "  store acc -> c": "commit wait 0 if K > 0 { release tma.empty lag 1 } store acc -> c",
    }, None),
}  # fmt: skip
"""Edits of a kernel, and the K from which on it is wrong: what is alike for two K and is not."""


@pytest.mark.parametrize("name", LATE)
def test_late(name):
    kernel, edits, k = LATE[name]
    text = sg.show(sg.load(f"hopper_matmul_{kernel}"))
    for old, new in edits.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    schedule = sg.parse(text, name="late.sched")
    assert first_refuted(schedule, range(9))[0] == k
    compare(schedule, range(9))


def test_little_is_executed_again():
    """From K to K + 1 only the ends differ: the middle is executed once."""
    v5 = sg.load("hopper_matmul_v5")
    stem = Stem(v5, breaches)
    events = [stem.judge(k, k + 1)[0] for k in range(40)]
    assert events[20] == events[39]
    assert events[39] < len(Matching(v5, 39).events) / 10
