"""What Python callers may give for K and for a schedule, and what they are told otherwise."""

import pytest

import schedgen as sg

V5 = sg.load("hopper_matmul_v5")


@pytest.mark.parametrize(
    ("k", "judged"),
    [(3, (3, 3)), ((0, 2), (0, 2)), (range(3), (0, 2)), (range(2, 4), (2, 3))],
)
def test_k_is_a_number_a_pair_or_a_range(k, judged):
    assert sg.check(V5, k=k).scope == judged


@pytest.mark.parametrize(
    "k",
    [-1, (3, 1), (-1, 2), range(0), range(3, 1), range(0, 9, 2), "every", 2.5, (1, 2, 3), True],
)
def test_any_other_k_is_a_bad_request(k):
    with pytest.raises(sg.IllFormed) as caught:
        sg.check(V5, k=k)
    assert caught.value.code == "SG116"


CALLS = {
    "check": lambda s: sg.check(s),
    "show": lambda s: sg.show(s),
    "emit": lambda s: sg.emit(s),
    "apply": lambda s: sg.apply(s, "set-stages{n=3}"),
    "trace": lambda s: sg.trace(s, k_tiles=2),
    "limits": lambda s: sg.limits(s),
    "predict": lambda s: sg.predict(s, shape=(128, 256, 64)),
    "suggest_fix": lambda s: sg.suggest_fix(s),
    "diff": lambda s: sg.diff(V5, s),
    "to_python": lambda s: sg.to_python(s),
    "run": lambda s: sg.run(s, m=128, n=256, k=64, device="cpu"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("value", ["hopper_matmul_v5", None, 5])
def test_what_is_no_schedule_is_told_so(call, value):
    with pytest.raises(TypeError, match=r"not a Schedule: sg\.load takes"):
        call(value)
