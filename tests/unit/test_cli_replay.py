"""`schedgen replay`: a witness stepped through the machine, up to what goes wrong."""

import json
from pathlib import Path
from typing import get_args

import pytest

import schedgen as sg
from schedgen.machine import HazardKind, ReplayError, Step, replay
from tests.command_line import schedgen
from tests.refusals import V5

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
    assert lines[3].split()[:5] == ["18", "consumer[0]", "elected", "warp", "issue"]
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


def test_lost_release_shows_everybody_stuck_at_the_first_use_that_comes_again():
    """Four stages are filled and consumed; then the producer waits, and the consumers for it."""
    lines = told("sg308_lost_release_without_drain")
    assert lines[0].startswith("SG308 release-missing: deadlock: use 0 of tma is never released")
    stuck = [line for line in lines if line.startswith("deadlock: ")]
    assert len(stuck) == 3
    assert stuck[0].startswith("deadlock: producer waits for ever: tma.empty[0] stays in a phase")
    assert stuck[0].endswith("lacks 2 of 2 arrivals: use 0 is not released")
    for number in (0, 1):
        assert stuck[1 + number].startswith(
            f"deadlock: consumer[{number}] waits for ever: tma.full"
        )


def test_a_wait_that_passes_too_early_returns_and_then_somebody_hangs():
    lines = told("sg304_wait_passes_too_early")
    assert "  ... the witness ends here, and then:" in lines
    moved = [line.split()[1:4] for line in lines if line[:4] == "    "]
    assert moved[1] == ["first", "start", "await"]
    assert ["first", "return", "await"] in moved
    assert lines[-1].startswith("deadlock: second waits for ever: b1 stays in a phase of parity 0")


def test_an_order_that_is_missing_shows_by_the_other_order():
    """The announcement is held back; the phase then closes without it."""
    lines = told("sg302_arrival_by_another_loader")
    assert not [line for line in lines if "expect-tx" in line]
    assert lines[-1].startswith("read-early: `mma acc, tma.A, tma.B, k` of consumer at k = 0: ")


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
        ("schedule", (), "standard input is no schedule and no JSON"),
        ("[" * 100_000, (), "standard input is no schedule and no JSON"),
        (b"\xff", (), "standard input is no schedule and no JSON"),
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
        (BAD.replace('"text": "schedule', '"text": "scedule'), (), "SG101 syntax-error: "),
    ],
)
def test_bad_input_is_one_sentence(text, arguments, says):
    result = schedgen("replay", "-", *arguments, stdin=text)
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert result.err.count("(schedgen explain ") + result.err.count(": schedgen explain ") == 1


def test_a_schedule_is_judged_and_its_finding_replayed():
    file = KNOWN_BAD / "sg203_early_release.sched"
    result = schedgen("replay", file)
    assert (result.code, result.out.splitlines()) == (0, told("sg203_early_release"))
    assert schedgen("replay", "-", stdin=file.read_text()).out.splitlines()[-1].startswith("overw")
    whole = schedgen("replay", file, "--all").out.splitlines()
    assert not [line for line in whole if "left out" in line]
    assert len(whole) == len(result.out.splitlines()) + 17 - 1


def test_a_schedule_without_findings_has_nothing_to_replay():
    result = schedgen("replay", "hopper_matmul_v5")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("hopper_matmul_v5: proved for every K >= 0 (")
    assert result.out.endswith("): there is nothing to replay\n")


def test_both_accesses_are_told_however_early_one_began(tmp_path):
    file = tmp_path / "bad.sched"
    file.write_text(V5.replace("wait 1", "wait 2"))
    lines = schedgen("replay", file).out.splitlines()
    assert lines[2] == "  ... the first 17 steps are left out"
    assert lines[3].split()[:5] == ["18", "consumer[0]", "elected", "warp", "issue"]
    assert "mma acc, tma.A[self], tma.B, 0" in lines[3]
    assert lines[4] == "  ... 18 steps are left out"
    numbers = [int(line.split()[0]) for line in lines if line[:4] == "    "]
    assert numbers == [18, *range(37, 62)]


def test_passes_are_applied_to_a_schedule_and_not_to_json(tmp_path):
    file = tmp_path / "bad.sched"
    file.write_text(V5.replace("wait 1", "wait 2"))
    passes = ("-p", "set-stages{n=3}")
    assert "at K = 4 tiles (k = 256)" in schedgen("replay", file, *passes).out
    assert schedgen("replay", "hopper_matmul_v4", *passes).code == 0
    result = schedgen("replay", "-", *passes, stdin=BAD)
    assert (result.code, result.out) == (2, "")
    assert "-p goes with a schedule; standard input is the JSON" in result.err


def test_bytes_too_many_are_said_as_such(tmp_path):
    file = tmp_path / "few.sched"
    file.write_text(V5.replace("49152", "40960"))
    result = schedgen("replay", file)
    assert "which got 8192 bytes more than were announced" in result.out
    assert "(tma.A[0] 8192, tma.A[1] 8192, tma.B 32768)" in result.out
    assert "-8192" not in result.out


def test_a_missing_file_is_one_sentence(tmp_path):
    result = schedgen("replay", tmp_path / "none.json")
    assert (result.code, result.out) == (2, "")
    assert "cannot be read: No such file" in result.err


SHORTENED = [
    "sg201_mma_before_acquire", "sg203_early_release", "sg203_early_release_on_the_second_ring",
    "sg204_two_loads_of_one_slot", "sg206_touch_in_loop", "sg208_no_fence_after_touch",
    "sg210_proxy_fence_above_the_store", "sg213_store_wait_by_the_leader_alone",
    "sg308_last_release_dropped", "sg308_lost_release", "sg310_peeled_step_without_guard",
]  # fmt: skip


@pytest.mark.parametrize("name", SHORTENED)
def test_a_witness_that_lacks_any_step_does_not_lead_there(name):
    """It cannot be followed, or nothing goes wrong, or something else does."""
    verdict = json.loads(verdict_of(name))
    finding = verdict["findings"][0]
    whole, shown = finding["witness"], hazards_of(verdict)[0]
    for number, step in enumerate(whole):
        if step["event"] in ("written", "exit"):  # no step of the machine
            continue
        finding["witness"] = whole[:number] + whole[number + 1 :]
        assert shown not in hazards_of(verdict), step


def hazards_of(verdict):
    """The sentences in which a replay ends."""
    result = schedgen("replay", "-", stdin=json.dumps(verdict))
    if result.code == 2:
        assert "the witness does not fit its schedule" in result.err
    found = result.out.splitlines() if result.code == 0 else []
    return [line for line in found if line.partition(": ")[0] in get_args(HazardKind)]


def test_strictly_nothing_is_done_that_is_not_listed():
    schedule = sg.load(KNOWN_BAD / "sg203_early_release.sched")
    load = Step("producer", 0, 0, "issue", 2)
    assert replay(schedule, k_tiles=1, steps=[Step("producer", 0, 0, "return", 0), load]).steps
    with pytest.raises(ReplayError, match="has not begun"):
        replay(schedule, k_tiles=1, steps=[Step("producer", 0, 0, "return", 0)], strict=True)
    begun = [Step("producer", 0, 0, event, 0) for event in ("start", "return")]
    with pytest.raises(ReplayError, match="has not executed `expect"):
        replay(schedule, k_tiles=1, steps=[*begun, load], strict=True)
