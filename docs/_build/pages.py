"""The pages that are made from the code: codes, passes, kernels, ops, commands, the Python API."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import codes
import kernel_pages
import notebook
import python_page

from schedgen.cli import cli
from schedgen.ir.ops import OPS

ROOT = Path(__file__).parents[2]

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

HOMES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
"""Files of the repository that are pages of the site under another name."""


def generated() -> dict[str, str]:
    """Each page that is no file of docs/, by its address; in the order of the navigation."""
    return {
        "limits.md": limits(),
        "notebook.md": notebook.notebook_markdown(notebook.executed(NOTEBOOK)),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "]("),
        "reference/commands.md": commands(),
        "reference/api.md": python_page.page(),
        "reference/ops.md": ops(),
        **kernel_pages.passes(),
        **kernel_pages.kernels(),
        **codes.pages(),
        "reference/schedgen.css": codes.style(),
    }


def navigation(made: dict[str, str]) -> list[Any]:
    """The reference: single pages, then folders with their index first."""
    own = [uri for uri in made if uri.startswith("reference/") and uri.endswith(".md")]
    entries: list[Any] = [uri for uri in own if uri.count("/") == 1]
    for folder in ("passes", "kernels", "codes"):
        entries.append({folder.capitalize(): [uri for uri in own if f"/{folder}/" in uri]})
    return entries


def limits() -> str:
    """The README's section of that name; its links are those of a page in docs/."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text[text.index("\n## Limits\n") :].split("\nLicence:")[0]
    return "# Limits\n" + section.partition("## Limits\n")[2].replace("](docs/", "](")


def commands() -> str:
    """What `--help` says of each command."""
    return "# Command line\n\n" + "\n".join(_commands())


def _commands() -> Iterator[str]:
    top = click.Context(cli, info_name="schedgen", color=False, terminal_width=88)
    yield _text(cli.get_help(top))
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=top, terminal_width=88)
        yield f"## schedgen {name}\n\n{_text(command.get_help(context))}"


def ops() -> str:
    """Every op with who executes it and what its docstring says."""
    rows = [
        f"| `{op.keyword}` | {op.executed_by} | {' '.join((inspect.getdoc(op) or '').split())} |"
        for op in OPS
    ]
    head = "# Ops\n\nThe words stand in [the language](../language.md), these are the classes of"
    return f"{head} `schedgen/ir/ops/`.\n\n| op | executed by | meaning |\n| --- | --- | --- |\n" + (
        "\n".join(rows) + "\n"
    )


def _text(body: str) -> str:
    return f"```text\n{re.sub('[ ]+$', '', body, flags=re.MULTILINE)}\n```\n"
