"""Many states at once: the same bits as one state at a time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nan
from random import Random

import numpy as np
import pytest
from tests.shield.export.test_source import ENVIRONMENT, TENTH, A, B, X, Y, bits, module, questions, shield

from surefoot.errors import Unsupported
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.policy import OraclePolicy
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.export.guard import guard_of
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term
from surefoot.term.value_types import Arithmetic
from surefoot.term.vectorised import vectorise_terms


def random_term(random: Random, depth: int) -> Term:
    if not depth or random.random() < 0.2:
        return random.choice([X, Y, A, B, TENTH, Const(3), Const(Fraction(-7, 3))])
    parts = [random_term(random, depth - 1) for _ in range(2)]
    return random.choice(
        [
            parts[0] + parts[1],
            parts[0] - parts[1],
            parts[0] * parts[1],
            -parts[0],
            parts[0] / 7,
            parts[0] ** 3,
            Apply(Op.ADD, (*parts, X)),
        ]
    )


def test_columns_have_the_bits_of_the_meaning() -> None:
    random, generator = Random(1), np.random.default_rng(1)
    rows = generator.normal(size=(40, 4))
    names = dict(zip(("x", "while", "a", "b"), rows.T, strict=True))
    for _ in range(150):
        terms = [random_term(random, 4) for _ in range(3)]
        tests = [terms[0] <= terms[1], ~(terms[1] < terms[2]), (terms[0] < 1) | (terms[2] < 0) & TRUE, FALSE]
        values, truths = vectorise_terms(terms, tests)(names, 40)
        for i in (0, 17, 39):
            state = {n: float(v[i]) for n, v in names.items()}
            expected = [float(evaluate_term(t, state, Arithmetic.FLOAT64)) for t in terms]
            assert bits([float(v[i]) for v in values]) == bits(expected)
            assert [bool(t[i]) for t in truths] == [
                evaluate_term(t, state, Arithmetic.FLOAT64) for t in tests
            ]


def test_a_shield_decides_for_many_as_for_one() -> None:
    asked = questions(1_500)
    states, proposed = (np.array([q[i] for q in asked]) for i in (0, 1))
    made = BatchGuard(guard_of(ENVIRONMENT, shield())).step(states, proposed)
    for row, (state, wanted) in enumerate(asked):
        policy = replace(shield(), policy=OraclePolicy("given", lambda _, w=wanted: w))
        try:
            one = decide_in_state(policy, ENVIRONMENT, {"x": state[0], "while": state[1]})
        except Undefined:
            assert made.intervened[row] == 2
            continue
        assert made.intervened[row] == int(one.intervened)
        assert bits(made.applied[row].tolist()) == bits((one.controls["a"], one.controls["b"]))
    assert np.bincount(made.intervened).min() > 50


def test_a_shield_decides_for_many_as_its_source_code(tmp_path: object) -> None:
    from surefoot.shields.export.python_code import python_source

    guard = guard_of(ENVIRONMENT, shield())
    step = module(python_source(guard), tmp_path / "guard.py").step  # type: ignore[operator]
    odd = [
        ((nan, 0.0), (0.0, 1.0)),
        ((0.1, 0.1), (inf, 1.0)),
        ((1e200, -1e200), (0.0, 1.0)),
        ((9.0, 9.0), (nan, nan)),
    ]
    asked = [*questions(1_500), *odd]
    states, proposed = (np.array([q[i] for q in asked]) for i in (0, 1))
    made = BatchGuard(guard).step(states, proposed)
    for row, (state, wanted) in enumerate(asked):
        applied, intervened = step(state, wanted)
        assert (bits(made.applied[row].tolist()), made.intervened[row]) == (bits(applied), intervened)


def test_what_is_no_polynomial_is_refused() -> None:
    with pytest.raises(Unsupported, match="not a polynomial"):
        vectorise_terms([Apply(Op.SIN, (X,))])
