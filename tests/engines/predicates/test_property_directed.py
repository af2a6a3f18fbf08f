"""Invariants from the property: where refinement does not end, and beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.planning_models import level_heaps

from surefoot.engines.predicates import Predicates
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.term.term import Var, conjunction_of
from surefoot.verdict.verdict import Proved, Unknown, Violated
from surefoot.work.budget import Budget


def test_a_sum_that_no_step_changes_is_the_invariant() -> None:
    """14 million states; nothing that refinement looks at mentions the sum."""
    result = verify(level_heaps(4, 17, (16, 16), 1), Predicates(strategy="invariants"), Budget(120))
    assert isinstance(result.verdict, Proved)
    assert result.certified


def test_both_in_turns() -> None:
    result = verify(level_heaps(4, 17, (16, 16), 1), Predicates(), Budget(200))
    assert isinstance(result.verdict, Proved)
    assert result.certified


def test_a_state_that_cannot_be_excluded_begins_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "surefoot.engines.predicates.symbolic.refinement.falsify_by_simulation"
    monkeypatch.setattr(module, lambda *_: None)
    problem = level_heaps(4, 17, (16, 16), 1)
    higher = replace(problem, property=Never(conjunction_of((Var("h0") >= 4, Var("h1") >= 4))))
    result = verify(higher, Predicates(strategy="invariants"), Budget(120))
    assert isinstance(result.verdict, Violated)
    assert result.certified


def test_refinement_alone_does_not_end_soon() -> None:
    verdict = Predicates(strategy="refinement").check(level_heaps(4, 17, (16, 16), 1), Budget(3))
    assert isinstance(verdict, Unknown)
