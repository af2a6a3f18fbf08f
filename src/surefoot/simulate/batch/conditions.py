"""Conditions on states in columns, with the names that say what the policy does there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.explore.state_conditions import locate_by_number
from surefoot.simulate.batch.decision import BatchDecision
from surefoot.simulate.batch.fast_columns import FastColumns, compile_fast_columns
from surefoot.simulate.batch.model import BatchModel, BatchStep
from surefoot.simulate.batch.state_columns import Names, column_kinds
from surefoot.term.columns import Column, ColumnValues
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action, output_index
from surefoot.term.term import Term, free_names
from surefoot.term.traverse import map_variables
from surefoot.term.value_types import Bool, Real, ValueType


@dataclass(frozen=True, slots=True)
class BatchConditions:
    """Conditions compiled for a model; `facts`: names that are about acting."""

    model: BatchModel
    facts: tuple[str, ...]
    terms: FastColumns

    def __call__(self, state: Names, step: BatchStep, count: int) -> ColumnValues:
        """In the states that the step leaves."""
        known = dict(state) | {name: self._fact(name, step, count) for name in self.facts}
        return self.terms(known, count)

    def _fact(self, name: str, step: BatchStep, count: int) -> Column:
        if name == DEADLOCKED:
            return step.deadlocked
        made = step.decision
        assert made is not None, "a condition about acting needs a policy"
        if name == STALLED:
            return made.stalled if made.may_stall is None else made.may_stall
        if (index := output_index(name)) is not None:
            assert made.outputs is not None
            return np.asarray(made.outputs[:, index], dtype=np.float64)
        if (action := chosen_action(name)) is not None:
            return self._is_chosen(action, made, count)
        return made.controls[name]

    def _is_chosen(self, action: str, made: BatchDecision, count: int) -> Column:
        policy = self.model.policy
        assert policy is not None
        if made.may_stall is not None:  # drawn: every output may be
            return made.actions >= 0
        if action not in policy.names:
            return np.zeros(count, dtype=np.bool_)
        return np.asarray(made.actions == policy.names.index(action))


def compile_batch_conditions(model: BatchModel, terms: Sequence[Term]) -> BatchConditions:
    environment = model.environment
    located = [map_variables(t, lambda v: locate_by_number(environment, v)) for t in terms]
    known = condition_kinds(model, located)
    facts = tuple(sorted(set(known) - set(column_kinds(environment))))
    compiled = compile_fast_columns(located, known, environment.arithmetic, exact=model.exact)
    return BatchConditions(model, facts, compiled)


def condition_kinds(model: BatchModel, terms: Iterable[Term]) -> dict[str, ValueType]:
    """The kinds of what a state has and of what these terms say about acting."""
    known: dict[str, ValueType] = dict(column_kinds(model.environment))
    for name in {n for t in terms for n in free_names(t)} - set(known):
        truth = name in (DEADLOCKED, STALLED) or chosen_action(name) is not None
        known[name] = Bool() if truth else Real()
    return known
