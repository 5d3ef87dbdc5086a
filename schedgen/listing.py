"""What there is: `list` (kernels and passes), `explain` (codes and passes), `axioms`, and the
commands by what they are for."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Literal, get_args, get_origin, get_type_hints

import click

from schedgen.diagnostics.catalog import CATALOG, FAMILIES, code_of
from schedgen.diagnostics.refused import refused_text
from schedgen.explaining import explained
from schedgen.happens_before.kept import KEEPS
from schedgen.ir.axioms import AXIOMS
from schedgen.ir.problems import IllFormed, did_you_mean
from schedgen.kernels import KERNELS
from schedgen.passes import PASSES
from schedgen.pipeline import Pass
from schedgen.plugins import KnownPasses, conflict, offers, pass_of, summary
from schedgen.terminal import room, stop

TASKS = {
    "Look": ("list", "show", "explain", "axioms"),
    "Judge": ("check", "limits", "replay", "trace", "predict"),
    "Change": ("opt", "diff"),
    "Run": ("emit", "build", "run", "bench"),
    "Set up": ("demo", "doctor", "completion"),
}
"""Commands by what one wants to do."""

EXITS = (
    "0 found right; 1 wrong, or a pass refuses; 2 bad input or usage; 3 cannot say (no proof, too "
    "many events, no form in the target, toolchain missing)"
)
POINTERS = (
    "README.md is a tour, docs/language.md the language on one page. `schedgen COMMAND --help` has "
    "the options, `schedgen explain CODE` the page of a finding."
)

NO_BREAK = "\N{NO-BREAK SPACE}"
"""A blank at which no line ends, printed as an ordinary one."""

FIRST_COLUMN = 26
"""The widest first column of a table; what is longer has a line of its own."""


class Tasks(click.Group):
    """The group of all commands, which its help names by task."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for task, names in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(n, _sentence(self.commands[n])) for n in names])
        for title, text in (("Exit codes", EXITS), ("More", POINTERS)):
            with formatter.section(title):
                formatter.write_text(text)


def _sentence(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def table(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Two columns that begin two spaces in; the second one is wrapped."""
    rows = list(rows)
    first = min(max((len(name) for name, _ in rows), default=0), FIRST_COLUMN)
    for name, text in rows:
        lines: list[str] = []
        for paragraph in text.split("\n"):
            lines += textwrap.wrap(
                paragraph, max(width - first - 4, 20), break_long_words=False,
                break_on_hyphens=False, subsequent_indent="  " if paragraph[:1] == "=" else "",
            )  # fmt: skip
        if len(name) > first:
            yield f"  {name}"
            name = ""
        for line in lines or [""]:
            yield f"  {name:<{first}}  {line}".rstrip().replace(NO_BREAK, " ")
            name = ""


@click.command("list")
@click.argument("name", required=False)
def list_command(name: str | None) -> None:
    """List the kernels and the passes; with NAME, show the page of one."""
    if name is not None:
        click.echo(_page_of(name), nl=False)
        return
    width, complaints = room(sys.stdout), list[str]()
    kernels = [(k.name, k.summary + made_of(k.base, k.pipeline)) for k in KERNELS.values()]
    passes = [(signature(cls), says(cls)) for cls in PASSES.values()]
    for kernel, row, complaint in _plugin_rows():
        if complaint is not None:
            complaints.append(complaint)
        elif row is not None:
            (kernels if kernel else passes).append(row)
    for title, rows in (("kernels", kernels), ("passes", passes)):
        click.echo("\n".join([title, *table(rows, width)]))
    click.echo("what `keeps` means: it is compared after each pass, for each K of a range")
    click.echo("\n".join(table([(keep.name, keep.meaning) for keep in KEEPS], width)))
    for complaint in complaints:
        click.echo(complaint, err=True)


def made_of(base: str | None, pipeline: str | None) -> str:
    """``\n= hopper_matmul_v1 -p '...'``, which may be broken behind passes and still be pasted."""
    if base is None or pipeline is None:
        return ""
    passes = re.sub(r",(?![^{]*\})", ", ", pipeline)
    return f"\n={NO_BREAK}{base}{NO_BREAK}-p{NO_BREAK}'{passes}'"


def signature(cls: type[Pass]) -> str:
    """``set-stages{n=N[,ring=R]}``."""
    hints, parts = get_type_hints(cls), ""
    for field in dataclasses.fields(cls):
        kind, option = hints[field.name], field.name.replace("_", "-")
        value = option[0].upper() if len(option) == 1 or kind is not int else "N"
        if get_origin(kind) is Literal:
            value = "|".join(get_args(kind))
        comma = "," if parts else ""
        text = f"{comma}{option}={value}"
        parts += text if field.default is dataclasses.MISSING else f"[{text}]"
    return f"{cls.name}{{{parts}}}" if parts else cls.name


def says(cls: type[Pass]) -> str:
    """The first sentence on a pass, and what it keeps."""
    known = {keep.name for keep in KEEPS}
    kept = "all four" if known <= cls.keeps else ", ".join(sorted(cls.keeps)) or "nothing"
    return f"{summary(cls).replace('``', '`')}\nkeeps {kept}"


def _plugin_rows() -> Iterator[tuple[bool, tuple[str, str] | None, str | None]]:
    """Whether it is a kernel, and a row for each thing that other distributions offer, or what is
    wrong with it."""
    for group in ("schedgen.kernels", "schedgen.passes"):
        found = offers(group)
        for offer in found:
            is_kernel = group == "schedgen.kernels"
            try:
                fault = conflict(offer, found)
                if fault is not None:
                    raise fault
                if is_kernel:
                    row = offer.name, summary(offer.loaded())
                else:
                    cls = pass_of(offer)
                    row = signature(cls), says(cls)
                yield is_kernel, (row[0], f"{row[1]}\nof {offer.provider}"), None
            except IllFormed as error:
                yield is_kernel, None, refused_text(error).rstrip()


def pass_page(cls: type[Pass]) -> str:
    """Its options, its docstring with the picture, and what it keeps."""
    doc = (inspect.getdoc(cls) or "").replace("``", "`")
    kept = ", ".join(sorted(cls.keeps)) or "nothing"
    return f"{signature(cls)}\n\n{doc}\nkeeps:\n    {kept}\n"


def _page_of(name: str) -> str:
    kernel, passes = KERNELS.get(name), KnownPasses()
    if kernel is not None:
        made = "" if kernel.base is None else f"\n= {kernel.base} -p '{kernel.pipeline}'"
        return f"{name}: {kernel.summary}{made}\n`schedgen show {name}` prints its text\n"
    cls = passes.get(name)
    if cls is not None:
        return pass_page(cls)
    near = did_you_mean(name, [*KERNELS, *passes], most=3)
    message = f"error: there is no kernel and no pass `{name}`"
    return stop(f"{message}; {near or '`schedgen list` lists them'}", 2)


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Print the page of a code: an example, a picture of it, a fix that works; or that of a pass.

    A code may be given as SG203, 203 or overwrite-before-retire. Without one, list them.
    """
    if code is None:
        click.echo("\n".join(_codes(room(sys.stdout))))
        return
    passes, known = KnownPasses(), code_of(code)
    text = None if known is None else explained(known)
    if text is None and code in passes:
        text = pass_page(passes[code])
    if text is None:
        words = [*CATALOG, *(entry.name for entry in CATALOG.values()), *passes]
        near = did_you_mean(code, words)
        message = f"error: there is no code and no pass `{code}`"
        stop(f"{message}; {near or '`schedgen explain` lists the codes'}", 2)
    click.echo(text, nl=False)


def _codes(width: int) -> Iterator[str]:
    """The codes by family, each with the first sentence of its page."""
    for digit, title in FAMILIES.items():
        yield f"SG{digit}xx  {title}"
        entries = [entry for code, entry in CATALOG.items() if code[2] == digit]
        rows = [(e.name, (inspect.getdoc(e) or "").partition("\n")[0]) for e in entries]
        widest = max(len(name) for name, _ in rows)
        for entry, (name, text) in zip(entries, rows, strict=True):
            start = f"  {entry.code}  {name:<{widest}}  "
            yield from textwrap.wrap(
                text, max(width, len(start) + 20), initial_indent=start,
                subsequent_indent=" " * len(start),
            )  # fmt: skip


@click.command()
def axioms() -> None:
    """Print the axioms of the machine model, with their sources."""
    for axiom in AXIOMS:
        mark = " (ASSUMPTION)" if axiom.assumed else ""
        text = f"{axiom.subject}{mark}: {axiom.text} [{axiom.source}]"
        if sys.stdout.isatty():  # in a pipe each is a line, for grep
            wide = room(sys.stdout)
            text = textwrap.fill(text, wide, subsequent_indent="  ", break_on_hyphens=False)
        click.echo(text)
