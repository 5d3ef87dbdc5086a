"""What docs/results.md, docs/predict.md and docs/trace.md say, made of the results files.

    python -m tests.benchmarks.results_page [--write]

Prints every section, or writes them between the markers of the pages.  Needs no GPU: the numbers
are those of docs/results/*.json, and a test keeps the pages equal to them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from schedgen.bench.request import Shape, shape_text
from schedgen.bench.results import Entry
from tests.benchmarks import prediction_page, trace_page
from tests.benchmarks.campaign import write_page
from tests.benchmarks.claims import claims
from tests.benchmarks.ladder_run import (
    EARLY_RELEASE,
    LADDER,
    RIGHT,
    TORCH,
    Ladder,
    json_of,
    ladder,
    table,
)
from tests.benchmarks.prediction_points import SQUARE
from tests.benchmarks.published import H100, H200_NVL, RUNGS

DOCS = Path(__file__).parents[2] / "docs"
STAGED = ("V4 ring epilogue", "V5 ring epilogue")
PEERS = (TORCH, "Triton persistent")
EVERYWHERE = (*RUNGS, *STAGED, "hand-written", *PEERS)


def setting(run: Ladder) -> list[str]:
    """Card, date, versions, method: what a stranger needs to do it again."""
    r = run.results
    methods = {m.name: m for m in r.methods}
    burst, hot = methods["burst"], methods["sustained"]
    versions = ", ".join(f"{n} {r.machine[n]}" for n in ("nvcc", "torch", "triton", "tilus"))
    ran = [p["date"] for p in r.processes]
    return [
        f"One run, {r.run}, in {len(ran)} process: {ran[0]}, one {r.machine['card']} (driver "
        f"{r.machine['driver']}, power limit {r.machine['power limit']}), {versions}; "
        f"{len(r.entries)} contestants, every round in "
        f"[{LADDER.name}](results/{LADDER.name}).",
        "",
        f"- **burst**: {burst.idle} s idle, {burst.warm_ups} warm-ups, {burst.launches} timed "
        f"launches between two events, {burst.rounds} interleaved rounds. The headline.",
        f"- **sustained**: {hot.launches} launches back to back, {hot.rounds} interleaved rounds.",
        "- **cycles**, tensor pipe and L2 (of their peaks): one launch under ncu, clocks left "
        "alone.",
        "- A ratio is of one round, ours is the median over the rounds; quartiles in brackets. "
        "Above 1 is faster.",
    ]


def square(run: Ladder, labels: list[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    for label in labels:
        time, ratio = run.time(label), run.ratio(label)
        rows.append([
            label, f"{time.median:.4f} ({time.low:.3f} - {time.high:.3f})",
            f"{ratio.median:.4f} ({ratio.low:.3f} - {ratio.high:.3f})",
            f"{run.tflops(label):.0f}", f"{run.cycles(label):,}", f"{run.pipe(label):.1f} %",
            f"{run.l2(label):.0f} %", f"{run.clock(label):.2f}",
        ])  # fmt: skip
    return rows


SQUARE_HEADINGS = [
    "kernel", "burst ms", "x torch.matmul", "TFLOPS", "cycles", "tensor pipe", "L2", "GHz",
]  # fmt: skip


def rungs(run: Ladder) -> list[str]:
    return table(SQUARE_HEADINGS, square(run, list(EVERYWHERE)))


def variations(run: Ladder) -> list[str]:
    labels = [label for label in run.labels(SQUARE) if label not in EVERYWHERE]
    lines = table(SQUARE_HEADINGS, square(run, labels))
    refused = [e for e in run.results.entries if e.refusal]
    serial = [e for e in run.results.entries if any("C7520" in p for p in e.problems)]
    lines += ["", *(f"- {e.label} is refused: {e.refusal}." for e in refused)]
    lines += [f"- {e.label}: {_serialised(e)}" for e in serial]
    return lines


def _serialised(entry: Entry) -> str:
    return (
        "ptxas waits after every wgmma (C7520), and `schedgen build` says so and fails; measured "
        f"all the same, as `{entry.pipeline}` on {entry.source}."
    )


def shapes(run: Ladder) -> list[str]:
    """Ratio to torch.matmul on each shape, and its TFLOPS."""
    sizes: list[Shape] = [s.shape for s in run.results.shapes]
    rows = [
        [label, *(
            f"{run.time(label, s).median:.4f} / {ratio.median:.4f} "
            f"({ratio.low:.3f} - {ratio.high:.3f})"
            for s in sizes for ratio in [run.ratio(label, shape=s)]
        )]
        for label in EVERYWHERE
    ]  # fmt: skip
    rows.append(["torch.matmul, TFLOPS", *(f"{run.tflops(TORCH, s):.0f}" for s in sizes)])
    return table(["burst ms / x torch.matmul", *map(shape_text, sizes)], rows)


def sustained(run: Ladder) -> list[str]:
    sizes: list[Shape] = [s.shape for s in run.results.shapes]
    rows: list[list[str]] = []
    for label in EVERYWHERE:
        found = [(run.time(label, s, "sustained"), run.ratio(label, TORCH, s, "sustained"))
                 for s in sizes]  # fmt: skip
        rows.append([label, *(
            f"{t.median:.3f} / {r.median:.3f} ({r.low:.2f} - {r.high:.2f})" for t, r in found
        )])  # fmt: skip
    return table(["sustained ms / x torch.matmul", *map(shape_text, sizes)], rows)


def published(run: Ladder) -> list[str]:
    """TFLOPS and the part of cuBLAS of the same run, three cards side by side."""

    def told(figures: dict[str, float], name: str) -> str:
        if name not in figures:
            return "-"
        return f"{figures[name]:.1f} ({figures[name] / figures['cuBLAS']:.3f})"

    ours = {name: f"{run.tflops(name):.0f} ({run.gain(name, TORCH):.3f})" for name in RUNGS}
    ours |= {"V0": "left out", "cuBLAS": f"{run.tflops(TORCH):.0f} (1.000)"}
    rows = [
        [name, told(H100, name), told(H200_NVL, name), ours[name]] for name in (*H100,)
    ]  # fmt: skip
    cards = ["H100 80GB SXM, tutorial", "H200 NVL, older numbering", "H200, ours"]
    return table(["TFLOPS (x cuBLAS)", *cards], rows)


def told_claims(run: Ladder) -> list[str]:
    return [claim.line for claim in claims(run)]


def acceptance(run: Ladder) -> list[str]:
    """What was wanted, before the run, and what came."""
    hand, own = "hand-written", "V5 ring epilogue"
    static = 100 * abs(run.fewer("V5 static k", hand) - 1)
    rows = [
        ["cycles of emitted V5 against the hand-written kernel", "within 0.5 %",
         f"{run.cycles('V5'):,} against {run.cycles(hand):,}: "
         f"{100 * abs(1 / run.fewer('V5', hand) - 1):.2f} %"],
        ["the same with k as a constant, as in the hand-written one", "",
         f"{run.cycles('V5 static k'):,}: {static:.2f} %"],
        ["burst of V5, staged in the ring, against torch.matmul", ">= 0.97",
         f"{run.gain(own, TORCH):.4f}"],
        ["burst of V6 against torch.matmul", ">= 1.0", f"{run.gain('V6', TORCH):.4f}"],
    ]  # fmt: skip
    return table(["at 8192^3", "wanted", "measured"], rows)


def hand_written(run: Ladder) -> list[str]:
    sizes: list[Shape] = [s.shape for s in run.results.shapes]
    burst = ", ".join(f"{run.gain('V5', 'hand-written', s):.4f}" for s in sizes)
    static = run.gain("V5 static k", "hand-written")
    million = [f"{run.metric(x, INSTRUCTIONS) / 1e6:.0f}" for x in ("V5", "V5 static k")]
    return [
        f"In burst, emitted V5 is {burst} x as fast as the hand-written kernel on the four shapes "
        f"(in the order above), and with k as a constant {static:.4f} x at 8192^3. A run-time k "
        f"costs instructions ({million[0]} million against {million[1]} million), which cost next "
        "to no cycles, but some time in burst.",
    ]


INSTRUCTIONS = "smsp__inst_executed.sum"


def right(_: Ladder) -> list[str]:
    rows = [
        [f"`{row['kernel']}`", str(len(row["errors"])), f"{max(row['errors'].values()):.1e}",
         f"{row['limit']:.0e}"]
        for row in json_of(RIGHT)
    ]  # fmt: skip
    return table(["kernel", "shapes", "largest error", "limit"], rows)


def older(_: Ladder) -> list[str]:
    rows = json_of(EARLY_RELEASE)["correctness"]
    worst = max(max(row["worst"].values()) for row in rows)
    wrong = sum(not row["right"] for row in rows)
    names = ", ".join(rows[0]["worst"])
    return [f"{names}: {len(rows)} shapes x 3 seeds, {wrong} wrong, largest error {worst:.1e}."]


def early_release(_: Ladder) -> list[str]:
    rows = [
        [shape_text(tuple(row["shape"])), str(-(-row["shape"][2] // 64)),
         f"{row['early_wrong']} of {row['runs']}", f"{100 * row['early_elements']:.0f} %",
         f"{row['v5_exact']} of {row['runs']}"]
        for row in sorted(json_of(EARLY_RELEASE)["early_release"], key=lambda r: r["shape"][::-1])
    ]  # fmt: skip
    headings = ["m x n x k", "K tiles", "wrong runs", "elements that differ", "V5 bit-equal"]
    return table(headings, rows)


RESULTS = {
    "setting": setting, "acceptance": acceptance, "rungs": rungs, "shapes": shapes,
    "published": published, "claims": told_claims, "variations": variations,
    "hand-written": hand_written, "sustained": sustained, "right": right, "older": older,
    "early release": early_release,
}  # fmt: skip

PAGES = {
    "results.md": RESULTS, "predict.md": prediction_page.SECTIONS, "trace.md": trace_page.SECTIONS,
}  # fmt: skip
"""For each page, what stands between which markers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="rewrite docs/*.md")
    write, run = parser.parse_args().write, ladder()
    for page, sections in PAGES.items():
        for name, lines in sections.items():
            if write:
                write_page(DOCS / page, name, lines(run))
            else:
                print("\n".join((f"\n{page}: {name}\n", *lines(run))))


if __name__ == "__main__":
    main()
