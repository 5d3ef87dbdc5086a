"""Laws of a comparison: nothing is lost on either side, and what is equal is said to be so."""

from hypothesis import given, note

import schedgen as sg
from schedgen.comparison import Tag, comparison_json, comparison_text
from schedgen.ir.printer import to_text
from tests.strategies import mutants, small_pipelines, soups


def lines_of(schedule):
    """The printed lines but the name's, without their columns."""
    return [line.strip() for line in to_text(schedule).splitlines()[1:]]


def sides(compared):
    rows = [row for section in compared.sections for row in section.rows]
    left = [row.left.strip() for row in rows if row.left is not None]
    return left, [row.right.strip() for row in rows if row.right is not None], rows


def check(a, b):
    compared = sg.diff(a, b)
    left, right, rows = sides(compared)
    assert left == lines_of(a)
    assert sorted(right) == sorted(lines_of(b))  # roles stand in the order of the first
    for row in rows:
        both = row.left is not None and row.right is not None
        assert both == (row.tag in (Tag.SAME, Tag.CHANGED))
        assert (row.left == row.right) == (row.tag is Tag.SAME)
    moved = [row for row in rows if row.tag is Tag.MOVED]
    assert sum(row.left is None for row in moved) >= sum(row.right is None for row in moved)
    assert comparison_json(compared)["same"] == compared.is_same
    for width in (30, 80):
        text = comparison_text(compared, width=width)
        assert text.endswith("\n")
    return compared


@given(soups(), soups())
def test_nothing_is_lost(a, b):
    check(a, b)


@given(soups())
def test_a_schedule_is_the_same_as_itself(schedule):
    assert check(schedule, schedule).is_same


@given(small_pipelines().flatmap(lambda s: mutants(s).map(lambda m: (s, m))))
def test_one_edit_is_a_few_lines(pair):
    before, after = pair
    note(sg.show(before))
    compared = check(before, after)
    assert compared.is_same == (before == after)
