"""What the passes of the ladder refuse, precondition by precondition.

Like `tests.refusals`, whose table these rows belong to: code, schedule, pipeline.
"""

import schedgen as sg


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """The text with each pair's first part replaced, once; it must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


V1, V2, V3, V4, V5 = (sg.show(sg.load(f"hopper_matmul_v{n}")) for n in range(1, 6))
OWN = sg.show(sg.load("hopper_matmul_v5_own"))
FILL = "    expect tma.full bytes 32768\n    load tma.A k\n    load tma.B k\n"

MULTIPLY = "    mma acc, tma.A, tma.B, k\n"
RELEASE = "    release tma.empty\n"

BUFFERED, SPLIT = "multi-buffer{n=3}", "split-consumers{n=2}"
MULTI_BUFFER = [
    ("SG401", V3, BUFFERED),  # the role that multiplies does not load
    ("SG401", changed(V1, ("for k in 0..K", "for k in 1..K")), BUFFERED),
    ("SG401", changed(V1, (MULTIPLY, "")), BUFFERED),
    ("SG402", V1, "multi-buffer{n=0}"),
    ("SG401", V2, BUFFERED),  # the loop does not fill, it refills under a guard
    ("SG405", changed(V1, (FILL, f"    fence\n{FILL}")), BUFFERED),
    ("SG405", changed(V1, ("load tma.A k\n", "load tma.A k + 1\n")), BUFFERED),
    ("SG405", changed(V1, ("    wait 0\n", "    wait 1\n")), BUFFERED),
    ("SG405", changed(V1, ("    wait 0\n", f"    wait 0\n{MULTIPLY}")), BUFFERED),
    ("SG405", changed(V1, ("    advance tma\n", "    advance tma\n    fence\n")), BUFFERED),
    ("SG405", changed(V1, ("    fence\n", "    advance tma\n    fence\n")), BUFFERED),
    ("SG405", changed(V1, ("    fence\n", "    if k > 0 {\n    }\n    fence\n")), BUFFERED),
    ("SG405", changed(V1, ("acquire tma.full", "acquire tma.full ahead 1")), BUFFERED),
    ("SG405", changed(V1, ("    sync block\n", RELEASE)), BUFFERED),
    ("SG405", changed(V1, ("  for k", "  load tma.A 0\n  for k")), BUFFERED),
]  # fmt: skip

SPECIALIZED = "warp-specialize"
WARP_SPECIALIZE = [
    ("SG401", V3, SPECIALIZED),  # two roles
    ("SG401", changed(V1, ("worker warpgroup", "worker[2] warpgroup")), SPECIALIZED),
    ("SG401", changed(V1, ("for k in 0..K", "for k in 0..K - 1")), SPECIALIZED),
    ("SG401", changed(V1, (FILL, "")), SPECIALIZED),
    ("SG403", changed(V2, ("wait 0", "wait 1")), SPECIALIZED),
    ("SG405", changed(V1, ("load tma.A k\n", "load tma.A k + 1\n")), SPECIALIZED),
    ("SG405", changed(V2, ("load tma.A 1 ahead 1", "load tma.A 2 ahead 1")), SPECIALIZED),
    ("SG405", changed(V2, ("if K > 2", "if K > 3")), SPECIALIZED),
    ("SG405", changed(V2, ("if k + 3 < K", "if k + 3 <= K")), SPECIALIZED),
    ("SG405", changed(V2, ("  for k", "  load tma.A 0\n  for k")), SPECIALIZED),
    ("SG405", changed(V1, ("    advance tma\n", "    advance tma\n    fence\n")), SPECIALIZED),
    ("SG405", changed(V1, ("    wait 0\n", "")), SPECIALIZED),
    ("SG405", changed(V1, ("    fence\n", "    if k > 0 {\n      fence\n    }\n")), SPECIALIZED),
    ("SG405", changed(V1, ("acquire tma.full", "acquire tma.full ahead 1")), SPECIALIZED),
    ("SG405", changed(V1, ("    fence\n", "    advance tma\n    fence\n")), SPECIALIZED),
    ("SG405", changed(V1, ("    sync block\n", "    read tma.A\n    sync block\n")), SPECIALIZED),
    ("SG405", changed(V1, ("    sync block\n", RELEASE)), SPECIALIZED),
]  # fmt: skip

SET_TILE = [
    ("SG406", OWN, "set-tile{m=256,n=256}"),
    ("SG407", V3, "set-tile{m=0,n=256}"),
    ("SG407", V4, "set-tile{m=127,n=256}"),
    ("SG407", changed(V4, ("f32 64x256", "f32 64x128")), "set-tile{m=128,n=1}"),
    ("SG407", changed(V4, ("a rows 64*i", "a rows 64*i + 1")), "set-tile{m=64,n=256}"),
    ("SG407", changed(V3, ("bytes 32768", "bytes 32000")), "set-tile{m=128,n=256}"),
]  # fmt: skip

SPLIT_CONSUMERS = [
    ("SG401", changed(V3, (MULTIPLY, "")), SPLIT),
    ("SG401", V1, SPLIT),  # it loads what it multiplies
    ("SG406", OWN, "split-consumers{n=4}"),
    ("SG406", changed(V3, ("acc acc", "barrier done count 1\nacc acc")), SPLIT),
    ("SG406", changed(V3, ("acc acc", "named group threads 128\nacc acc")), SPLIT),
    ("SG407", V4, "split-consumers{n=3}"),
    ("SG407", V3, "split-consumers{n=0}"),
    ("SG407", V4, "split-consumers{n=4}"),  # 32 rows for each
    ("SG407", changed(V4, ("c rows 64*self", "c rows 64 - 64*self")), "split-consumers{n=2}"),
    ("SG407", changed(V4, ("mma acc, tma.A[self]", "mma acc, tma.A[0]")), SPLIT),
    ("SG407", changed(V3, ("mma acc, tma.A, tma.B", "mma acc, tma.B, tma.A")), SPLIT),
    ("SG407", changed(V4, ("load tma.A[0] k", "load tma.A[k % 2] k")), SPLIT),
    ("SG407", changed(V3, ("    load tma.B k\n", f"    load tma.B k\n{RELEASE}")), SPLIT),
]  # fmt: skip

NO_ACC = changed(V4, ("acc acc : f32 64x256 = c rows 64*self\n", ""), ("  store acc -> c\n", ""),
                 ("    mma acc, tma.A[self], tma.B, k\n", ""))  # fmt: skip
OTHERS = [
    ("SG402", V2, "set-stages{n=2}"),
    ("SG407", V4, "stage-epilogue{buffer=ring},set-stages{n=1}"),
    ("SG402", V1, "multi-buffer{n=3},set-stages{n=2,ring=tma}"),
    ("SG407", V4, "rasterize{along=n,group=0}"),
    ("SG401", NO_ACC, "accumulate{type=f16}"),
    ("SG408", V4.replace("f16", "bf16"), "accumulate{type=f16}"),
]

OWN_BUFFER, RING, TURNS = (f"stage-epilogue{{buffer={form}}}" for form in ("own", "ring", "turns"))
NO_SYNC = changed(V1, ("named block threads 128\n", ""), ("    sync block\n", ""))
STAGE_EPILOGUE = [
    ("SG406", V4, f"{OWN_BUFFER},{OWN_BUFFER}"),
    ("SG406", changed(V4, ("acc acc", "named group threads 128\nacc acc")), OWN_BUFFER),
    ("SG406", changed(V4, ("acc acc", "barrier done count 2\nacc acc")), RING),
    ("SG401", changed(V4, ("  store acc -> c\n", "")), OWN_BUFFER),
    ("SG401", changed(V4, ("  store acc -> c\n", "  store acc -> c\n  fence\n")), OWN_BUFFER),
    ("SG401", changed(V4, ("  store acc", "  store acc -> c\n  store acc")), OWN_BUFFER),
    ("SG407", changed(V4, ("c[m, n] f16", "c[m, n] f32")), OWN_BUFFER),
    ("SG407", V4, f"set-tile{{m=128,n=32}},{OWN_BUFFER}"),
    ("SG407", V3, RING),  # 32 KB for slots of 16 KB
    ("SG407", V4, f"set-stages{{n=1}},{RING}"),
    ("SG401", NO_SYNC, TURNS),
    ("SG401", changed(V4, ("producer warp", "producer[2] warp")), TURNS),
]

LADDER_REFUSALS = [
    *MULTI_BUFFER, *WARP_SPECIALIZE, *SET_TILE, *SPLIT_CONSUMERS, *OTHERS, *STAGE_EPILOGUE,
]  # fmt: skip
