"""The pages of passes and kernels, with what the ladder does by them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

import schedgen as sg
from schedgen.comparison import comparison_text
from schedgen.diagnostics import target
from schedgen.happens_before.kept import KEEPS
from schedgen.kernels import KERNELS, kernel_schedule
from schedgen.passes import PASSES
from schedgen.pipeline import Pass
from schedgen.timeline import fitted_svg

WIDTH = 96
"""Columns of a difference, which a page has room for."""

K_TILES = 6


def passes() -> dict[str, str]:
    """A page for each pass, and their list."""
    made = {f"reference/passes/{name}.md": _pass_page(cls) for name, cls in PASSES.items()}
    rows = [f"| [{name}]({name}.md) | {_first(cls)} |" for name, cls in PASSES.items()]
    head = (
        "# Passes\n\nA pipeline is a string of them: `schedgen opt INPUT -p 'NAME{option=value},...'`."
        " What a pass declares to keep is compared for a range of K each time it is used; a pass that"
        " does not keep it is [SG901](../codes/SG901.md). In the order in which the ladder uses them:"
    )
    table = "| pass | what it does |\n| --- | --- |\n" + "\n".join(rows)
    return {"reference/passes/index.md": f"{head}\n\n{table}\n", **made}


def _first(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _pass_page(cls: type[Pass]) -> str:
    words, _, picture = (inspect.getdoc(cls) or "").partition("rewrite:\n")
    words, _, options = words.partition("args:\n")
    parts = [f"# {cls.name}\n\n{words.strip()}\n"]
    if options.strip():
        parts.append(f"## Options\n\n{_options(options)}\n")
    parts.append(f"## What it rewrites\n\n```text\n{inspect.cleandoc(picture)}\n```\n")
    kept = "\n".join(f"- {p.name}: {p.meaning}" for p in KEEPS if p.name in cls.keeps)
    parts.append(f"## What it keeps\n\nCompared for a range of K, each time:\n\n{kept}\n")
    parts.append(f"## When it refuses\n\n{_refusals(cls)}\n")
    parts.append("".join(_on_the_ladder(cls)))
    return "\n".join(parts)


def _options(text: str) -> str:
    rows = re.findall(r"(?m)^\s{4}([\w-]+): (.*(?:\n\s{8,}.*)*)", text)
    table = "\n".join(f"| `{name}` | {' '.join(words.split())} |" for name, words in rows)
    return f"| option | meaning |\n| --- | --- |\n{table}"


def _refusals(cls: type[Pass]) -> str:
    """The codes that its file names; which pass can give which is not declared anywhere else."""
    named = [v for v in vars(sys.modules[cls.__module__]).values() if v in target.FINDINGS]
    codes = sorted({(f.code, f.name) for f in [*named, target.NothingToRewrite]})
    return "\n".join(f"- [{code} {name}](../codes/{code}.md)" for code, name in codes)


def _on_the_ladder(cls: type[Pass]) -> Iterator[str]:
    """What it does where the ladder uses it first."""
    for kernel in KERNELS.values():
        if kernel.base is None or kernel.pipeline is None:
            continue
        before = kernel_schedule(kernel.base)
        for step, after in sg.apply_steps(before, kernel.pipeline):
            if isinstance(step, cls):
                shown = comparison_text(sg.diff(before, after), width=WIDTH)
                yield f"## On the ladder\n\n`{step.text}`, on the way from `{kernel.base}` to "
                yield f"[`{kernel.name}`](../kernels/{kernel.name}.md):\n\n```text\n{shown}\n```\n"
                return
            before = after


def kernels() -> dict[str, str]:
    """A page for each kernel, and their list."""
    made = {f"reference/kernels/{name}.md": "".join(_kernel_page(name)) for name in KERNELS}
    rows = [f"| [{k.name}]({k.name}.md) | {k.summary} |" for k in KERNELS.values()]
    head = "# Kernels\n\nAll but the first are another one through a pipeline; what they do on an "
    head += "H200 is in [the results](../../results.md).\n\n| kernel | what it is |\n| --- | --- |\n"
    return {"reference/kernels/index.md": head + "\n".join(rows) + "\n", **made}


def _kernel_page(name: str) -> Iterator[str]:
    kernel, schedule = KERNELS[name], kernel_schedule(name)
    yield f"# {name}\n\n{kernel.summary[0].upper()}{kernel.summary[1:]}.\n\n"
    if kernel.base is not None and kernel.pipeline is not None:
        yield f"[`{kernel.base}`]({kernel.base}.md) through\n\n```text\n"
        yield kernel.pipeline.replace("},", "},\n") + "\n```\n\n"
    yield f"{str(sg.check(schedule)).strip()}\n\n"
    yield f"## The schedule\n\n```text\n{sg.show(schedule)}```\n\n"
    picture = fitted_svg(sg.trace(schedule, k_tiles=K_TILES))
    yield f"## {K_TILES} K tiles\n\n{picture}\n\n"
    yield "Rows, signs and what the times are: [Pictures](../../trace.md).\n\n"
    yield f"## The kernel that is emitted\n\n```python\n{sg.emit(schedule)}```\n"
