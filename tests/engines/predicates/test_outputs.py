"""Conditions about what the network says: against a search through all states, by table and by questions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from tests.laws.automata_networks import automata_network
from tests.laws.brute_force import truth

from surefoot.certify.replay import replay
from surefoot.engines.predicates import Predicates
from surefoot.problem.names import output_name
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.term import Const, Term, Var, equal, ite
from surefoot.run import verify
from surefoot.verdict.verdict import Holds, Proved, Unknown, Violated
from surefoot.work.budget import Budget

first, second = (Var(output_name(i)) for i in range(2))


def about_outputs(seed: int) -> Problem:
    draw = Random(seed)

    def number() -> Const:
        return Const(Fraction(draw.randint(-30, 30), 10))

    bad: tuple[Term, ...] = (
        first > number(),
        ~(second <= number()) | Var("b"),
        ~(first <= second),
        (Var("x") <= 1) & (second > number()),
        ite(Var("b"), first > number(), second < number()),
        ~equal(first, number()) & (first <= number()),
    )
    return replace(automata_network(seed), property=Never(draw.choice(bad)))


@pytest.mark.parametrize("means", ["table", "cells"])
@pytest.mark.parametrize("seed", range(100, 112))
def test_refinement_tells_the_truth_about_outputs(seed: int, means: str) -> None:
    problem = about_outputs(seed)
    verdict = Predicates(means=means).check(problem, Budget(60))  # type: ignore[arg-type]
    match verdict:
        case Violated(trace):
            assert truth(problem) == "violated"
            assert replay(problem, trace) is None
        case Holds():
            assert truth(problem) == "holds"
        case _:
            assert isinstance(verdict, Unknown)
            assert truth(problem) == "unclear"


def test_what_holds_of_outputs_is_certified() -> None:
    result = verify(about_outputs(113), Predicates(means="cells"), Budget(60))
    assert isinstance(result.verdict, Proved)


def test_a_product_of_outputs_is_refused() -> None:
    problem = replace(automata_network(0), property=Never(first * second > 1))
    assert Predicates(means="cells").objection(problem) is not None
    assert isinstance(Predicates(means="table").check(problem, Budget(60)), Unknown)
