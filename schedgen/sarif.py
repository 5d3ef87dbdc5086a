"""SARIF 2.1.0: findings for code-scanning services (OASIS standard, sections 3.13 to 3.58).

A finding is a result: its rows are locations, its witness a code flow, a proved repair a fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from schedgen.diagnostics.catalog import CATALOG, page
from schedgen.diagnostics.finding import Finding, Row, Step
from schedgen.diagnostics.refused import place_of
from schedgen.ir.ops import Place
from schedgen.ir.problems import IllFormed

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
VERSION = "2.1.0"


def sarif_log(
    findings: Sequence[Finding], *, source: str, text: str, repaired: tuple[str, str] | None,
    version: str,
) -> dict[str, Any]:  # fmt: skip
    """The log of one run over the schedule ``source``, whose text is ``text``.

    ``repaired`` is a proved fix in words, and the text that it makes: the fix of the first finding.
    """
    codes = sorted({f.code for f in findings})
    fixes = [] if repaired is None else [_fix(repaired, source, text)]
    results = [
        _result(f, codes.index(f.code), source, fixes if number == 0 else [])
        for number, f in enumerate(findings)
    ]
    return _log(codes, results, source, version)


def ill_formed_log(error: IllFormed, *, source: str, version: str) -> dict[str, Any]:
    """The log of a text that is no schedule: a result for each thing that is wrong with it."""
    errors = (error, *error.others)
    codes = sorted({each.code for each in errors})
    results: list[dict[str, Any]] = [
        {
            "ruleId": each.code,
            "ruleIndex": codes.index(each.code),
            "level": "error",
            "message": {"text": each.message + (f"; {each.help}" if each.help else "")},
            "locations": [_location(place_of(each), source)],
            "relatedLocations": [],
        }
        for each in errors
    ]
    return _log(codes, results, source, version)


def _log(
    codes: list[str], results: list[dict[str, Any]], source: str, version: str
) -> dict[str, Any]:
    driver = {
        "name": "schedgen",
        "version": version,
        "semanticVersion": version,
        "rules": [_rule(code) for code in codes],
    }
    artifact = {"location": _artifact(source), "roles": ["analysisTarget"]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "artifacts": [artifact],
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": []}],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    """Name, first sentence and whole page of a code."""
    text = page(code) or code
    head, _, rest = text.partition("\n")
    summary = head.partition(": ")[2]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in CATALOG[code].name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "help": {"text": text, "markdown": f"**{head}**\n\n{_markdown(rest)}"},
        "defaultConfiguration": {"level": "error"},
    }


def _markdown(text: str) -> str:
    """A page with its headings as headings and its paragraphs without their indentation."""
    lines = (
        line.strip() if line.startswith(" ") or not line else f"\n### {line}\n"
        for line in text.strip().splitlines()
    )
    return "\n".join(lines) + "\n"


def _result(f: Finding, rule: int, source: str, fixes: list[dict[str, Any]]) -> dict[str, Any]:
    placed = [row for row in f.rows if row.place is not None]
    main = [row for row in placed if row == f.main][-1:]
    result: dict[str, Any] = {
        "ruleId": f.code,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": _message(f)},
        "locations": [_row_location(row, source) for row in main],
        "relatedLocations": [
            {"id": number, **_row_location(row, source)}
            for number, row in enumerate((r for r in placed if r not in main), 1)
        ],
    }
    if f.witness:
        result["codeFlows"] = [{"threadFlows": list(_thread_flows(f.witness, source))}]
    if fixes:
        result["fixes"] = fixes
    return result


def _message(f: Finding) -> str:
    shown = "" if f.k is None else f" (smallest K = {f.k} tile{'' if f.k == 1 else 's'})"
    return f"{f.message}{shown}. Help: {f.fix}"


def _thread_flows(witness: Iterable[Step], source: str) -> Iterable[dict[str, Any]]:
    """One per replica, its steps in program order; ``executionOrder`` counts over all of them."""
    flows: dict[str, list[dict[str, Any]]] = {}
    for number, step in enumerate(witness, 1):
        turn = "" if step.k is None else f", k = {step.k}"
        text = f"{step.role}[{step.replica}]: {step.event} `{step.op}`{turn}"
        location = {**_location(step.place, source), "message": {"text": text}}
        flows.setdefault(f"{step.role}[{step.replica}]", []).append(
            {"location": location, "executionOrder": number}
        )
    for name, locations in flows.items():
        yield {"id": name, "locations": locations}


def _row_location(row: Row, source: str) -> dict[str, Any]:
    who = ", ".join(part for part in (row.who, row.when) if part)
    text = f"{row.label}: {row.text}" + (f" ({who})" if who else "")
    return {**_location(row.place, source), "message": {"text": text}}


def _location(place: Place | None, source: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(source, index=0)}
    if place is not None:
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": physical}


def _artifact(source: str, *, index: int | None = None) -> dict[str, Any]:
    """A relative reference for what is inside the working folder, else a file URI."""
    from urllib.parse import quote

    path = Path(source)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"uri": uri} if index is None else {"uri": uri, "index": index}


def _fix(repaired: tuple[str, str], source: str, before: str) -> dict[str, Any]:
    """The changed lines as replacements of whole lines."""
    words, after = repaired
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    replacements: list[dict[str, Any]] = []
    for tag, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            region = {"startLine": a + 1, "startColumn": 1, "endLine": a_end + 1, "endColumn": 1}
            content = {"text": "".join(new[b:b_end])}
            replacements.append({"deletedRegion": region, "insertedContent": content})
    change = {"artifactLocation": _artifact(source, index=0), "replacements": replacements}
    return {"description": {"text": words}, "artifactChanges": [change]}
