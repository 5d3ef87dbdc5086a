"""Every prefix of V5, and V5 with each token or line deleted or doubled, is judged or refused.

Everything is judged for K = 0..5 alone, one tile more than V5 has stages: what the damage does to
counting, order and coverage shows by then, and a thousand texts stay affordable.
"""

import re

import pytest

import schedgen as sg
from schedgen.cli import EXIT
from tests.refusals import V5

K = (0, 5)
TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*|\d+x\d+|\d+|->|\.\.|==|\S")
TOKENS = [m.span() for m in TOKEN.finditer(V5)]


def exit_code(text):
    """The exit code of `check`: the mapping of the command line, without starting it."""
    try:
        schedule = sg.parse(text, name="damaged.sched")
    except sg.IllFormed as error:
        refused = error
    else:
        verdict = sg.check(schedule, K)
        assert sg.parse(sg.show(schedule)) == schedule
        return EXIT[verdict.outcome]
    assert re.fullmatch(r"SG1\d\d", refused.code)
    assert refused.message
    assert refused.place is not None
    assert 1 <= refused.place.line <= text.count("\n") + 1
    return 2


PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_prefixes(part):
    for end in range(part, len(V5), PARTS):
        allowed = {0} if V5[end:].isspace() else {1, 2}
        assert exit_code(V5[:end]) in allowed, V5[:end][-40:]


@pytest.mark.parametrize("part", range(PARTS))
def test_token_deleted(part):
    codes = [exit_code(V5[:first] + V5[last:]) for first, last in TOKENS[part::PARTS]]
    assert set(codes) <= {0, 1, 2}


@pytest.mark.parametrize("part", range(PARTS))
def test_token_doubled(part):
    codes = [
        exit_code(f"{V5[:last]} {V5[first:last]}{V5[last:]}") for first, last in TOKENS[part::PARTS]
    ]
    assert set(codes) <= {0, 1, 2}


LINES = V5.splitlines(keepends=True)


@pytest.mark.parametrize("part", range(PARTS))
def test_line_deleted_or_doubled(part):
    for number in range(part, len(LINES), PARTS):
        assert exit_code("".join(LINES[:number] + LINES[number + 1 :])) in (0, 1, 2)
        assert exit_code("".join(LINES[: number + 1] + LINES[number:])) in (0, 1, 2)


def test_tokens_are_all_of_v5():
    assert "".join(V5[a:b] for a, b in TOKENS) == re.sub(r"\s", "", V5)
    assert len(TOKENS) > 200
