"""The results file: the JSON of `Results`, and the way back.

Medians and ratios in the file are for those who read it; `from_json` takes the raw rounds alone and
computes them again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from schedgen.bench.request import Shape, parse_shape, shape_text
from schedgen.bench.results import Check, Count, Entry, Part, Results, ShapeResults
from schedgen.bench.timing import Method, summary, tflops
from schedgen.ir.problems import IllFormed

FORMAT, SCHEMA = "schedgen bench", 1


def to_json(results: Results) -> dict[str, Any]:
    """The file's value; keys are a contract under `SCHEMA`."""
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "run": results.run,
        "complete": not results.unfinished,
        "unfinished": list(results.unfinished),
        "machine": dict(results.machine),
        "processes": [dict(process) for process in results.processes],
        "methods": [_method_json(method) for method in results.methods],
        "cycles_shapes": [list(shape) for shape in results.counted],
        "baseline": results.baseline,
        "contestants": [_entry_json(entry) for entry in results.entries],
        "shapes": [_shape_json(results, s) for s in results.shapes],
    }


def to_text(results: Results) -> str:
    return json.dumps(to_json(results), indent=1, allow_nan=False) + "\n"


def _method_json(method: Method) -> dict[str, Any]:
    return {
        "name": method.name, "idle_s": method.idle, "warm_ups": method.warm_ups,
        "launches": method.launches, "rounds": method.rounds,
    }  # fmt: skip


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "label": entry.label, "kind": entry.kind, "input": entry.source,
        "pipeline": entry.pipeline, "static_k": entry.static_k,
        "shapes": [list(shape) for shape in entry.shapes],
        "schedule": entry.schedule, "digest": entry.digest, "kernel": entry.kernel,
        "proof": entry.proof,
        "accumulator": entry.sums, "refusal": entry.refusal, "failure": entry.failure,
        "problems": list(entry.problems),
        "predicted_ms": dict(entry.predicted),
    }  # fmt: skip


def _shape_json(results: Results, s: ShapeResults) -> dict[str, Any]:
    return {
        "shape": list(s.shape),
        "parts": {
            name: {"process": part.process, "complete": part.complete}
            for name, part in s.parts.items()
        },
        "rows": [_row_json(results, s, entry.label) for entry in results.on(s.shape)],
    }


def _row_json(results: Results, s: ShapeResults, label: str) -> dict[str, Any]:
    check, count = s.checks.get(label), s.counts.get(label)
    row: dict[str, Any] = {
        "label": label,
        "check": check and {
            "process": check.process, "state": check.state, "error": check.error,
            "limit": check.limit, "reason": check.reason,
        },
    }  # fmt: skip
    for method in s.parts:
        times = s.times(method, label)
        if times:
            ratio = s.ratio(method, label, results.baseline)
            row[method] = {
                "rounds_ms": times, "ms": summary(times).as_dict(),
                "tflops": tflops(s.shape, summary(times).median),
                "baseline_over_this": ratio and ratio.as_dict(),
            }  # fmt: skip
    if count is not None:
        metrics = dict(count.metrics)
        row["cycles"] = {"process": count.process, "metrics": metrics, "reason": count.reason}
    return row


def from_json(value: Any, *, name: str) -> Results:
    """The results in a file's value.  Raises `IllFormed` (SG115) for anything else."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _unreadable(name, "it is no results file of `schedgen bench`")
    if value.get("schema") != SCHEMA:
        reason = f"its schema is {value.get('schema')}, this schedgen reads {SCHEMA}"
        raise _unreadable(name, reason)
    try:
        return _results(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(name, f"it is damaged ({type(error).__name__}: {error})") from None


def _unreadable(name: str, reason: str) -> IllFormed:
    return IllFormed(code="SG115", message=f"`{name}`: {reason}", place=None)


def _results(value: dict[str, Any]) -> Results:
    return Results(
        run=str(value["run"]),
        machine=dict(value["machine"]),
        processes=tuple(dict(process) for process in value["processes"]),
        methods=tuple(_method(one) for one in value["methods"]),
        counted=tuple(_shape(shape) for shape in value["cycles_shapes"]),
        baseline=str(value["baseline"]),
        entries=tuple(_entry(one) for one in value["contestants"]),
        shapes=tuple(_shape_results(one) for one in value["shapes"]),
    )


def _shape(value: list[int]) -> Shape:
    return parse_shape(shape_text((value[0], value[1], value[2])))


def _method(value: dict[str, Any]) -> Method:
    return Method(
        name=value["name"], idle=value["idle_s"], warm_ups=value["warm_ups"],
        launches=value["launches"], rounds=value["rounds"],
    )  # fmt: skip


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(
        label=value["label"], kind=value["kind"], source=value["input"],
        pipeline=value["pipeline"], static_k=value["static_k"],
        shapes=tuple(_shape(shape) for shape in value["shapes"]), schedule=value["schedule"],
        digest=value["digest"], kernel=value["kernel"], proof=value["proof"],
        sums=value["accumulator"],
        refusal=value["refusal"], failure=value["failure"],
        problems=tuple(value["problems"]),
        predicted=dict(value["predicted_ms"]),
    )  # fmt: skip


def _shape_results(value: dict[str, Any]) -> ShapeResults:
    rows = value["rows"]
    parts: dict[str, Part] = {}
    for method, part in value["parts"].items():
        times = {row["label"]: row[method]["rounds_ms"] for row in rows if method in row}
        counts = {len(numbers) for numbers in times.values()}
        if len(counts) > 1 or not all(map(_is_time, (t for ts in times.values() for t in ts))):
            raise ValueError(f"the rounds of {method} do not fit together")
        rounds = tuple(
            {label: numbers[turn] for label, numbers in times.items()}
            for turn in range(max(counts, default=0))
        )
        parts[method] = Part(process=part["process"], complete=part["complete"], rounds=rounds)
    return ShapeResults(
        shape=_shape(value["shape"]),
        checks={row["label"]: Check(**row["check"]) for row in rows if row["check"]},
        parts=parts,
        counts={row["label"]: Count(**row["cycles"]) for row in rows if "cycles" in row},
    )


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def read_results(path: Path) -> Results:
    """The results in a file.  Raises `IllFormed` (SG115)."""
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"`{path}` cannot be read: {error.strerror}"
        raise IllFormed(code="SG115", message=message, place=None) from None
    except (ValueError, RecursionError):
        message = f"`{path}` is no JSON; `schedgen bench -o FILE` writes it"
        raise IllFormed(code="SG115", message=message, place=None) from None
    return from_json(value, name=str(path))
