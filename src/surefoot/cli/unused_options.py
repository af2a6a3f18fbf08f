"""Options that would change nothing are refused: each is used, or the command says why it is not.

Permissions and habits are no questions and stay as they are where they are not needed: `--trust-python`,
`--quiet`, `--seed`, `--timeout`, `--workers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from surefoot import api


def is_given(parameter: str) -> bool:
    """Does the option stand on the command line?"""
    source = click.get_current_context().get_parameter_source(parameter)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def refuse_option(option: str, what: str, fix: str = "leave it out") -> NoReturn:
    """The error about an option, or about the value that it has."""
    raise api.InvalidProblem(what, fix=fix, where=option)


def refuse_given_options(options: Mapping[str, str], why: str) -> None:
    """Refuse the first of these options (with the names of their parameters) that is given."""
    for option, parameter in options.items():
        if is_given(parameter):
            refuse_option(option, f"it has no effect {why}")


def option_flag(parameter: str) -> str:
    """How an option of an engine is written."""
    return f"--{parameter.replace('_', '-')}"


def refuse_idle_options(given: Mapping[str, Any], asked: Iterable[api.Property]) -> None:
    """Refuse an option of an engine that another one, or what is asked, leaves without effect."""
    properties = list(asked)
    for name, why in _idle_beside_others(given):
        if given.get(name) is not None:
            refuse_option(option_flag(name), f"it has no effect {why}", "leave one of them out")
    for name, why in _idle_for_properties(properties) if properties else ():
        if given.get(name) is not None:
            refuse_option(option_flag(name), f"it has no effect {why}")


def _idle_beside_others(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if given.get("importance") is None:
        yield from ((name, "without --importance") for name in ("factor", "trees"))
    else:
        yield from ((name, "on splitting (--importance)") for name in ("eps", "method"))
    if given.get("exact"):
        yield "width", "on exact numbers (--exact)"
    if given.get("fixed"):
        yield "max_predicates", "where no predicate is added (--fixed)"
        yield "strategy", "where no predicate is added (--fixed)"
    if given.get("run_directory") is None:
        yield "resume", "without --run-directory"
    if given.get("means") == "table":
        yield "tests", "on a table of all states (--means table)"
        yield "strategy", "on a table of all states (--means table)"


def _idle_for_properties(asked: Sequence[api.Property]) -> Iterator[tuple[str, str]]:
    numbers = [p for p in asked if isinstance(p, api.Probability | api.Expected)]
    rewards = [p for p in asked if isinstance(p, api.Expected)]
    if not numbers:
        yield from (
            (name, "on a property that holds or not: it is about numbers") for name in ("width", "exact")
        )
    if all(p.starts is not None for p in numbers):
        yield "fuse", "here: it is about numbers for the initial states"
    if not rewards:
        yield from ((name, "on a property that is not about a reward") for name in ("least", "most"))
    if len(rewards) == len(asked):
        yield "method", "on a reward: there is one plan only"
    if all(p.over != "values" for p in numbers):
        yield "family_wise", "unless each start has its own value (`over values`)"
    if len(rewards) == len(numbers):
        yield "bounds", "on a property that is not about a probability"
    if all(isinstance(p, api.Eventually | api.Recurs) for p in asked):
        yield from ((name, "on `eventually` and `recurs`") for name in ("polynomial", "squares"))
