"""`surefoot study …`: the papers' case studies, and what is measured beside what the papers print."""

from __future__ import annotations

from importlib import import_module

import click

from surefoot.cli import plugin
from surefoot_studies.commands.old_spelling import translate_old_spelling

COMMANDS = {  # name -> file here, its function, and what `--help` says of it
    "list": ("show", "list_studies", "List the studies."),
    "show": ("show", "show_study", "Describe a study and list its problems."),
    "compare": ("compare", "compare_paper", "Decide what the papers report, and compare."),
    "figure": ("figure", "draw_figures", "Make figures of a paper again."),
    "abstraction": ("abstraction", "draw_abstractions", "Make the figures of predicate abstraction again."),
    "table": ("table", "print_table", "Make a table of the shield paper again."),
    "checkpoints": ("training", "check_checkpoints", "Ask a question about every checkpoint of a training."),
    "generalise": ("training", "compare_instances", "Compare where policies trained alike begin to fail."),
    "train": ("training", "train_plant", "Train an actor for a plant with controls (DDPG)."),
    "retrain": ("training", "retrain_problem", "Feed counterexamples back into training until it is proved."),
}  # fmt: skip


class _StudyGroup(click.Group):
    """Commands are imported when they are used; what was one command with options is translated."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        file, function, _ = COMMANDS[name]
        command: click.Command = getattr(import_module(f"surefoot_studies.commands.{file}"), function)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*COMMANDS, *ctx.help_option_names):
            args, told = translate_old_spelling(args, COMMANDS)
            plugin.print_line(f"warning: {told}", error=True)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (*_, text) in COMMANDS.items()])


@click.group("study", cls=_StudyGroup)
def study_group() -> None:
    """The papers' case studies, and what is measured beside what the papers print."""
