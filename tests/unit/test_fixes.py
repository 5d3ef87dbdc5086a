"""Repairs: proved, small, what a person would do, and the same at every call."""

import dataclasses
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.fixes import FULL, Budget, Fix, NoFix, search
from schedgen.fixes.edits import field_edits, number_edits
from schedgen.fixes.guide import GUIDE, single_edits
from schedgen.fixes.intent import Intent
from schedgen.fixes.lines import flat, nested, ops_around, without_empty_block
from schedgen.fixes.moves import add_edits, move_edits, remove_edits
from schedgen.fixes.overlap import groups_in_flight
from schedgen.fixes.vocabulary import _MAKERS
from schedgen.happens_before.limits import MAX_WAIT_DEPTH
from schedgen.ir import ops
from schedgen.machine import adversaries, execute
from tests.refusals import V5, changed

BAD = Path(__file__).parents[1] / "known_bad"


def bad(name):
    return sg.load(BAD / f"{name}.sched")


REPAIRS = {
    "sg201_mma_before_acquire": "moves below `acquire tma.full`",
    "sg203_early_release": "`wait 1` becomes `wait 0`",
    "sg203_no_wait_in_loop": "`wait 1` comes below `commit`",
    "sg203_one_wait_skipped": "`wait 0` moves above `if k != 3*5`",
    "sg203_release_above_wait": "`release tma.empty lag 1` moves below `wait 1`",
    "sg203_wait_two": "`wait 2` becomes `wait 1`",
    "sg205_load_above_acquire": "`load tma.A[0] k` moves below `acquire tma.empty`",
    "sg207_no_peeled_commit": "`commit` comes below",
    "sg208_no_fence_after_touch": "`fence` comes below",
    "sg210_no_proxy_fence": "`fence proxy` comes below",
    "sg301_empty_count_three": "`empty 3` of tma becomes `empty 2`",
    "sg302_bytes_too_few": "`expect tma.full bytes 49136` becomes `expect tma.full bytes 49152`",
    "sg302_load_missing": "`load tma.A[1] k` comes below",
    "sg306_nobody_waits": "`arrive turn` goes",
    "sg306_nobody_waits_from_nine": "`await done` moves above `if k < 9`",
    "sg308_last_release_dropped": "`if K > 0 { release tma.empty lag 1 }` comes below",
    "sg308_lost_release": "`release tma.empty` becomes `release tma.empty lag 1`, 2 times",
    "sg501_five_stages": "`stages 5` of tma becomes `stages 4`",
}
"""What the first edit says, and that it is the only one."""


@pytest.mark.parametrize("name", REPAIRS)
def test_one_edit_repairs_it(name):
    fix = sg.suggest_fix(bad(name))
    assert [e.text for e in fix.edits if REPAIRS[name] in e.text] == [fix.edits[0].text]
    assert len(fix.edits) == 1
    assert sg.check(fix.schedule).outcome is fix.verdict.outcome is sg.Outcome.PROVED


@pytest.mark.parametrize("name", ["sg203_wait_two", "sg301_empty_count_three",
                                  "sg302_load_missing", "sg308_lost_release"])  # fmt: skip
def test_the_repair_is_v5_again(name):
    repaired = sg.suggest_fix(bad(name)).schedule
    assert repaired == sg.parse(V5)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("sg204_two_loads_of_one_slot", ["`load tma.B k` goes", "bytes 49152`"]),
        ("sg207_no_commit", ["`commit` comes", "`commit` comes"]),
    ],
)
def test_two_edits_repair_it(name, texts):
    fix = sg.suggest_fix(bad(name))
    assert len(fix.edits) == len(texts)
    assert all(text in edit.text for text, edit in zip(texts, fix.edits, strict=True))


@pytest.mark.parametrize("name", ["sg202_load_of_the_next_tile", "sg211_operands_swapped"])
def test_what_has_no_small_repair_gets_none(name):
    schedule = bad(name)
    assert sg.suggest_fix(schedule) is None
    found = search(schedule, sg.check(schedule), FULL)
    assert isinstance(found, NoFix)
    assert f"{found.judged} schedules" in found.text


def test_a_proved_schedule_needs_none():
    v5 = sg.load("hopper_matmul_v5")
    assert sg.suggest_fix(v5) is None
    assert search(v5, sg.check(v5), FULL) == NoFix(judged=0, complete=True, untried=None)


def test_the_same_at_every_call():
    schedule = bad("sg203_release_above_wait")
    first, second = (sg.suggest_fix(schedule) for _ in range(2))
    assert (first.edits, first.judged) == (second.edits, second.judged)
    assert first.schedule == second.schedule


def test_a_budget_ends_the_search_and_says_so():
    schedule = bad("sg203_wait_two")
    little = Budget(candidates=500, proofs=5, ops=300, first_edits=0, second_edits=0, more=0)
    found = search(schedule, sg.check(schedule), little)
    assert isinstance(found, NoFix)
    assert not found.complete
    assert "the budget was spent" in found.text


# --- among proved edits, the one that keeps most groups in flight
GUARDED = changed(
    V5,
    (V5[V5.index("  if K > 0 {\n    acquire") : V5.index("  for k in 1..K {")], ""),
    ("for k in 1..K", "for k in 0..K"),
    ("    release tma.empty lag 1\n    advance tma\n",
     "    if k > 0 {\n      release tma.empty lag 1\n    }\n    advance tma\n"),
)  # fmt: skip


def test_the_guarded_form_of_v5_is_proved():
    assert sg.check(sg.parse(GUARDED)).outcome is sg.Outcome.PROVED


@pytest.mark.parametrize("text", [V5, GUARDED])
@pytest.mark.parametrize("depth", [2, 3, 9])
def test_the_overlap_is_kept_where_a_depth_keeps_it(text, depth):
    fix = sg.suggest_fix(sg.parse(text.replace("wait 1", f"wait {depth}")))
    assert [e.text for e in fix.edits] == [f"`wait {depth}` becomes `wait 1`"]
    assert fix.notes == ()


def test_a_repair_without_overlap_says_so():
    fix = sg.suggest_fix(bad("sg203_early_release"))
    assert fix.notes == ("no wgmma group stays in flight in the loop any more",)


def test_stages_are_not_paid_for_groups_in_flight():
    """An acquire of the next use keeps two groups, and leaves a stage unused."""
    fix = sg.suggest_fix(bad("sg203_second_loop_waits_for_less"))
    assert [e.text for e in fix.edits] == ["`wait 1` becomes `wait 0`"]


def test_groups_in_flight_are_those_that_every_wait_of_the_loop_leaves():
    v5 = sg.parse(V5)
    assert groups_in_flight(v5) == 1
    drained = changed(V5, ("    wait 1\n", "    wait 1\n    wait 0\n"))
    assert groups_in_flight(sg.parse(drained)) == 0
    twice = changed(V5, ("    commit\n    wait 1\n", "    commit\n    commit\n    wait 1\n"))
    assert groups_in_flight(sg.parse(twice)) == 0  # the second group is empty
    assert groups_in_flight(sg.parse(changed(V5, ("    wait 1\n", "")))) == MAX_WAIT_DEPTH
    assert groups_in_flight(sg.load("hopper_matmul_v4")) == 0


# --- where a line is put, and how that is said
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("    load tma.B k\n    advance tma\n", "    load tma.B k\n",
         "`advance tma` comes below `load tma.B k` (producer, below line 15)"),
        ("  wait 0\n  if K > 0 {\n    release tma.empty lag 1\n  }\n", "  wait 0\n",
         "`if K > 0 { release tma.empty lag 1 }` comes below `wait 0` (consumer, below line 40)"),
        ("  wait 0\n", "",
         "`wait 0` comes below the end of `for k in 1..K` (consumer, above line 40)"),
        ("  wait 0\n", "  wait 1\n", "`wait 1` becomes `wait 0` (consumer, line 40)"),
        ("    mma acc, tma.A[self], tma.B, 0\n    commit\n",
         "    mma acc, tma.A[self], tma.B, 0\n",
         "`commit` comes below `mma acc, tma.A[self], tma.B, 0` (consumer, below line 27)"),
        ("    commit\n    wait 1\n", "    wait 1\n    commit\n",
         "`wait 1` moves below `commit` (consumer, below line 36)"),
    ],
)  # fmt: skip
def test_the_line_is_the_one_beside_which_the_op_is_put(old, new, says):
    assert sg.suggest_fix(sg.parse(changed(V5, (old, new)))).text == says


LOADS = "    load tma.A[0] k\n    load tma.A[1] k\n    load tma.B k\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    acquire tma.empty\n    expect tma.full bytes 49152\n" + LOADS,
         "    expect tma.full bytes 49152\n" + LOADS + "    acquire tma.empty\n"),
        ("    acquire tma.empty\n    expect tma.full bytes 49152\n    load tma.A[0] k\n",
         "    expect tma.full bytes 49152\n    load tma.A[0] k\n    acquire tma.empty\n"),
        ("    expect tma.full bytes 49152\n", ""),
        ("B k\n    advance tma\n", "B k\n"),
        ("B, 0\n    commit\n    advance tma\n", "B, 0\n    commit\n"),
        ("lag 1\n    advance tma\n", "lag 1\n"),
    ],
)  # fmt: skip
def test_a_slip_in_one_line_is_repaired_to_what_it_was(old, new):
    """Late acquires, and an `expect` or `advance` that was forgotten, in a few candidates."""
    fix = sg.suggest_fix(sg.parse(changed(V5, (old, new))))
    assert fix.schedule == sg.parse(V5)
    assert len(fix.edits) == 1
    assert fix.judged < 50


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("v5_two_rings", "    expect right.full bytes 32768\n"),
        ("prefetch_before_the_mma", "      expect tma.full bytes 16384 ahead 2\n"),
    ],
)
def test_a_forgotten_expect_comes_above_the_loads_of_its_use(name, line):
    whole = sg.load(BAD.parent / "known_good" / f"{name}.sched")
    fix = sg.suggest_fix(sg.parse(changed(sg.show(whole), (line, ""))))
    assert fix.schedule == whole


def test_the_ops_around_a_gap_are_those_of_its_block():
    items = flat(sg.parse(V5).roles[1].body)
    end = items.index(None)
    assert "advance" in {op.keyword for op in ops_around(items, end)}
    assert len(ops_around(items, end)) == 5
    assert {op.keyword for op in ops_around(items, end + 1)} == {"wait", "store"}


def test_a_missing_acquire_is_put_above_the_fence():
    fix = sg.suggest_fix(bad("sg201_no_acquire_of_full"))
    assert fix.schedule == sg.parse(V5)


@pytest.mark.parametrize(
    ("old", "new", "untried"),
    [
        ("load tma.B k", "load tma.B 0", "another K tile"),
        ("for k in 1..K", "for k in 0..K", "other bounds of a loop"),
    ],
)
def test_what_no_edit_touches_is_said(old, new, untried):
    schedule = sg.parse(changed(V5, (old, new)))
    found = search(schedule, sg.check(schedule), FULL)
    assert isinstance(found, NoFix)
    assert untried in found.text.partition("; never tried: ")[2]
    assert found.judged < 150


def test_a_fix_is_frozen():
    fix = sg.suggest_fix(bad("sg301_empty_count_one"))
    assert isinstance(fix, Fix)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fix.edits = ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        fix.edits[0].text = ""


# --- what a repair must keep
def test_another_order_of_the_products_is_not_what_was_meant():
    v5 = sg.parse(V5)
    swapped = changed(
        V5, ("    acquire tma.full\n    fence\n", "    fence\n    acquire tma.full\n")
    )
    assert Intent(v5).is_kept(sg.parse(swapped))  # order of ops is none of its business
    backwards = changed(
        V5, ("tma.B, k\n", "tma.B, K - k\n"), ("tma.B, 0\n", "tma.B, 0\n"),
    )  # fmt: skip
    assert not Intent(v5).is_kept(sg.parse(backwards))


def test_less_order_is_not_what_was_meant():
    v5 = sg.parse(V5)
    hoisted = changed(V5, ("tma.stages {\n    acquire tma.empty\n", "tma.stages {\n"))
    assert sg.check(sg.parse(hoisted)).outcome is sg.Outcome.PROVED
    assert not Intent(v5).is_kept(sg.parse(hoisted))


def test_less_work_is_not_what_was_meant():
    v5 = sg.parse(V5)
    for line in (
        "    mma acc, tma.A[self], tma.B, k\n",
        "    load tma.B k\n",
        "  store acc -> c\n",
    ):
        assert not Intent(v5).is_kept(sg.parse(changed(V5, (line, ""))))


# --- edits
def test_lines_and_back():
    for role in sg.parse(V5).roles:
        assert nested(flat(role.body)) == role.body


def test_an_emptied_block_goes_with_its_op():
    guarded = sg.parse(V5).roles[1].body[-2]
    items = flat((guarded,))
    assert [type(i).__name__ for i in items] == ["If", "Release", "NoneType"]
    assert without_empty_block((items[0], items[2]), 1) == ()


def test_ops_that_agree_change_together():
    made = {c.edit.text: c for c in field_edits(sg.parse(V5))}
    both = made["`release tma.empty lag 1` becomes `release tma.empty lag 2`, 2 times"]
    assert sg.show(both.schedule) == V5.replace("empty lag 1", "empty lag 2")
    assert made["`wait 1` becomes `wait 0`"].schedule != made["`wait 0` becomes `wait 1`"].schedule


def test_numbers_stay_positive():
    schedules = [c.schedule for c in number_edits(sg.parse(V5))]
    assert {s.rings[0].stages for s in schedules} == {3, 4, 5}
    assert {s.rings[0].full for s in schedules} == {1, 2}


def test_every_op_moves_by_one_line_and_is_taken_away():
    v5 = sg.parse(V5)
    count = sum(1 for role in v5.roles for i in flat(role.body) if isinstance(i, ops.Op))
    assert sum(1 for _ in remove_edits(v5)) == count
    for candidate in move_edits(v5):
        before, after = V5.splitlines(), sg.show(candidate.schedule).splitlines()
        assert len(after) <= len(before)
        assert candidate.schedule != v5


def test_an_op_is_added_with_a_guard_of_the_role():
    texts = [c.edit.text for c in add_edits(sg.parse(V5), "release")]
    assert any(t.startswith("`if K > 0 { release tma.empty lag 1 }` comes below") for t in texts)


@pytest.mark.parametrize("code", GUIDE)
def test_a_guide_names_edits_that_there_are(code):
    kinds = {"lag", "depth", "executor", "bytes", "number", "move", "add", "remove"}
    for pattern in GUIDE[code]:
        kind, _, subject = pattern.partition(" ")
        assert kind in kinds
        if kind == "add":
            assert subject in _MAKERS


def test_what_is_near_the_rows_comes_first():
    schedule = bad("sg301_empty_count_three")
    finding = sg.check(schedule).findings[0]
    assert single_edits(schedule, finding)[0].edit.subject == "empty"


@pytest.mark.parametrize("name", ["sg203_wait_two", "sg204_two_loads_of_one_slot",
                                  "sg210_no_proxy_fence", "sg308_lost_release"])  # fmt: skip
def test_the_machine_finds_no_fault_in_a_repair(name):
    """The other judge, which shares only the language with the one that proved it."""
    repaired = sg.suggest_fix(bad(name)).schedule
    for k_tiles in (0, 1, 5, 9):
        for policy in adversaries(repaired):
            outcome = execute(
                repaired, k_tiles=k_tiles, policy=policy, operands=None, stop_at_first=True
            )
            assert outcome.hazards == ()
    tile = repaired.tile
    assert sg.run(repaired, m=tile.m, n=tile.n, k=5 * tile.k, device="cpu").ok
