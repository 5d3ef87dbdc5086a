"""Edits that make a schedule change its ways at some K or k: what a proof for every K must see.

A statement comes under a guard, an op gets another depth or offset on one side of a guard, a loop
is split in two.  Constants are small, so that brute force over K finds what is wrong.
"""

import dataclasses

from hypothesis import strategies as st

from schedgen.ir import ops
from schedgen.ir.expr import Binary, Compare, Int, Name
from schedgen.ir.schedule import If, Loop
from tests.strategies import mutants, small_pipelines

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
LARGEST = 7
K, k = Name("K"), Name("k")


@st.composite
def guards(draw, *, in_loop):
    """``K > 3``, ``k == 5``, ``k + 2 < K``, ``k != min(K - 1, 4)``."""
    number = Int(draw(st.integers(0, LARGEST)))
    near_end = Binary("-", K, Int(draw(st.integers(0, 3))))
    sides = [(K, number)]
    if in_loop:
        sides += [(k, number), (Binary("+", k, number), K), (k, Binary("min", near_end, number))]
    return Compare(draw(st.sampled_from(list(OPPOSITE))), *draw(st.sampled_from(sides)))


def paths(body, path=(), in_loop=False):
    """Every statement of a body: its path, and whether a loop over k is around it."""
    for number, stmt in enumerate(body):
        yield (*path, number), in_loop
        if isinstance(stmt, Loop | If):
            inside = in_loop or (isinstance(stmt, Loop) and stmt.var == "k")
            yield from paths(stmt.body, (*path, number), inside)


def at(body, path):
    """The statement at a path."""
    number, *rest = path
    return at(body[number].body, rest) if rest else body[number]


def rewritten(body, path, change):
    """The body with the statement at a path replaced by those that ``change`` makes of it."""
    number, *rest = path
    stmt = body[number]
    if rest:
        made = (dataclasses.replace(stmt, body=rewritten(stmt.body, rest, change)),)
    else:
        made = change(stmt)
    return (*body[:number], *made, *body[number + 1 :])


@st.composite
def changes(draw, *, in_loop):
    """A function from a statement to the statements that take its place."""
    guard = draw(guards(in_loop=in_loop))
    other = Compare(OPPOSITE[guard.op], guard.left, guard.right)
    how = draw(st.sampled_from(["guard", "differ", "split"]))
    depth, shift = draw(st.integers(0, 2)), draw(st.sampled_from([-1, 0, 1]))
    number = Int(draw(st.integers(1, 6)))
    cuts = [Binary("min", number, K), Binary("max", Binary("-", K, number), Int(0))]
    cut = draw(st.sampled_from(cuts))

    def change(stmt):
        if how == "split" and isinstance(stmt, Loop) and stmt.var == "k":
            return dataclasses.replace(stmt, end=cut), dataclasses.replace(stmt, first=cut)
        if how == "differ" and isinstance(stmt, ops.Wait):
            changed = dataclasses.replace(stmt, depth=depth)
        elif how == "differ" and isinstance(stmt, ops.Release | ops.Acquire | ops.Load):
            changed = dataclasses.replace(stmt, offset=stmt.offset + shift)
        else:
            return (If(guard=guard, body=(stmt,)),)
        return If(guard=guard, body=(stmt,)), If(guard=other, body=(changed,))

    return change


@st.composite
def guarded(draw, schedule):
    """The schedule with one such edit."""
    number = draw(st.integers(0, len(schedule.roles) - 1))
    role = schedule.roles[number]
    places = list(paths(role.body))
    if draw(st.booleans()):  # loops are few, and to split one breaks nothing
        places = [(p, inside) for p, inside in places if isinstance(at(role.body, p), Loop)]
    path, in_loop = draw(st.sampled_from(places))
    change = draw(changes(in_loop=in_loop))
    made = dataclasses.replace(role, body=rewritten(role.body, path, change))
    roles = (*schedule.roles[:number], made, *schedule.roles[number + 1 :])
    return dataclasses.replace(schedule, roles=roles)


@st.composite
def guarded_schedules(draw):
    """A small pipeline with an edit under a guard, and perhaps another edit."""
    schedule = draw(guarded(draw(small_pipelines())))
    edit = draw(st.sampled_from([None, guarded, guarded, mutants]))
    return schedule if edit is None else draw(edit(schedule))


@st.composite
def late_schedules(draw):
    """A small pipeline with up to two edits, most of them under guards."""
    schedule = draw(small_pipelines())
    for _ in range(draw(st.integers(0, 2))):
        edit = draw(st.sampled_from([guarded, guarded, guarded, mutants]))
        schedule = draw(edit(schedule))
    return schedule
