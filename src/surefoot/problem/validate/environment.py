"""Checks of an environment: declarations, automata, and every term in its place."""

from __future__ import annotations

from fractions import Fraction

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.environment import Choice, Component, Edge, Environment, Law, Outcome, Update
from surefoot.problem.seconds import period_objection
from surefoot.problem.validate.distribution import sum_defect
from surefoot.problem.validate.scope import (
    NameScope,
    check_limits,
    check_name,
    check_unique,
    check_value_type,
    state_scope,
)
from surefoot.term.number import LARGEST_DOUBLE
from surefoot.term.printer import abbreviate_term, show_term
from surefoot.term.term import Const, Term, Var, split_target, targets_overlap
from surefoot.term.types import BOOL, REAL
from surefoot.term.value_types import Arithmetic, Array, Int, Real, ValueType

_METHODS = ("euler", "rk4")
_PREDICTIONS = ("euler", "taylor")  # methods in continuous time
_LAWS = {"uniform": 2, "normal": 2, "integer": 2}


def check_environment(environment: Environment) -> None:
    """Raise at the first defect, with a path such as `environment.components[0].edges[3].guard`."""
    _check_declarations(environment)
    state = state_scope(environment)
    state.require(environment.initial, BOOL, "environment.initial")
    acting = state.also({c.name: REAL for c in environment.controls})
    for number, component in enumerate(environment.components):
        _check_component(component, acting, f"environment.components[{number}]")
    _check_synchronisations(environment)
    _check_flow(environment, acting)
    _check_start_laws(environment)


def _check_declarations(environment: Environment) -> None:
    variables = [(v.name, f"environment.variables[{i}]") for i, v in enumerate(environment.variables)]
    controls = [(c.name, f"environment.controls[{i}]") for i, c in enumerate(environment.controls)]
    components = [(c.name, f"environment.components[{i}]") for i, c in enumerate(environment.components)]
    for name, where in (*variables, *controls):
        check_name(name, where)
    check_unique(variables, "variable")
    check_unique(controls, "control")
    check_unique([*variables, *controls], "the name")
    check_unique(components, "component")
    if not components:
        raise InvalidProblem(
            "there is no component", fix="add one with at least one edge", where="environment"
        )
    for variable, (_, where) in zip(environment.variables, variables, strict=True):
        check_value_type(variable.kind, variable.name, where)
    for control, (_, where) in zip(environment.controls, controls, strict=True):
        check_limits(control.low, control.high, control.name, where)
    if environment.arithmetic is Arithmetic.FLOAT64:
        _check_float64_limits(environment)


def _check_float64_limits(environment: Environment) -> None:
    """Limits mean the doubles nearest to them; there have to be such."""
    kinds = [(v.name, v.kind) for v in environment.variables]
    kinds += [(c.name, c.kind) for m in environment.components for e in m.edges for c in e.chosen]
    limits = [(c.name, c.low, c.high) for c in environment.controls]
    for name, kind in kinds:
        while isinstance(kind, Array):
            kind = kind.element
        limits += [(name, kind.low, kind.high)] if isinstance(kind, Real) else []
    for name, *ends in limits:
        if any(end is not None and abs(end) > LARGEST_DOUBLE for end in ends):
            what = f"a limit of `{name}` is beyond float64"
            raise InvalidProblem(what, fix="leave the limit out, or use another unit", where="environment")


def _check_component(component: Component, acting: NameScope, where: str) -> None:
    check_unique([(n, f"{where}.locations[{i}]") for i, n in enumerate(component.locations)], "location")
    if not component.initial:
        raise InvalidProblem(
            f"component `{component.name}` has no initial location", where=f"{where}.initial"
        )
    for number, location in enumerate(component.initial):
        _check_location(component, location, f"{where}.initial[{number}]")
    for number, edge in enumerate(component.edges):
        _check_edge(component, edge, acting, f"{where}.edges[{number}]")


def _check_location(component: Component, location: str, where: str) -> None:
    if location not in component.locations:
        what = f"component `{component.name}` has no location `{location}`"
        raise InvalidProblem(what, fix=did_you_mean(location, component.locations), where=where)


def _check_edge(component: Component, edge: Edge, acting: NameScope, where: str) -> None:
    _check_location(component, edge.source, f"{where}.source")
    acting.require(edge.guard, BOOL, f"{where}.guard")
    for number, choice in enumerate(edge.chosen):
        _check_free_choice(choice, acting, f"{where}.chosen[{number}]")
    check_unique([(c.name, f"{where}.chosen[{i}]") for i, c in enumerate(edge.chosen)], "chosen value")
    scope = acting.also({c.name: c.kind for c in edge.chosen})
    scope.require(edge.assuming, BOOL, f"{where}.assuming")
    if not edge.outcomes:
        raise InvalidProblem("an edge has no outcome", fix="add one, or drop the edge", where=where)
    for number, outcome in enumerate(edge.outcomes):
        place = f"{where}.outcomes[{number}]"
        _check_location(component, outcome.target, f"{place}.target")
        _check_outcome(outcome, scope, place)
    _check_probabilities([o.probability for o in edge.outcomes], where)


def _check_free_choice(choice: Choice, acting: NameScope, where: str) -> None:
    check_name(choice.name, where)
    check_value_type(choice.kind, choice.name, where)
    if choice.name in acting.kinds:
        what = f"chosen value `{choice.name}` has the name of a variable or control"
        raise InvalidProblem(what, fix="rename it", where=where)
    if choice.law is not None:
        _check_law(choice.law, choice.name, choice.kind, where)


def _check_start_laws(environment: Environment) -> None:
    places = [(name, f"environment.start_laws[{i}]") for i, (name, _) in enumerate(environment.start_laws)]
    kinds = {v.name: v.kind for v in environment.variables}
    for (name, law), (_, where) in zip(environment.start_laws, places, strict=True):
        if name not in kinds:
            raise InvalidProblem(f"there is no variable `{name}`", fix=did_you_mean(name, kinds), where=where)
        if isinstance(kinds[name], Array):
            what = f"`{name}` is an array, and a law is about a single number"
            raise InvalidProblem(what, fix="declare its elements as variables", where=where)
        _check_law(law, name, kinds[name], where)
    check_unique(places, "the law of")


def _check_law(law: Law, name: str, kind: ValueType, where: str) -> None:
    if law.name not in _LAWS:
        raise InvalidProblem(f"unknown law `{law.name}`", fix=did_you_mean(law.name, _LAWS), where=where)
    if len(law.parameters) != _LAWS[law.name]:
        what = f"law `{law.name}` takes {_LAWS[law.name]} numbers, not {len(law.parameters)}"
        raise InvalidProblem(what, where=where)
    first, second = law.parameters
    if law.name == "normal" and second < 0:
        raise InvalidProblem(f"the deviation of `{name}` is negative", where=where)
    if law.name != "normal":
        check_limits(first, second, name, where)
    if law.name == "integer" and not all(Fraction(p).denominator == 1 for p in law.parameters):
        raise InvalidProblem("the limits of an `integer` law are not whole numbers", where=where)
    if isinstance(kind, Int) != (law.name == "integer"):
        raise InvalidProblem(f"law `{law.name}` does not fit the kind of `{name}`", where=where)


def _check_outcome(outcome: Outcome, scope: NameScope, where: str) -> None:
    scope.require(outcome.probability, REAL, f"{where}.probability")
    for number, update in enumerate(outcome.updates):
        _check_update(update, scope, f"{where}.updates[{number}]")
    _check_write_conflicts(outcome.updates, where)
    check_unique([(r, f"{where}.rewards[{i}]") for i, (r, _) in enumerate(outcome.rewards)], "reward")
    for number, (_, amount) in enumerate(outcome.rewards):
        scope.require(amount, REAL, f"{where}.rewards[{number}]")


def _check_update(update: Update, scope: NameScope, where: str) -> None:
    try:
        root, _ = split_target(update.target)
    except InvalidProblem:
        what = f"`{abbreviate_term(update.target)}` cannot be assigned"
        fix = "assign a variable or an element of an array"
        raise InvalidProblem(what, fix=fix, where=f"{where}.target") from None
    kind = scope.kind(update.target, f"{where}.target")
    if root not in scope.variables:
        what = f"`{root}` is not a variable, so it cannot be assigned"
        raise InvalidProblem(what, fix="assign a declared variable", where=f"{where}.target")
    scope.require(update.value, kind, f"{where}.value")


def _check_write_conflicts(updates: tuple[Update, ...], where: str) -> None:
    """Two writes of one target at once."""
    seen: dict[int, list[Term]] = {}
    for number, update in enumerate(updates):
        others = seen.setdefault(update.index, [])
        for other in others:
            if targets_overlap(update.target, other):
                what = f"`{show_term(update.target)}` is assigned twice at once"
                raise InvalidProblem(what, fix="keep one of them", where=f"{where}.updates[{number}].target")
        others.append(update.target)


def _check_probabilities(probabilities: list[Term], where: str) -> None:
    for number, probability in enumerate(probabilities):
        if isinstance(probability, Const) and not 0 <= probability.value <= 1:
            what = f"probability {show_term(probability)} is not between 0 and 1"
            raise InvalidProblem(what, where=f"{where}.outcomes[{number}].probability")
    if (defect := sum_defect(probabilities)) is not None:
        raise InvalidProblem(defect[0], fix=defect[1], where=where)


def _check_synchronisations(environment: Environment) -> None:
    count = len(environment.components)
    for number, vector in enumerate(environment.synchronisations):
        where = f"environment.synchronisations[{number}]"
        if len(vector.actions) != count:
            what = f"the vector names {len(vector.actions)} actions, but there are {count} components"
            raise InvalidProblem(what, fix="name one action, or none, for each component", where=where)
        if all(a is None for a in vector.actions):
            raise InvalidProblem("no component takes part", fix="name at least one action", where=where)
        for position, (action, component) in enumerate(
            zip(vector.actions, environment.components, strict=True)
        ):
            known = dict.fromkeys(e.action for e in component.edges if e.action is not None)
            if action is not None and action not in known:
                what = f"component `{component.name}` has no action `{action}`"
                raise InvalidProblem(
                    what, fix=did_you_mean(action, known), where=f"{where}.actions[{position}]"
                )
        _check_shared_choices(environment, vector.actions, where)


def _check_shared_choices(environment: Environment, actions: tuple[str | None, ...], where: str) -> None:
    """What edges that move together choose by the same name is one value, so it has one kind."""
    found: dict[str, list[tuple[str, ValueType]]] = {}
    for action, component in zip(actions, environment.components, strict=True):
        for edge in component.edges if action is not None else ():
            for choice in edge.chosen if edge.action == action else ():
                for other, kind in found.get(choice.name, ()):
                    if other != component.name and kind != choice.kind:
                        both = f"components `{other}` and `{component.name}` choose `{choice.name}` together"
                        what = f"{both}, but of different kinds"
                        raise InvalidProblem(what, fix="give it one kind, or two names", where=where)
                found.setdefault(choice.name, []).append((component.name, choice.kind))


def _check_flow(environment: Environment, acting: NameScope) -> None:
    flow, where = environment.flow, "environment.flow"
    if flow is None:
        return
    if flow.step <= 0:
        what = f"the step {show_term(Const(flow.step))} is not positive"
        raise InvalidProblem(what, fix="write how much time one step takes", where=f"{where}.step")
    if (why := period_objection(flow)) is not None:
        raise why
    known = _PREDICTIONS if flow.continuous else _METHODS
    if flow.method not in known:
        what = f"unknown method `{flow.method}` {'in continuous time' if flow.continuous else 'of steps'}"
        raise InvalidProblem(what, fix=did_you_mean(flow.method, known), where=where)
    check_unique(
        [(n, f"{where}.derivatives[{i}]") for i, (n, _) in enumerate(flow.derivatives)], "derivative of"
    )
    edges = [e for c in environment.components for e in c.edges]
    always = [c for c in (edges[0].chosen if edges else ()) if all(c in e.chosen for e in edges)]
    scope = acting.also({c.name: c.kind for c in always})
    for number, (name, derivative) in enumerate(flow.derivatives):
        place = f"{where}.derivatives[{number}]"
        if acting.kind(Var(name), place) != REAL or name not in acting.variables:
            raise InvalidProblem(f"`{name}` has a derivative but is not a real variable", where=place)
        scope.require(derivative, REAL, place)
