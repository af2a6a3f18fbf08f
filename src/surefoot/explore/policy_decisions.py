"""What a policy decides in many states at once: equal to `problem/meaning/decision.py`, state by state.

Networks are asked in batches. Where the fast evaluation leaves a doubt the reference decides, and the state
is marked as a near tie. A policy is asked where an action of its own is enabled, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.explore.row_layout import RowLayout
from surefoot.network.evaluate import decide_batch_actions as decide_rows
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import Decision, action_names, decision_for_action, pick_network_action
from surefoot.problem.meaning.decision import decide_in_state as decide_by_reference
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Array32
from surefoot.problem.policy import (
    Choose,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
    nested_policies,
)
from surefoot.term.closures import Closure, Row, compile_closure
from surefoot.term.evaluate import Undefined
from surefoot.term.float32 import round_to_float32
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import Term, Var, free_names
from surefoot.term.types import sort_of
from surefoot.term.value_types import Int

_EXACT_IN_FLOAT32 = 2**24


@dataclass(frozen=True, slots=True)
class StateDecision:
    """The decision in one state; `near_tie`: the two best outputs were too close for the fast evaluation."""

    decision: Decision
    near_tie: bool = False


DecideRows = Callable[
    [Sequence[Row], Sequence[frozenset[str]]], list[StateDecision]
]  # rows, and the enabled own actions


def variables_read(policy: Policy) -> frozenset[str] | None:
    """The names on which a decision depends beside the enabled actions; None: it may be any."""
    names: set[str] = set()
    for one in nested_policies(policy):
        match one:
            case NeuralPolicy():
                names.update(*map(free_names, one.observe))
            case ProgramPolicy(branches):
                names.update(*(free_names(branch.when) for branch in branches))
            case _:
                return None
    return frozenset(names)


def compile_policy(
    policy: Policy, environment: Environment, layout: RowLayout, *, outputs: bool, oracles: bool = False
) -> DecideRows:
    """The function that decides in many states. `outputs`: the network's exact outputs are asked for too.

    `oracles`: Python functions are called; whoever explores cannot rely on them.
    """
    if environment.controls:
        return lambda rows, _: [
            StateDecision(decide_by_reference(policy, environment, layout.state(row))) for row in rows
        ]
    everywhere = _compile_action_policy(policy, _Setting(environment, layout, outputs, oracles))
    return everywhere if outputs else _where_asked(everywhere)


def _where_asked(everywhere: DecideRows) -> DecideRows:
    """Where no action of its own is enabled the policy is not asked, and decides nothing."""

    def decide(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        asked = [i for i, enabled in enumerate(own) if enabled]
        made = [StateDecision(Decision())] * len(rows)
        _put_decisions(made, asked, everywhere([rows[i] for i in asked], [own[i] for i in asked]))
        return made

    return decide


@dataclass(frozen=True, slots=True)
class _Setting:
    environment: Environment
    layout: RowLayout
    outputs: bool
    oracles: bool = False

    def closure(self, term: Term, more: tuple[str, ...] = ()) -> Closure:
        """`more`: names whose values follow the state in the row."""
        slots = {name: self.layout.slots[name] for name in self.layout.names}
        slots |= {name: self.layout.width + i for i, name in enumerate(more)}
        return compile_closure(term, slots, self.layout.kinds, self.environment.arithmetic)


def _compile_action_policy(policy: Policy, setting: _Setting) -> DecideRows:
    match policy:
        case NeuralPolicy():
            return _compile_neural(policy, setting)
        case ProgramPolicy():
            return _compile_program(policy, setting)
        case ShieldedPolicy():
            return _compile_shielded(policy, setting)
        case OraclePolicy() if setting.oracles:
            return _compile_oracle(policy, setting)
        case OraclePolicy(name):
            raise Unsupported(f"the policy `{name}` is a Python function, which can only be simulated")


def _compile_neural(policy: NeuralPolicy, setting: _Setting) -> DecideRows:
    names = action_names(policy, setting.environment)
    observe = _compile_observer(policy, setting)
    exact = setting.outputs or policy.choose is Choose.SAMPLE
    if policy.choose is Choose.VALUE:
        raise InvalidProblem('`choose = "value"` needs an environment with controls')

    def by_outputs(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        made = []
        for values, enabled in zip(infer_outputs(policy.network, observe(rows)), own, strict=True):
            if not np.all(np.isfinite(values)):
                raise Undefined("the network's output is not finite")
            made.append(
                StateDecision(
                    pick_network_action(policy.choose, names, tuple(float(v) for v in values), enabled)
                )
            )
        return made

    def by_margin(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        applicable = None
        if policy.choose is Choose.ARGMAX_APPLICABLE:
            applicable = np.array([[name in enabled for name in names] for enabled in own], dtype=np.bool_)
        found = decide_rows(policy.network, observe(rows), applicable)
        # Where a value within is not finite, another order of summation may decide otherwise as well.
        close = (found.near_ties | ~found.finite).tolist()
        return [
            StateDecision(by_outputs([row], [enabled])[0].decision, near)
            if best < 0
            else StateDecision(decision_for_action(names[best], enabled), near)
            for row, enabled, best, near in zip(rows, own, found.actions.tolist(), close, strict=True)
        ]

    def decide(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        if not rows:
            return []
        if not setting.outputs:
            return (by_outputs if exact else by_margin)(rows, own)
        near = [] if policy.choose is Choose.SAMPLE else [m.near_tie for m in by_margin(rows, own)]
        exactly = by_outputs(rows, own)
        return [StateDecision(m.decision, t) for m, t in zip(exactly, near, strict=True)] if near else exactly

    return decide


def _compile_observer(policy: NeuralPolicy, setting: _Setting) -> Callable[[Sequence[Row]], Array32]:
    """The observed terms of many rows, each rounded once to float32."""
    terms = [setting.closure(t) for t in policy.observe]
    layout = setting.layout
    exact = [_is_exact(t, layout) for t in policy.observe]

    def observe(rows: Sequence[Row]) -> Array32:
        batch = np.empty((len(rows), len(terms)), dtype=np.float32)
        for column, (value, plain) in enumerate(zip(terms, exact, strict=True)):
            values: list[Any] = [value(row) for row in rows]
            batch[:, column] = values if plain else [_round_observation(v) for v in values]
        return batch

    return observe


def _round_observation(value: Any) -> Any:
    """Most observed terms are small integers, which are float32 numbers already."""
    small = type(value) is int and -_EXACT_IN_FLOAT32 <= value <= _EXACT_IN_FLOAT32
    return value if small else round_to_float32(value)


def _is_exact(term: Term, layout: RowLayout) -> bool:
    """A truth value, or a variable whose integers all are float32 numbers."""
    if sort_of(term, layout.kinds) is bool:
        return True
    kind = layout.kinds.get(term.name) if isinstance(term, Var) else None
    return (
        isinstance(kind, Int)
        and kind.low is not None
        and kind.high is not None
        and max(-kind.low, kind.high) <= _EXACT_IN_FLOAT32
    )


def _compile_program(policy: ProgramPolicy, setting: _Setting) -> DecideRows:
    conditions = [setting.closure(branch.when) for branch in policy.branches]
    inner: list[DecideRows | str] = []
    for branch in policy.branches:
        if isinstance(branch.then, tuple):
            raise InvalidProblem("a branch sets controls, but the environment has none")
        inner.append(
            branch.then if isinstance(branch.then, str) else _compile_action_policy(branch.then, setting)
        )

    def decide(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        made = [StateDecision(Decision(stalls=bool(enabled))) for enabled in own]
        waiting: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            branch = next((b for b, condition in enumerate(conditions) if condition(row)), None)
            if branch is None:
                continue
            then = inner[branch]
            if isinstance(then, str):
                made[i] = StateDecision(decision_for_action(then, own[i]))
            else:
                waiting.setdefault(branch, []).append(i)
        for branch, several in waiting.items():
            then = inner[branch]
            assert not isinstance(then, str)
            _put_decisions(made, several, then([rows[i] for i in several], [own[i] for i in several]))
        return made

    return decide


def _compile_shielded(policy: ShieldedPolicy, setting: _Setting) -> DecideRows:
    actions = action_names(policy.policy, setting.environment)
    proposes, falls_back = (
        _compile_action_policy(policy.policy, setting),
        _compile_action_policy(policy.fallback, setting),
    )
    permits = setting.closure(policy.permits, tuple(chosen_name(a) for a in actions))

    def decide(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        made = proposes(rows, own)
        overruled = []
        for i, (row, one) in enumerate(zip(rows, made, strict=True)):
            proposed = tuple(a in one.decision.actions for a in actions)
            if not permits((*row[: setting.layout.width], *proposed)):
                overruled.append(i)
        instead = falls_back([rows[i] for i in overruled], [own[i] for i in overruled])
        _put_decisions(
            made, overruled, [_merge_decisions(made[i], m) for i, m in zip(overruled, instead, strict=True)]
        )
        return made

    return decide


def _merge_decisions(proposed: StateDecision, fallback: StateDecision) -> StateDecision:
    f = fallback.decision
    decision = Decision(f.actions, f.controls, proposed.decision.outputs, f.stalls, intervened=True)
    return StateDecision(decision, proposed.near_tie or fallback.near_tie)


def _compile_oracle(policy: OraclePolicy, setting: _Setting) -> DecideRows:
    def decide(rows: Sequence[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        made = []
        for row, enabled in zip(rows, own, strict=True):
            action = policy.decide(setting.layout.state(row))
            if not isinstance(action, str):
                raise InvalidProblem("the oracle must return an action label here")
            made.append(StateDecision(decision_for_action(action, enabled)))
        return made

    return decide


def _put_decisions(made: list[StateDecision], where: Sequence[int], several: Sequence[StateDecision]) -> None:
    for i, one in zip(where, several, strict=True):
        made[i] = one
