"""What is shown for a code that no schedule's text has: a command that is refused, and one that is
not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedgen import api
from schedgen.explaining import answers
from schedgen.explaining.answers import Answer
from schedgen.explaining.own_pass import OWN_PASSES, own_pass_sections
from schedgen.explaining.parts import Section, difference
from schedgen.explaining.repairs import Edits, edited
from schedgen.ir.printer import to_text
from schedgen.ir.schedule import Schedule
from schedgen.plugins import KnownPasses

FILE = "mine.sched"
"""What a kernel is called after it was edited."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """A kernel, or a file that is a kernel with edits."""

    kernel: str
    edits: Edits

    @property
    def name(self) -> str:
        return FILE if self.edits else self.kernel

    def schedule(self) -> Schedule:
        """The schedule, with places in what `name` names."""
        schedule = api.load(self.kernel)
        if not self.edits:
            return schedule
        return api.parse(edited(to_text(schedule), self.edits), name=FILE)

    def told(self) -> Iterator[str]:
        """How the file differs from its kernel."""
        if self.edits:
            text = to_text(api.load(self.kernel))
            yield f"{FILE} is {self.kernel} with"
            yield difference(text, edited(text, self.edits), context=1)


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A pipeline that stops, and one that does not.

    ``shows`` is what the refusal speaks of where it names no place itself.
    """

    given: Given
    pipeline: str
    shows: str | None
    works_on: Given
    works: str


def _kernel(version: str) -> Given:
    return Given(kernel=f"hopper_matmul_{version}", edits=())


_TOUCHED = Given(
    kernel="hopper_matmul_v4", edits=(("    release", "    touch acc\n    release"),)
)  # fmt: skip
_BFLOAT = Given(kernel="hopper_matmul_v4", edits=(("f16", "bf16"),))
_SET = Given(
    kernel="hopper_matmul_v5",
    edits=(("role producer warp {\n", "role producer warp {\n  set tma = 0\n"),),
)

STOPPED = {
    "SG114": Stopped(
        given=_kernel("v4"), pipeline="overlap{in-flight=1}", shows=None,
        works_on=_kernel("v4"), works="overlap-wgmma{in-flight=1}",
    ),
    "SG401": Stopped(
        given=_kernel("v5"), pipeline="set-stages{n=3,ring=tmb}", shows="ring tma",
        works_on=_kernel("v5"), works="set-stages{n=3,ring=tma}",
    ),
    "SG402": Stopped(
        given=_kernel("v5"), pipeline="set-stages{n=1}", shows="release tma.empty lag 1",
        works_on=_kernel("v5"), works="set-stages{n=2}",
    ),
    "SG403": Stopped(
        given=_kernel("v5"), pipeline="overlap-wgmma{in-flight=1}", shows=None,
        works_on=_kernel("v4"), works="overlap-wgmma{in-flight=2}",
    ),
    "SG404": Stopped(
        given=_kernel("v4"), pipeline="set-stages{n=9},overlap-wgmma{in-flight=8}", shows=None,
        works_on=_kernel("v4"), works="set-stages{n=4},overlap-wgmma{in-flight=3}",
    ),
    "SG405": Stopped(
        given=_TOUCHED, pipeline="overlap-wgmma{in-flight=1}", shows=None,
        works_on=_kernel("v4"), works="overlap-wgmma{in-flight=1}",
    ),
    "SG406": Stopped(
        given=_kernel("v4"), shows="buffer out[2]",
        pipeline="stage-epilogue{buffer=own},set-tile{m=256,n=128}",
        works_on=_kernel("v4"), works="set-tile{m=256,n=128},stage-epilogue{buffer=own}",
    ),
    "SG407": Stopped(
        given=_kernel("v4"), pipeline="split-consumers{n=4}", shows="f32 64x256",
        works_on=_kernel("v4"), works="set-tile{m=256,n=128},split-consumers{n=4}",
    ),
    "SG408": Stopped(
        given=_BFLOAT, pipeline="accumulate{type=f16}", shows="a[m, k] bf16 * b[n, k] bf16",
        works_on=_BFLOAT, works="accumulate{type=f32}",
    ),
}  # fmt: skip


def command_sections(code: str) -> Iterator[Section]:
    """A refused command and one that works; nothing for a code that has no such example."""
    if code in OWN_PASSES:
        yield from own_pass_sections(code)
    elif code in STOPPED:
        it = STOPPED[code]
        stopped = answers.opt(
            it.given.name, it.given.schedule(), it.pipeline, KnownPasses(), it.shows
        )
        works = answers.opt(it.works_on.name, it.works_on.schedule(), it.works, KnownPasses(), None)
        yield from _two(stopped, it.given, works)
    elif code == "SG115":
        yield from _two(
            answers.check("hopper_matmul_v55", None), None, answers.check("hopper_matmul_v5", None)
        )
    elif code == "SG116":
        yield from _two(
            answers.check("hopper_matmul_v5", (5, 2)), None,
            answers.check("hopper_matmul_v5", (2, 5)),
        )  # fmt: skip
    elif code == "SG504":
        kernel = _kernel("v5")
        works = answers.emit(kernel.name, kernel.schedule())
        yield from _two(answers.emit(_SET.name, _SET.schedule()), _SET, works)


def _two(refused: Answer, given: Given | None, works: Answer) -> Iterator[Section]:
    told = [] if given is None else given.told()
    yield Section(
        heading="A command that is refused, and where", part="picture", kind="console",
        text="\n".join([*told, refused.text]),
    )  # fmt: skip
    yield Section(
        heading=f"A command that works ({works.outcome})", part="fix", kind="console",
        text=works.text, works=works.works,
    )  # fmt: skip
