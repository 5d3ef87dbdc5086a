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

WIDTH = 78
"""Columns of a line of code that needs no scrolling."""

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
    parts = list(_parameters(signature))
    returns = _type(signature.return_annotation)
    line = f"{name}({', '.join(parts)}) -> {returns}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {returns}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    starred = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        typed = p.name if p.annotation is p.empty else f"{p.name}: {_type(p.annotation)}"
        yield typed if p.default is p.empty else f"{typed} = {p.default!r}"


def _type(annotation: Any) -> str:
    """As it stands in the source, where annotations are not evaluated."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('(\w+)'\)", r"\1", text)
    return re.sub(r"\b[a-z_]+(?:\.\w+)*\.(?=[A-Z])", "", text)


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
