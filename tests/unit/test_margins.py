"""Every reported limit is tight: at it the schedule is proved, one step beyond it is not.

The changed schedules are written here anew, as texts; nothing of `margins` helps with it.
"""

import dataclasses
import json
from functools import cache
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.margins import redundant
from schedgen.margins.slack import _slack
from schedgen.passes.retime import map_loops, retime
from tests.command_line import schedgen
from tests.refusals import V4, V5, changed

ROOT = Path(__file__).parents[2]


def text_of(name):
    """A schedule of the tests, as printed: places count lines of its text."""
    return sg.show(sg.load(ROOT / "tests" / f"{name}.sched"))


SERIAL = text_of("real_bugs/b26_good_two_loads_one_arrival")
IN_FLIGHT = text_of("real_bugs/b11_good_one_buffer_more")
SCHEDULES = {
    "v5": V5,
    "a wait that could be deeper": changed(IN_FLIGHT, ("wait 2", "wait 1")),
    **{
        name: text_of(f"known_good/{name}")
        for name in (
            "third_role_hands_stages_back", "first_loop_in_flight", "column_halves_in_turns",
            "prefetch_after_the_mma", "loop_to_the_last_two_tiles",
        )
    },
}  # fmt: skip
every_schedule = pytest.mark.parametrize("text", SCHEDULES.values(), ids=SCHEDULES)


@cache
def measured(text):
    return sg.limits(sg.parse(text))


def slack_of(text, barrier):
    return next(s for s in measured(text).slack if s.barrier == barrier)


def outcome(text):
    return sg.check(sg.parse(text)).outcome


def is_proved(text):
    return outcome(text) is sg.Outcome.PROVED


def with_lines(text, new):
    """The text with some lines (numbered from 1) replaced."""
    lines = text.splitlines()
    for number, line in new.items():
        lines[number - 1] = line
    return "\n".join(lines) + "\n"


def without(text, ops):
    """The text without the lines of some ops."""
    for op in ops:
        assert text.splitlines()[op.place.line - 1].strip() == op.op
    return with_lines(text, {op.place.line: "" for op in ops})


@every_schedule
def test_fewer_stages_are_not_proved(text):
    rings = [line for line in text.splitlines() if line.startswith("ring ")]
    found = measured(text).stages
    assert [f"ring {s.ring} stages {s.stages}" for s in found] == [
        line.partition(" empty")[0] for line in rings
    ]
    for ring in found:

        def stages(number, ring=ring):
            head = f"ring {ring.ring} stages "
            return changed(text, (f"{head}{ring.stages}", f"{head}{number}"))

        assert is_proved(stages(ring.least))
        assert [n for n in range(1, ring.least) if is_proved(stages(n))] == []
        below = None if ring.below is None else ring.below.value
        assert below == (None if ring.least == 1 else ring.least - 1)


@every_schedule
def test_a_deeper_wait_is_not_proved(text):
    assert measured(text).in_flight
    for found in measured(text).in_flight:

        def depth(number, found=found):
            return with_lines(text, {place.line: f"wait {number}" for place in found.places})

        assert depth(found.depth).split() == text.split()
        assert all(is_proved(depth(n)) for n in range(found.depth, found.greatest + 1))
        beyond = sg.check(sg.parse(depth(found.greatest + 1)))
        assert beyond.outcome is sg.Outcome.REFUTED
        assert {code for code, _ in found.above.findings} == {f.code for f in beyond.findings}


@every_schedule
def test_what_is_redundant_can_go_and_nothing_else(text):
    found = measured(text).redundant
    words = {"acquire", "await", "sync", "wait", "store-wait", "fence"}
    lines = [n for n, line in enumerate(text.splitlines(), 1) if {*line.split()[:1]} & words]
    assert found.candidates == len(lines)
    alone = {op.place.line for op in found.each_alone}
    assert {line for line in lines if is_proved(with_lines(text, {line: ""}))} == alone
    assert is_proved(without(text, found.together))
    for other in {*found.each_alone} - {*found.together}:
        assert not is_proved(without(text, [*found.together, other]))


@pytest.mark.parametrize("text", [V4, V5], ids=["v4", "v5"])
def test_without_what_is_redundant_it_computes_the_same(text):
    rest = sg.parse(without(text, measured(text).redundant.together))
    assert sg.run(rest, m=128, n=256, k=64 * 7, device="cpu").ok


@pytest.mark.parametrize(("stages", "lag"), [(2, 1), (3, 0), (3, 1), (4, 1), (4, 3)])
def test_slack_of_empty_is_the_lag_that_may_be_added(stages, lag):
    """A release that lags by t more hands its stage back t turns later."""

    def lagging(steps):
        serial = sg.parse(changed(SERIAL, ("stages 3", f"stages {stages}")))
        consumers = [loop for loop in serial.roles[1].body if hasattr(loop, "body")]
        return sg.show(
            map_loops(
                serial, lambda loop: loop in consumers, lambda loop: retime(loop, steps=steps)
            )
        )

    slack = slack_of(lagging(lag) if lag else changed(SERIAL, ("stages 3", f"stages {stages}")),
                     "tma.empty")  # fmt: skip
    assert (slack.turns, slack.middle, slack.basis) == (
        stages - 1 - lag,
        stages - 1 - lag,
        "judged",
    )
    assert is_proved(lagging(lag + slack.turns))
    beyond = sg.check(sg.parse(lagging(lag + slack.turns + 1)))
    assert "SG307" in {f.code for f in beyond.findings}


@pytest.mark.parametrize("barrier", ["tma.full", "tma.empty"])
def test_slack_is_how_far_a_role_may_wait_ahead(barrier):
    slack = slack_of(V5, barrier)
    loop = "  for k in 1..K {\n" if barrier == "tma.full" else "  for k in 0..K {\n"

    def waiting(ahead):
        wait = f"    if k < K - {ahead} {{\n      acquire {barrier} ahead {ahead}\n    }}\n"
        return changed(V5, (loop, loop + wait))

    assert (slack.turns, slack.basis) == (2, "judged")
    assert is_proved(waiting(2))
    assert outcome(waiting(3)) is sg.Outcome.REFUTED


def test_ends_of_loops_can_leave_less_slack_than_the_middle():
    """The first seven steps keep a stage for one turn longer than the loop over K does."""
    text = SCHEDULES["first_loop_in_flight"]
    slack = slack_of(text, "tma.empty")
    assert (slack.turns, slack.middle) == (0, 1)
    assert slack.above.findings == (("SG307", "wait-cycle"),)
    loop = "  for k in 0..K {\n"
    early = "    if k < K - 1 {\n      acquire tma.empty ahead 1\n    }\n"
    assert outcome(changed(text, (loop, loop + early))) is sg.Outcome.REFUTED


def test_what_lies_beyond_the_slack_is_the_next_turn_not_that_of_the_middle():
    text = text_of("known_good/outer_loop_of_two_column_halves")
    slack = slack_of(text, "tma.full")
    n, loop = slack.above.value, "      acquire tma.full\n"
    wait = f"      if k < K - {n} {{\n        acquire tma.full ahead {n}\n      }}\n"
    assert slack.above.value == slack.turns + 1
    assert slack.above.outcome is outcome(changed(text, (loop, wait + loop)))


def test_slack_counts_turns_where_a_turn_has_two_uses():
    text = changed(SCHEDULES["column_halves_in_turns"], ("stages 3", "stages 6"))
    slack = slack_of(text, "tma.full")
    assert (slack.turns, slack.middle, slack.basis) == (2, 2, "judged")


def test_slack_says_what_it_is_based_on():
    pair = slack_of(text_of("known_good/named_barrier_every_iteration"), "pair")
    assert (pair.turns, pair.basis, pair.above) == (0, "folded graph", None)
    empty = slack_of(SCHEDULES["prefetch_after_the_mma"], "tma.empty")
    assert (empty.turns, empty.basis) == (None, "no wait")


def test_slack_without_a_cycle_has_no_bound():
    chain = [(0, 0, 1), (1, 1, 1), (0, 1, 0)]
    assert _slack(chain, {(0, 1, 0)}) is None
    assert _slack([*chain, (1, 0, 3)], {(0, 1, 0)}) == 2
    assert _slack([*chain, (1, 0, 5), (1, 2, 0), (2, 0, 4)], {(0, 1, 0), (1, 2, 0)}) == 1


def test_slack_where_the_middle_is_too_large(monkeypatch):
    from schedgen.happens_before.unroll import OverBudget

    def too_large(schedule, certificate):
        raise OverBudget

    monkeypatch.setattr("schedgen.margins.measure.Middle", too_large)
    found = sg.limits(sg.parse(SERIAL)).slack
    assert [(s.turns, s.basis) for s in found] == [(None, "unknown")] * 2


def test_a_hidden_loop_variable_leaves_the_folded_graph():
    inner = "    for k in 0..1 {\n      acquire tma.empty\n    }\n"
    slack = slack_of(changed(SERIAL, ("    acquire tma.empty\n", inner)), "tma.empty")
    assert (slack.turns, slack.basis) == (2, "folded graph")


def test_a_loop_without_a_variable_is_delayed_too():
    watcher = (
        "role watcher warp {\n  for _ in 0..K {\n    acquire tma.full\n    release tma.empty\n"
        "    advance tma\n  }\n}\n"
    )
    slack = slack_of(changed(SERIAL, ("empty 1", "empty 2")) + watcher, "tma.full")
    assert (slack.turns, slack.basis) == (2, "judged")


DRAIN = "  for _ in 0..tma.stages {\n    acquire tma.empty\n    advance tma\n  }\n"


@pytest.mark.parametrize("barrier", ["tma.full", "tma.empty"])
def test_a_parity_of_its_own_is_delayed_as_the_use_that_it_means(barrier):
    side = barrier.partition(".")[2]
    parity = "(k / 3) % 2" if side == "full" else "(k / 3 + 1) % 2"
    plain = f"    acquire {barrier}\n"
    text = changed(SERIAL, (plain, f"    acquire {barrier} parity ({parity})\n"))
    slack = slack_of(text, barrier)
    assert (slack.turns, slack.basis) == (2, "judged")


TWICE = changed(
    SERIAL,
    ("    fence\n", "    fence\n    fence\n"),
    ("}\nrole consumer", DRAIN + "}\nrole consumer"),
)
SYNCED = changed(
    V4, ("acc acc :", "named pair threads 256\nacc acc :"),
    ("    release tma.empty\n", "    sync pair\n    release tma.empty\n"),
)  # fmt: skip


def texts(ops):
    return [f"{op.role}: {op.op} at {op.place.line}" for op in ops]


def test_of_two_fences_each_is_redundant_and_both_are_not():
    found = measured(TWICE).redundant
    drain, first, second = found.each_alone
    assert texts(found.each_alone) == [
        "producer: acquire tma.empty at 18", "consumer: fence at 25", "consumer: fence at 26",
    ]  # fmt: skip
    assert found.together == (drain, first)
    assert is_proved(without(TWICE, [drain, first]))
    assert not is_proved(without(TWICE, [first, second]))
    page = schedgen("limits", "-", stdin=TWICE).out
    assert "redundant, each alone: 3 of 6 ops that only order\n" in page
    assert "redundant together: 2 of these\n" in page


def test_a_sync_that_orders_nothing_new_is_redundant():
    found = measured(SYNCED).redundant
    assert "consumer: sync pair at 31" in texts(found.each_alone)
    assert found.together == found.each_alone


def test_a_needed_sync_is_not_redundant():
    assert measured(text_of("known_good/b29_sync_before_the_release")).redundant.each_alone == ()


def test_other_products_are_not_redundant(monkeypatch):
    """Verdict and scope alone do not make an op redundant."""
    other = dataclasses.replace(redundant.PRODUCTS, difference=lambda before, after: "others")
    monkeypatch.setattr(redundant, "PRODUCTS", other)
    found = sg.limits(sg.parse(TWICE)).redundant
    assert (found.each_alone, found.undecided) == ((), ())


def test_what_cannot_be_decided_is_said(monkeypatch):
    def undecided(schedule):
        verdict = sg.check(schedule)
        return dataclasses.replace(verdict, outcome=sg.Outcome.UNSUPPORTED, certificate=None)

    monkeypatch.setattr(redundant, "judge_every_k", undecided)
    found = sg.limits(sg.parse(TWICE)).redundant
    assert (found.each_alone, found.together) == ((), ())
    assert texts(found.undecided) == texts(measured(TWICE).redundant.each_alone)


def test_progress_is_told():
    said = []
    sg.limits(sg.parse(SERIAL), progress=said.append)
    assert {"`wait 1` in consumer", "tma.full 3 turns later", "without `fence`"} <= {*said}


def test_json_is_that_of_check_with_the_limits():
    result = schedgen("limits", "-", "--format", "json", stdin=TWICE)
    value = json.loads(result.out)
    assert (result.code, result.err, value["verdict"]) == (0, "", "proved")
    known = measured(TWICE)
    slack = [(s["barrier"], s["turns"], s["basis"]) for s in value["limits"]["slack"]]
    assert slack == [(s.barrier, s.turns, s.basis) for s in known.slack]
    assert value["limits"]["stages"] == [
        {"ring": "tma", "stages": 3, "least": 1, "below": None, "place": at_line(4, 1)}
    ]
    above = {
        "value": 1, "verdict": "refuted", "reason": None,
        "findings": [
            {"code": "SG206", "name": "accumulator-read"},
            {"code": "SG203", "name": "overwrite-before-retire"},
        ],
    }  # fmt: skip
    assert value["limits"]["in_flight"] == [
        {"role": "consumer", "depth": 0, "greatest": 0, "above": above, "places": [at_line(29, 5)]}
    ]
    assert [set(s) for s in value["limits"]["slack"]] == 2 * [
        {"barrier", "turns", "middle", "basis", "above", "place"}
    ]
    assert value["limits"]["redundant"]["together"][1:] == [
        {"role": "consumer", "op": "fence", "place": at_line(25, 5)}
    ]


def at_line(line, column):
    return {"file": "<stdin>", "line": line, "column": column}


def test_a_schedule_that_is_not_proved_has_no_limits():
    refuted = changed(SERIAL, ("    acquire tma.full\n", ""))
    with pytest.raises(sg.Refused) as refused:
        sg.limits(sg.parse(refuted))
    assert refused.value.verdict.outcome is sg.Outcome.REFUTED
    result = schedgen("limits", "-", "--format", "json", stdin=refuted)
    assert (result.code, json.loads(result.out)["limits"]) == (1, None)
    assert result.err.startswith("no limits: b26_good_two_loads_one_arrival is not proved\nSG")
    half = changed(
        SERIAL, ("  for k in 0..K {\n", "  for k in 0..K / 2 {\n  }\n  for k in 0..K {\n")
    )
    result = schedgen("limits", "-", stdin=half)
    assert (result.code, result.out) == (3, "")
    assert "unsupported: no proof for every K" in result.err
