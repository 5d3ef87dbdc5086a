"""`schedgen replay`: a witness stepped through the machine, up to what goes wrong."""

import json
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.machine import ReplayError, Step, replay
from tests.command_line import schedgen

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"


def verdict_of(name):
    """The JSON of `check` for a known-bad schedule."""
    checked = schedgen("check", KNOWN_BAD / f"{name}.sched", "--format", "json")
    assert checked.code == 1
    return checked.out


def told(name, *arguments):
    """What `replay` prints about a known-bad schedule."""
    result = schedgen("replay", "-", *arguments, stdin=verdict_of(name))
    assert (result.code, result.err) == (0, "")
    return result.out.splitlines()


def test_early_release_ends_with_the_tile_that_lands_under_the_mma():
    lines = told("sg203_early_release")
    assert lines[0].startswith("SG203 overwrite-before-retire: tile 3 may land in stage 0 of tma.A")
    assert lines[1] == "at K = 4 tiles (k = 256)"
    assert lines[2] == "  ... the first 17 steps are left out"
    assert lines[3].split()[:4] == ["18", "consumer[0]", "leader", "issue"]
    assert lines[-3].split()[:3] == ["42", "producer", "land"]
    assert lines[-2] == (
        "tile 3 lands in tma.A[0] stage 0, which `mma acc, tma.A[self], tma.B, k` of consumer[0] "
        "at k = 0 still reads"
    )
    assert lines[-1].startswith("overwrite: `load tma.A[0] k` of producer at k = 3: ")


def test_lost_release_says_who_waits_for_which_use():
    lines = told("sg308_lost_release")
    assert lines[-1].startswith("deadlock: producer waits for ever: tma.empty[0] stays in a phase")
    assert lines[-1].endswith("lacks 2 of 2 arrivals: use 0 is not released")


def test_a_lag_of_all_stages_leaves_everybody_waiting():
    stuck = [line for line in told("sg307_lag_of_all_stages") if line.startswith("deadlock: ")]
    assert {line.split()[1] for line in stuck} == {"producer", "consumer[0]", "consumer[1]"}


def test_steps_name_op_turn_and_place():
    line = next(x for x in told("sg203_early_release") if x.lstrip().startswith("41 "))
    assert line.split("  ")[-1].endswith("sg203_early_release.sched:14")
    assert "load tma.A[0] k" in line
    assert "k = 3" in line


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sg301_release_twice", "phase"),
        ("sg302_bytes_after_the_arrival", "bytes"),
        ("sg303_two_roles_arrive", "phase"),
        ("sg304_second_phase_awaited_first", "phase"),
        ("sg306_nobody_waits", "phase"),
    ],
)
def test_phase_numbers_show_what_no_barrier_can_see(name, kind):
    assert told(name)[-1].startswith(f"{kind}: ")


def test_a_second_finding_is_chosen_by_its_number():
    assert told("sg207_no_peeled_commit", "--finding", "2")[0].startswith("SG203 ")


def test_a_wrong_result_is_no_hazard_of_the_machine():
    result = schedgen("replay", "-", stdin=verdict_of("sg209_first_tile_skipped"))
    assert (result.code, result.err) == (1, "")
    assert result.out.splitlines()[-1] == "the machine saw no hazard"


def test_a_file_is_read(tmp_path):
    file = tmp_path / "verdict.json"
    file.write_text(verdict_of("sg303_two_roles_arrive"))
    assert schedgen("replay", file).code == 0


GOOD = schedgen("check", "hopper_matmul_v5", "--k", "1", "--format", "json").out
BAD = verdict_of("sg303_two_roles_arrive")


def without(*keys):
    value = json.loads(BAD)
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        ("schedule", (), "standard input is no JSON"),
        ("[" * 100_000, (), "standard input is no JSON"),
        (b"\xff", (), "standard input is no JSON"),
        ("[1]", (), "this is not the JSON of `schedgen check`"),
        ("{}", (), "the JSON has no text of a schedule"),
        (GOOD, (), "the JSON has no findings: there is nothing to replay"),
        (BAD, ("--finding", "0"), "there is no finding 0: the JSON has 1"),
        (BAD, ("--finding", "2"), "there is no finding 2: the JSON has 1"),
        (without("schedule", "text"), (), "the JSON has no text of a schedule"),
        (without("findings"), (), "the JSON has no list where one belongs"),
        (without("findings", 0, "witness"), (), "the witness of the finding has no list"),
        (without("findings", 0, "witness", 0, "seq"), (), "a step of the witness lacks its role"),
        (without("findings", 0, "k"), (), "the finding holds for every K and has no witness"),
        (BAD.replace('"seq": ', '"seq": 9'), (), "the witness does not fit its schedule: step 0"),
        (BAD.replace('"text": "schedule', '"text": "scedule'), (), "error[SG101]"),
    ],
)
def test_bad_input_is_one_sentence(text, arguments, says):
    result = schedgen("replay", "-", *arguments, stdin=text)
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert result.err.count("\n") == 1


def test_a_missing_file_is_one_sentence(tmp_path):
    result = schedgen("replay", tmp_path / "none.json")
    assert (result.code, result.out) == (2, "")
    assert "cannot be read: No such file" in result.err


MINIMAL = [
    "sg201_no_acquire_of_full", "sg202_mma_of_the_previous_tile", "sg203_early_release",
    "sg205_no_acquire_of_empty", "sg206_touch_in_loop", "sg308_last_release_dropped",
    "sg308_lost_release", "sg309_lag_in_the_first_step", "sg310_peeled_step_without_guard",
]  # fmt: skip


@pytest.mark.parametrize("name", MINIMAL)
def test_every_step_that_is_shown_is_needed(name):
    """Without any one of them the rest is impossible or goes elsewhere."""
    value = json.loads(verdict_of(name))
    retelling = sg.api.replay_finding(value)
    schedule, k_tiles = sg.parse(value["schedule"]["text"]), value["findings"][0]["k"]
    steps, kind = retelling.needed, retelling.hazards[0].kind
    assert kind in strict_kinds(schedule, k_tiles, steps)
    for number in range(len(steps)):
        shorter = steps[:number] + steps[number + 1 :]
        assert kind not in strict_kinds(schedule, k_tiles, shorter), steps[number]


def strict_kinds(schedule, k_tiles, steps):
    try:
        run = replay(schedule, k_tiles=k_tiles, steps=steps, strict=True)
    except ReplayError:
        return set()
    return {hazard.kind for hazard in run.hazards}


def test_strictly_nothing_is_done_that_is_not_listed():
    schedule = sg.load(KNOWN_BAD / "sg203_early_release.sched")
    load = Step("producer", 0, 0, "issue", 2)
    assert replay(schedule, k_tiles=1, steps=[Step("producer", 0, 0, "return", 0), load]).steps
    with pytest.raises(ReplayError, match="has not begun"):
        replay(schedule, k_tiles=1, steps=[Step("producer", 0, 0, "return", 0)], strict=True)
    begun = [Step("producer", 0, 0, event, 0) for event in ("start", "return")]
    with pytest.raises(ReplayError, match="has not executed `expect"):
        replay(schedule, k_tiles=1, steps=[*begun, load], strict=True)
