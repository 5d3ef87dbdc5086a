"""Every schedule here must be refused, with exactly the codes of its first line.

``# expect: SG207 K=1, SG203 K=5`` is the full set of findings at their smallest K (no K where it
does not matter).
"""

from pathlib import Path

import pytest

import schedgen as sg

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.sched"))


def expected(file):
    """The findings that the first line names."""
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# expect: "), file.name
    return set(first.removeprefix("# expect: ").split(", "))


def found(file):
    """The codes that the file gets, each at its smallest K, and their whole text for a failure."""
    try:
        verdict = sg.check(sg.load(file))
    except sg.IllFormed as error:
        return {error.code}, str(error)
    codes = {f.code if f.k is None else f"{f.code} K={f.k}" for f in verdict.findings}
    assert (verdict.outcome is sg.Outcome.REFUTED) == bool(codes)
    return codes, "\n".join(f"{f.code} {f.message}" for f in verdict.findings)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_refused_with_exactly_these_codes(file):
    codes, text = found(file)
    assert codes == expected(file), text


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_is_called_after_its_first_code(file):
    codes = {code.partition(" ")[0].lower() for code in expected(file)}
    assert file.stem.partition("_")[0] in codes


SAYS = {
    "sg203_early_release": ["tile 3", "stage 0", "the mma of tile 0"],
    "sg203_wait_two": ["tile 4", "stage 0", "the mma of tile 0"],
    "sg203_early_release_on_the_second_ring": ["tile 3", "right.B", "the mma of tile 0"],
    "sg203_early_release_on_the_ring_of_its_own_producer": ["tile 4", "right.B"],
    "sg308_lost_release": ["deadlock", "use 0 of tma", "never released"],
    "sg308_loop_release_dropped": ["use 0 of tma", "never released"],
    "sg308_last_release_dropped": ["use 0 of tma", "never released"],
    "sg205_load_above_acquire": ["load tma.A[0] k", "use 4 of tma", "before"],
    "sg301_empty_count_one": ["use 0 of tma.empty", "2 arrivals", "count is 1"],
    "sg301_empty_count_three": ["use 0 of tma.empty", "2 arrivals", "count is 3"],
    "sg302_bytes_too_many": ["49168 bytes", "49152"],
    "sg302_bytes_too_few": ["49136 bytes", "49152"],
    "sg310_peeled_step_without_guard": ["deadlock", "use 0 of tma", "never filled"],
    "sg501_five_stages": ["245840 bytes", "5 x 49152", "232448"],
}
"""What the first finding's sentence must say."""


@pytest.mark.parametrize("name", SAYS)
def test_sentence_names_the_place(name):
    message = sg.check(sg.load(HERE / f"{name}.sched")).findings[0].message
    assert [word for word in SAYS[name] if word not in message] == [], message


AT = {
    "sg203_early_release": [("ring", 6), ("write", 14), ("read", 28)],
    "sg205_load_above_acquire": [("write", 12)],
    "sg308_lost_release": [("wait", 20), ("release", 38), ("release", 43)],
    "sg501_five_stages": [("ring", 5)],
    "sg206_no_last_wait": [("mma", 28), ("touch", 44)],
    "sg310_peeled_step_without_guard": [("wait", 25)],
}
"""Label and line of the rows of the first finding, with the op or declaration they stand on."""


@pytest.mark.parametrize("name", AT)
def test_rows_name_file_and_line(name):
    finding = sg.check(sg.load(HERE / f"{name}.sched")).findings[0]
    assert [(r.label, r.place.line) for r in finding.rows] == AT[name]
    assert {Path(r.place.file).name for r in finding.rows} == {f"{name}.sched"}


@pytest.mark.parametrize("name", SAYS)
def test_is_not_emitted_without_unsafe(name):
    with pytest.raises(sg.Refused):
        sg.emit(sg.load(HERE / f"{name}.sched"))
