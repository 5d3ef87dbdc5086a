"""Writes `schedgen/ir/builder/verbs.py`: a method for each op class, typed for completion.

What a method takes is what the class says: its fields, `lag` and `ahead` where it names a use, `by`
where the executor can change.
"""

import dataclasses

from schedgen.ir.builder.arguments import is_named, method_name, own_fields
from schedgen.ir.effects import Executor
from schedgen.ir.ops import OPS

WIDTH = 100
HEAD = '''"""One method for each op, written from the op classes; a test compares it with them.

``python3 -m pytest tests/unit/test_builder.py --update-golden`` writes it again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from schedgen.ir import ops
from schedgen.ir.builder.arguments import RingRef, Who
from schedgen.ir.effects import (
    AccRef,
    BarrierRef,
    BufferRef,
    NamedRef,
    OutRef,
    RingBarrier,
    SlotRef,
)
from schedgen.ir.expr import Expr


class Verbs(ABC):
    """What a role can do, in the words of the text form."""

    @abstractmethod
    def _append(
        self,
        op: type[ops.Op],
        *,
        lag: int | None = None,
        ahead: int | None = None,
        by: object = None,
        **fields: object,
    ) -> None: ...
'''
TYPES = {"Expr": "int | Expr", "Expr | None": "int | Expr | None"}
NAMED = {"acc": "AccRef", "ring": "RingRef"}


def parameters(cls):
    """Positional ones in the order of the text form, then those that have to be named."""
    fields = own_fields(cls)
    typed = {
        f.name: NAMED[f.name] if f.type == "str" else TYPES.get(f.type, f.type) for f in fields
    }
    first = [f"{f.name}: {typed[f.name]}" for f in fields if not is_named(f)]
    named = [
        f"{f.name}: {typed[f.name]}" + ("" if f.default is dataclasses.MISSING else " = None")
        for f in fields
        if is_named(f)
    ]
    named += [f"{word}: {kind} | None = None" for word, kind in suffixes(cls).items()]
    return ["self", *first, *(["*", *named] if named else [])]


def suffixes(cls):
    """Which of `lag`, `ahead` and `by` the op takes (SG117, SG118)."""
    types = [f.type for f in own_fields(cls)]
    names_use = any(
        word in kind for kind in types for word in ("RingBarrier", "BarrierRef", "Slot")
    )
    is_fixed = cls.executed_by is Executor.COLLECTIVE or "ring" in {f.name for f in own_fields(cls)}
    found = {"lag": "int", "ahead": "int"} if names_use else {}
    return found if is_fixed else {**found, "by": "Who"}


def laid_out(head, items, tail, indent):
    """On one line if it fits, else one item a line, as the formatter has it."""
    line = f"{indent}{head}({', '.join(items)}){tail}"
    if len(line) <= WIDTH:
        return line
    inner = [f"{indent}    {item}," for item in items]
    return "\n".join([f"{indent}{head}(", *inner, f"{indent}){tail}"])


def method(cls):
    doc = (cls.__doc__ or "").strip().splitlines()[0]
    given = [f"ops.{cls.__name__}", *(f"{f.name}={f.name}" for f in own_fields(cls))]
    given += [f"{word}={word}" for word in suffixes(cls)]
    return "\n".join([
        laid_out(f"def {method_name(cls)}", parameters(cls), " -> None:", "    "),
        f'        """{doc}"""',
        laid_out("self._append", given, "", "        "),
    ])  # fmt: skip


def source():
    return "\n".join([HEAD, "\n\n".join(map(method, OPS))]) + "\n"
