"""Which problems are drawn: every model, property, checkpoint and value of a swept parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.model_file import LoadedModel
from surefoot.problem.environment import Environment, expand_definitions
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability, Threshold
from surefoot.problem.property_printer import show_property
from surefoot.report.heatmap.heat_figure import measure_of
from surefoot.report.heatmap.learning_curve import Curve, read_curve
from surefoot.search.sweep.checkpoint_files import list_checkpoint_files
from surefoot.search.sweep.swept_values import SweptValues, read_swept_values
from surefoot.term.lexer import shorten_text
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import Term, conjunction_of, free_names

LONGEST = 120  # characters of a property above a picture


@dataclass(frozen=True, slots=True)
class Subject:
    """What a map is about. Maps of one group share their axes."""

    title: str
    group: str
    words: str  # the property
    measure: str  # probability, expected steps, …
    environment: Environment | None  # None: not known, so that locations have no names
    threshold: Threshold | None  # of the property


@dataclass(frozen=True, slots=True)
class Variant:
    """One problem whose starts are drawn."""

    subject: Subject
    problem: Problem  # its property asks for the value of each start
    inputs: Mapping[str, str]
    source: Mapping[str, object]

    @property
    def value_property(self) -> Probability | Expected:
        assert isinstance(self.problem.property, Probability | Expected)
        return self.problem.property


@dataclass(frozen=True, slots=True)
class MapPlan:
    """Which maps are drawn of each model: one for each checkpoint and each combination of swept values."""

    sweeps: tuple[SweptValues, ...]
    saved: tuple[tuple[int, Path], ...]  # checkpoints in the order of training: step and network
    curve: Curve | None  # of the training, with the places of the checkpoints on it

    @property
    def across(self) -> int | None:
        """How many maps stand beside each other, where two parameters make a table."""
        return len(self.sweeps[-1].values) if len(self.sweeps) == 2 else None

    def variants(
        self,
        models: tuple[Path, ...],
        wiring: Mapping[str, Any],
        starts: Term | None,
        where: tuple[Term, ...] = (),
        *,
        load: Callable[[Path, Mapping[str, Any]], LoadedModel],
        title_of: Callable[[Path], str],
        named: bool = False,
    ) -> Iterator[Variant]:
        """Everything that is drawn, model by model, in the order of training and of the swept values.

        `load` reads a model with the settings; `named`: the properties were named, so that each must have
        something to draw.
        """
        unit = "step" if self.curve is None else self.curve.x
        choices = [[(s.name, value) for value in s.values] for s in self.sweeps]
        for model, one, swept in product(models, self.saved or (None,), product(*choices)):
            settings = dict(wiring)
            settings["constants"] = (*wiring["constants"], *(f"{n}={v}" for n, v in swept))
            if one is not None:
                settings["policy"] = one[1]
            loaded = load(model, settings)
            asked = _quantitative_problems(loaded, model, named)
            for name, problem in asked.items():
                words = [title_of(model)] if len(models) > 1 else []
                words += [name] if len(asked) > 1 else []
                words += [f"{unit} {one[0]}"] if one is not None else []
                words += [f"{n} = {v}" for n, v in swept]
                title = ", ".join(words) or (title_of(model) if "[" in name else name)
                source = {**loaded.source, "property": name}
                drawn = _restrict_starts(problem, where)
                yield _make_variant(title, str(model), drawn, loaded.inputs, source, starts)


def read_map_plan(
    sweeps: Sequence[str], folder: Path | None, curve: Path | None, policy: Path | None
) -> MapPlan:
    """From texts like `noise=0.1:0.5:0.1`, a folder of checkpoints and the file of their learning curve."""
    saved, line = _read_training(folder, curve, policy)
    found = tuple(read_swept_values(text, "--sweep") for text in sweeps)
    if len(found) > 2:
        raise InvalidProblem("more than two parameters cannot be drawn at once", where="--sweep")
    return MapPlan(found, saved, line)


def _read_training(
    folder: Path | None, curve: Path | None, policy: Path | None
) -> tuple[tuple[tuple[int, Path], ...], Curve | None]:
    """The checkpoints, and the learning curve with their places on it."""
    if folder is None:
        if curve is not None:
            raise InvalidProblem("a learning curve belongs to checkpoints", fix="give --checkpoints FOLDER")
        return (), None
    if policy is not None:
        raise InvalidProblem("the checkpoints are the policies", fix="leave --policy out")
    saved = list_checkpoint_files(folder)
    if curve is None:
        return saved, None
    line = read_curve(curve)
    marks = tuple((float(step), path.name) for step, path in saved)
    return saved, replace(line, marks=marks)


def _restrict_starts(problem: Problem, where: tuple[Term, ...]) -> Problem:
    """Starts that are not drawn need no answer; what a start is worth does not depend on the others."""
    environment = problem.environment
    meant = tuple(expand_definitions(term, environment) for term in where)
    if not meant or any(is_reserved(name) for term in meant for name in free_names(term)):
        return problem
    initial = conjunction_of((environment.initial, *meant))
    return replace(problem, environment=replace(environment, initial=initial))


def _quantitative_problems(loaded: LoadedModel, model: Path, named: bool) -> dict[str, Problem]:
    found = {n: p for n, p in loaded.problems.items() if isinstance(p.property, Probability | Expected)}
    if named and (others := [n for n in loaded.problems if n not in found]):
        what = f"`{others[0]}` is no probability and no expected value: there is nothing to draw"
        raise Unsupported(what, fix="leave it out", where="--property")
    if not found:
        fix = 'ask for one with --property "P=? [ F x = 3 ]"'
        raise Unsupported("no property here is a probability or an expected value", fix=fix, where=str(model))
    return found


def _make_variant(
    title: str,
    group: str,
    problem: Problem,
    inputs: Mapping[str, str],
    source: Mapping[str, object],
    starts: Term | None,
) -> Variant:
    asked = problem.property
    assert isinstance(asked, Probability | Expected)
    if starts is not None:
        asked = replace(asked, starts=expand_definitions(starts, problem.environment))
    # That the property is asked of every start goes without saying.
    words = shorten_text(show_property(replace(asked, over="max", threshold=None, starts=None)), LONGEST)
    subject = Subject(title, group, words, measure_of(asked), problem.environment, asked.threshold)
    each = replace(asked, over="values", threshold=None)
    return Variant(subject, replace(problem, property=each), inputs, source)
