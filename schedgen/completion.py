"""Completion in bash, zsh and fish: commands and options by click, names of kernels and passes."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from schedgen.plugins import KnownPasses, kernel_names

VARIABLE = "_SCHEDGEN_COMPLETE"
HOWTO = {
    "bash": 'eval "$(schedgen completion bash)"     # in ~/.bashrc',
    "zsh": 'eval "$(schedgen completion zsh)"      # in ~/.zshrc, behind compinit',
    "fish": "schedgen completion fish | source      # in ~/.config/fish/config.fish",
}


def complete_input(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Kernels of that beginning; files where there is none."""
    names = [name for name in kernel_names() if name.startswith(incomplete)]
    return [CompletionItem(n) for n in names] or [CompletionItem(incomplete, type="file")]


def complete_pipeline(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The pass behind the last comma outside of braces."""
    depth, start = 0, 0
    for index, letter in enumerate(incomplete):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        start = index + 1 if letter == "," and depth == 0 else start
    head, word = incomplete[:start], incomplete[start:]
    return [CompletionItem(head + name) for name in KnownPasses() if name.startswith(word)]


@click.command(epilog="  ".join(["\b\n", *(f"{line}\n" for line in HOWTO.values())]))
@click.argument("shell", type=click.Choice(list(HOWTO)))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    command = click.get_current_context().find_root().command
    cls = get_completion_class(shell)
    assert cls is not None
    click.echo(cls(command, {}, "schedgen", VARIABLE).source())
