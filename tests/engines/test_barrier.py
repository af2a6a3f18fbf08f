"""Barrier certificates: proofs about systems as they are executed, and none about unsafe ones."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from benchmarks.old_format import to_format_1

from surefoot.certify.barrier.claim import matches_barrier_claim
from surefoot.engines.barrier import Barrier
from surefoot.engines.barrier.float_system import evaluate_polynomial
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, disjunction_of
from surefoot.term.value_types import Arithmetic, Real
from surefoot.verdict.verdict import Holds, Proved, Result, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.pendulum.problem import stays_upright


def proved(problem: Problem, seconds: float = 60, *, polynomial: bool = False) -> Result:
    return verify(problem, Barrier(polynomial=polynomial), Budget(seconds))


def content(result: Result) -> dict[str, Any]:
    assert isinstance(result.verdict, Proved)
    found = to_format_1(result.verdict.certificate.content)
    return found


def accepted(certificate: dict[str, Any]) -> bool:
    try:
        return judge_certificate(certificate).accepted
    except BadCertificate:
        return False


@pytest.mark.parametrize(
    "problem",
    [
        stays_upright(),
        stays_upright(disturbance=Fraction(1, 10)),
        stays_upright(strongest_action=None),
    ],
)
def test_the_pendulum_of_the_paper_stays_upright(problem: Problem) -> None:
    result = proved(problem)
    assert result.certified
    assert "float64" in result.arithmetic


def test_without_a_certificate_it_holds_for_ever_on_the_word_of_the_engine() -> None:
    result = verify(stays_upright(), Barrier(), Budget(60), certificates=False)
    assert isinstance(result.verdict, Holds)
    assert result.verdict.up_to is None
    assert not result.certified


def test_a_program_that_is_too_weak_is_not_proved() -> None:
    result = proved(stays_upright(strongest_action=Fraction(1, 10)), 5)
    assert isinstance(result.verdict, Unknown)


def linear(
    matrix: list[list[Fraction]], gust: Fraction, limit: int, arithmetic: Arithmetic, gain: Fraction
) -> Problem:
    """x' = matrix x + (u + gust) in the last variable, u = -gain * (the last variable), within 1."""
    count = len(matrix)
    names = [Var(f"x{i}") for i in range(count)]
    rows: list[Term] = []
    for i, row in enumerate(matrix):
        total: Term = Const(row[0]) * names[0]
        for c, x in zip(row[1:], names[1:], strict=True):
            total = total + Const(c) * x
        rows.append(total + Var("u") + Var("gust") if i == count - 1 else total)
    updates = tuple(Update(x, r) for x, r in zip(names, rows, strict=True))
    environment = Environment(
        "linear",
        tuple(Variable(x.name, Real()) for x in names),
        conjunction_of(tuple((x >= -1) & (x <= 1) for x in names)),
        (
            Component(
                "plant",
                (
                    Edge(
                        chosen=(Choice("gust", Real(-gust, gust)),),
                        outcomes=(Outcome(updates=updates),),
                    ),
                ),
            ),
        ),
        (Control("u", Fraction(-1), Fraction(1)),),
        arithmetic=arithmetic,
    )
    bad = disjunction_of(tuple(side for x in names for side in (x >= limit, x <= -limit)))
    policy = ProgramPolicy((Branch(TRUE, (Const(-gain) * names[-1],)),))
    return Problem("linear", environment, policy, Never(bad))


def worst(matrix: list[list[Fraction]], gust: Fraction, limit: int, gain: Fraction) -> bool:
    """Does some run in floats become unsafe?"""
    generator = np.random.default_rng(0)
    state = np.where(generator.random((400, len(matrix))) < 0.5, -1.0, 1.0)
    rows = np.array([[float(c) for c in row] for row in matrix])
    for _ in range(300):
        control = np.clip(-float(gain) * state[:, -1], -1, 1)
        state = state @ rows.T
        state[:, -1] += control + np.where(generator.random(400) < 0.5, -1.0, 1.0) * float(gust)
        if np.abs(state).max() >= limit:
            return True
    return False


@pytest.mark.parametrize("seed", range(30))
def test_random_linear_systems_are_never_proved_wrongly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 4))
    size = float(generator.uniform(0.3, 1.1))
    matrix = [
        [Fraction(round(float(x), 2)).limit_denominator(100) for x in row]
        for row in generator.normal(0, size / np.sqrt(count), (count, count))
    ]
    arithmetic = Arithmetic.FLOAT64 if seed % 2 else Arithmetic.EXACT
    gust, gain = Fraction(int(generator.integers(0, 20)), 100), Fraction(int(generator.integers(0, 12)), 10)
    problem = linear(matrix, gust, 4, arithmetic, gain)
    result = verify(problem, Barrier(degree=2), Budget(2))
    if worst(matrix, gust, 4, gain):
        assert isinstance(result.verdict, Unknown)
    elif isinstance(result.verdict, Proved):
        assert result.certified


def test_a_certificate_belongs_to_one_problem() -> None:
    mine, other = (discretise(stays_upright(disturbance=d)) for d in (Fraction(1, 10), Fraction(1, 20)))
    found = content(proved(mine))
    assert matches_barrier_claim(found, mine)
    assert not matches_barrier_claim(found, other)


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    matrix = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(-1, 10), Fraction(9, 10)]]
    problem = linear(matrix, Fraction(1, 20), 4, Arithmetic.FLOAT64, Fraction(1, 2))
    return content(proved(problem, polynomial=True))


def test_a_true_certificate_is_accepted(shown: dict[str, Any]) -> None:
    assert accepted(shown)


def _unsafe_sooner(data: dict[str, Any]) -> None:
    data["claim"]["system"]["unsafe"] = ["<=", "1/2", ["name", "x0"]]


def _more_starts(data: dict[str, Any]) -> None:
    data["claim"]["system"]["initial"][0][1] = 3


def _stronger_gust(data: dict[str, Any]) -> None:
    data["claim"]["system"]["disturbances"][0][2] = 3


def _weaker_control(data: dict[str, Any]) -> None:
    data["claim"]["system"]["rules"][0]["then"] = [["*", 5, ["name", "x1"]]]


def _no_rounding_margin(data: dict[str, Any]) -> None:
    data["sets"][0]["margins"]["step"] = [0, 0]


def _larger_set(data: dict[str, Any]) -> None:
    barrier = data["claim"]["system"]["rules"][0]["set"]["barrier"]
    data["claim"]["system"]["rules"][0]["set"]["barrier"] = ["-", barrier, 5]


def _another_matrix(data: dict[str, Any]) -> None:
    data["sets"][0]["steps"][0][0][0]["gram"][0][0] = "0x1"


def _negative_matrix(data: dict[str, Any]) -> None:
    data["sets"][0]["start"][0] = [{"of": [], "basis": [[0, 0, 0]], "gram": [["-0x1"]], "over": 1}]


def _fewer_cases(data: dict[str, Any]) -> None:
    data["sets"][0]["steps"] = []


def _faster_system(data: dict[str, Any]) -> None:
    data["claim"]["system"]["next"][0] = ["*", 2, ["name", "x0"]]


MUTATIONS = [
    _unsafe_sooner,
    _more_starts,
    _stronger_gust,
    _weaker_control,
    _no_rounding_margin,
    _larger_set,
    _another_matrix,
    _negative_matrix,
    _fewer_cases,
    _faster_system,
]


@pytest.mark.parametrize("change", MUTATIONS, ids=lambda change: change.__name__.strip("_"))
def test_what_is_false_is_refused(shown: dict[str, Any], change: Any) -> None:
    data = copy.deepcopy(shown)
    change(data)
    assert not accepted(data)


def _summand(of: list[int], factor: Fraction) -> dict[str, Any]:
    return {"of": of, "basis": [[0]], "gram": [[factor.numerator]], "over": factor.denominator}


def standing_still(name: str = "still") -> dict[str, Any]:
    """x stays where it is, starts up to 1/10 and is unsafe from 0.1 on; the double 0.1 is above 1/10."""
    barrier, above = ["-", ["*", 10, ["name", "x"]], 1], 10 * Fraction(0.1) - 1
    inside = {"domain": [[0, "1/2"]], "barrier": barrier, "tested": False, "margin": 0}
    system = {
        **{"name": name, "variables": ["x"], "initial": [[0, "1/10"]], "controls": [], "disturbances": []},
        **{"next": [["name", "x"]], "unsafe": ["<=", "1/10", ["name", "x"]]},
        **{"rules": [{"set": inside, "then": []}], "shield": None},
    }
    proof = {
        **{"scale": [[0, 1]], "margins": {"room": 0, "step": [0], "barrier": 0}, "saturation": []},
        **{"covers": [[[0, "1/10"]]], "start": [[_summand([1], Fraction(10))]]},
        "unsafe": [{"slack": [0], "proof": [_summand([2], 1 / above), _summand([3], 10 / above)]}],
        "steps": [[[_summand([2], Fraction(1))], [_summand([0], Fraction(1))], [_summand([1], Fraction(1))]]],
    }
    claim = {"kind": "barrier", "system": system}
    return {"surefoot-certificate": 1, "claim": claim, "arithmetic": "float64", "sets": [proof]}


def test_starts_at_the_end_of_their_range_are_doubles() -> None:
    """In float64 `x <= 0.1` holds for the double 0.1, which is above 1/10."""
    data = standing_still()
    assert not accepted(data)
    data["claim"]["system"]["initial"] = [[0, "1/20"]]
    assert accepted(data)
    x = Var("x")
    problem = Problem(
        "still",
        Environment(
            "still",
            (Variable("x", Real()),),
            conjunction_of((Const(0) <= x, x <= Const(Fraction(1, 10)))),
            (Component("c", (Edge(),)),),
            arithmetic=Arithmetic.FLOAT64,
        ),
        ProgramPolicy((Branch(TRUE, ()),)),
        Never(Const(Fraction(1, 10)) <= x),
    )
    assert not matches_barrier_claim(standing_still(), problem)


def test_names_in_a_claim_are_shown_without_control_characters() -> None:
    data = standing_still("still\naccepted")
    data["claim"]["system"]["initial"] = [[0, "1/20"]]
    assert "\n" not in judge_certificate(data).claim


def _long_scale(data: dict[str, Any]) -> None:
    data["sets"][0]["scale"][0] = [0, 1, 2]


def _truth_as_control(data: dict[str, Any]) -> None:
    data["claim"]["system"]["rules"][0]["then"] = [True]


def _truth_as_next(data: dict[str, Any]) -> None:
    data["claim"]["system"]["next"][0] = True


@pytest.mark.parametrize("change", [_long_scale, _truth_as_control, _truth_as_next])
def test_what_has_another_form_is_refused(shown: dict[str, Any], change: Any) -> None:
    data = copy.deepcopy(shown)
    change(data)
    assert not accepted(data)


def test_states_that_ran_away_have_no_value_and_give_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    line = Polynomial({(2,): Fraction(1), (1,): Fraction(-(10**200))})
    values = evaluate_polynomial(line, np.array([[1e200], [np.inf], [1.0]]))
    assert not np.isfinite(values[:2]).any()
    assert values[2] == 1 - 1e200
    assert not recwarn.list
