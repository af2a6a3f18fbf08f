"""`surefoot completion SHELL`: what a shell has to read so that it completes commands and options."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion of SHELL.

    \b
    bash  surefoot completion bash >> ~/.bashrc
    zsh   surefoot completion zsh >> ~/.zshrc
    fish  surefoot completion fish > ~/.config/fish/completions/surefoot.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    sys.stdout.write(kind(ctx.find_root().command, {}, "surefoot", "_SUREFOOT_COMPLETE").source())
    return 0
