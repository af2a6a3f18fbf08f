"""Sampled, computed and searched answers about one random system, held against each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tests.laws.finite_systems import problems

from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.statistical import Statistical
from surefoot.errors import SurefootError
from surefoot.problem.environment import Choice, Environment, Law
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Path, Probability
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Estimated, Exact, Holds, PerStart, Proved, Unknown, Verdict, Violated
from surefoot.work.budget import Budget

ENGINE = Statistical(
    eps=Fraction(1, 10), delta=Fraction(1, 10**6), uniform=True, max_steps=60, method="okamoto", workers=1
)


def with_laws(environment: Environment) -> Environment:
    """Free choices are equally likely."""

    def law(choice: Choice) -> Choice:
        if isinstance(choice.kind, Int):
            assert choice.kind.low is not None
            assert choice.kind.high is not None
            return replace(
                choice, law=Law("integer", (Fraction(choice.kind.low), Fraction(choice.kind.high)))
            )
        return replace(choice, law=Law("uniform", (Fraction(0), Fraction(1))))

    parts = tuple(
        replace(part, edges=tuple(replace(e, chosen=tuple(map(law, e.chosen))) for e in part.edges))
        for part in environment.components
    )
    return replace(environment, components=parts)


def contradictions(seed: int, bmc_seconds: float) -> tuple[str, list[str]]:
    """What could be compared, and everything that does not fit together."""
    base = problems(seed)["never"]
    assert isinstance(base.property, Never)
    environment = with_laws(base.environment)
    asked = Probability(Path("F", base.property.bad), over="values")
    problem = Problem(base.name, environment, base.policy, asked)
    sampled = _answer(ENGINE, problem, 60, seed)
    computed = _answer(Explicit(), problem, 60, seed)
    searched = _answer(Bmc(depth=6), replace(problem, property=Never(base.property.bad)), bmc_seconds, seed)
    cells = _cells(sampled)
    values = _cells(computed)
    wrong: list[str] = []
    if cells and values and len(cells) == len(values):
        for number, (cell, value) in enumerate(zip(cells, values, strict=True)):
            wrong += [f"start {number}: {text}" for text in _pair(cell, value)]
    seen = sum(cell.counts["succeeded"] for cell in cells if isinstance(cell, Estimated))
    if seen and (isinstance(searched, Proved) or (isinstance(searched, Holds) and searched.up_to is None)):
        wrong.append(f"{seen} runs reach what bmc says is never reached")
    if (
        isinstance(searched, Violated)
        and values
        and all(isinstance(v, Exact) and v.high == 0 for v in values)
    ):
        wrong.append("bmc has a run into what explicit says is reached with probability 0")
    kinds = [type(v).__name__ for v in (sampled, computed, searched)]
    return " ".join(kinds), wrong


def _pair(cell: Verdict, value: Verdict) -> list[str]:
    if not isinstance(cell, Estimated) or not isinstance(value, Exact):
        return []
    assert value.low is not None
    assert value.high is not None
    wrong = []
    if cell.high < value.low or cell.low > value.high:
        wrong.append(f"estimated in [{cell.low}, {cell.high}], computed in [{value.low}, {value.high}]")
    if value.high == 0 and cell.counts["succeeded"]:
        wrong.append(f"{cell.counts['succeeded']} runs with probability 0")
    if value.low == 1 and cell.counts["failed"]:
        wrong.append(f"{cell.counts['failed']} runs that fail with probability 0")
    return wrong


def _answer(
    engine: Statistical | Explicit | Bmc, problem: Problem, seconds: float, seed: int
) -> Verdict | None:
    try:
        if engine.objection(problem) is not None:
            return None
        found = engine.check(problem, Budget(seconds, seed))
    except SurefootError:
        return None
    return None if isinstance(found, Unknown) else found


def _cells(verdict: Verdict | None) -> list[Verdict]:
    if isinstance(verdict, PerStart):
        return [cell for _, cell in verdict.table]
    return [] if verdict is None else [verdict]
