"""Classifiers and functions as policies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.engines.statistical.chains import walk

from surefoot.engines.statistical import Statistical
from surefoot.errors import InvalidProblem
from surefoot.integrations.oracle import oracle_policy
from surefoot.run import verify
from surefoot.verdict.verdict import Estimated, Exact
from surefoot.work.budget import Budget

COARSE = Statistical(eps=Fraction(1, 20), delta=Fraction(1, 1000))


class Classifier:
    """As of scikit-learn: a table in, one class per row out."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def predict(self, table: Any) -> Any:
        assert np.asarray(table).shape == (1, 2)
        return np.array([self.kind])


@pytest.mark.parametrize("kind", [0, 0.0, "go", np.int64(0)])
def test_classes_are_numbers_or_labels(kind: Any) -> None:
    policy = oracle_policy(Classifier(kind), ("x", "x - 1/2"), ("go",))
    problem = replace(walk("P=? [ F x = 4 ]"), policy=policy)
    result = verify(problem, COARSE, Budget(60))
    assert isinstance(result.verdict, Estimated)
    assert result.verdict.low <= Fraction(1, 15) <= result.verdict.high
    assert any("`Classifier` is a black box" in note for note in result.notes)


def test_a_function_sees_floats_and_travels() -> None:
    policy = oracle_policy(first_action, ("x", "2 * x"), ("go",), name="box")
    problem = replace(walk("P=? [ F x = 4 ]"), policy=policy)
    found = COARSE.check(problem, Budget(60, 2))
    assert found == replace(COARSE, workers=2).check(problem, Budget(60, 2))
    assert not isinstance(verify(problem, None, Budget(60)).verdict, Exact)


def first_action(seen: list[float]) -> int:
    assert seen == [seen[0], 2 * seen[0]]
    assert isinstance(seen[0], float)
    return 0


@pytest.mark.parametrize("told", [1, -1, 0.5, "stay", True])
def test_an_answer_that_is_no_action_is_an_error(told: Any) -> None:
    policy = oracle_policy(lambda _: told, ("x",), ("go",), name="box")
    problem = replace(walk("P=? [ F x = 4 ]"), policy=policy)
    with pytest.raises(InvalidProblem, match="`box` answers"):
        COARSE.check(problem, Budget(60))


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="neither a function"):
        oracle_policy(3, ("x",), ("go",))
