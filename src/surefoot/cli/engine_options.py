"""Command-line flags made from the fields of the engines; their help is the line under the field."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from surefoot.cli.output import check_folder
from surefoot.cli.unused_options import option_flag, refuse_idle_options
from surefoot.engines import ENGINES
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.configurations import CONFIGURATIONS
from surefoot.engines.protocol import Engine
from surefoot.engines.statistical.engine import WAYS
from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.predicate_list import read_conditions
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.run import DEFAULT_SOLVERS, NoEngine, applicable_engines
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import Solver
from surefoot.solvers.recording import Recording
from surefoot.term.term import Term


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
        return read_conditions(value)  # its errors say where and what to do


TYPES: dict[str, Any] = {
    "int | None": click.IntRange(min=0),
    "int": click.IntRange(min=0),
    "float": float,
    "Fraction": PositiveNumber(),
    "tuple[Term, ...]": _ConditionList(),
    "Literal['auto', 'interpreter', 'llvm']": click.Choice(["auto", "interpreter", "llvm"]),
    "Fraction | None": _ExactNumber(),
    "str": str,
    "str | None": str,
}
CHOICES: dict[str, tuple[str, ...]] = {
    "method": WAYS,
    "configuration": tuple(CONFIGURATIONS),
    "squares": ("auto", "sos", "sdsos"),
    "means": ("auto", "table", "cells"),
}


def engine_flags(command: Callable[..., Any], names: Sequence[str] = ()) -> Callable[..., Any]:
    """Add `--engine`, `--dump-queries` and one flag per field of the named engines, by default of all."""
    chosen = {n: e for n, e in ENGINES.items() if n in names or not names}
    for name, kind in _engine_fields(chosen).items():
        known = list(SOLVERS) if kind == "Solver" else CHOICES.get(name)
        given: Any = click.Choice(known) if known else TYPES.get(kind)
        users = {n: e for n, e in chosen.items() if name in {f.name for f in fields(e)}}  # type: ignore[arg-type]
        made: dict[str, Any] = {"is_flag": True, "default": None} if kind == "bool" else {"type": given}
        made |= {"cls": _ExplainedOption, "users": users}
        command = click.option(option_flag(name), name, **made)(command)
    if "solver" in _engine_fields(chosen):
        where, words = click.Path(path_type=Path), "Write every solver question as SMT-LIB and VNN-LIB."
        command = click.option("--dump-queries", type=where, metavar="DIR", help=words)(command)
    default = names[0] if names else "all without objection, in turns"
    return click.option("--engine", "engine_name", metavar="NAME", help=f"Default: {default}.")(command)


def _engine_fields(engines: Mapping[str, type[Engine]]) -> dict[str, str]:
    return {f.name: str(f.type) for e in engines.values() for f in fields(e)}  # type: ignore[arg-type]


def build_engines(name: str | None, given: Mapping[str, Any], dump: Path | None) -> list[Engine]:
    """The named engine, or all of them, with the options given on the command line."""
    if name is not None and name not in ENGINES:
        raise InvalidProblem(
            f"there is no engine `{name}`", fix=did_you_mean(name, ENGINES), where="--engine"
        )
    wanted = [*_given_options(given), *(["solver"] if dump is not None and name is None else [])]
    chosen = [ENGINES[name]] if name is not None else _engines_with_options(wanted)
    if dump is not None and not any("solver" in _engine_fields({"": kind}) for kind in chosen):
        what = "there is no question to a solver that could be written"
        raise InvalidProblem(what, fix="leave it out, or name another engine", where="--dump-queries")
    check_folder(dump, "--dump-queries")
    solvers = [given["solver"]] if given.get("solver") else DEFAULT_SOLVERS
    return [_build_engine(kind, {**given, "solver": solver}, dump) for kind in chosen for solver in solvers]


def with_predicates(
    engines: Sequence[Engine], given: tuple[Term, ...] | None, named: tuple[Term, ...]
) -> tuple[list[Engine], tuple[str, ...]]:
    """The engines with the predicates that a question names, unless others are given; and what to tell."""
    if not named:
        return list(engines), ()
    if given is not None:
        return list(engines), (f"the {len(named)} predicates of the question were replaced by those given",)
    if not any(isinstance(engine, Predicates) for engine in engines):
        return list(engines), (f"the {len(named)} predicates of the question help `predicates` only",)
    return [replace(e, predicates=named) if isinstance(e, Predicates) else e for e in engines], ()


def _given_options(given: Mapping[str, Any]) -> list[str]:
    """The options of engines among those that are given."""
    known = _engine_fields(ENGINES)
    return [name for name, value in given.items() if name in known and value is not None]


def _engines_with_options(options: Sequence[str]) -> list[type[Engine]]:
    """Who asks for options without naming an engine means those that have them all."""
    found = [kind for kind in ENGINES.values() if set(options) <= set(_engine_fields({"": kind}))]
    if not found:
        flags = " and ".join(map(option_flag, options))
        raise InvalidProblem(f"no engine has {flags}", fix="give options of one engine, or name it")
    return found


def refuse_what_is_unused(
    name: str | None, given: Mapping[str, Any], problems: Mapping[str, Problem], engines: Sequence[Engine]
) -> None:
    """Before any work: options without effect, and properties that none of the engines asked for takes."""
    refuse_idle_options(given, [problem.property for problem in problems.values()])
    options = _given_options(given)
    if name is None and not options:
        return
    for asked, problem in problems.items():
        try:
            applicable_engines(end_at_goal(discretise(problem, continuous=True)), engines)
        except NoEngine as why:
            if name is not None:
                raise
            flags = ", ".join(map(option_flag, options))
            what = f"it has no effect on `{asked}`: {why}"
            raise InvalidProblem(
                what, fix="leave it out, or ask about other properties", where=flags
            ) from why


def refuse_options_of_others(name: str | None, given: Mapping[str, Any]) -> None:
    """An option that the named engine does not have would change nothing, unseen."""
    if name not in ENGINES:
        return
    users = {
        o: [n for n, e in ENGINES.items() if o in _engine_fields({n: e})]
        for o, v in given.items()
        if v is not None
    }
    for option, having in users.items():
        if having and name not in having:
            fix = f"leave it out; it is an option of {', '.join(having)}"
            raise InvalidProblem(f"engine `{name}` has no such option", fix=fix, where=option_flag(option))


def _build_engine(kind: type[Engine], given: Mapping[str, Any], dump: Path | None) -> Engine:
    options: dict[str, Any] = {}
    for f in fields(kind):  # type: ignore[arg-type]
        if str(f.type) == "Solver":
            solver: Solver = SOLVERS[given[f.name]]()
            options[f.name] = solver if dump is None else Recording(solver, dump)
        elif given.get(f.name) is not None:
            options[f.name] = given[f.name]
    return kind(**options)


class _ExplainedOption(click.Option):
    """A flag whose help is looked up when somebody asks for it."""

    def __init__(self, *names: Any, users: Mapping[str, type[Engine]], **more: Any) -> None:
        super().__init__(*names, **more)
        self._users = users

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        told = dict.fromkeys(
            field_explanations(kind).get(self.name or "", "") for kind in self._users.values()
        )
        words = " / ".join(text for text in told if text)
        self.help = f"{words} ({', '.join(self._users)})" if words else f"option of: {', '.join(self._users)}"
        return super().get_help_record(ctx)


def field_explanations(kind: type[Engine]) -> dict[str, str]:
    """By field, the first sentence that its class has under it."""
    file = sys.modules[kind.__module__].__file__
    tree = ast.parse(Path(file).read_text("utf-8")) if file else ast.Module([], [])
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__]
    found: dict[str, str] = {}
    for body in (c.body for c in classes):
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                    found[name] = " ".join(words.split()).partition(". ")[0].rstrip(".")
    return found
