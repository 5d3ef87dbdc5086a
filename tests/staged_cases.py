"""Small schedules whose results leave by TMA, from each of the places where they may be staged."""

from __future__ import annotations

from hypothesis import strategies as st

import schedgen as sg
from schedgen.ir.schedule import Schedule

RESULTS = """schedule results_{form}
problem c[m, n] f16 = a[m, k] f16 * b[n, k] f16
tile m 64, n 64, k 64, raster n 1
ring tma stages {stages} empty {consumers} full 1 {{
  slot A : f16 64x64 = a rows 0
}}
{declared}
named group[{consumers}] threads 128
acc acc : f32 64x64 = c rows 64*self
role producer warp {{
  for k in 0..K {{
    acquire tma.empty
    expect tma.full bytes 8192
    load tma.A k
    advance tma
  }}
  {drain}
  {ships}
}}
role consumer[{consumers}] warpgroup {{
  for k in 0..K {{
    acquire tma.full
    fence
    mma acc, tma.A, tma.A, k
    commit
    wait 0
    release tma.empty
    advance tma
  }}
  {begins}
  store acc -> {part}
  fence proxy
  sync group[self]
  {ends}
}}
"""

SHIP = "tma-store {part} -> c rows 64*{who} store-commit store-wait 0 read"


@st.composite
def staged_results(draw: st.DrawFn) -> Schedule:
    """From parts of their own, from stages of the ring, or in turns that the producer gives."""
    consumers, form = draw(st.integers(1, 2)), draw(st.sampled_from(["own", "ring", "turns"]))
    stages = draw(st.integers(consumers if form == "ring" else 1, 2))
    drain = "for _ in 0..tma.stages { acquire tma.empty advance tma }"
    declared, ships, begins, part = "", "", "", "out[self]"
    ends = SHIP.format(part=part, who="self")
    if form == "own":
        declared = f"buffer out[{consumers}] : f16 64x64"
    elif form == "ring":
        stage = draw(st.sampled_from(["i", f"{stages - 1} - i"]))
        declared = f"barrier done count {consumers} "
        declared += f"buffer out[{consumers}] : f16 64x64 in tma.A stage {stage}"
        begins = "arrive done await done"
    else:
        declared = f"barrier ready[{consumers}] count 1 barrier free[{consumers}] count 1 "
        declared += "buffer out : f16 64x64"
        ships = f"for t in 0..{consumers} {{ arrive free[t] await ready[t] "
        ships += SHIP.format(part="out", who="t") + " }"
        begins, part, ends = "await free[self]", "out", "arrive ready[self]"
    text = RESULTS.format(
        form=form, declared=declared, consumers=consumers, stages=stages, part=part,
        begins=begins, drain=draw(st.sampled_from(["", drain])), ships=ships, ends=ends,
    )  # fmt: skip
    return sg.parse(text)
