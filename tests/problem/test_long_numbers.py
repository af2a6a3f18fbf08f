"""Numbers whose length explodes: refused before they are computed, everywhere and at once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from tests.formats.jani.build import op, write
from tests.formats.jani.features import stepping

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.jani import read_jani
from surefoot.formats.problem_file import read_problems
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import enumerate_successors
from surefoot.query.lower import lower_query
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.query.query import Query, QueryVariable
from surefoot.reductions.barrier.polynomials import polynomial_of
from surefoot.run import verify
from surefoot.term.closures import compile_closure
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.interval import term_interval
from surefoot.term.linear import linearise_term
from surefoot.term.number import MOST_BITS, LongNumber, bits_of, brief_number
from surefoot.term.parser import parse_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Int
from surefoot.verdict.verdict import Unknown
from surefoot.work.budget import Budget

X = Var("x")
TOWER = parse_term("((x + 2)^10000)^10000")


def doubled(term: Term, times: int) -> Term:
    for _ in range(times):
        term = term * term
    return term


def squared(term: Term, times: int) -> Term:
    for _ in range(times):
        term = Apply(Op.POW, (term, Const(2)))
    return term


NESTED = doubled(parse_term("10^10000"), 12)
LONG = {
    "tower": TOWER,
    "nested products": NESTED,
    "30 squarings": squared(X + 2, 30),
    "denominators": Apply(Op.ADD, (X, *(1 / (Const(10**9999) + n) for n in range(1, 60)))),
    "quotients": parse_term("x / (1 / 10^10000) / 10^-10000 / 10^-10000 / 10^-10000"),
    "a large exponent": parse_term("(x + 10^10000)^1000"),
}


@pytest.fixture(autouse=True)
def in_time() -> Any:
    """None of these takes long, however busy the machine is."""
    start = process_time()
    yield
    assert process_time() - start < 20


@pytest.mark.parametrize("arithmetic", Arithmetic)
@pytest.mark.parametrize("term", LONG.values(), ids=LONG.keys())
def test_evaluation_gives_up(term: Term, arithmetic: Arithmetic) -> None:
    names = {"x": 3}
    slots, kinds = {"x": 0}, {"x": Int()}
    if arithmetic is Arithmetic.FLOAT64 and term == LONG["denominators"]:
        return  # doubles have one length
    with pytest.raises((LongNumber, Undefined)):
        evaluate_term(term, names, arithmetic)
    with pytest.raises((LongNumber, Undefined, OverflowError)):
        compile_closure(term, slots, kinds, arithmetic)((3,))


def test_numbers_up_to_the_limit_are_computed() -> None:
    longest = evaluate_term(parse_term(f"2^9999 * 2^9999 * 2^{MOST_BITS % 9999}"), {})
    assert bits_of(longest) <= MOST_BITS
    value = 2 ** (MOST_BITS - 1)
    assert evaluate_term(X + 1, {"x": value}) == value + 1
    for term in (X * 2, X + X, X / Fraction(1, 3), X**2, X * X):
        with pytest.raises(LongNumber):
            evaluate_term(term, {"x": value})
    assert evaluate_term(parse_term("1^10000 + (-1)^9999 + 0^10000"), {}) == 0


@pytest.mark.parametrize("low", [-3, 2])
@pytest.mark.parametrize("term", LONG.values(), ids=LONG.keys())
def test_intervals_give_way_outwards(term: Term, low: int) -> None:
    least, most = term_interval(term, {"x": Int(low, 4)})
    assert least <= most
    assert bits_of(least) <= MOST_BITS
    assert bits_of(most) <= MOST_BITS


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_end_that_gave_way_is_still_outside(sign: int) -> None:
    huge = Const(sign * 2 ** (MOST_BITS - 10))
    least, most = term_interval(huge * X * 5, {"x": Int(2**6, 2**7)})
    value = huge.value * 2**6 * 5
    assert least <= value <= most


@pytest.mark.parametrize("term", LONG.values(), ids=LONG.keys())
def test_linear_forms_and_polynomials(term: Term) -> None:
    with pytest.raises(SurefootError):
        linearise_term(term)
    with pytest.raises(SurefootError):
        polynomial_of(term, {"x": polynomial_from_variable(0, 1)}, 1, rounded=False)
    with pytest.raises(SurefootError):
        lower_query(Query((QueryVariable("x", Int(0, 3)),), (term > 0,)))


def test_polynomials_with_very_many_terms() -> None:
    names = {n: polynomial_from_variable(i, 4) for i, n in enumerate("abcd")}
    with pytest.raises(Unsupported, match="too many terms"):
        polynomial_of(parse_term("((a + b + c + d + 1)^12)^12"), names, 4, rounded=False)


def system(update: Term, kind: Any = None, start: str = "x = 3", bad: Term | None = None) -> Problem:
    edge = Edge(outcomes=(Outcome(updates=(Update(X, update),)),))
    environment = Environment(
        "long", (Variable("x", kind or Int()),), parse_term(start), (Component("one", (edge,)),)
    )
    return Problem("long", environment, None, Never(X < 0 if bad is None else bad))


def after_steps(problem: Problem, state: Any, count: int) -> Any:
    for _ in range(count):
        (state,) = (s.state for s in enumerate_successors(problem, state))
    return state


def test_a_state_that_squares_itself() -> None:
    with pytest.raises(LongNumber):
        after_steps(system(X * X), {"x": 3}, 40)


def test_a_long_value_outside_its_kind_is_told_briefly() -> None:
    with pytest.raises(Undefined, match="a number of 33220 bits"):
        list(enumerate_successors(system(parse_term("10^10000"), Int(0, 3)), {"x": 3}))
    assert brief_number((1, 2**2000)) == "(1, a number of 2001 bits)"


TOML = """
name = "long"
initial = "{initial}"
[variables]
x = "int 0..3"
[[edges]]
action = "go"
guard = "{guard}"
updates = {{ x = "{update}" }}
[policy.program]
branches = [{{ action = "go" }}]
[properties]
p = "{bad}"
"""
TEXT = "10^10000 * 10^10000 * 10^10000 * 10^10000"


def written(folder: Path, **parts: str) -> Path:
    plain = {"initial": "x = 0", "guard": "true", "update": "x", "bad": "never x > 2"}
    file = folder / "long.toml"
    file.write_text(TOML.format(**{**plain, **parts}))
    return file


@pytest.mark.parametrize(
    "parts",
    [
        {"initial": f"x = 0 and x < {TEXT}"},
        {"guard": f"x < {TEXT}"},
        {"update": f"min(x, {TEXT})"},
        {"bad": f"never x > {TEXT}"},
        {"bad": "never x > 1" + "/1e-10000" * 8},
    ],
    ids=["initial", "guard", "update", "property", "quotient"],
)
def test_files_with_long_constants_are_refused(parts: dict[str, str], tmp_path: Path) -> None:
    told = rf"long.toml:\d+:\d+: a .* of more than {MOST_BITS} bits"
    with pytest.raises((InvalidProblem, Unsupported), match=told):
        read_problems(written(tmp_path, **parts))


@pytest.mark.parametrize("engine", [Bmc(), Induction(), None], ids=["bmc", "induction", "all"])
@pytest.mark.parametrize(
    "parts",
    [
        {"guard": "((x + 2)^10000)^10000 > 5"},
        {"update": "min(3, ((x + 2)^10000)^10000)"},
        {"bad": "never ((x + 2)^10000)^10000 < 5"},
    ],
    ids=["guard", "update", "property"],
)
def test_engines_answer_in_time(parts: dict[str, str], engine: Any, tmp_path: Path) -> None:
    (problem,) = read_problems(written(tmp_path, **parts)).values()
    try:
        assert isinstance(verify(problem, engine, Budget(seconds=5)).verdict, Unknown)
    except Unsupported:  # an engine that was asked for by name says so at once
        assert engine is not None


@pytest.mark.parametrize(
    "value",
    [
        op("*", op("pow", 10, 10_000), op("*", op("pow", 10, 10_000), op("pow", op("pow", 10, 10_000), 2))),
        op("pow", op("pow", 2, 10_000), 10_000),
    ],
    ids=["products", "a tower"],
)
def test_jani_models_with_long_constants_are_refused(value: Any, tmp_path: Path) -> None:
    file = write(tmp_path, stepping(op("min", "x", value)))
    with pytest.raises(
        (InvalidProblem, Unsupported), match=f"/value: a number of more than {MOST_BITS} bits"
    ):
        read_jani(file)
