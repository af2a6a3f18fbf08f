"""Convergence: certified where a run must come to its target, never where it need not."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.old_format import to_format_1
from tests.engines.test_barrier import linear

from surefoot.certify.barrier.convergence import matches_convergence_claim
from surefoot.cli import run_command_line
from surefoot.engines.barrier import Barrier
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.term.term import FALSE, Const, Term, Var, conjunction_of
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.verdict import Proved, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.pendulum.problem import stays_upright


def near(names: list[str], size: Fraction) -> Term:
    return conjunction_of(tuple((Var(n) <= Const(size)) & (Var(n) >= Const(-size)) for n in names))


def spiral(
    size: Fraction, gust: Fraction = Fraction(0), arithmetic: Arithmetic = Arithmetic.FLOAT64
) -> Problem:
    """x0, x1 turn and shrink; the target is a box of that size."""
    matrix = [[Fraction(9, 10), Fraction(1, 5)], [Fraction(-1, 5), Fraction(9, 10)]]
    problem = linear(matrix, gust, 4, arithmetic, Fraction(1, 10))
    return replace(problem, property=Recurs(near(["x0", "x1"], size)))


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    result = verify(spiral(Fraction(1, 4), Fraction(1, 100)), Barrier(degree=2), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    found = to_format_1(result.verdict.certificate.content)
    return found


def accepted(data: dict[str, Any]) -> bool:
    try:
        return judge_certificate(data).accepted
    except BadCertificate:
        return False


def test_the_pendulum_comes_to_rest() -> None:
    problem = stays_upright()
    names = [v.name for v in problem.environment.variables]
    asked = replace(problem, property=Recurs(near(names, Fraction(1, 10))))
    result = verify(asked, Barrier(degree=2), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    eventually = replace(problem, property=Eventually(near(names, Fraction(1, 10))))
    assert Barrier().objection(discretise(eventually)) is None
    assert "not written as updates" in str(Barrier().objection(eventually))


def test_a_certificate_belongs_to_one_problem(shown: dict[str, Any]) -> None:
    mine = discretise(spiral(Fraction(1, 4), Fraction(1, 100)))
    assert accepted(shown)
    assert matches_convergence_claim(shown, mine)
    smaller = discretise(spiral(Fraction(1, 8), Fraction(1, 100)))
    assert not matches_convergence_claim(shown, smaller)
    assert not matches_convergence_claim(shown, discretise(spiral(Fraction(1, 4))))
    assert not matches_convergence_claim(shown, replace(mine, property=Never(FALSE)))


def _smaller_target(data: dict[str, Any]) -> None:
    data["claim"]["target"] = ["<=", ["name", "x0"], "-3"]


def _no_fall(data: dict[str, Any]) -> None:
    data["ranking"]["least"] = 0


def _more_fall(data: dict[str, Any]) -> None:
    data["ranking"]["least"] = 1


def _no_drift(data: dict[str, Any]) -> None:
    data["ranking"]["drift"] = 0


def _another_function(data: dict[str, Any]) -> None:
    data["ranking"]["function"] = ["*", -1, data["ranking"]["function"]]


def _fewer_ways_out(data: dict[str, Any]) -> None:
    data["ranking"]["cases"][0].pop()


def _fewer_modes(data: dict[str, Any]) -> None:
    data["ranking"]["cases"] = []


def _stronger_gust(data: dict[str, Any]) -> None:
    data["claim"]["system"]["disturbances"][0][2] = 1


def _no_slack(data: dict[str, Any]) -> None:
    data["ranking"]["cases"][0][0]["slack"] = ["-1/100"]


def _other_kind(data: dict[str, Any]) -> None:
    data["claim"]["kind"] = "barrier"


@pytest.mark.parametrize(
    "change",
    [
        *(_smaller_target, _no_fall, _more_fall, _no_drift, _another_function, _fewer_ways_out, _fewer_modes),
        *(_stronger_gust, _no_slack, _other_kind),
    ],
    ids=lambda change: change.__name__.strip("_"),
)
def test_what_is_false_is_refused(shown: dict[str, Any], change: Any) -> None:
    data = copy.deepcopy(shown)
    change(data)
    assert not accepted(data)


def test_disturbances_that_are_too_strong_are_not_proved() -> None:
    """A gust of 1/10 in every step can hold the state outside of a tiny target."""
    verdict = verify(spiral(Fraction(1, 100), Fraction(1, 10)), Barrier(degree=2), Budget(3)).verdict
    assert isinstance(verdict, Unknown)


@pytest.mark.parametrize("seed", range(4))
def test_random_systems_are_never_proved_wrongly(seed: int) -> None:
    """Some shrink and some do not: where a simulated run stays outside of the target nothing is proved."""
    generator = np.random.default_rng(seed)
    angle, size = float(generator.uniform(0, 3)), float(generator.choice([0.7, 0.9, 0.999, 1.0, 1.05]))
    turn = size * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    matrix = [[Fraction(float(x)).limit_denominator(1000) for x in row] for row in turn]
    gain, gust = Fraction(int(generator.integers(0, 3)), 10), Fraction(int(generator.integers(0, 3)), 100)
    problem = linear(matrix, gust, 4, Arithmetic.FLOAT64 if seed % 2 else Arithmetic.EXACT, gain)
    problem = replace(problem, property=Recurs(near(["x0", "x1"], Fraction(1, 2))))
    verdict = verify(problem, Barrier(degree=2), Budget(1)).verdict
    rows, state = np.array([[float(x) for x in row] for row in matrix]), np.array([1.0, 1.0])
    outside = 0
    for _ in range(4000):
        control = float(np.clip(-float(gain) * state[1], -1, 1))
        state = rows @ state
        state[1] += control + float(gust) * (1 if state[1] > 0 else -1)
        outside = 0 if np.abs(state).max() <= 0.5 else outside + 1
        if np.abs(state).max() > 1e6:
            break
    if outside > 2000 or np.abs(state).max() > 1e6:
        assert isinstance(verdict, Unknown)


SPIRAL = """
name = "spiral"
arithmetic = "float64"
initial = "x >= -1 and x <= 1 and y >= -1 and y <= 1"
[variables]
x = "real"
y = "real"
[controls]
u = "[-1, 1]"
[[edges]]
updates = { x = "0.9*x + 0.2*y", y = "0.9*y - 0.2*x + u" }
[policy.program]
branches = [{ controls = ["-0.1*y"] }]
[properties]
rests = "recurs x <= 0.1 and x >= -0.1 and y <= 0.1 and y >= -0.1"
"""


def test_the_command_line_certifies_again(tmp_path: Path) -> None:
    model, result = tmp_path / "spiral.toml", tmp_path / "result.json"
    model.write_text(SPIRAL)
    assert (
        run_command_line(["check", str(model), "--engine", "barrier", "--json", str(result), "--quiet"]) == 0
    )
    assert run_command_line(["certify", str(result)]) == 0
    model.write_text(SPIRAL.replace("0.1 and y <=", "0.01 and y <="))
    assert run_command_line(["certify", str(result)]) == 1
