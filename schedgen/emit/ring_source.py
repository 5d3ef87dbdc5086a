"""The text of the emitted Ring class: the barriers of a ring, its cursor, and the verbs in use."""

from __future__ import annotations

from collections.abc import Iterator

from schedgen.emit.layout import call
from schedgen.emit.plan import Plan

_INIT = '''\
class Ring(tilus.Class):
    """Stages of shared memory, each handed over by a full and an empty barrier.

    A thread runs one role, so the cursor (`stage`, `parity`) is that role's own.  It starts at
    stage 0 with parity 0, and `advance` alone moves it.
    """

    def __init__(self, stages: int, full: int, empty: int):
        self.stages: int = stages
        self.full = self.mbarrier.alloc([full for _ in range(stages)])
        self.empty = self.mbarrier.alloc([empty for _ in range(stages)])
        self.stage: {stage_type} = 0{why}
        self.parity: uint32 = 0
'''

_ADVANCE = """
    def advance(self):
        self.stage = (self.stage + 1) % self.stages
        self.parity = self.parity ^ (self.stage == 0)
"""


def ring_source(plan: Plan, *, static_k: bool) -> str:
    """The class, with the methods that this schedule calls and no others."""
    parts = [_head(plan, static_k=static_k), *_arithmetic(plan)]
    parts += [_verb(plan, verb) for verb, _ in plan.verbs]
    if plan.advances:
        parts.append(_ADVANCE)
    return "".join(parts)


def _head(plan: Plan, *, static_k: bool) -> str:
    """The class up to its barriers and cursor, with the type of the stage that runs fastest.

    With run-time k and stages a power of two, `% stages` of an unsigned number is a mask: V5 gains
    0.2 % on an H200.  Elsewhere (V4 with 3 stages, or constants) unsigned costs 0.2-0.9 %.
    """
    init = _INIT if plan.hands_back else _without_empty()
    masks = all(ring.stages & (ring.stages - 1) == 0 for ring in plan.schedule.rings)
    if masks and not static_k:
        return init.format(stage_type="uint32", why="  # unsigned: its remainder is a mask")
    return init.format(stage_type="int32", why="")


def _without_empty() -> str:
    """For roles that fill the stages they read: nobody hands a stage back."""
    text = _INIT.replace("a full and an empty barrier", "a full barrier")
    text = text.replace("full: int, empty: int", "full: int")
    return "".join(x for x in text.splitlines(keepends=True) if "self.empty" not in x)


def _arithmetic(plan: Plan) -> Iterator[str]:
    """The stage and the parity of a use that is not under the cursor.

    The dividends are never negative: tilus simplifies `%` by Python's rules, C computes it by
    others.  The parity does without `^`, because tilus 0.2.0 crashes on `x ^ 0`.
    """
    offsets = plan.offsets
    parameters = "".join(f", {name}: int" for name in offsets.parameters)
    back = "lag % self.stages" if offsets.beyond_a_turn else "lag"
    if plan.steps_away:
        shifts = [f"(self.stages - {back})"] * offsets.lags + ["ahead"] * offsets.aheads
        yield f"\n    def stage_at(self{parameters}):\n"
        yield f"        return (self.stage + {' + '.join(shifts)}) % self.stages\n"
    if plan.waits_away:
        back = "lag % (2 * self.stages)" if offsets.beyond_a_turn else "lag"
        shifts = [f"(2 * self.stages - {back})"] * offsets.lags + ["ahead"] * offsets.aheads
        yield f"\n    def parity_at(self{parameters}):\n"
        yield "        # Stage and parity together count the uses modulo two turns.\n"
        yield f"        use = self.parity * self.stages + self.stage + {' + '.join(shifts)}\n"
        yield "        return use % (2 * self.stages) // self.stages\n"


def _verb(plan: Plan, verb: str) -> str:
    action, _, side = verb.partition("_")
    moved = plan.moved(verb)
    passed = ", ".join(plan.offsets.parameters)
    stage = f"self.stage_at({passed})" if moved else "self.stage"
    parity = f"self.parity_at({passed})" if moved else "self.parity"
    extra = ["nbytes: int"] * (action == "expect")
    extra += [f"{name}: int" for name in plan.offsets.parameters] * moved
    head = f"\n    def {verb}({', '.join(['self', *extra])}):\n"
    barrier = f"self.{side}[{stage}]"
    if action == "acquire":
        return head + _wait(barrier, side, parity)
    if action == "expect":
        return head + _elected(
            "arrive_and_expect_tx",
            [barrier, "transaction_bytes=nbytes", 'sem="release"', 'scope="cta"'],
        )
    return head + _elected("arrive", [barrier, 'sem="release"', 'scope="cta"'])


def _wait(barrier: str, side: str, parity: str) -> str:
    note = ""
    if side == "empty":
        note = "        # The other parity: the first turn over the stages waits for nobody.\n"
        parity = f"{parity} ^ 1"
    arguments = [barrier, f"phase={parity}", 'sem="acquire"', 'scope="cta"']
    return note + call("self.mbarrier.wait", arguments, indent=8)


def _elected(instruction: str, arguments: list[str]) -> str:
    body = call(f"self.mbarrier.{instruction}", arguments, indent=12)
    return f"        with self.single_thread():\n{body}"
