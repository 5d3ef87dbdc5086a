"""The page of the Python API: what `import schedgen as sg` gives, from its docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import schedgen as sg
import schedgen.testing
from schedgen.testing import strategies

HEAD = """# Python API

What `import schedgen as sg` gives. [From Python](../python.md) shows it at work.
"""


def page() -> str:
    """Functions, then classes, then values, then `schedgen.testing`."""
    names = {name: getattr(sg, name) for name in sorted(sg.__all__, key=str.lower)}
    functions = {n: v for n, v in names.items() if inspect.isfunction(v)}
    classes = {n: v for n, v in names.items() if inspect.isclass(v)}
    values = [n for n in names if n not in functions and n not in classes]
    parts = [HEAD, "\n## Functions\n"]
    parts += [_function(f"sg.{name}", value) for name, value in functions.items()]
    parts.append("\n## Classes\n")
    parts += ["".join(_class(f"sg.{name}", value)) for name, value in classes.items()]
    parts.append(f"\n## Values\n\n`sg.{'`, `sg.'.join(values)}`: the words of bounds and indices, ")
    parts.append("see [Build one without a string](../python.md#build-one-without-a-string).\n")
    parts.append("\n## schedgen.testing\n")
    for module in (schedgen.testing, strategies):
        parts += [_function(f"{module.__name__}.{n}", v) for n, v in _own_functions(module)]
    return "\n".join(parts)


def _own_functions(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__
        if is_own and inspect.isfunction(value) and not name.startswith("_"):
            yield name, value


def _function(name: str, value: Any) -> str:
    return f"### {name}\n\n```python\n{_signature(name, value)}\n```\n\n{_words(value)}\n"


def _signature(name: str, value: Any) -> str:
    signature = inspect.signature(value)
    text = f"{name}{signature}".replace("'", "")
    text = re.sub(r"\b(?:schedgen|numpy|pathlib|collections|typing)(?:\.\w+)*\.(\w+)", r"\1", text)
    if len(text) > 88:
        rows = [f"    {re.sub(chr(39), '', str(p))}," for p in signature.parameters.values()]
        if any(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values()):
            first = next(
                n for n, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY
            )
            rows.insert(first, "    *,")
        text = f"{name}(\n" + "\n".join(rows) + f"\n) -> {signature.return_annotation}"
    return text


def _words(value: Any) -> str:
    return inspect.getdoc(value) or ""


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}\n\n{_words(cls)}\n\n"
    if dataclasses.is_dataclass(cls):
        shown = [f for f in dataclasses.fields(cls) if not f.name.startswith("_")]
        if shown:
            yield "Fields: " + ", ".join(f"`{f.name}`" for f in shown) + ".\n\n"
    for method, value in vars(cls).items():
        public = not method.startswith("_") and inspect.isfunction(value)
        if public and inspect.getdoc(value):
            first = " ".join((inspect.getdoc(value) or "").split())
            yield f"- `.{method}{_shortened(value)}`: {first}\n"
    yield "\n"


def _shortened(value: Any) -> str:
    return f"({', '.join(p for p in inspect.signature(value).parameters if p != 'self')})"
