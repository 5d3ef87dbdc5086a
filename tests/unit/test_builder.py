"""The builder: the calls, what they refuse and where, and that no op is missing."""

from pathlib import Path

import pytest

import schedgen as sg
from schedgen.ir.builder import verbs
from schedgen.ir.builder.arguments import method_name
from schedgen.ir.ops import OPS
from tests import verbs_source

HERE = Path(__file__)
VERBS = Path(verbs.__file__)
PROBLEM = "c[m, n] f16 = a[m, k] f16 * b[n, k] f16"
TILE = sg.Tile(m=128, n=256, k=64, raster=("n", 4))


def builder(name="mine"):
    return sg.Builder(name, problem=PROBLEM, tile=TILE)


def ring(s, *, stages=4):
    tma = s.ring("tma", stages=stages, empty=2, full=1)
    a = tma.slot("A", slabs=2, dtype="f16", shape=(64, 64), tensor="a", rows=64 * sg.I)
    b = tma.slot("B", dtype="f16", shape=(256, 64), tensor="b", rows=0)
    return tma, a, b


def v4():
    s = builder("hopper_matmul_v4")
    tma, a, b = ring(s, stages=3)
    acc = s.acc("acc", dtype="f32", shape=(64, 256), tensor="c", rows=64 * sg.SELF)
    with s.role("producer", warps=1) as p:
        with p.loop("k", 0, sg.K) as k:
            p.acquire(tma.empty)
            p.expect(tma.full, bytes=49152)
            p.load(a[0], k)
            p.load(a[1], k)
            p.load(b, k)
            p.advance(tma)
        with p.loop("_", 0, tma.stages):
            p.acquire(tma.empty)
            p.advance(tma)
    with s.role("consumer", replicas=2, warps=4) as c:
        with c.loop("k", 0, sg.K) as k:
            c.acquire(tma.full)
            c.fence()
            c.mma(acc, a[sg.SELF], b, k)
            c.commit()
            c.wait(0)
            c.release(tma.empty)
            c.advance(tma)
        c.store(acc, s.out)
    return s.build()


def test_v4_is_the_kernel():
    built = v4()
    assert built == sg.load("hopper_matmul_v4")
    assert built.name == "hopper_matmul_v4"


def test_v5_is_the_kernel():
    names = {}
    exec(sg.to_python(sg.load("hopper_matmul_v5")), names)
    assert names["schedule"] == sg.load("hopper_matmul_v5")
    overlapped = sg.apply(v4(), "overlap-wgmma{in-flight=1},set-stages{n=4}")
    assert names["schedule"] == overlapped


def test_findings_name_the_python_line():
    s = builder()
    tma, a, b = ring(s)
    acc = s.acc("acc", dtype="f32", shape=(64, 256), tensor="c", rows=64 * sg.SELF)
    with s.role("producer", warps=1) as p, p.loop("k", 0, sg.K) as k:
        p.acquire(tma.empty)
        p.expect(tma.full, bytes=49152)
        for slot in (a[0], a[1], b):
            p.load(slot, k)
        p.advance(tma)
    with s.role("consumer", replicas=2, warps=4) as c:
        with c.loop("k", 0, sg.K) as k:
            c.acquire(tma.full)
            c.fence()
            c.mma(acc, a[sg.SELF], b, k)
            c.commit()
            c.wait(1)
            c.release(tma.empty)
            c.advance(tma)
        c.wait(0)
        c.store(acc, s.out)
    verdict = sg.check(s.build())
    assert verdict.findings[0].code == "SG203"
    lines = HERE.read_text(encoding="utf-8").splitlines()
    read = next(row.place for row in verdict.findings[0].rows if row.label == "read")
    assert HERE.samefile(read.file)
    assert lines[read.line - 1].strip() == "c.mma(acc, a[sg.SELF], b, k)"
    assert lines[read.line - 1][read.column - 1 :].startswith("c.mma")


def test_every_op_has_its_method():
    """After a new op: ``pytest tests/unit/test_builder.py --update-golden``."""
    for cls in OPS:
        assert callable(getattr(verbs.Verbs, method_name(cls)))


def test_methods_are_those_of_the_op_classes(request):
    if request.config.getoption("--update-golden"):
        VERBS.write_text(verbs_source.source(), encoding="utf-8")
    assert VERBS.read_text(encoding="utf-8") == verbs_source.source()


def refusal(act):
    """What a role's program raises, and the source line that it names."""
    s = builder()
    tma, a, b = ring(s)

    def program():
        with s.role("producer", warps=1) as p:
            act(p, tma, a, b)
        s.build()

    with pytest.raises(sg.IllFormed) as caught:
        program()
    place = caught.value.place
    assert HERE.samefile(place.file)
    line = HERE.read_text(encoding="utf-8").splitlines()[place.line - 1]
    return caught.value.code, caught.value.message, line


@pytest.mark.parametrize(
    ("act", "code", "says"),
    [
        (lambda p, tma, a, b: p.acquire("tma.full"), "SG116", "`barrier` of `acquire` is a barr"),
        (lambda p, tma, a, b: p.acquire(tma), "SG116", "`barrier` of `acquire` is a barrier of a"),
        (lambda p, tma, a, b: p.load(a[0], "k"), "SG116", "`tile` of `load`: 'k' is no number"),
        (lambda p, tma, a, b: p.load(a[0], 0.5), "SG116", "`tile` of `load`: 0.5 is no number"),
        (lambda p, tma, a, b: p.read(tma.full), "SG116", "`source` of `read` is a slot, such as"),
        (lambda p, tma, a, b: p.touch("acc"), "SG116", "`acc` of `touch` is an accumulator, not"),
        (lambda p, tma, a, b: p.wait(True), "SG116", "`depth` of `wait` is a number, not True"),
        (lambda p, tma, a, b: p.store_wait(0, reads_only=1), "SG116", "`reads_only` of"),
        (lambda p, tma, a, b: p.release(tma.empty, lag=1, ahead=1), "SG116", "not both"),
        (lambda p, tma, a, b: p.release(tma.empty, lag=-1), "SG110", "`lag -1` is negative"),
        (lambda p, tma, a, b: p.fence(by="one"), "SG116", "`by` is \"elected\" or \"all\""),
        (lambda p, tma, a, b: p.release(tma.full), "SG111", "it works on `tma.empty`"),
        (lambda p, tma, a, b: p.load(a, 0), "SG106", "`tma.A` has 2 slabs"),
        (lambda p, tma, a, b: p.load(b, sg.SELF), "SG107", "`self` has no value"),
        (lambda p, tma, a, b: p.loop("k", 0, sg.K), "SG116", "never entered: write `with`"),
        (lambda p, tma, a, b: p.loop("1k", 0, sg.K), "SG116", "'1k' is no name of a loop vari"),
        (lambda p, tma, a, b: p.when(True), "SG116", "a guard is a comparison such as sg.K > 0"),
        (lambda p, tma, a, b: p.when(sg.K > 0), "SG116", "`when(K > 0)` is never entered"),
    ],
)  # fmt: skip
def test_a_wrong_call_says_what_and_where(act, code, says):
    found, message, line = refusal(act)
    assert found == code
    assert says in message
    assert says.partition("`")[0] in line or says[:40] in line  # the row above is the place


def test_numbers_that_only_a_text_would_refuse():
    s = builder()
    s.ring("tma", stages=10**20, empty=1, full=1)
    with pytest.raises(sg.IllFormed, match=r"SG110.*number.*too large"):
        s.build()


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda: sg.Builder("two words", problem=PROBLEM, tile=TILE), "is no name of a schedule"),
        (lambda: sg.Builder("s", problem="c = a * b", tile=TILE), "`problem`, unexpected `=`"),
        (lambda: sg.Builder("s", problem=PROBLEM, tile=(1, 1)), "`tile` is a Tile(m=..., n="),
        (lambda: builder().ring("tma", stages="4", empty=1, full=1), "`stages` is a number"),
        (lambda: builder().buffer("x", dtype="f16", shape=64), "`shape` is (rows, columns)"),
        (lambda: builder().buffer("x", dtype="f16", shape=(1, 1), stage=0), "names both: `within`"),
    ],
)
def test_a_wrong_declaration_says_what_and_where(declare, says):
    with pytest.raises(sg.IllFormed) as caught:
        declare()
    assert says in caught.value.message
    assert HERE.samefile(caught.value.place.file)


def test_roles_and_blocks_are_entered_once():
    s = builder()
    role = s.role("producer", warps=1)
    with pytest.raises(sg.IllFormed, match="never entered"):
        s.build()
    with role as p:
        pass
    with pytest.raises(sg.IllFormed, match="entered twice"), role:
        pass
    with pytest.raises(sg.IllFormed, match="`producer` is not open here"):
        p.commit()


def test_an_exception_in_a_block_is_not_hidden():
    s = builder()
    with pytest.raises(ZeroDivisionError), s.role("producer", warps=1) as p, p.loop("k", 0, sg.K):
        _ = 1 // 0


def test_a_traceback_is_short():
    with pytest.raises(sg.IllFormed) as caught:
        builder().ring("tma", stages=0, empty=1, full=1)._builder.build()
    assert len(caught.traceback) <= 2
    assert caught.value.__cause__ is None
    with pytest.raises(sg.IllFormed) as caught, builder().role("producer", warps=1) as p:
        p.load("A", 0)
    assert len(caught.traceback) <= 3
    assert caught.value.__context__ is None


def test_a_guard_has_no_truth_value():
    with pytest.raises(TypeError, match=r"sg\.min"):
        min(sg.K, 3)
    with pytest.raises(TypeError, match="guard"):
        assert 0 < sg.K < 3


def test_a_slot_is_no_sequence():
    _, a, _ = ring(builder())
    with pytest.raises(TypeError):
        list(a)


def test_expressions_print_as_they_were_written():
    k = sg.literal(3)
    assert str((sg.K - 1) // 2 * 2 + sg.SELF % 2) == "(K - 1) / 2*2 + self % 2"
    assert str(7 - sg.K) == "7 - K"
    assert str(9 // sg.K % 5) == "9 / K % 5"
    assert str(sg.min(k, sg.max(sg.K, 2))) == "min(3, max(K, 2))"
    assert [str(g) for g in (sg.K.equals(1), sg.K.differs(k), sg.K <= 2, sg.K < 3)] == [
        "K == 1", "K != 3", "K <= 2", "K < 3",
    ]  # fmt: skip
