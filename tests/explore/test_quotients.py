"""Quotients near the limits of 64 bits, and steps with very many outcomes: both tiers agree."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.test_llvm import same

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.errors import Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.problem.environment import (
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

N = Var("n")


def _walk(edge: Edge, high: int) -> Environment:
    return Environment("walk", (Variable("n", Int(0, high)),), equal(N, 0), (Component("c", (edge,)),))


def _compare(environment: Environment, **asked: Any) -> bool:
    problem = Problem("p", environment, None, Never(FALSE))
    options: dict[str, Any] = {"labels": {}, "rewards": ()} | asked
    theirs = explore_problem(problem, tier="interpreter", **options)
    ours = explore_problem(problem, tier="llvm", **options)
    same(ours, theirs)
    return ours.tier == "llvm"


@pytest.mark.parametrize("count", [3, 20, 40])
def test_many_equal_shares(count: int) -> None:
    """Multiplied out, the denominators of the shares would be count^count."""
    total = Apply(Op.ADD, tuple(ite(k >= N, 1, 0) for k in range(count)))
    outcomes = tuple(Outcome(ite(k >= N, 1 / total, 0), (Update(N, Const(k)),)) for k in range(count))
    assert _compare(_walk(Edge(outcomes=outcomes), count - 1))


def test_products_are_reduced_before_they_are_multiplied() -> None:
    """A probability (a / b) (b / a'), each of 40 bits."""
    large, next_one = 2**40 + 15, 2**40 + 16
    chance = (N + large) / (N + next_one) * ((N + next_one) / (N + next_one + 1))
    edge = Edge(
        guard=N < 9,
        outcomes=(Outcome(chance, (Update(N, N + 1),), (("cost", chance),)), Outcome(1 - chance)),
    )
    assert _compare(_walk(edge, 9), rewards=("cost",))


_whole = st.one_of(st.integers(-9, 9), st.integers(-(2**40), 2**40), st.integers(-(2**61), 2**61))
_leaves: st.SearchStrategy[Term] = st.one_of(
    st.just(N),
    _whole.map(Const),
    st.builds(lambda top, bottom: Const(Fraction(top, bottom or 1)), _whole, _whole),
)
_terms = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda op, a, b: Apply(op, (a, b)),
            st.sampled_from((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX)),
            inner,
            inner,
        ),
        st.builds(lambda a: Apply(Op.FLOOR, (a,)), inner),
        st.builds(lambda a: Apply(Op.ABS, (a,)), inner),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(_terms, _terms)
def test_terms_are_exact_or_left_to_the_interpreter(left: Term, right: Term) -> None:
    edge = Edge(guard=N < 3, outcomes=(Outcome(updates=(Update(N, N + 1),)),))
    asked = {
        "labels": {"less": left < right, "equal": equal(left, right)},
        "quantities": {"sum": left + right},
    }
    try:
        _compare(_walk(edge, 3), **asked)
    except (Undefined, Unsupported):
        return


def _ring(count: int) -> Environment:
    """Herman's ring: every process looks at the one before it, and all move together."""
    bits = [Var(f"x{i}") for i in range(count)]
    components = []
    for i, bit in enumerate(bits):
        before = bits[i - 1]
        half = Const(Fraction(1, 2))
        draws = tuple(
            Outcome(half, (Update(bit, Const(v)),), (("steps", Const(1)),) if i == 0 else ()) for v in (0, 1)
        )
        follows = Outcome(updates=(Update(bit, before),), rewards=(("steps", Const(1)),) if i == 0 else ())
        edges = (
            Edge(action="step", guard=equal(bit, before), outcomes=draws),
            Edge(action="step", guard=~equal(bit, before), outcomes=(follows,)),
        )
        components.append(Component(f"p{i}", edges))
    return Environment(
        "ring",
        tuple(Variable(b.name, Int(0, 1)) for b in bits),
        conjunction_of(tuple(equal(b, 0) for b in bits)),
        tuple(components),
        synchronisations=(Synchronisation(("step",) * count, "step"),),
    )


def test_wide_steps_in_both_tiers() -> None:
    assert _compare(_ring(7), rewards=("steps",))


def test_few_states_with_very_many_outcomes_are_compiled() -> None:
    """128 states are few; 3^9 outcomes and more are not."""
    asked = Problem("p", _ring(9), None, Never(FALSE))
    explored = explore_problem(asked, labels={}, budget=Budget(60))
    assert explored.tier == "llvm"
    assert explored.markov.states == 2**9


def test_wide_steps_are_certified() -> None:
    """The value of Herman's ring with seven processes, is 48/7 from the worst start."""
    ring = replace(_ring(7), initial=TRUE)
    bits = [Var(f"x{i}") for i in range(7)]
    tokens = Apply(Op.ADD, tuple(ite(equal(b, bits[i - 1]), 1, 0) for i, b in enumerate(bits)))
    asked = Problem("p", ring, None, Expected("steps", equal(tokens, 1)))
    verdict = Explicit().check(asked, Budget(60))
    assert isinstance(verdict, Exact)
    made = build_process_certificate(asked, verdict)
    assert made is not None
    content = json.loads(json.dumps(made.content))
    assert judge_certificate(content).accepted
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low <= Fraction(48, 7) <= verdict.high
