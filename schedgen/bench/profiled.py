"""The child of ncu: ``python -m schedgen.bench.profiled TASK.json`` (see `counters`)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from schedgen.bench.cuda_device import CudaDevice
from schedgen.bench.request import Contestant


def main(task: Path) -> int:
    """Check every contestant, then launch it between marks; 1 where one is not right."""
    value = json.loads(task.read_text(encoding="utf-8"))
    m, n, k = value["shape"]
    device = CudaDevice()
    device.use((m, n, k), seed=value["seed"])
    for row in value["contestants"]:
        limit = row.pop("limit")
        launch = device.bind(Contestant(**row))
        error = device.error(launch)
        if error > limit:
            print(f"{row['label']} is wrong here: relative error {error:.2e}", file=sys.stderr)
            return 1
        device.profiled(launch)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
