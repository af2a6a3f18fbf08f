"""Options that several commands have, and a help that shows options in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from surefoot.cli.progress import limit_command, limit_workers

seed_flag = click.option("--seed", type=int, default=0, show_default=True)
workers_flag = click.option("--workers", type=click.IntRange(1), callback=limit_workers, expose_value=False,
                            metavar="N", help="Processes at the same time; the answer is the same.  "
                            "[default: all usable processors]")  # fmt: skip
quiet_flag = click.option("--quiet", is_flag=True, help="No progress on stderr.")


def timeout_flag(words: str | None = None, seconds: float = 60.0) -> Callable[..., Any]:
    return click.option("--timeout", type=float, callback=limit_command, default=seconds, show_default=True,
                        metavar="SECONDS", help=words)  # fmt: skip


def json_flag(words: str = "Write the complete result; - = stdout, nothing else.") -> Callable[..., Any]:
    return click.option("--json", "json_path", metavar="FILE|-", help=words)


_MODEL = (
    *("policy", "constants", "observe", "actions", "choose", "output", "normalize", "normalise"),
    *("property_file", "no_policy", "ignore_goal", "trust_python", "time", "flow_method"),
)
_OUTPUT = (
    *(
        "json_path",
        "json",
        "report",
        "certificate",
        "graph",
        "splits",
        "plot",
        "svg",
        "png",
        "axes",
        "critical",
        "export",
    ),
    *("python_path", "c_prefix", "dump_queries", "quiet", "title", "columns", "limits"),
)
_LIMITS = ("timeout", "seed", "workers", "uncertified")


class GroupedCommand(click.Command):
    """Its help has a section for each group; what is in no other group is about the question."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Model", "Question", "Output", "Limits", *_engine_groups(self), "Help")
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections[_group_of(parameter)].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _engine_groups(command: click.Command) -> list[str]:
    """The groups of engines that the command has flags of; engines that share all flags share a group."""
    return list(dict.fromkeys(_group_of(p) for p in command.params if getattr(p, "engines", ())))


def _group_of(parameter: click.Parameter) -> str:
    engines: tuple[str, ...] = getattr(parameter, "engines", ())
    if engines:
        return f"Engine {', '.join(engines)}"
    if parameter.is_eager:
        return "Help"
    for title, names in (("Model", _MODEL), ("Output", _OUTPUT), ("Limits", _LIMITS)):
        if parameter.name in names:
            return title
    return "Question"
