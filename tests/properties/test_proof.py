"""What is proved for every K holds for the K that brute force can look at."""

from hypothesis import assume, event, given, note

import schedgen as sg
from tests.guarded import late_schedules

FURTHER = 14
"""K beyond the explicit range of a proof that are judged here all the same."""


@given(late_schedules())
def test_nothing_new_beyond_the_explicit_range(schedule):
    text = sg.show(schedule)
    note(text)
    try:
        schedule = sg.parse(text, name="generated.sched")
    except sg.IllFormed:  # a loop variable that is used outside of its loop now
        assume(False)
    verdict = sg.check(schedule)
    event(str(verdict.outcome))
    if verdict.outcome is sg.Outcome.PROVED:
        last = verdict.scope[1]
        beyond = sg.check(schedule, (last + 1, last + FURTHER))
        assert [f"{f.code} K={f.k} {f.message}" for f in beyond.findings] == []
        assert beyond.outcome is sg.Outcome.CHECKED
