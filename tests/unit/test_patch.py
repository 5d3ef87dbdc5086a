"""A repair changes the lines that it is about and no other."""

import pytest

import schedgen as sg
from schedgen.fixes import diff, patched
from schedgen.fixes.edits import field_edits, number_edits
from schedgen.fixes.moves import add_edits, move_edits, remove_edits
from schedgen.ir.problems import IllFormed
from schedgen.ir.spec import verify
from tests.refusals import V5

COMMENTED = "# the whole thing\n" + V5.replace("\n", "   # so it is\n", 12).replace(
    "    wait 1\n", "\n    # the depth\n    wait 1  # one in flight\n"
)


def edits(schedule):
    yield from field_edits(schedule)
    yield from number_edits(schedule)
    yield from move_edits(schedule)
    yield from remove_edits(schedule)
    yield from add_edits(schedule, "commit")
    yield from add_edits(schedule, "release")


def well_formed(schedule):
    try:
        verify(schedule)
    except IllFormed:
        return False
    return True


@pytest.mark.parametrize("style", ["printed", "commented", "tabs", "crlf", "no last line end"])
def test_every_edit_is_patched_in(style):
    text = {
        "printed": V5, "commented": COMMENTED, "tabs": V5.replace("  ", "\t"),
        "crlf": COMMENTED.replace("\n", "\r\n"), "no last line end": V5.rstrip("\n"),
    }[style]  # fmt: skip
    before = sg.parse(text)
    comments = text.count("#")
    for candidate in filter(lambda c: well_formed(c.schedule), edits(before)):
        made = patched(text, before, candidate.schedule)
        assert made.kept, candidate.edit.text
        assert sg.parse(made.text) == candidate.schedule, candidate.edit.text
        assert comments - made.text.count("#") <= 2, candidate.edit.text


def test_only_the_line_changes():
    before = sg.parse(COMMENTED)
    after = sg.parse(COMMENTED.replace("wait 1 ", "wait 0 "))
    assert patched(COMMENTED, before, after).text == COMMENTED.replace("wait 1 ", "wait 0 ")


def test_a_new_line_is_indented_like_its_neighbours():
    text = V5.replace("  ", "    ").replace("            wait 1", "        wait 1")
    before = sg.parse(text)
    after = sg.parse(text.replace("wait 1\n", "wait 1\n        touch acc\n"))
    assert "\n        wait 1\n        touch acc\n" in patched(text, before, after).text


def test_several_ops_in_a_line_are_printed_anew():
    text = V5.replace("    commit\n    wait 1\n", "    commit wait 1\n")
    before = sg.parse(text)
    after = sg.parse(V5.replace("wait 1", "wait 0"))
    made = patched(text, before, after)
    assert (made.kept, sg.parse(made.text)) == (False, after)


def test_a_crowded_line_elsewhere_does_no_harm():
    text = V5.replace(
        "    load tma.A[0] k\n    load tma.A[1] k\n", "load tma.A[0] k load tma.A[1] k\n"
    )
    after = sg.parse(V5.replace("wait 1", "wait 0"))
    made = patched(text, sg.parse(text), after)
    assert made.kept
    assert made.text == text.replace("wait 1", "wait 0")


def test_the_diff_names_the_file():
    assert diff("a\nb\n", "a\nc\n", "x.sched").splitlines() == [
        "--- x.sched", "+++ x.sched (fixed)", "@@ -1,2 +1,2 @@", " a", "-b", "+c",
    ]  # fmt: skip
