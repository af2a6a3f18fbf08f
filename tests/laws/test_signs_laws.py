"""Remainder, division, rounding and powers for every combination of signs: one meaning in every tier.

What is expected is computed here with nothing of the package. The remainder is the Euclidean one of the JANI
specification: `0 <= a % b < |b|`, and the divisor goes into `a` minus it; by zero there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

from surefoot.certify.term_json import process_term_to_json
from surefoot.engines.predicates.enumerative.columns import ColumnEvaluator, RationalColumn
from surefoot.engines.predicates.symbolic.conditions import term_cases
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.formats.jani.export.terms import ExportNames, jani_expression
from surefoot.formats.jani.expressions import JaniScope, read_unfolded_term
from surefoot.formats.jani.json_document import JsonNode
from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.query.formula import AnyOf, Formula, LinearAtom, Relation
from surefoot.query.query import Answer, Query, QueryVariable, Sat, Unsat
from surefoot.solvers.milp.solver import decide_milp as milp
from surefoot.term.closures import UNDEFINED_ERRORS, compile_closure
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.interval import term_interval
from surefoot.term.parser import parse_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    disjunction_of,
    equal,
    ite,
)
from surefoot.term.traverse import substitute_names
from surefoot.term.types import infer_term_type
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot_checker.claims.values.term import compile_row_function
from surefoot_checker.kernel.strict_json import Refused
from surefoot_checker.kernel.term import read_term

Expected: TypeAlias = Callable[[int, int], Any]
A, B = Var("a"), Var("b")
KINDS = {"a": Int(-7, 7), "b": Int(-3, 3)}
PAIRS = tuple(product(range(-7, 8), range(-3, 4)))


def remainder(a: int, b: int) -> int | None:
    """The least number that is not negative and differs from `a` by a multiple of `b`."""
    return next((r for r in range(abs(b)) if any(a == b * q + r for q in range(-9, 10))), None)


def below(a: int, b: int) -> int | None:
    """The largest whole number that is at most a / b."""
    return None if b == 0 else max(q for q in range(-30, 31) if (q * b <= a if b > 0 else q * b >= a))


def above(a: int, b: int) -> int | None:
    return None if b == 0 else min(q for q in range(-30, 31) if (q * b >= a if b > 0 else q * b <= a))


def towards_zero(a: int, b: int) -> int | None:
    return (above if (a < 0) != (b < 0) else below)(a, b)


def power(a: int, b: int) -> Fraction | None:
    if a == 0 and b < 0:
        return None
    result = Fraction(1)
    for _ in range(abs(b)):
        result = result * a if b > 0 else result / a
    return result


LAWS: list[tuple[str, Apply, Expected]] = [
    ("remainder", A % B, remainder),
    ("floor", Apply(Op.FLOOR, (A / B,)), below),
    ("ceil", Apply(Op.CEIL, (A / B,)), above),
    ("trc", Apply(Op.TRUNC, (A / B,)), towards_zero),
    ("quotient", A / B, lambda a, b: None if b == 0 else Fraction(a, b)),
    ("power", A**B, power),
]


def value_or_none(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (*UNDEFINED_ERRORS, Refused):
        return None


@pytest.mark.parametrize(("term", "expected"), [law[1:] for law in LAWS], ids=[law[0] for law in LAWS])
class TestOneMeaning:
    def test_reference_and_closures(self, term: Term, expected: Expected) -> None:
        for arithmetic in Arithmetic:
            function = compile_closure(term, {"a": 0, "b": 1}, KINDS, arithmetic)
            for a, b in PAIRS:
                wanted = expected(a, b)
                if arithmetic is Arithmetic.FLOAT64 and wanted is not None:
                    wanted = float(wanted)
                reference = value_or_none(evaluate_term, term, {"a": a, "b": b}, arithmetic)
                assert reference == wanted, (a, b)
                assert value_or_none(function, (a, b)) == wanted, (a, b)

    def test_a_constant_divisor_or_exponent(self, term: Term, expected: Expected) -> None:
        """Tiers have shorter ways for these."""
        for b in range(-3, 4):
            fixed = substitute_names(term, {"b": Const(b)})
            plain = compile_row_function(read_term(process_term_to_json(fixed)), {"a": 0}, {})
            short = compile_row_function(
                read_term(process_term_to_json(fixed)), {"a": 0}, {0: ("integer", -7, 7)}
            )
            for a in range(-7, 8):
                wanted = expected(a, b)
                assert value_or_none(evaluate_term, fixed, {"a": a}) == wanted
                assert value_or_none(plain, (a,)) == wanted
                assert value_or_none(short, (a,)) == wanted

    def test_the_checker(self, term: Term, expected: Expected) -> None:
        for kinds in ({}, {0: ("integer", -7, 7), 1: ("integer", -3, 3)}):
            function = compile_row_function(read_term(process_term_to_json(term)), {"a": 0, "b": 1}, kinds)
            for a, b in PAIRS:
                assert value_or_none(function, (a, b)) == expected(a, b), (a, b)

    def test_machine_code(self, term: Term, expected: Expected) -> None:
        """As a quantity of states, where it is defined; and undefined in the states where it is not."""
        holes = [pair for pair in PAIRS if expected(*pair) is None]
        avoided = disjunction_of(tuple(equal(A, a) & equal(B, b) for a, b in holes))
        if term == A**B:  # only constant exponents are compiled
            for b in range(-3, 4):
                term = ite(equal(B, b), A**b, term) if b > -3 else A**b
        asked, guarded = standing(TRUE), {"value": ite(avoided, 1000, term)}
        explored = explore_problem(asked, tier="llvm", labels={}, quantities=guarded)
        values = [explored.markov.values[w] for w in explored.quantities["value"]]
        assert explored.tier == "llvm"
        assert len(values) == len(PAIRS)
        for number, found in enumerate(values):
            state = explored.valuation(number)
            wanted = expected(state["a"], state["b"])
            assert found == (1000 if wanted is None else wanted), state
        for a, b in holes[:2]:
            with pytest.raises((Undefined, Unsupported)):
                explore_problem(
                    standing(equal(A, a) & equal(B, b)), tier="llvm", labels={}, quantities={"value": term}
                )

    def test_intervals(self, term: Term, expected: Expected) -> None:
        ends = list(product((-7, -2, 0, 1, 6), (0, 1, 3)))
        for (low, more), (start, length) in product(ends, product((-3, -1, 0, 2), (0, 1, 4))):
            kinds = {"a": Int(low, low + more), "b": Int(start, start + length)}
            least, most = term_interval(term, kinds)
            for a, b in product(range(low, low + more + 1), range(start, start + length + 1)):
                if (wanted := expected(a, b)) is not None:
                    assert least <= wanted <= most, (kinds, a, b)

    @pytest.mark.parametrize("solver", ["milp", "z3"])
    def test_queries(self, solver: str, term: Apply, expected: Expected) -> None:
        """The value and no other, for a sample of the pairs; nothing where it is undefined."""
        quantities = (
            QueryVariable("a", Int(-7, 7)),
            QueryVariable("b", Int(-3, 3)),
            QueryVariable("r", Real(None, None)),
        )
        r, half, said = Var("r"), Fraction(1, 2), []
        for a, b in PAIRS[::8]:
            wanted = expected(a, b)
            fixed = equal(A, a) & equal(B, b)
            for one in (term, substitute_names(term, {"b": Const(b)})):
                answer = asked_of(solver, Query(quantities, (fixed, equal(r, one))))
                if wanted is None:
                    assert not isinstance(answer, Sat), (a, b, one)
                    said.append(answer)
                    continue
                assert not isinstance(answer, Unsat), (a, b, one)
                assert not isinstance(answer, Sat) or answer.assignment["r"] == wanted
                beside = (r <= wanted - half) | (r >= wanted + half)
                other = asked_of(solver, Query(quantities, (fixed, equal(r, one), beside)))
                assert not isinstance(other, Sat), (a, b, one)
                said += [answer, other]
        conclusive = sum(isinstance(answer, Sat | Unsat) for answer in said)
        assert conclusive > (0.4 if term.op is Op.POW else 0.8) * len(said)

    def test_read_back_from_jani(self, term: Term, expected: Expected) -> None:
        del expected
        written = jani_expression(term, ExportNames(standing(TRUE).environment, set()), "here")
        assert evaluate_all(
            read_unfolded_term(JsonNode(written), JaniScope({"a": A, "b": B}, KINDS))
        ) == evaluate_all(term)


def asked_of(solver: str, query: Query) -> Answer | None:
    """None where the solver cannot take the question."""
    try:
        if solver == "milp":
            return milp(query, 0, 20.0)
        pytest.importorskip("z3")
        from surefoot.solvers.z3.solver import prepare_z3

        return prepare_z3(query, 0)((), 20.0)
    except Unsupported:
        return None


def evaluate_all(term: Term) -> list[Any]:
    return [value_or_none(evaluate_term, term, {"a": a, "b": b}) for a, b in PAIRS]


def standing(start: Term) -> Problem:
    """Numbers that stay as they are."""
    variables = tuple(Variable(n, k) for n, k in KINDS.items())
    environment = Environment("signs", variables, start, (Component("one", (Edge(action="stay"),)),))
    return Problem("signs", environment, None, Never(FALSE))


@pytest.mark.parametrize("divisor", [-3, -2, -1, 1, 2, 3])
def test_remainders_of_predicate_abstraction(divisor: int) -> None:
    """A table of all states, and cases by quotient: the two ways in which predicates see a remainder."""
    column = np.arange(-7, 8)
    table = ColumnEvaluator({"a": RationalColumn(column, -7, 7)}, len(column))
    assert table.numbers(A % divisor).tolist() == [remainder(a, divisor) for a in range(-7, 8)]
    cases = term_cases(A % divisor, {"a": Int(-7, 7)})
    for a in range(-7, 8):
        values = [v for condition, v in cases if holds(condition, a)]
        assert [v.constant + sum(c * a for _, c in v.coefficients) for v in values] == [remainder(a, divisor)]


def holds(condition: Formula, a: int) -> bool:
    if isinstance(condition, LinearAtom):
        value = condition.linear.constant + sum(c * a for _, c in condition.linear.coefficients)
        tests = {Relation.LE: value <= 0, Relation.LT: value < 0, Relation.EQ: value == 0}
        return tests[condition.relation]
    return (any if isinstance(condition, AnyOf) else all)(holds(p, a) for p in condition.parts)


@pytest.mark.parametrize("text", ["x % 2", "2 % x", "x % x", "1.5 % 2"])
def test_remainders_of_reals_are_refused(text: str) -> None:
    """The specification defines them for integers only."""
    with pytest.raises(InvalidProblem, match="integers"):
        infer_term_type(parse_term(text), {"x": Real(None, None)}, "", InvalidProblem)


def test_the_examples_of_the_manual() -> None:
    given = {"7 % 5": 2, "-7 % 5": 3, "7 % -5": 2, "-7 % -5": 3, "6 % -3": 0}
    assert {text: evaluate_term(parse_term(text), {}) for text in given} == given
