"""The tables behind the pictures: what an engine finds for each start of a problem, and the optimum; or what
`surefoot check --json` has stored of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.json_file import read_json, read_stored_results
from surefoot.formats.result_json.read import StoredResult
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Optimise, Probability, Property
from surefoot.report.heatmap.problem_variants import LONGEST, Subject, Variant
from surefoot.report.heatmap.start_values import Table, Which, effort_table, gap_table, value_table
from surefoot.run import unanswered_result, verify
from surefoot.term.lexer import shorten_text
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Reason, Result, Unknown, is_interrupted
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class StartTables:
    """What was found about one subject: the result that each table rests on, and the tables."""

    subject: Subject
    result: Result
    tables: Mapping[Which, Table]
    best: Result | None = None  # of the optimum
    trouble: str = ""  # why there are no tables
    interrupted: bool = False  # then the tables are those of a part of the work


@dataclass(slots=True)
class _StartTableSolver:
    """Asks the engine, and for the optimum the explicit one; an optimum is computed once."""

    engine: Engine
    explicit: Engine
    quantities: Sequence[Which]
    optimise: Optimise | None
    certificates: bool = True
    optima: list[tuple[Environment, Property, Result]] = field(default_factory=list)

    def answers(self, variant: Variant, budget: Budget) -> StartTables:
        """Everything that is drawn of one variant."""
        policy_needed = [q for q in self.quantities if q != "optimum"]
        result: Result | None = None
        if policy_needed:
            result = self._verify(variant.problem, self.engine, variant, budget)
        best: Result | None = None
        stopped = result is not None and is_interrupted(result.verdict)
        if {"optimum", "gap"} & set(self.quantities) and not stopped:
            best = self._optimum(variant, budget)
        for found in (result, best):
            if found is not None and (why := _missing_table_reason(found)):
                return StartTables(variant.subject, found, {}, None, why, is_interrupted(found.verdict))
        main = result or best
        assert main is not None
        tables = self._tables(variant, result, best)
        return StartTables(variant.subject, main, tables, best, interrupted=stopped)

    def _verify(self, problem: Problem, engine: Engine, variant: Variant, budget: Budget) -> Result:
        return verify(
            problem,
            engine,
            budget,
            inputs=variant.inputs,
            source=variant.source,
            certificates=self.certificates,
        )

    def _tables(self, variant: Variant, result: Result | None, best: Result | None) -> dict[Which, Table]:
        found: dict[Which, Table] = {}
        mine = None if result is None else _verdict_table(result)
        optimum = None if best is None else _verdict_table(best)
        for which in self.quantities:
            match which:
                case "value" if mine is not None:
                    found[which] = value_table(mine)
                case "effort" if mine is not None:
                    found[which] = effort_table(mine)
                case "optimum" if optimum is not None:
                    found[which] = value_table(optimum)
                case "gap" if mine is not None and optimum is not None:
                    found[which] = gap_table(
                        value_table(mine),
                        value_table(optimum),
                        _best_direction(variant.problem, self.optimise),
                    )
        return found

    def _optimum(self, variant: Variant, budget: Budget) -> Result:
        best = replace(variant.value_property, optimise=_best_direction(variant.problem, self.optimise))
        environment = variant.problem.environment
        for there, question, result in self.optima:
            if question == best and there == environment:
                return result
        budget.progress(f"{variant.subject.title}: the optimum")
        problem = replace(variant.problem, policy=None, property=best)
        result = self._verify(problem, self.explicit, variant, budget)
        self.optima.append((environment, best, result))
        return result


def _best_direction(problem: Problem, optimise: Optimise | None) -> Optimise:
    """Whether the least or the greatest value is the best one."""
    asked = problem.property
    way = optimise or (asked.optimise if isinstance(asked, Probability | Expected) else None)
    if way is None:
        fix = "give --optimise max (a goal) or --optimise min (a crash, a cost)"
        raise InvalidProblem("which value is the best one is not said", fix=fix)
    return way


def _missing_table_reason(result: Result) -> str:
    """Why a result has no table of starts; empty if it has one."""
    match result.verdict:
        case PerStart():
            return ""
        case Exact() | Estimated():
            fix = "name more with --starts, or let the model start in several states"
            raise Unsupported("there is one start only, and a heat map draws several", fix=fix)
        case Unknown(reason, detail):
            return f"unknown ({reason.value}): {detail}"
        case other:
            return f"`{type(other).__name__.lower()}` is no table of starts"


def _verdict_table(result: Result) -> PerStart:
    assert isinstance(result.verdict, PerStart)
    return result.verdict


def solve_start_tables(
    found: Sequence[Variant],
    engine: Engine,
    explicit: Engine,
    quantities: Sequence[Which],
    optimise: Optimise | None,
    certificates: bool,
    started: Budget,
) -> list[StartTables]:
    """One after the other; they share the time equally, and an interrupt ends the work with what there is."""
    asker = _StartTableSolver(engine, explicit, quantities, optimise, certificates)
    tell = started.progress
    answered: list[StartTables] = []
    for number, variant in enumerate(found):
        tell(f"{number + 1} of {len(found)}: {variant.subject.title}")
        share = started.remaining() / (len(found) - number)
        try:
            answered.append(asker.answers(variant, started.begin_part(share)))
        except KeyboardInterrupt:  # between two engines, or while a certificate was checked
            why = Unknown(Reason.INTERRUPTED, "interrupted by the user")
            result = unanswered_result(variant.problem, why, started, variant.inputs, variant.source)
            answered.append(
                StartTables(variant.subject, result, {}, None, _missing_table_reason(result), True)
            )
        if answered[-1].interrupted:
            break
    return answered


def read_start_tables(files: Sequence[Path], quantities: Sequence[Which]) -> list[StartTables]:
    """One map for each stored result with a value for each start; nothing is computed again."""
    found: list[tuple[Path, StoredResult]] = []
    for file in files:
        if file.suffix != ".json":
            fix = "draw them in two commands"
            raise InvalidProblem("stored results and models cannot be drawn together", fix=fix)
        found += [(file, stored) for stored in read_stored_results(read_json(file), file)]
    return [_tables_from_result(file, stored, quantities, len(found) > 1) for file, stored in found]


def _tables_from_result(
    file: Path, stored: StoredResult, quantities: Sequence[Which], several: bool
) -> StartTables:
    verdict = stored.result.verdict
    if not isinstance(verdict, PerStart):
        fix = 'check a property `over values`, for example "P=? [ F x = 3 ] over values"'
        raise InvalidProblem(f"`{stored.kind}` is no table of starts", fix=fix, where=str(file))
    tables: dict[Which, Table] = {}
    for which in quantities:
        match which:
            case "value":
                tables[which] = value_table(verdict)
            case "effort":
                tables[which] = effort_table(verdict)
            case _:
                fix = "draw the model itself"
                raise InvalidProblem(f"a stored result does not know the {which}", fix=fix, where=str(file))
    words = shorten_text((stored.words or "").removesuffix(" over values"), LONGEST)
    measure = "probability" if words.startswith("P") else "expected value"
    title = ", ".join([file.stem, stored.problem]) if several else stored.problem
    return StartTables(Subject(title, stored.problem, words, measure, None, None), stored.result, tables)


def result_provenance(answers: StartTables, which: Which) -> dict[str, Any]:
    """What a picture rests on, for its reader."""
    result = answers.best if which == "optimum" and answers.best is not None else answers.result
    return {
        "problem": result.problem,
        "engine": result.engine,
        "arithmetic": result.arithmetic,
        "certified": result.certified,
        "seed": result.seed,
        "seconds": round(result.seconds, 2),
        "notes": list(result.notes),
        "inputs": dict(result.inputs),
        "source": dict(result.source),
        "versions": dict(result.versions),
    }
