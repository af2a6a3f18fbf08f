"""Decisions of a policy in many states at once: `problem/meaning/decision.py` over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.network import Array32
from surefoot.problem.policy import (
    Branch,
    Choose,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.simulate.batch.fast_columns import FastColumns, compile_fast_columns
from surefoot.simulate.batch.network_columns import ColumnNetwork, compile_column_network
from surefoot.simulate.batch.state_columns import Names, rows_from_columns
from surefoot.term.columns import Column, Truths
from surefoot.term.reserved_names import chosen_name
from surefoot.term.value_types import Bool, ValueType

Uniform: TypeAlias = Callable[
    [str, NDArray[np.int64]], NDArray[np.float64]
]  # a slot, rows: numbers in [0, 1)
_FEW_OUTPUTS = 8
NOBODY = -1  # no action of the policy is enabled, or there is no policy


@dataclass(slots=True)
class BatchDecision:
    """By row: the action (its place among the policy's; NOBODY), the controls, the outputs of a network."""

    actions: NDArray[np.int64]
    stalled: Truths
    lost: Truths
    controls: dict[str, Column] = field(default_factory=dict)
    outputs: Column | None = None
    may_stall: Truths | None = None  # where actions are drawn: some draw is not enabled


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """A policy compiled to columns. Outputs of networks have the bits of the reference."""

    policy: Policy
    environment: Environment
    kinds: Mapping[str, ValueType]
    exact: bool  # a draw that the reference may decide otherwise is lost
    names: tuple[str, ...]
    terms: dict[int, FastColumns]  # by identity of the (sub-)policy: what it reads of a state
    networks: dict[int, ColumnNetwork]
    places: dict[int, NDArray[np.int64]]  # by output, the place of its action among all
    threads: int = 1
    even: bool = False  # what is drawn is drawn with equal chances: every action may be

    def decide(self, state: Names, own: Truths, count: int, uniform: Uniform) -> BatchDecision:
        """`own`: by action and row, whether it is enabled."""
        rows = np.arange(count)
        return self._decide(self.policy, state, own, rows, uniform)

    def _decide(
        self, policy: Policy, state: Names, own: Truths, rows: NDArray[np.int64], uniform: Uniform
    ) -> BatchDecision:
        match policy:
            case NeuralPolicy():
                return self._neural(policy, state, own, rows, uniform)
            case ProgramPolicy(branches):
                return self._program(policy, branches, state, own, rows, uniform)
            case ShieldedPolicy():
                return self._shielded(policy, state, own, rows, uniform)
            case OraclePolicy():
                return self._oracle(policy, state, own, rows)

    def _neural(
        self, policy: NeuralPolicy, state: Names, own: Truths, rows: NDArray[np.int64], uniform: Uniform
    ) -> BatchDecision:
        seen = self.terms[id(policy)](state, len(rows))
        found = self.networks[id(policy)].outputs(seen.columns, len(rows), self.threads)
        lost = np.asarray(~np.isfinite(found).all(axis=0))
        for undefined in seen.lost:
            lost |= undefined
        if policy.choose is Choose.VALUE:
            return self._controls(list(found.astype(np.float64)), lost, found.T)
        if policy.choose is Choose.SAMPLE:
            return self._drawn(policy, found.T, own, rows, lost, uniform)
        places = self.places[id(policy)]
        active, allowed = own.any(axis=0), found
        if policy.choose is Choose.ARGMAX_APPLICABLE:
            allowed = np.where(own[places], found, np.float32(-np.inf))
            lost |= active & ~own[places].any(axis=0)
        best = _largest_places(allowed)
        actions = np.where(active, places[best], NOBODY)
        return BatchDecision(actions, self._stalled(actions, own), lost, outputs=found.T)

    def _drawn(
        self,
        policy: NeuralPolicy,
        outputs: Any,
        own: Truths,
        rows: NDArray[np.int64],
        lost: Truths,
        uniform: Uniform,
    ) -> BatchDecision:
        places = self.places[id(policy)]
        wide = outputs.astype(np.float64)
        weights = np.ones_like(wide) if self.even else np.exp(wide - wide.max(axis=1, keepdims=True))
        sums = np.cumsum(weights, axis=1)
        active = np.asarray(own.any(axis=0))
        draws, several = np.zeros(len(rows)), outputs.shape[1] > 1
        if several:
            draws[active] = uniform("action", rows[active])
        draws *= sums[:, -1]
        if self.exact and several:  # the reference sums in another way: too close to tell
            near = np.abs(sums[:, :-1] - draws[:, None]).min(axis=1) <= sums[:, -1] * _near_share(
                sums.shape[1]
            )
            lost = lost | (active & near)
        picked = np.minimum((sums <= draws[:, None]).sum(axis=1), outputs.shape[1] - 1)
        actions = np.where(active, places[picked], NOBODY)
        may_stall = active & ~own[places].all(axis=0)
        return BatchDecision(actions, self._stalled(actions, own), lost, outputs=outputs, may_stall=may_stall)

    def _stalled(self, actions: NDArray[np.int64], own: Truths) -> Truths:
        if len(own) > _FEW_OUTPUTS:
            return (actions >= 0) & ~own[actions, np.arange(len(actions))]
        stalled = np.zeros(len(actions), dtype=np.bool_)
        for number, enabled in enumerate(own):
            stalled |= (actions == number) & ~enabled
        return stalled

    def _program(
        self,
        policy: ProgramPolicy,
        branches: tuple[Branch, ...],
        state: Names,
        own: Truths,
        rows: NDArray[np.int64],
        uniform: Uniform,
    ) -> BatchDecision:
        count = len(rows)
        active = np.asarray(own.any(axis=0))
        conditions = self.terms[id(policy)](state, count)
        actions = np.full(count, NOBODY)
        controls = {c.name: np.zeros(count) for c in self.environment.controls}
        lost, stalled = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        open_rows = np.ones(count, dtype=np.bool_)
        for branch, holds, undefined in zip(branches, conditions.columns, conditions.lost, strict=False):
            lost |= open_rows & undefined
            here = open_rows & holds & ~lost
            open_rows &= ~holds & ~lost
            if not here.any():
                continue
            mine = np.flatnonzero(here)
            some = {name: column[mine] for name, column in state.items()}
            if isinstance(branch.then, str):
                actions[mine] = np.where(active[mine], self.names.index(branch.then), NOBODY)
            elif branch.then == ():
                lost[mine] |= active[mine]  # nothing is to be decided; the reference has no value elsewhere
            elif isinstance(branch.then, tuple):
                values = self.terms[id(branch)](some, len(mine))
                made = self._controls(values.columns, np.logical_or.reduce(values.lost), None)
                lost[mine] |= made.lost
                for name, column in made.controls.items():
                    controls[name][mine] = column
            else:
                made = self._decide(branch.then, some, own[:, mine], rows[mine], uniform)
                actions[mine], lost[mine] = made.actions, lost[mine] | made.lost
                for name, column in made.controls.items():
                    controls[name][mine] = column
        if self.environment.controls:
            lost |= open_rows  # no branch applies: the reference has no value
            return BatchDecision(actions, stalled, lost, controls)
        stalled = self._stalled(actions, own) | (open_rows & active)
        return BatchDecision(actions, stalled, lost)

    def _shielded(
        self, policy: ShieldedPolicy, state: Names, own: Truths, rows: NDArray[np.int64], uniform: Uniform
    ) -> BatchDecision:
        proposed = self._decide(policy.policy, state, own, rows, uniform)
        known = dict(state) | proposed.controls
        for name in action_names(policy.policy, self.environment):
            known[chosen_name(name)] = proposed.actions == self.names.index(name)
        permits = self.terms[id(policy)](known, len(rows))
        other = self._decide(policy.fallback, state, own, rows, uniform)
        takes = permits.columns[0]
        controls = {n: np.where(takes, c, other.controls[n]) for n, c in proposed.controls.items()}
        return BatchDecision(
            np.where(takes, proposed.actions, other.actions),
            np.where(takes, proposed.stalled, other.stalled),
            proposed.lost | permits.lost[0] | (~takes & other.lost),
            controls,
            proposed.outputs,
        )

    def _oracle(
        self, policy: OraclePolicy, state: Names, own: Truths, rows: NDArray[np.int64]
    ) -> BatchDecision:
        count = len(rows)
        active = np.asarray(own.any(axis=0))
        picked = [policy.decide(row) for row in rows_from_columns(state, self.environment, range(count))]
        none = np.zeros(count, dtype=np.bool_)
        if self.environment.controls:
            return self._controls(
                [np.array(c, dtype=np.float64) for c in zip(*picked, strict=True)], none, None
            )
        chosen = np.array([self.names.index(p) if p in self.names else NOBODY for p in picked])
        actions = np.where(active, chosen, NOBODY)
        return BatchDecision(actions, self._stalled(actions, own) | (active & (chosen < 0)), none)

    def _controls(self, values: list[Column], lost: Truths, outputs: Column | None) -> BatchDecision:
        found: dict[str, Column] = {}
        for control, value in zip(self.environment.controls, values, strict=True):
            number = np.asarray(value, dtype=np.float64)
            lost = lost | ~np.isfinite(number)
            if control.clipped:
                if control.low is not None:
                    number = np.where(number < float(control.low), float(control.low), number)
                if control.high is not None:
                    number = np.where(number > float(control.high), float(control.high), number)
            found[control.name] = number
        nobody = np.full(len(lost), NOBODY)
        return BatchDecision(nobody, np.zeros(len(lost), dtype=np.bool_), lost, found, outputs)


def _largest_places(values: Array32) -> NDArray[np.int64]:
    """The place of the largest number of each column, the first of equals."""
    if len(values) > _FEW_OUTPUTS:
        return np.asarray(values.argmax(axis=0))
    best, place = values[0], np.zeros(values.shape[1], dtype=np.int64)
    for number in range(1, len(values)):
        better = values[number] > best
        place[better] = number
        if number + 1 < len(values):
            best = np.where(better, values[number], best)
    return place


def _near_share(count: int) -> float:
    """More than what sums of so many exponentials, each with an error of some units, can differ by."""
    return (count + 16) * 2.0**-48


def compile_batch_policy(
    policy: Policy, environment: Environment, kinds: Mapping[str, ValueType], *, exact: bool, threads: int
) -> BatchPolicy:
    """What every part of the policy reads of a state, compiled once."""
    terms: dict[int, FastColumns] = {}
    networks: dict[int, ColumnNetwork] = {}
    places: dict[int, NDArray[np.int64]] = {}
    names = () if environment.controls else action_names(policy, environment)

    def compile_part(part: Policy) -> None:
        match part:
            case NeuralPolicy(network=network, observe=observed):
                terms[id(part)] = compile_fast_columns(
                    observed, kinds, environment.arithmetic, exact=exact, joined=True, threads=threads
                )
                networks[id(part)] = compile_column_network(network)
                if names:
                    places[id(part)] = np.array([names.index(n) for n in action_names(part, environment)])
            case ProgramPolicy(branches):
                terms[id(part)] = compile_terms([b.when for b in branches])
                for branch in branches:
                    if isinstance(branch.then, tuple):
                        terms[id(branch)] = compile_terms(branch.then)
                    elif not isinstance(branch.then, str):
                        compile_part(branch.then)
            case ShieldedPolicy(inner, permits, fallback):
                chosen = {chosen_name(n): Bool() for n in action_names(inner, environment)}
                known = {**kinds, **chosen}
                terms[id(part)] = compile_fast_columns((permits,), known, environment.arithmetic, exact=exact)
                compile_part(inner)
                compile_part(fallback)
            case OraclePolicy():
                return

    def compile_terms(several: Any) -> FastColumns:
        return compile_fast_columns(tuple(several), kinds, environment.arithmetic, exact=exact)

    compile_part(policy)
    return BatchPolicy(policy, environment, kinds, exact, names, terms, networks, places, threads)
