"""One state and one step of a problem as terms, laid out once and copied for every step of an unrolling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from surefoot.encode.call import Call, no_bounds, unbounded
from surefoot.encode.expand import Scope, Tree, expand_scalar, opposite, undefined
from surefoot.encode.interval import Kinds, Scalar
from surefoot.encode.layout import Layout, fresh, in_location, lay_out, scalar_count
from surefoot.encode.leap import Leap, Surroundings, declare_chosen, leaps
from surefoot.encode.policy import Setting
from surefoot.encode.sort import is_rounded
from surefoot.encode.transition import act, leap_count, with_controls
from surefoot.errors import InvalidProblem, SurefootError
from surefoot.problem.environment import Arithmetic, Environment
from surefoot.problem.names import STALLED, chosen_action, output_index
from surefoot.problem.policy import NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.term import FALSE, Term, Var, conjunction, disjunction, free_names, substitute

Moves: TypeAlias = tuple[tuple[Term, Leap], ...]  # each leap with the condition under which it is permitted
MOST_LEAPS = 20_000
MOST_SCALARS = 50_000


@dataclass(frozen=True, slots=True)
class System:
    layout: Layout
    decision_kinds: Kinds  # outputs, which of them is the best, controls
    chosen_kinds: Kinds  # what the environment picks
    escape_kinds: Kinds  # what it would pick on a step that fails
    selector: str  # the quantity that says which leap is taken
    initial: Term
    vague_start: Term  # the start condition has no value
    constraints: tuple[Term, ...]  # of the policy's quantities
    calls: tuple[Call, ...]
    orderly: Term  # guards and policy have a value
    leaps: Moves
    ended: Term  # a run may end here
    escape: Term | None
    reserved: Mapping[str, Term]  # `chosen(a)`, `stalled`, … where the policy has them
    names: Scope  # the state's names and the controls
    has_policy: bool
    doubts: tuple[str, ...]

    def names_in(self, condition: Term) -> Scope:
        """What the names in a property's condition stand for."""
        more: dict[str, Tree] = {}
        for name in free_names(condition) - set(self.names):
            more[name] = self._reserved(name)
        return {**self.names, **more}

    def _reserved(self, name: str) -> Term:
        if name in self.reserved:
            return self.reserved[name]
        if name == STALLED or output_index(name) is not None or chosen_action(name) is not None:
            if not self.has_policy:
                raise InvalidProblem(f"`{name}` needs a policy")
            if output_index(name) is not None:
                raise InvalidProblem(f"`{name}` needs a network policy with that output")
            return FALSE
        return expand_scalar(Var(name), self.names)


def objection(problem: Problem) -> str | None:
    """Why the problem cannot be written as a query, or None."""
    environment, policy = problem.environment, problem.policy
    if environment.flow is not None:
        return "the environment has a flow; it must be discretised first"
    if environment.controls and policy is None:
        return "the environment has controls, but no policy sets them"
    if (count := leap_count(environment)) > MOST_LEAPS:
        return f"the environment has {count} joint steps; at most {MOST_LEAPS} can be encoded"
    if (size := sum(scalar_count(v.kind) for v in environment.variables)) > MOST_SCALARS:
        return f"a state has {size} values; at most {MOST_SCALARS} can be encoded"
    for part in () if policy is None else _parts(policy):
        if isinstance(part, OraclePolicy):
            return f"the oracle `{part.name}` can only be simulated"
    try:
        layout = lay_out(environment, set())
        for part in () if policy is None else _parts(policy):
            if isinstance(part, NeuralPolicy):
                seen = unbounded(part, layout.scope, layout.kinds)
                if seen is not None:
                    return str(no_bounds(seen))
    except SurefootError as error:
        return str(error)
    return None


def _parts(policy: Policy) -> Iterator[Policy]:
    """The policy and every policy inside it."""
    yield policy
    match policy:
        case ProgramPolicy(branches):
            for branch in branches:
                if not isinstance(branch.then, str | tuple):
                    yield from _parts(branch.then)
        case ShieldedPolicy(inner, _, fallback):
            yield from _parts(inner)
            yield from _parts(fallback)


def build(problem: Problem, rounding: bool) -> System:
    """The terms of one state and one step."""
    environment = problem.environment
    taken: set[str] = set()
    layout = lay_out(environment, taken)
    setting, acting = act(problem, layout, rounding, taken)
    names = with_controls(environment, layout, acting.decided)
    chosen_kinds: dict[str, Scalar] = {}
    free = declare_chosen(environment, chosen_kinds, taken)
    kinds = {**setting.kinds, **chosen_kinds}
    around = Surroundings(environment, layout, names, kinds)
    moves = tuple(
        (when, leap)
        for t in acting.transitions
        if (when := conjunction((acting.permitted(acting.actions[t]), acting.ready.enabled(t)))) != FALSE
        for leap in leaps(around, t, free)
    )
    trouble = disjunction((acting.ready.unclear, acting.decided.undefined))
    escape = disjunction((trouble, *(conjunction((when, leap.fails)) for when, leap in moves)))
    copies = {n: fresh(f"{n}!", taken) for n in sorted(free_names(escape) & set(chosen_kinds))}
    initial, vague = _start(environment, layout)
    return System(
        layout=layout,
        decision_kinds={n: k for n, k in setting.kinds.items() if n not in layout.kinds},
        chosen_kinds=chosen_kinds,
        escape_kinds={copy: chosen_kinds[name] for name, copy in copies.items()},
        selector=fresh("move", taken),
        initial=initial,
        vague_start=vague,
        constraints=tuple(setting.constraints),
        calls=tuple(setting.calls),
        orderly=opposite(trouble),
        leaps=tuple(m for m in moves if m[1].possible != FALSE),
        ended=acting.may_end(),
        escape=None if escape == FALSE else substitute(escape, {n: Var(c) for n, c in copies.items()}),
        reserved=acting.reserved(problem.policy is not None),
        names=names,
        has_policy=problem.policy is not None,
        doubts=_doubts(problem, setting, moves, initial, kinds),
    )


def _start(environment: Environment, layout: Layout) -> tuple[Term, Term]:
    """What is true of the states in which runs start, and of those where that has no value."""
    places = tuple(
        disjunction(tuple(in_location(layout, environment, number, place) for place in component.initial))
        for number, component in enumerate(environment.components)
        if len(component.locations) > 1
    )
    unclear = undefined(environment.initial, layout.scope, layout.kinds)
    stated = expand_scalar(environment.initial, layout.scope)
    return conjunction((*places, opposite(unclear), stated)), conjunction((*places, unclear))


def _doubts(problem: Problem, setting: Setting, moves: Moves, initial: Term, kinds: Kinds) -> tuple[str, ...]:
    """Why the absence of a solution may say nothing about the reference semantics."""
    found: list[str] = []
    if problem.environment.arithmetic is Arithmetic.FLOAT64:
        found.append("the environment computes in float64 and its rounding is not part of the encoding")
    inputs = (t for call in setting.calls for t in call.inputs)
    values = (t for when, leap in moves for t in (when, leap.possible, *leap.after.values()))
    if any(is_rounded(t, kinds) for t in (initial, *setting.constraints, *inputs, *values)):
        found.append(
            "values of elementary functions are rounded to float64, which is not part of the encoding"
        )
    found += [call.doubt for call in setting.calls if call.doubt is not None]
    found += [doubt for _, leap in moves for doubt in leap.doubts]
    return tuple(dict.fromkeys(found))
