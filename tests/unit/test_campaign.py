"""Long runs: blocks are the same each time, a journal is taken up, pages are rewritten."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedgen as sg
from schedgen.machine import execute
from tests.benchmarks import agreement, brute_force
from tests.benchmarks.campaign import distinct, fresh, journalled, run, write_page
from tests.small_cases import Case


def rows(number):
    """Two cases, one of which the next block has again."""
    return [{"case": str(number)}, {"case": str(number + 1)}]


def finished(journal, wanted, blocks=range(100)):
    last = {}
    for done in run(
        rows, blocks, journal=journal, enough=lambda d: len(d) >= wanted, told=lambda _: ""
    ):
        last = dict(done)
    return last


def test_a_run_is_taken_up_where_it_was(tmp_path):
    journal = tmp_path / "new" / "journal.jsonl"
    assert sorted(finished(journal, 2))[:2] == [0, 1]
    with journal.open("a") as file:
        file.write('{"block": 50, "ro')  # stopped in the middle of a line
    before = journalled(journal)
    assert 50 not in before
    after = finished(journal, len(before) + 2)
    assert before.items() <= after.items()
    assert journalled(journal) == after
    assert after[0] == rows(0)


def test_each_case_counts_once():
    assert [r["case"] for r in distinct({1: rows(1), 0: rows(0)})] == ["0", "1", "2"]


def drawn(number):
    values = []

    @fresh(number, 10)
    @given(st.integers())
    def draw(value):
        values.append(value)

    draw()
    return values


def test_one_number_draws_the_same_cases():
    assert drawn(7) == drawn(7) != drawn(8)
    assert len(drawn(7)) == 10


def test_a_page_is_rewritten_whole(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n")
    write_page(page, "x", ["new"])
    assert page.read_text() == "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n"
    assert list(tmp_path.iterdir()) == [page]


def edited(schedule, old, new):
    text = sg.show(schedule)
    assert old in text
    return sg.parse(text.replace(old, new, 1), name="edited.sched")


SMALL = """schedule small
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages 1 empty 1 full 1 {
  slot A : f16 64x64 = a rows 0
  slot B : f16 64x64 = b rows 0
}
acc acc : f32 64x64 = c rows 0
role producer warp {
  for k in 0..K {
    acquire tma.empty
    expect tma.full bytes 16384
    load tma.A k
    load tma.B k
    advance tma
  }
}
role consumer warpgroup {
  for k in 0..K {
    acquire tma.full
    fence
    mma acc, tma.A, tma.B, k
    commit
    wait 0
    release tma.empty
    advance tma
  }
  store acc -> c
}
"""


def case(text, k_tiles=2):
    return Case("one ring", (), sg.parse(text, name="small.sched"), k_tiles)


def test_what_both_accept_is_also_run():
    row = agreement.judged(case(SMALL))
    assert (row["refused"], row["kinds"], row["complete"]) == (False, [], True)
    assert "disagreement" not in row
    json.dumps(row)


def test_what_both_refuse_is_named():
    row = agreement.judged(case(SMALL.replace("    wait 0\n", "")))
    assert row["refused"]
    assert "overwrite" in row["kinds"]
    assert row["named"]["overwrite"] == ["SG203"]
    assert "disagreement" not in row


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ("accepts", "reached, not named: overwrite"),
        ("runs badly", "accepted, yet overwrite"),
    ],
)
def test_a_disagreement_is_told(monkeypatch, say, told):
    broken = case(SMALL.replace("    wait 0\n", ""))
    monkeypatch.setattr("tests.agreement.violations", lambda _: iter(()))
    if say == "runs badly":
        clean = agreement.compare(case(SMALL).schedule, 2, budget=1000)
        monkeypatch.setattr(agreement, "compare", lambda *_, **__: clean)
    row = agreement.judged(broken)
    assert any(what.startswith(told) for what in row["disagreement"])
    assert row["text"] == sg.show(broken.schedule)


def test_a_wrong_product_is_told(monkeypatch):
    schedule = case(SMALL).schedule
    assert agreement.interpreted(schedule, 2) == []

    def other(*_, **__):
        done = execute(*_, **__)
        return dataclasses.replace(done, product=done.product + 1)

    monkeypatch.setattr(agreement, "execute", other)
    assert all(what.startswith("another product (") for what in agreement.interpreted(schedule, 2))
    assert agreement.interpreted(schedule, 2)


def test_the_page_has_a_row_for_every_family_and_kind():
    found = agreement.block(0, campaign=1)
    lines = list(agreement.page(distinct({0: found}), 1, 1))
    assert any(line.startswith("**") and "0 disagreements" in line for line in lines)
    assert sum(line.startswith("| ") for line in lines) > 20
    again = agreement.block(0, campaign=1)
    assert [r["case"] for r in again] == [r["case"] for r in found]


def test_brute_force_sees_a_false_proof(monkeypatch):
    schedule = edited(case(SMALL).schedule, "    wait 0\n", "    if k != 5 { wait 0 }\n")
    row = brute_force.judged(schedule)
    assert (row["outcome"], row["first"]) == ("refuted", 6)
    assert "disagreement" not in row
    good = sg.check(case(SMALL).schedule)

    def lying(s, k="all", check=sg.check):
        return good if k == "all" else check(s, k)

    monkeypatch.setattr(brute_force.sg, "check", lying)
    row = brute_force.judged(schedule)
    assert row["disagreement"][0] == "proved, yet wrong at K = 6"
    assert any(what.startswith("certificate") for what in row["disagreement"])
