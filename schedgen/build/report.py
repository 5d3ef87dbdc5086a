"""What the compiler said about a kernel, read from ptxas' log and from the disassembly.

A schedule promises depths of wgmma groups in flight.  ptxas may take that away without an error:
it serialises the mma and says so in an advisory (C75xx), or it spills the accumulator.  The report
holds the evidence, and `BuildReport.problems` says in words what breaks the promise.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass

from schedgen.build.toolchain import Tool

_USAGE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_ADVISORY = re.compile(r"\(C75\d\d\).*")
_HGMMA = re.compile(r"\bHGMMA\.(\d+x\d+x\d+\S*)")
_DEPBAR = re.compile(r"\bDEPBAR\.LE gsb0, 0x([0-9a-f]+)")
_UTMALDG = re.compile(r"\bUTMALDG\b")
_UTMASTG = re.compile(r"\bUTMASTG\b")
_STSM = re.compile(r"\bSTSM\b")
_DYNAMIC_SHARED = re.compile(r"<<<dim3\([^;]*?\), dim3\([^;]*?\), (\d+),")


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """The numbers of one compiled kernel.

    ``hgmma`` counts the wgmma instructions by shape, ``depbar`` the waits for wgmma groups by the
    depth that they leave in flight, ``utmaldg`` and ``utmastg`` the TMA loads and stores, ``stsm``
    the stores of matrices to shared memory.  ``tma_stores`` is how many boxes the schedule stores
    by TMA.
    """

    kernel: str
    shape: tuple[int, int, int]
    nvcc: Tool
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int
    advisories: tuple[str, ...]
    hgmma: tuple[tuple[str, int], ...]
    depbar: tuple[tuple[int, int], ...]
    utmaldg: int
    utmastg: int
    stsm: int
    wait_depths: frozenset[int]
    tma_stores: int

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence per broken promise, in a fixed order; empty for a good build."""
        found: list[str] = []
        if self.spill_stores or self.spill_loads:
            found.append(
                f"registers spill: {self.spill_stores} bytes stored, {self.spill_loads} loaded"
            )
        if self.stack:
            found.append(f"the kernel has a stack frame of {self.stack} bytes")
        found += [f"ptxas advises: {text}" for text in self.advisories]
        compiled = {depth for depth, _ in self.depbar}
        for depth in sorted(compiled - self.wait_depths):
            found.append(f"the machine code waits for depth {depth}; no `wait {depth}` asks for it")
        for depth in sorted(self.wait_depths - compiled):
            found.append(f"no wait for depth {depth} in the machine code, but `wait {depth}` asks")
        if self.tma_stores and not self.utmastg:
            found.append(
                f"no TMA store in the machine code, but the schedule stores {self.tma_stores} boxes"
            )
        return tuple(found)

    def as_dict(self) -> dict[str, object]:
        m, n, k = self.shape
        return {
            "kernel": self.kernel,
            "shape": [m, n, k],
            "nvcc": {"path": self.nvcc.path, "version": self.nvcc.version},
            "registers": self.registers,
            "stack": self.stack,
            "spill_stores": self.spill_stores,
            "spill_loads": self.spill_loads,
            "shared_bytes": self.shared_bytes,
            "advisories": list(self.advisories),
            "sass": {
                "hgmma": dict(self.hgmma),
                "depbar": {str(depth): count for depth, count in self.depbar},
                "utmaldg": self.utmaldg,
                "utmastg": self.utmastg,
                "stsm": self.stsm,
            },
            "ok": self.ok,
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)


def read_report(
    *,
    kernel: str,
    shape: tuple[int, int, int],
    nvcc: Tool,
    cuda: str,
    ptxas_log: str,
    sass: str,
    wait_depths: frozenset[int],
    tma_stores: int = 0,
) -> BuildReport:
    """The report of one build, from the texts that it left.

    Raises ValueError where a text is not what this reader knows: no number is ever guessed.
    """
    usage, registers = _USAGE.search(ptxas_log), _REGISTERS.search(ptxas_log)
    shared = _DYNAMIC_SHARED.search(cuda)
    if usage is None or registers is None:
        raise ValueError(f"ptxas did not report registers and spills:\n{ptxas_log}")
    if shared is None:
        raise ValueError("the CUDA source shows no kernel launch with a size of shared memory")
    depths = Counter(int(found[1], 16) for found in _DEPBAR.finditer(sass))
    return BuildReport(
        kernel=kernel,
        shape=shape,
        nvcc=nvcc,
        registers=int(registers[1]),
        stack=int(usage[1]),
        spill_stores=int(usage[2]),
        spill_loads=int(usage[3]),
        shared_bytes=int(shared[1]),
        advisories=tuple(dict.fromkeys(_ADVISORY.findall(ptxas_log))),
        hgmma=tuple(sorted(Counter(_HGMMA.findall(sass)).items())),
        depbar=tuple(sorted(depths.items())),
        utmaldg=len(_UTMALDG.findall(sass)),
        utmastg=len(_UTMASTG.findall(sass)),
        stsm=len(_STSM.findall(sass)),
        wait_depths=wait_depths,
        tma_stores=tma_stores,
    )
