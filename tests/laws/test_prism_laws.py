"""What is said about guards of PRISM commands, against all states; expressions print and read back."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.prism.ask_prism import read_text
from tests.formats.prism.random_programs import (
    ProgramMaker,
    evaluate_expression,
    print_expression,
)

from surefoot.formats.prism.export.terms import prism_expression
from surefoot.formats.prism.expressions import PrismReader
from surefoot.formats.prism.overlap import GuardComparison
from surefoot.formats.prism.terms import read_prism_term
from surefoot.term.evaluate import evaluate_term

RANGES = {"x": (-2, 3, 0), "y": (0, 5, 0), "b": (None, None, False)}
MODEL = read_text("mdp module m x : [-2..3]; y : [0..5]; b : bool; endmodule")
STATES = [{"x": x, "y": y, "b": b} for x, y, b in product(range(-2, 4), range(6), (False, True))]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_guards_that_exclude_each_other_never_hold_together(seed: int) -> None:
    make = ProgramMaker(seed)
    guards = [make.condition(RANGES, 3) for _ in range(2)]
    terms = [read_prism_term(PrismReader(print_expression(g)).expression(), MODEL.scope) for g in guards]
    found = GuardComparison(MODEL.scope.own_kinds()).may_hold_together(*terms)
    truth = any(all(evaluate_expression(g, state) for g in guards) for state in STATES)
    assert found or not truth
    assert found == truth  # so few values are all looked at


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_expressions_mean_what_they_say_and_read_back(seed: int) -> None:
    make = ProgramMaker(seed)
    written = make.condition(RANGES, 3) if Random(seed).random() < 0.5 else make.number(RANGES, 3)
    term = read_prism_term(PrismReader(print_expression(written)).expression(), MODEL.scope)
    text = prism_expression(term, {name: name for name in RANGES}, "here").text
    again = read_prism_term(PrismReader(text).expression(), MODEL.scope)
    for state in STATES[:: 1 + seed % 3]:
        value = evaluate_expression(written, state)
        assert evaluate_term(term, state) == value
        assert evaluate_term(again, state) == value
