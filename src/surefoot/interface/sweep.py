"""Many problems at once: policies x properties x parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from surefoot.errors import WrongType
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.pose_problem import PathText, show_constant
from surefoot.interface.sweep_result import SweepResult, ask_sweep
from surefoot.search.sweep.sweep_plan import SweepPlan
from surefoot.search.sweep.swept_values import SweptValues
from surefoot.term.arguments import describe_value, take_in_range, take_optional, whole_number

_SETTINGS = (
    *("observe", "actions", "choose", "output", "normalize", "normalise", "trust_python", "no_policy"),
    *("ignore_goal", "property_file"),
)


@tell_arguments
def sweep(
    models: PathText | Sequence[PathText],
    *,
    policies: PathText | Sequence[PathText] = (),
    properties: str | Sequence[str] = (),
    constants: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    where: str | Sequence[str] = (),
    engines: str | Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    timeout: float | None = 60.0,
    seed: int = 0,
    workers: int | None = None,
    ray: str | None = None,
    run_directory: PathText | None = None,
    resume: bool = False,
    **settings: Any,
) -> SweepResult:
    """Ask about every combination of `models`, `policies` (files, or patterns such as "runs/*.zip"),
    `properties`, values of `constants`, `values` of names that stand in braces in properties and starts,
    starts (`where`), `engines` and values of their `options`. Each is a problem of its own with `timeout`
    seconds, and its answer is that of `check`; what goes wrong with one is its answer.

    `workers`: processes, by default one for each processor; `ray`: the address of a cluster, whose
    processors are used then. With `run_directory` every result is kept as a file, and `resume` goes on there.
    Other `settings` say how models are read, as those of `load`.

    >>> from surefoot import sweep
    >>> table = sweep("toy.toml", properties="never output[0] >= {n} for 2 steps", values={"n": [10, 13]})
    >>> [row.answer.kind for row in table]
    ['violated', 'proved']
    """
    for name in settings:
        if name not in _SETTINGS:
            raise WrongType(
                f"there is no argument `{name}`", fix=f"models are read with {', '.join(_SETTINGS)}"
            )
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0
    ):
        what = f"{describe_value(timeout)} is not a positive number of seconds"
        raise WrongType(what, fix="give timeout=60, or None for no limit", where="timeout")
    count: Any = take_optional(take_in_range(whole_number, 1))(workers)
    number: Any = take_in_range(whole_number, 0, 2**64 - 1)(seed)
    plan = SweepPlan(
        models=_list_texts("models", models),
        policies=_list_texts("policies", policies),
        properties=_list_texts("properties", properties),
        constants=_list_values("constants", constants),
        values=_list_values("values", values),
        where=_list_texts("where", where),
        engines=_list_texts("engines", engines),
        options=_list_values("options", options),
        settings={name: _setting_text(given) for name, given in settings.items()},
        seconds=inf if timeout is None else float(timeout),
        seed=number,
    )
    folder = None if run_directory is None else Path(run_directory)
    return ask_sweep(plan, workers=count, ray=ray, folder=folder, resume=resume)


def _list_texts(name: str, given: object) -> tuple[str, ...]:
    """One text or path, or several."""
    several = [given] if isinstance(given, str | PathLike) else given
    if isinstance(several, Sequence) and all(isinstance(one, str | PathLike) for one in several):
        return tuple(str(fspath(one)) for one in several)
    raise WrongType(
        f"{describe_value(given)} is no list of texts", fix=f'write {name}=["…", "…"]', where=name
    )


def _list_values(name: str, given: Mapping[str, object] | None) -> tuple[SweptValues, ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise WrongType(
            f"{describe_value(given)} is no dictionary", fix=f'write {name}={{"N": [5, 10]}}', where=name
        )
    found = []
    for parameter, values in given.items():
        several = values if isinstance(values, list | tuple | range) else [values]
        if not several:
            raise WrongType(f"`{parameter}` takes no value", fix=f'write {name}={{"N": [5, 10]}}', where=name)
        found.append(SweptValues(str(parameter), tuple(map(show_constant, several))))
    return tuple(found)


def _setting_text(given: object) -> str | bool:
    if isinstance(given, bool | str):
        return given
    if isinstance(given, PathLike):
        return str(fspath(given))
    if isinstance(given, Sequence) and all(isinstance(one, str) for one in given):
        return ", ".join(given)
    raise WrongType(f"{describe_value(given)} does not say how a model is read", fix="give a text")
