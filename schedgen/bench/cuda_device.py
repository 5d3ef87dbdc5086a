"""The GPU that torch sees, as a `timing.Device`."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import platform
import re
import shutil
import subprocess
import time
from functools import partial
from typing import Any

from schedgen.bench.request import Contestant, Shape
from schedgen.bench.timing import Launch
from schedgen.build.launch import LoadedScript, launch, load_script

PACKAGES = ("torch", "triton", "tilus", "apache-tvm-ffi", "cuda-bindings")
STABLE = ("name", "driver_version", "power.limit", "clocks.max.sm", "clocks.max.mem")
MOMENTARY = ("clocks.sm", "power.draw", "temperature.gpu")


class CudaDevice:
    """One card; holds the operands of one shape at a time."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._scripts: dict[str, LoadedScript] = {}
        self._a: Any = None
        self._b: Any = None
        self._c: Any = None
        self._reference: Any = None

    def describe(self) -> dict[str, str]:
        card, driver, power, sm_clock, memory_clock = _smi(STABLE)
        found = {
            "card": card, "driver": driver, "power limit": power, "highest SM clock": sm_clock,
            "highest memory clock": memory_clock, "python": platform.python_version(),
            "nvcc": _nvcc(),
        }  # fmt: skip
        return found | {package: _version(package) for package in PACKAGES}

    def state(self) -> dict[str, str]:
        sm_clock, power, temperature = _smi(MOMENTARY)
        return {"SM clock": sm_clock, "power draw": power, "temperature": f"{temperature} C"}

    def use(self, shape: Shape, *, seed: int) -> None:
        torch, (m, n, k) = self._torch, shape
        self._a = self._b = self._c = self._reference = None
        torch.cuda.empty_cache()
        source = torch.Generator("cuda").manual_seed(seed)
        self._a = torch.randn(m, k, generator=source, device="cuda").half()
        self._b = torch.randn(n, k, generator=source, device="cuda").half()
        self._c = torch.empty(m, n, dtype=torch.float16, device="cuda")
        self._reference = self._a.double() @ self._b.double().T

    def bind(self, contestant: Contestant) -> Launch:
        a, b, c = self._a, self._b, self._c
        if contestant.source == "torch" and contestant.kind == "peer":
            return partial(self._torch.matmul, a, b.T, out=c)
        if contestant.kind == "peer":
            peer = importlib.import_module("schedgen.bench.triton_matmul")
            programs = self._torch.cuda.get_device_properties("cuda").multi_processor_count
            return peer.bind(a, b, c, programs=programs)
        assert contestant.script is not None
        if contestant.script not in self._scripts:
            loaded = load_script(contestant.script, class_name=contestant.class_name)
            self._scripts[contestant.script] = loaded
        loaded = self._scripts[contestant.script]
        launch(loaded, a, b, c)  # looks at the operands, compiles, loads; then no more of that
        (m, k), n = a.shape, b.shape[0]
        return partial(loaded.script, m, n, k, a, b, c)

    def error(self, launch: Launch) -> float:
        self._c.fill_(float("nan"))
        launch()
        self._torch.cuda.synchronize()
        size = self._reference.norm().item()
        error = (self._c.double() - self._reference).norm().item() / size
        return error if math.isfinite(error) else math.inf

    def milliseconds(self, launch: Launch, *, launches: int) -> float:
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / launches

    def idle(self, seconds: float) -> None:
        self._torch.cuda.synchronize()
        time.sleep(seconds)

    def answers(self) -> bool:
        try:
            self._torch.cuda.synchronize()
            self._c.fill_(0.0)
            self._torch.cuda.synchronize()
        except Exception:
            return False
        return True

    def profiled(self, launch: Launch) -> None:
        """Warm up, then one launch between the marks of a profiler, behind a kernel that spins:
        by it the profiler's output is cut into contestants."""
        for _ in range(2):
            launch()
        self._torch.cuda.synchronize()
        self._torch.cuda.profiler.start()
        self._torch.cuda._sleep(1000)
        launch()
        self._torch.cuda.synchronize()
        self._torch.cuda.profiler.stop()


def _smi(fields: tuple[str, ...]) -> list[str]:
    """What nvidia-smi says of the first card, `unknown` for what it does not say."""
    query = f"--query-gpu={','.join(fields)}"
    line = (_output(["nvidia-smi", query, "--format=csv,noheader"]).splitlines() or [""])[0]
    values = [value.strip() or "unknown" for value in line.split(",")]
    return (values + ["unknown"] * len(fields))[: len(fields)]


def _nvcc() -> str:
    found = re.search(r"V(\d+\.\d+\.\d+)", _output(["nvcc", "--version"]))
    return found[1] if found else "unknown"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _output(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
