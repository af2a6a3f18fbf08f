"""One problem of a sweep, from its files to its result: what a worker does.

The answer is that of `surefoot check` about the same problem. Whatever is wrong with it is an answer too:
the other problems are asked all the same.
"""

from __future__ import annotations

import faulthandler
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.model_file import LoadedModel, read_model
from surefoot.formats.result_json import annotated_result_to_json
from surefoot.problem.environment import expand_definitions
from surefoot.problem.problem import Problem
from surefoot.report.abstraction.graph_file import omit_large_graph
from surefoot.report.result_page import render_result_page, verdict_shade
from surefoot.report.result_text import verdict_headline
from surefoot.run import verify_without_objection
from surefoot.search.question_predicates import with_predicates
from surefoot.search.sweep.sweep_plan import SweepUnit
from surefoot.search.sweep.sweep_row import SweepAnswer, UnitReport, error_answer
from surefoot.search.sweep.unit_engines import build_unit_engines
from surefoot.term.parser import parse_term
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import conjunction_of, free_names
from surefoot.verdict.exit_code import exit_code
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import Estimated, Exact, Reason, Result, Unknown
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

Load: TypeAlias = Callable[[Path, Mapping[str, Any]], LoadedModel]
_LATE = "the time ended while the question was read or prepared"
_LEAST_PATIENCE = 30.0  # seconds after the time of a problem, until a process that looks at no clock is ended


def make_unit_worker(load: Load, folder: str, pages: bool) -> Callable[[SweepUnit], UnitReport]:
    """What answers problems whose files are named from this folder. `pages`: with a page for each result."""
    try:
        os.chdir(folder)
    except OSError as error:
        what = f"a worker cannot use the folder `{folder}`: {error.strerror}"
        raise Unsupported(what, fix="share it with all nodes under this name") from None
    return partial(answer_unit, load, pages)


def answer_unit(load: Load, pages: bool, unit: SweepUnit) -> UnitReport:
    """The report of one problem; nothing that is wrong with it is raised."""
    budget = Budget(unit.seconds, unit.seed, workers=1)  # the others are at other problems
    patient = replace(budget, seconds=budget.seconds + max(0.5, 0.03 * budget.seconds))
    with _ending_if_stuck(unit.seconds):
        try:
            problem, result = call_in_time(patient, lambda: ask_unit(load, unit, budget), _raise_late)
            found = report_unit(problem, result, pages)
            whole = replace(found.answer, seconds=budget.elapsed_seconds())
            return replace(found, answer=whole)
        except _TimeIsOver:
            answer = SweepAnswer("timeout", f"unknown (timeout): {_LATE}", "open", 3, seconds=unit.seconds)
            return UnitReport(answer, {})
        except SurefootError as error:
            return UnitReport(error_answer(str(error), error.exit_code, budget.elapsed_seconds()), {})
        except (OSError, MemoryError, RecursionError) as error:
            words = f"{type(error).__name__}: {error}".rstrip(": ")
            code = 2 if isinstance(error, OSError) else 4
            return UnitReport(error_answer(words, code, budget.elapsed_seconds()), {})
        except Exception as error:  # noqa: BLE001 - a defect of surefoot in one problem is told in its row
            words = f"internal: {type(error).__name__}: {error}; fix: report this"
            return UnitReport(error_answer(words, 4, budget.elapsed_seconds()), {})


class _TimeIsOver(Exception):
    """Of a problem that no engine has had yet, or that none gave back."""


def _raise_late() -> tuple[Problem, Result]:
    raise _TimeIsOver


@contextmanager
def _ending_if_stuck(seconds: float) -> Iterator[None]:
    """End this process if it is at work long after the time: in native code that does not return."""
    begun = False
    if isfinite(seconds) and sys.__stderr__ is not None:
        with suppress(AttributeError, ValueError, OSError, io.UnsupportedOperation):
            patience = seconds + max(_LEAST_PATIENCE, seconds)
            faulthandler.dump_traceback_later(patience, exit=True, file=sys.__stderr__)
            begun = True
    try:
        yield
    finally:
        if begun:
            faulthandler.cancel_dump_traceback_later()


def load_file_model(model: Path, settings: Mapping[str, Any]) -> LoadedModel:
    """The model of a file."""
    return read_model(model, **settings)


def load_unit(load: Load, unit: SweepUnit) -> LoadedModel:
    """The model of a problem, with the property that it is about, or with all."""
    settings: dict[str, Any] = dict.fromkeys(("policy", "observe", "actions", "choose", "output"))
    settings |= {"normalize": None, "property_file": None}
    settings |= dict.fromkeys(("normalise", "trust_python", "no_policy", "ignore_goal"), False)
    settings |= dict(unit.settings)
    for name in ("normalize", "property_file"):
        settings[name] = None if settings[name] is None else Path(settings[name])
    settings["policy"] = None if unit.policy is None else Path(unit.policy)
    settings["constants"] = tuple(f"{name}={value}" for name, value in unit.constants)
    settings["properties"] = () if unit.question is None else (unit.question,)
    return load(Path(unit.model), settings)


def list_model_properties(load: Load, unit: SweepUnit) -> Sequence[str]:
    """The names of all properties of a model.

    None for a problem of a study, which is one question; and none where it cannot be read: its row says why.
    """
    try:
        found = load_unit(load, unit)
    except (SurefootError, OSError):
        return ()
    return () if "study" in found.source else tuple(found.problems)


def ask_unit(load: Load, unit: SweepUnit, budget: Budget) -> tuple[Problem, Result]:
    """The problem and what engines say of it."""
    loaded = load_unit(load, unit)
    if len(loaded.problems) != 1:
        raise InvalidProblem("the model has no property", fix="ask with --property")
    ((name, problem),) = loaded.problems.items()
    source = {**loaded.source, "property": name}
    if unit.start_condition is not None:  # then it is not the problem of the file any more
        problem, source = _restrict_starts(problem, unit.start_condition), {}
    built = build_unit_engines(unit)
    about: tuple[str, ...] = ()
    if built is not None:
        given = () if "predicates" in dict(unit.options) else None
        built, about = with_predicates(built, given, loaded.predicates.get(name, ()))
    result = verify_without_objection(problem, built, budget, loaded.inputs, source, named=False)
    return problem, replace(result, notes=(*result.notes, *about))


def _restrict_starts(problem: Problem, where: str) -> Problem:
    environment = problem.environment
    names = [v.name for v in environment.variables]
    term = expand_definitions(parse_term(where), environment)
    if strange := sorted(n for n in free_names(term) if n not in names and not is_reserved(n)):
        what = f"`{strange[0]}` is no variable of the model"
        raise InvalidProblem(what, fix="write a condition on the start state", where="--where")
    initial = conjunction_of((environment.initial, term))
    return replace(problem, environment=replace(environment, initial=initial))


def report_unit(problem: Problem, result: Result, pages: bool) -> UnitReport:
    """Everything that is kept of a result."""
    shown = omit_large_graph(result)
    document = annotated_result_to_json(problem, shown)
    verdict = document["verdict"]
    ends = [verdict.get(name) for name in ("low", "high")]
    answer = SweepAnswer(
        kind=_answer_kind(result, verdict["kind"]),
        words=verdict_headline(problem, result),
        shade=verdict_shade(problem, result),
        code=exit_code(result, problem),
        certified=result.certified,
        threshold=answer_threshold(problem.property, result.verdict),
        low=ends[0] if isinstance(result.verdict, Exact | Estimated) else None,
        high=ends[1] if isinstance(result.verdict, Exact | Estimated) else None,
        engine=result.engine,
        seconds=result.seconds,
        detail=result.verdict.detail if isinstance(result.verdict, Unknown) else "",
    )
    page = render_result_page([(problem, shown)]) if pages else None
    return UnitReport(answer, result.inputs, document, page)


def _answer_kind(result: Result, kind: str) -> str:
    return (
        "timeout" if isinstance(result.verdict, Unknown) and result.verdict.reason is Reason.TIMEOUT else kind
    )
