"""The collection of real bugs and false alarms, case by case, and what of it is said here.

38 public reports on Hopper-style pipelines, collected from issue trackers and tests of other
projects and told in our own words.  A case is *in* where its hazard is a `.sched` file beside this
module, *part* where only some of it can be said, *out* where none can.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

CLUSTER = "One CTA only: multicast, remote arrivals and exits of peers are not in the language."


@dataclass(frozen=True)
class Case:
    """One report: what kind of hazard it is, whether the language can say it, and how."""

    id: str
    title: str
    kinds: str
    status: str
    remark: str

    @property
    def files(self) -> list[Path]:
        return sorted(HERE.glob(f"{self.id.lower()}_*.sched"))


CASES = [
    Case("B01", "release with neither commit nor wait", "WAR", "in", ""),
    Case("B02", "one group in flight, release not lagged", "WAR", "in",
         "The hazard that `overlap-wgmma` itself could make."),
    Case("B03", "lag with one stage", "DEADLOCK", "in", ""),
    Case("B04", "pipeline emitter with a delay to remember", "WAR, DEADLOCK", "in",
         "One role that loads and multiplies, no empty barrier; the prologue is peeled."),
    Case("B05", "wait in the loop looked redundant", "false alarm, WAR", "in", ""),
    Case("B06", "release looked redundant", "false alarm, DEADLOCK", "in", ""),
    Case("B07", "wait behind the sync", "WAR", "in",
         "Two groups; in one group the four warps issue an mma together."),
    Case("B08", "wait by each group is no sync of the groups", "WAR", "in",
         "The copy is a `write` of the slot: what it wrote is not judged, its order is."),
    Case("B09", "one stage shared by two groups", "WAR", "in", "As B08."),
    Case("B11", "operand of two mma", "WAR", "in", ""),
    Case("B13", "two loads ahead in two buffers", "WAR", "in", "The original uses Blackwell mma."),
    Case("B14", "`wait 1` retires the older group only", "WAR", "in", ""),
    Case("B15", "stale fact that reads are over", "WAR", "in", ""),
    Case("B17", "wait for A behind the mma", "RAW", "in", ""),
    Case("B18", "no wait for B", "RAW", "in",
         "That the phase is also unobserved (SG306) follows and is not told apart."),
    Case("B21", "parity of the loop counter", "PARITY", "in", "Raw parity escape."),
    Case("B22", "shared stage never released", "DEADLOCK", "in", ""),
    Case("B23", "arrival counts", "ARRIVE_COUNT", "in", ""),
    Case("B24", "no arrival when one tile", "ARRIVE_COUNT", "in", ""),
    Case("B25", "load removed, bytes kept", "TX_BYTES", "in", ""),
    Case("B26", "two loads on one barrier", "false alarm, TX_BYTES", "in", ""),
    Case("B27", "expect behind the loads", "false alarm, TX_BYTES", "in", ""),
    Case("B29", "leader signals for its sisters", "PARITY", "in", ""),
    Case("B32", "persistent loop restarts slot and parity", "PARITY", "in",
         "Work tiles are column parts of the output, as a role stores c more than once."),
    Case("B34", "index of a short tile never advances", "PARITY, WAW", "in",
         "K = 1 stands for a k below one tile."),
    Case("B37", "prologue longer than the loop", "COVERAGE", "in",
         "A stray load shows as in flight at exit; rows that it fetches are not in memory."),
    Case("B38", "no tiles: signal without a wait", "ARRIVE_COUNT", "in",
         "Three work tiles as column parts."),
    Case("B40", "empty count of a multicast stage", "ARRIVE_COUNT", "out", CLUSTER),
    Case("B41", "exit while a peer still arrives", "LIFETIME", "part",
         "The two forms of one CTA, which are clean. " + CLUSTER),
    Case("B44", "bytes of a multicast count per receiver", "false alarm", "out", CLUSTER),
    Case("B46", "old C store awaited at a fixed step", "ALIAS, WAR, WAW", "in",
         "Two work tiles as column parts of the output."),
    Case("B49", "ordinary writes handed to TMA unfenced", "PROXY_FENCE", "part",
         "The fence after the initialisation of barriers is not in the language."),
    Case("B50", "written operand of an mma unfenced", "PROXY_FENCE", "in", "Dense mma for sparse."),
    Case("B51", "wgmma fence: once or each time", "WGMMA_FENCE", "in",
         "An operand in registers is not in the language."),
    Case("B53", "accumulator read without the last wait", "ACC_READ", "in", ""),
    Case("B55", "assembler serialises", "PERF", "part",
         "Speed is not judged: `schedgen build` reads the assembler's advisories instead."),
    Case("B57", "initial phase", "PARITY, DEADLOCK, false alarm", "in", "Raw parity escape."),
    Case("B58", "stages that do not fit, or none", "CAPACITY", "part",
         "A conversion on the fly is not in the language: slots are declared as they are held."),
]  # fmt: skip

KINDS: dict[str, tuple[str, ...]] = {
    "WAR": ("SG203", "SG205", "SG213"),
    "RAW": ("SG201", "SG202"),
    "WAW": ("SG204",),
    "ALIAS": ("SG203", "SG204", "SG213"),
    "DEADLOCK": ("SG307", "SG308", "SG310"),
    "ARRIVE_COUNT": ("SG301", "SG303", "SG308"),
    "PARITY": ("SG301", "SG303", "SG304", "SG305"),
    "TX_BYTES": ("SG302",),
    "ACC_READ": ("SG206",),
    "WGMMA_FENCE": ("SG208",),
    "PROXY_FENCE": ("SG210",),
    "COVERAGE": ("SG209", "SG214"),
    "CAPACITY": ("SG105", "SG501"),
    "LIFETIME": (),
    "PERF": ("SG206",),
    "false alarm": (),
}
"""The kinds of the collection, and our codes that tell them.

PARITY is SG301 where a restarted cursor names a use twice; PERF is SG206 where the touch that
serialises comes too early.
"""

DISAGREES: dict[str, str] = {}
"""Forms that the checker judges otherwise than their first line says, and why."""


def header(file: Path) -> dict[str, str]:
    """What the comment lines of a form say: ``expect``, ``clean at``, ``source``, ``about``."""
    found = {"about": ""}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        key, colon, value = line[2:].partition(": ")
        if colon and key in ("expect", "clean at", "source"):
            found[key] = value
        else:
            found["about"] = f"{found['about']} {line[2:].strip()}".strip()
    return found
