"""One state and one step of a problem as terms, laid out once and copied for every step of an unrolling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.problem.environment import Environment
from surefoot.problem.policy import NeuralPolicy, OraclePolicy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.reductions.enabled_edges import (
    count_transition_branches,
    encode_policy_in_state,
    scope_with_controls,
)
from surefoot.reductions.expand import (
    ScalarTree,
    TreeScope,
    expand_scalar,
    undefined_condition,
)
from surefoot.reductions.network_call import (
    EncodedCall,
    is_bounded_at_sight,
    missing_bounds_error,
    unbounded_observation,
)
from surefoot.reductions.policy import PolicyContext
from surefoot.reductions.scalar_layout import (
    ScalarLayout,
    fresh_name,
    in_location,
    lay_out_scalars,
    layout_objection,
)
from surefoot.reductions.transition_branch import (
    EdgeContext,
    TransitionBranch,
    declare_chosen_values,
    enumerate_transition_branches,
)
from surefoot.reductions.written_out_size import written_out_objection
from surefoot.term.interval import Kinds, Scalar
from surefoot.term.reserved_names import STALLED, chosen_action, output_index
from surefoot.term.term import FALSE, Term, Var, conjunction_of, disjunction_of, free_names, negate_condition
from surefoot.term.traverse import substitute_names
from surefoot.term.types import is_rounded
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.verdict import Reason, Refused

_GuardedBranches: TypeAlias = tuple[
    tuple[Term, TransitionBranch], ...
]  # each leap with the condition under which it is permitted
_MOST_BRANCHES = 20_000


@dataclass(frozen=True, slots=True)
class TransitionSystem:
    layout: ScalarLayout
    decision_kinds: Kinds  # outputs, which of them is the best, controls
    chosen_kinds: Kinds  # what the environment picks
    escape_kinds: Kinds  # what it would pick on a step that fails
    selector: str  # the quantity that says which leap is taken
    initial: Term
    vague_start: Term  # the start condition has no value
    constraints: tuple[Term, ...]  # of the policy's quantities
    calls: tuple[EncodedCall, ...]
    orderly: Term  # guards and policy have a value
    leaps: _GuardedBranches
    ended: Term  # a run may end here
    escape: Term | None
    reserved: Mapping[str, Term]  # `chosen(a)`, `stalled`, … where the policy has them
    names: TreeScope  # the state's names and the controls
    has_policy: bool
    doubt: Refused | None

    def names_in(self, condition: Term) -> TreeScope:
        """What the names in a property's condition stand for."""
        more: dict[str, ScalarTree] = {}
        for name in free_names(condition) - set(self.names):
            more[name] = self._reserved_term(name)
        return {**self.names, **more}

    def _reserved_term(self, name: str) -> Term:
        if name in self.reserved:
            return self.reserved[name]
        if name == STALLED or output_index(name) is not None or chosen_action(name) is not None:
            if not self.has_policy:
                raise InvalidProblem(f"`{name}` needs a policy")
            if output_index(name) is not None:
                raise InvalidProblem(f"`{name}` needs a network policy with that output")
            return FALSE
        return expand_scalar(Var(name), self.names)


def encoding_objection(problem: Problem) -> str | None:
    """Why the problem cannot be written as a query, or None."""
    environment, policy = problem.environment, problem.policy
    if environment.flow is not None:
        return "the environment has a flow; it must be discretised first"
    if environment.controls and policy is None:
        return "the environment has controls, but no policy sets them"
    if (count := count_transition_branches(environment)) > _MOST_BRANCHES:
        return f"the environment has {count} joint steps; at most {_MOST_BRANCHES} can be encoded"
    if (large := layout_objection(environment)) is not None:
        return str(large)
    if (long := written_out_objection(environment)) is not None:
        return long
    for part in () if policy is None else nested_policies(policy):
        if isinstance(part, OraclePolicy):
            return f"the oracle `{part.name}` can only be simulated"
    networks = [p for p in nested_policies(policy) if isinstance(p, NeuralPolicy)] if policy else []
    doubtful = [p for p in networks if not is_bounded_at_sight(p, environment)]
    if not doubtful:
        return None
    try:
        layout = lay_out_scalars(environment, set())
        for part in doubtful:
            if (seen := unbounded_observation(part, layout.scope, layout.kinds)) is not None:
                return str(missing_bounds_error(seen))
    except SurefootError as error:
        return str(error)
    return None


def build_transition_system(problem: Problem, rounding: bool) -> TransitionSystem:
    """The terms of one state and one step."""
    environment = problem.environment
    taken: set[str] = set()
    layout = lay_out_scalars(environment, taken)
    setting, acting = encode_policy_in_state(problem, layout, rounding, taken)
    names = scope_with_controls(environment, layout, acting.decided)
    chosen_kinds: dict[str, Scalar] = {}
    free = declare_chosen_values(environment, chosen_kinds, taken)
    kinds = {**setting.kinds, **chosen_kinds}
    around = EdgeContext(environment, layout, names, kinds)
    moves = tuple(
        (when, leap)
        for t in acting.transitions
        if (
            when := conjunction_of(
                (acting.permitted_condition(acting.actions[t]), acting.ready.enabled_condition(t))
            )
        )
        != FALSE
        for leap in enumerate_transition_branches(around, t, free)
    )
    trouble = disjunction_of((acting.ready.unclear, acting.decided.undefined))
    escape = disjunction_of((trouble, *(conjunction_of((when, leap.fails)) for when, leap in moves)))
    copies = {n: fresh_name(f"{n}!", taken) for n in sorted(free_names(escape) & set(chosen_kinds))}
    initial, vague = _start_conditions(environment, layout)
    return TransitionSystem(
        layout=layout,
        decision_kinds={n: k for n, k in setting.kinds.items() if n not in layout.kinds},
        chosen_kinds=chosen_kinds,
        escape_kinds={copy: chosen_kinds[name] for name, copy in copies.items()},
        selector=fresh_name("move", taken),
        initial=initial,
        vague_start=vague,
        constraints=tuple(setting.constraints),
        calls=tuple(setting.calls),
        orderly=negate_condition(trouble),
        leaps=tuple(m for m in moves if m[1].possible != FALSE),
        ended=acting.may_end(),
        escape=None if escape == FALSE else substitute_names(escape, {n: Var(c) for n, c in copies.items()}),
        reserved=acting.reserved_terms(problem.policy is not None),
        names=names,
        has_policy=problem.policy is not None,
        doubt=_collect_doubts(problem, setting, moves, initial, kinds),
    )


def _start_conditions(environment: Environment, layout: ScalarLayout) -> tuple[Term, Term]:
    """What is true of the states in which runs start, and of those where that has no value."""
    places = tuple(
        disjunction_of(tuple(in_location(layout, environment, number, place) for place in component.initial))
        for number, component in enumerate(environment.components)
        if len(component.locations) > 1
    )
    unclear = undefined_condition(environment.initial, layout.scope, layout.kinds)
    stated = expand_scalar(environment.initial, layout.scope)
    return conjunction_of((*places, negate_condition(unclear), stated)), conjunction_of((*places, unclear))


def _collect_doubts(
    problem: Problem, setting: PolicyContext, moves: _GuardedBranches, initial: Term, kinds: Kinds
) -> Refused | None:
    """Why the absence of a solution may say nothing about the reference semantics; the last reason counts."""
    texts: list[str] = []
    if problem.environment.arithmetic is Arithmetic.FLOAT64:
        texts.append("the environment computes in float64 and its rounding is not part of the encoding")
    inputs = (t for call in setting.calls for t in call.inputs)
    values = (t for when, leap in moves for t in (when, leap.possible, *leap.after.values()))
    if any(is_rounded(t, kinds) for t in (initial, *setting.constraints, *inputs, *values)):
        texts.append(
            "values of elementary functions are rounded to float64, which is not part of the encoding"
        )
    found = [Refused(Reason.INCOMPLETE, text) for text in texts]
    found += [call.doubt for call in setting.calls if call.doubt is not None]
    found += [Refused(Reason.INCOMPLETE, doubt) for _, leap in moves for doubt in leap.doubts]
    if not found:
        return None
    return Refused(found[-1].reason, "; ".join(dict.fromkeys(map(str, found))))
