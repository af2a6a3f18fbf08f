"""A problem written out for a certificate (docs/certificates.md, section 9).

The canonical problem has scalar variables only, one automaton without locations (a location is a variable)
and one network. Automata that move together are one: its edges are their joint steps. What does not fit is
refused with the reason, never rewritten into something that holds less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from surefoot.certify.runs.policy import rules_and_network, run_policy_to_json
from surefoot.certify.term_json import (
    defined_term_to_json,
    end_to_json,
    run_term_to_json,
)
from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment, Outcome
from surefoot.problem.meaning.decision import action_names, action_of
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Recurs, Within
from surefoot.reductions.enabled_edges import count_transition_branches
from surefoot.reductions.expand import TreeScope, expand_term, tree_leaves, undefined_condition
from surefoot.reductions.scalar_layout import ScalarLayout, declare_scalars, in_location, lay_out_scalars
from surefoot.reductions.simultaneous_updates import compose_updates, named_kinds
from surefoot.term.interval import Kinds, Scalar
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import is_reserved, location_key, output_index
from surefoot.term.term import (
    FALSE,
    Const,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
)
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

MOST_STEPS = 2000  # joint steps, each outcome of each counted


def run_problem_to_json(problem: Problem, inputs: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The problem as JSON data; `Unsupported` says why it cannot be written in this form.

    `inputs`: files with their digests. If the network is that of one of them, as the checker reads it, the
    file is named; otherwise the weights are written out.
    """
    environment, policy = problem.environment, problem.policy
    if environment.arithmetic is not Arithmetic.EXACT or environment.flow is not None:
        raise Unsupported("the environment computes in float64, which certificates do not cover")
    if count_transition_branches(environment) > MOST_STEPS:
        raise Unsupported(f"certificates cover environments with up to {MOST_STEPS} joint steps")
    rules, network = rules_and_network(policy)
    owns = action_names(policy, environment) if policy is not None else ()
    if environment.controls and owns:
        raise Unsupported("certificates do not cover actions beside controls")
    layout = lay_out_scalars(environment, set())
    names = {**layout.scope, **{c.name: Var(c.name) for c in environment.controls}}
    kinds: Kinds = {**layout.kinds, **{c.name: Real(c.low, c.high) for c in environment.controls}}
    return {
        "name": problem.name,
        "variables": [variable_to_json(name, kind) for name, kind in layout.kinds.items()],
        "initial": defined_term_to_json(_initial_condition(environment, layout), layout.scope, layout.kinds),
        "controls": [
            [c.name, end_to_json(c.low), end_to_json(c.high), c.clipped] for c in environment.controls
        ],
        "components": [
            {
                "name": "",
                "locations": [""],
                "initial": [""],
                "edges": [
                    _edge_to_json(environment, layout, step, _action_of_step(problem, step), names, kinds)
                    for step in joint_transitions(
                        environment, [list(range(len(c.edges))) for c in environment.components]
                    )
                ],
            }
        ],
        "synchronisations": [],
        "policy": run_policy_to_json(problem, rules, network, layout, inputs or {}) | {"owns": list(owns)},
        "property": _property_to_json(problem.property, names, kinds),
        **normalised_entry(environment),
    }


def normalised_entry(environment: Environment) -> dict[str, Any]:
    """Which probabilities are not those of the file, if there are any."""
    return {"normalised": list(environment.normalised)} if environment.normalised else {}


def _action_of_step(problem: Problem, step: Transition) -> str | None:
    return None if problem.policy is None else action_of(problem.policy, problem.environment, step)


def _initial_condition(environment: Environment, layout: ScalarLayout) -> Term:
    places = [
        disjunction_of(tuple(in_location(layout, environment, number, place) for place in component.initial))
        for number, component in enumerate(environment.components)
        if len(component.locations) > 1
    ]
    return conjunction_of((*places, environment.initial))


def variable_to_json(name: str, kind: ValueType) -> list[Any]:
    return [name, _kind_to_json(kind)]


def _kind_to_json(kind: ValueType) -> Any:
    match kind:
        case Bool():
            return "boolean"
        case Int(low, high):
            return ["integer", low, high]
        case Real(low, high, float32):
            return ["float32" if float32 else "real", end_to_json(low), end_to_json(high)]
        case Array(element, length):
            return ["array", length, _kind_to_json(element)]


def _edge_to_json(
    environment: Environment,
    layout: ScalarLayout,
    step: Transition,
    action: str | None,
    names: TreeScope,
    kinds: Kinds,
) -> dict[str, Any]:
    own: dict[str, Scalar] = {}
    taken = set(layout.kinds)
    edges = [environment.components[c].edges[e] for c, e in step.edges]
    chosen = {c.name: c for edge in edges for c in edge.chosen}  # of one name: one value for all edges
    if any(c.kind != chosen[c.name].kind for edge in edges for c in edge.chosen):
        raise Unsupported("edges that move together pick a value of one name among different ones")
    scope = {**names, **{c.name: declare_scalars(c.name, c.kind, own, taken) for c in chosen.values()}}
    if len(scope) < len(names) + len(chosen):
        raise Unsupported("a value that the environment picks has the name of something else")
    all_kinds = {**kinds, **own}
    here = (
        in_location(layout, environment, n, e.source) for (n, _), e in zip(step.edges, edges, strict=True)
    )
    guard = conjunction_of((*here, *(e.guard for e in edges)))
    return {
        "source": "",
        "action": action,
        "guard": defined_term_to_json(guard, {**names, **{n: Var(n) for n in layout.kinds}}, kinds),
        "chosen": [variable_to_json(name, kind) for name, kind in own.items()],
        "assuming": defined_term_to_json(conjunction_of(tuple(e.assuming for e in edges)), scope, all_kinds),
        "outcomes": [
            {
                "probability": None,  # nothing depends on it
                "updates": list(_updates_to_json(environment, layout, step, outcomes, scope, all_kinds)),
                "rewards": [],
                "target": "",
            }
            for outcomes in product(*(e.outcomes for e in edges))
            if all(is_possible_outcome(outcome) for outcome in outcomes)
        ],
    }


def is_possible_outcome(outcome: Outcome) -> bool:
    """Has it a positive probability?"""
    match outcome.probability:
        case Const(int() | Fraction() as share) if not isinstance(share, bool) and 0 <= share <= 1:
            return share > 0
        case other:
            raise Unsupported(f"the probability `{show_term(other)}` varies, which certificates do not cover")


def _updates_to_json(
    environment: Environment,
    layout: ScalarLayout,
    step: Transition,
    outcomes: tuple[Outcome, ...],
    scope: TreeScope,
    kinds: Kinds,
) -> Iterator[list[object]]:
    chosen = [c for number, e in step.edges for c in environment.components[number].edges[e].chosen]
    updates = compose_updates(
        [u for o in outcomes for u in o.updates], named_kinds(environment, chosen), environment.arithmetic
    )
    seen: set[str] = set()
    for update in updates:
        targets = tree_leaves(expand_term(update.target, {**scope, **layout.scope}))
        values = tree_leaves(expand_term(update.value, scope))
        if (
            undefined_condition(update.target, scope, kinds) != FALSE
            or undefined_condition(update.value, scope, kinds) != FALSE
        ):
            raise Unsupported(f"the update of `{show_term(update.target)}` may have no value")
        if len(targets) != len(values):
            raise Unsupported(f"`{show_term(update.target)}` is assigned an array of another length")
        for target, value in zip(targets, values, strict=True):
            if not isinstance(target, Var) or target.name in seen:
                raise Unsupported(
                    f"which element of `{show_term(update.target)}` is assigned varies, or twice one"
                )
            seen.add(target.name)
            yield [["name", target.name], run_term_to_json(value), 0]
    for (number, _), outcome in zip(step.edges, outcomes, strict=True):
        component = environment.components[number]
        if len(component.locations) > 1:
            yield [["name", location_key(component.name)], component.locations.index(outcome.target), 0]


def _property_to_json(asked: Property, names: TreeScope, kinds: Kinds) -> dict[str, Any]:
    def condition(term: Term) -> Any:
        more = {name: Var(name) for name in free_names(term) - set(names) if is_reserved(name)}
        reserved = {name: Bool() if output_index(name) is None else Real() for name in more}
        return defined_term_to_json(term, {**names, **more}, {**kinds, **reserved})

    return run_property_to_json(asked, condition)


def run_property_to_json(asked: Property, condition: Callable[[Term], Any]) -> dict[str, Any]:
    """A property of all runs."""
    match asked:
        case Never(bad, steps):
            bound = {} if steps is None else {"steps": steps}
            return {"kind": "never", "condition": condition(bad), **bound}
        case NeverBefore(bad, goal, steps):
            bound = {} if steps is None else {"steps": steps}
            return {"kind": "never", "condition": condition(bad), **bound, "before": condition(goal)}
        case Within(good, steps, after):
            return {"kind": "within", "condition": condition(good), "steps": steps, "after": after}
        case Eventually(good):
            return {"kind": "eventually", "condition": condition(good)}
        case Recurs(good):
            return {"kind": "recurs", "condition": condition(good)}
        case other:
            raise Unsupported(f"certificates about runs do not cover {type(other).__name__}")
