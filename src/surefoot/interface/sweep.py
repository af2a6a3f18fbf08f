"""Many problems at once: policies x properties x parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, WrongType
from surefoot.formats.output_file import write_file
from surefoot.formats.swept_values import SweptValues
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.pose_problem import PathText, show_constant
from surefoot.interface.result import load_pandas, output_path
from surefoot.report.sweep.answer_unit import load_file_model
from surefoot.report.sweep.run_sweep import link_from, run_sweep
from surefoot.report.sweep.sweep_page import render_sweep_page
from surefoot.report.sweep.sweep_table import render_sweep, sweep_csv, sweep_to_json
from surefoot.search.sweep.sweep_plan import SweepPlan
from surefoot.search.sweep.sweep_row import SweepRow, SweepTable
from surefoot.term.arguments import describe_value, take_in_range, take_optional, whole_number

_SETTINGS = (
    *("observe", "actions", "choose", "output", "normalize", "normalise", "trust_python", "no_policy"),
    *("ignore_goal", "property_file"),
)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The table of a sweep: a row for each problem, in the order in which they were asked for.

    `row.unit.parameters` says which problem it is, `row.answer` what was found.
    """

    table: SweepTable
    folder: Path | None = field(default=None, repr=False)

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        return self.table.rows

    @property
    def counts(self) -> dict[str, int]:
        """How many answers there are of each kind: {"proved": 150, "violated": 30}."""
        return self.table.count_answers()

    @property
    def exit_code(self) -> int:
        """As `surefoot sweep` would end."""
        return self.table.exit_code

    def __len__(self) -> int:
        return len(self.table.rows)

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self.table.rows)

    def to_pandas(self) -> Any:
        """A data frame with a row for each problem: its parameters, then its answer."""
        pandas = load_pandas()
        told = ("kind", "words", "threshold", "low", "high", "certified", "code", "seconds", "engine")
        rows = [r.unit.parameters | {f"answer {n}": getattr(r.answer, n) for n in told} for r in self.rows]
        return pandas.DataFrame(rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table as .csv, .json or as a page (.html) with a matrix of verdicts."""
        target = output_path(path)
        match target.suffix:
            case ".csv":
                content = sweep_csv(self.table)
            case ".json":
                content = json.dumps(sweep_to_json(self.table), indent=1) + "\n"
            case ".html" | ".htm":
                link = None if self.folder is None else link_from(target, self.folder)
                content = render_sweep_page(self.table, link)
            case _:
                fix = "choose a name that ends in .csv, .json or .html"
                raise InvalidProblem(f"`{target}` is no kind of file that tables are written to", fix=fix)
        write_file(target, content)

    def __str__(self) -> str:
        return render_sweep(self.table)

    def _repr_html_(self) -> str:
        return render_sweep_page(self.table)


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
    >>> table = sweep("toy.toml", properties="never output[0] >= {n} for 1 steps", values={"n": [10, 13]})
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
    table = run_sweep(plan, load_file_model, workers=count, ray=ray, folder=folder, resume=resume)
    return SweepResult(table, folder)


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
