"""Command-line flags made from the table of the engines' fields, and engines made from flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.engine_flags import ENGINE_FLAGS
from surefoot.cli.output import check_folder
from surefoot.cli.unused_options import option_flag, refuse_idle_options, refuse_option


class _ExactNumber(click.ParamType):  # type: ignore[type-arg]
    """An exact number: 1e-6, 0.001, 1/1000."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        try:
            number = Fraction(value)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value} is not a number", param, ctx)
        return number


class PositiveNumber(_ExactNumber):
    """An exact number above 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        number = super().convert(value, param, ctx)
        if number <= 0:
            self.fail(f"{value} is not positive", param, ctx)
        return number


class _ConditionList(click.ParamType):  # type: ignore[type-arg]
    """Conditions over the state, from a text or from a file: one a line, or with `;` between them."""

    name = "FILE|TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        return api.read_conditions(value)  # its errors say where and what to do


TYPES: dict[str, Any] = {
    "int | None": click.IntRange(min=0),
    "int": click.IntRange(min=0),
    "Fraction": PositiveNumber(),
    "tuple[Term, ...]": _ConditionList(),
    "Fraction | None": _ExactNumber(),
    "str": str,
    "str | None": str,
}


class EngineOption(click.Option):
    """A flag of engines; in a grouped help it stands under their names."""

    def __init__(self, *names: Any, engines: tuple[str, ...], **more: Any) -> None:
        super().__init__(*names, **more)
        self.engines = engines


def engine_flags(
    command: Callable[..., Any], names: Sequence[str] = (), without: Sequence[str] = ()
) -> Callable[..., Any]:
    """Add `--engine`, `--dump-queries` and one flag per field of the named engines, by default of all.

    `without`: fields for which the command has a flag of its own.
    """
    chosen = {n: flags for n, flags in ENGINE_FLAGS.items() if n in names or not names}
    fields = {name: flag for flags in chosen.values() for name, flag in flags.items()}
    for name in without:
        del fields[name]
    for name, flag in reversed(fields.items()):
        having = tuple(n for n, flags in chosen.items() if name in flags)
        given: Any = click.Choice(flag.choices) if flag.choices else TYPES.get(flag.kind)
        made: dict[str, Any] = {"is_flag": True, "default": None} if flag.kind == "bool" else {"type": given}
        made |= {"cls": EngineOption, "engines": having, "help": _flag_help(name, having)}
        command = click.option(option_flag(name), name, **made)(command)
    if "solver" in fields:
        where, words = click.Path(path_type=Path), "Write every solver question as SMT-LIB and VNN-LIB."
        command = click.option("--dump-queries", type=where, metavar="DIR", help=words)(command)
    default = names[0] if names else "all without objection, in turns"
    return click.option(
        "--engine",
        "engine_name",
        metavar="NAME",
        help=f"Default: {default}.",
        shell_complete=lambda ctx, option, begun: [n for n in ENGINE_FLAGS if n.startswith(begun)],
    )(command)


def _flag_help(name: str, engines: Sequence[str]) -> str:
    """What the flag means for each of its engines, and its default where it is the same for all."""
    flags = [ENGINE_FLAGS[engine][name] for engine in engines]
    words = " / ".join(dict.fromkeys(flag.help for flag in flags))
    default = {flag.default for flag in flags} if flags[0].kind != "Solver" else {""}
    shown = "".join(f"  [default: {text}]" for text in default if text and len(default) == 1)
    return f"{words}{shown}"


def build_engines(name: str | None, given: Mapping[str, Any], dump: Path | None) -> list[api.Engine]:
    """The named engine, or all of them, with the options given on the command line."""
    _check_engine_name(name)
    wanted = [*_given_options(given), *(["solver"] if dump is not None and name is None else [])]
    chosen = [name] if name is not None else _engines_with_options(wanted)
    if dump is not None and not any("solver" in ENGINE_FLAGS[kind] for kind in chosen):
        what = "there is no question to a solver that could be written"
        refuse_option("--dump-queries", what, "leave it out, or name another engine")
    check_folder(dump, "--dump-queries")
    try:
        return api.build_engines_of(chosen, given, dump)
    except api.WrongType as error:  # `Bmc.depth` is the flag --depth
        option = "--" + error.where.rpartition(".")[2].replace("_", "-")
        raise api.InvalidProblem(error.what, fix=error.fix, where=option) from None


def _check_engine_name(name: str | None) -> None:
    if name is not None and name not in ENGINE_FLAGS:
        refuse_option("--engine", f"there is no engine `{name}`", api.did_you_mean(name, ENGINE_FLAGS))


def _given_options(given: Mapping[str, Any]) -> list[str]:
    """The options of engines among those that are given."""
    known = {name for flags in ENGINE_FLAGS.values() for name in flags}
    return [name for name, value in given.items() if name in known and value is not None]


def _engines_with_options(options: Sequence[str]) -> list[str]:
    """Who asks for options without naming an engine means those that have them all."""
    found = [engine for engine, flags in ENGINE_FLAGS.items() if set(options) <= set(flags)]
    if not found:
        flags = " and ".join(map(option_flag, options))
        raise api.InvalidProblem(f"no engine has {flags}", fix="give options of one engine, or name it")
    return found


def refuse_what_is_unused(
    name: str | None,
    given: Mapping[str, Any],
    problems: Mapping[str, api.Problem],
    engines: Sequence[api.Engine],
) -> None:
    """Before any work: options without effect, and properties that none of the engines asked for takes."""
    refuse_idle_options(given, [problem.property for problem in problems.values()])
    options = _given_options(given)
    if name is None and not options:
        return
    for asked, problem in problems.items():
        try:
            api.require_applicable(problem, engines)
        except api.NoEngine as why:
            if name is not None:
                raise
            flags = ", ".join(map(option_flag, options))
            what = f"it has no effect on `{asked}`: {why}"
            raise api.InvalidProblem(
                what, fix="leave it out, or ask about other properties", where=flags
            ) from why


def refuse_options_of_others(name: str | None, given: Mapping[str, Any]) -> None:
    """An option that the named engine does not have would change nothing, unseen."""
    _check_engine_name(name)
    if name is None:
        return
    users = {
        o: [n for n, flags in ENGINE_FLAGS.items() if o in flags] for o, v in given.items() if v is not None
    }
    for option, having in users.items():
        if having and name not in having:
            fix = f"leave it out; it is an option of {', '.join(having)}"
            refuse_option(option_flag(option), f"engine `{name}` has no such option", fix)
