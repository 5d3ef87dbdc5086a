"""A witness, told again by the machine, leads to its hazard, and without any step of it does not.

A step is taken out together with the steps that are then impossible.  The hazard of a race is the
two accesses; that of a deadlock is the stuck state: who waits, at which op.
"""

from pathlib import Path

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import schedgen as sg
from schedgen.machine.ghosts import first_ghost
from schedgen.machine.hazard import Step
from schedgen.machine.interpreter import Machine
from schedgen.machine.moves import Moves
from schedgen.machine.replay import follow_possible
from schedgen.machine.retelling import UNCERTAIN, retell
from tests.strategies import mutants, small_pipelines, trip_counts

KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
ACTS = {"issue", "start", "return", "land", "retire", "drain"}
RESULTS = {"SG209", "SG211", "SG215", "SG216"}
"""What is computed: no hazard, but another result."""

COUNTED = {"phase", "bytes", "count", "deadlock"}
KINDS = {
    "SG201": {"read-early"}, "SG202": {"wrong-tile"}, "SG203": {"overwrite"},
    "SG204": {"overwrite"}, "SG205": {"overwrite", "count", "phase", "bytes"},
    "SG206": {"accumulator"}, "SG207": {"accumulator", "exit"}, "SG208": {"fence"},
    "SG210": {"proxy"}, "SG212": {"overwrite", "read-early"}, "SG213": {"overwrite"},
    "SG214": {"exit"}, "SG307": {"deadlock"}, "SG308": {"deadlock"}, "SG309": {"negative-use"},
    "SG310": {"deadlock"},
}  # fmt: skip
"""By which hazard a code shows itself; what is counted wrong may show by any that follows."""

EACH = 120
"""Steps of a story that are all taken out in turn; of a longer one, as many of them."""


def told(schedule, finding):
    """The story of a finding's witness."""
    steps = [
        Step(w.role, w.replica, w.actor, w.event, w.seq) for w in finding.witness if w.event in ACTS
    ]
    return retell(
        schedule, k_tiles=finding.k, witness=steps, title="", places={},
        go_on=finding.code in UNCERTAIN,
    )  # fmt: skip


def sites(hazards):
    """What makes hazards the same: not which warp of a replica comes first, but who is stuck."""
    found = set()
    for h in hazards:
        other = None if h.other is None else (h.other.role, h.other.op, h.other.k)
        actor = h.actor if h.kind == "deadlock" else None
        found.add((h.kind, h.where, h.role, actor, h.op, h.k, other))
    return found


def reached(program, moves, steps):
    """The first hazards that the steps lead to, those left out that are impossible."""
    machine = Machine(program, None)
    follow_possible(machine, steps)
    if machine.hazards:
        return sites(machine.hazards)
    _, ghost = first_ghost(moves, machine.steps)
    return set() if ghost is None else sites([ghost])


def assert_every_step_is_needed(story):
    steps, program = story.needed, story.program
    wanted = sites(story.hazards)
    moves = Moves(program)
    assert reached(program, moves, steps) == wanted
    for number in range(0, len(steps), max(1, -(-len(steps) // EACH))):
        seen = reached(program, moves, steps[:number] + steps[number + 1 :])
        if story.hazards[0].kind == "deadlock":
            assert seen != wanted, steps[number]
        else:
            assert not seen & sites(story.hazards[:1]), steps[number]


NEVER_SEEN = ("sg302_bytes_left_over", "SG302")
"""Whether its last phase completes depends on the execution, and nobody waits to see it."""


def findings():
    """Every finding about order or progress of the known-bad schedules."""
    for file in sorted(KNOWN_BAD.glob("sg[23]*.sched")):
        for item in file.read_text(encoding="utf-8").partition("\n")[0][10:].split(", "):
            code = item.partition(" ")[0]
            if code not in RESULTS and (file.stem, code) != NEVER_SEEN:
                yield pytest.param(file, code, id=f"{file.stem}-{code}")


@pytest.mark.parametrize(("file", "code"), list(findings()))
def test_every_step_of_a_known_bad_schedule_s_story_is_needed(file, code):
    schedule = sg.load(file)
    finding = next(f for f in sg.check(schedule).findings if f.code == code)
    story = told(schedule, finding)
    assert story.shows
    kind = story.hazards[0].kind
    assert kind in KINDS.get(code, {*COUNTED, "read-early", "overwrite"})
    assert_every_step_is_needed(story)


RACES = {"SG203", "SG204", "SG206", "SG208", "SG210", "SG212", "SG213"}


@pytest.mark.parametrize(("file", "code"), [p for p in findings() if p.values[1] in RACES])
def test_the_witness_of_a_race_is_needed_as_it_stands(file, code):
    """`check` itself writes no step that the race does without."""
    schedule = sg.load(file)
    finding = next(f for f in sg.check(schedule).findings if f.code == code)
    story = told(schedule, finding)
    acts = [w for w in finding.witness if w.event in ACTS]
    assert story.given == len(story.needed) == len(acts)


@given(st.data(), small_pipelines())
def test_every_step_of_a_mutant_s_story_is_needed(data, schedule):
    schedule = data.draw(mutants(schedule))
    k_tiles = data.draw(trip_counts(schedule))
    text = sg.show(schedule)
    note(f"{text}# K = {k_tiles}")
    try:
        schedule = sg.parse(text, name="generated.sched")
    except sg.IllFormed:  # a mutant whose loop is gone and its variable still used
        assume(False)
    found = [f for f in sg.check(schedule, k_tiles).findings if f.code[2] in "23"]
    found = [f for f in found if f.code not in RESULTS and f.k is not None]
    assume(found)
    for finding in found:
        note(f"{finding.code}: {finding.message}")
        story = told(schedule, finding)
        assert story.shows
        assert_every_step_is_needed(story)
