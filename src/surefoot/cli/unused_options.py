"""Options that would change nothing are refused: each is used, or the command says why it is not.

Permissions and habits are no questions and stay as they are where they are not needed: `--trust-python`,
`--quiet`, `--seed`, `--timeout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    for name, covered, why in _IDLE_FOR:
        if given.get(name) is not None and properties and not any(map(covered, properties)):
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
    if given.get("run_directory") is None:
        yield "resume", "without --run-directory"
    if given.get("means") == "table":
        yield "tests", "on a table of all states (--means table)"


def _is_value(asked: api.Property) -> bool:
    return isinstance(asked, api.Probability | api.Expected)


def _is_about_several_starts(asked: api.Property) -> bool:
    return isinstance(asked, api.Probability | api.Expected) and asked.over == "values"


def _is_passed_through(asked: api.Property) -> bool:
    return isinstance(asked, api.Probability | api.Expected) and asked.starts is None


def _is_reward(asked: api.Property) -> bool:
    return isinstance(asked, api.Expected)


def _is_no_reward(asked: api.Property) -> bool:
    return not isinstance(asked, api.Expected)


def _is_probability(asked: api.Property) -> bool:
    return isinstance(asked, api.Probability)


def _is_not_convergence(asked: api.Property) -> bool:
    return not isinstance(asked, api.Eventually | api.Recurs)


_IDLE_FOR = (
    ("width", _is_value, "on a property that holds or not: it is about numbers"),
    ("exact", _is_value, "on a property that holds or not: it is about numbers"),
    ("fuse", _is_passed_through, "here: it is about numbers for the initial states"),
    ("least", _is_reward, "on a property that is not about a reward"),
    ("most", _is_reward, "on a property that is not about a reward"),
    ("method", _is_no_reward, "on a reward: there is one plan only"),
    ("family_wise", _is_about_several_starts, "unless each start has its own value (`over values`)"),
    ("bounds", _is_probability, "on a property that is not about a probability"),
    ("polynomial", _is_not_convergence, "on `eventually` and `recurs`"),
    ("squares", _is_not_convergence, "on `eventually` and `recurs`"),
)
