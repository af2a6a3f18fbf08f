"""What modules of PRISM do: the edges of each component, or all joint steps in one module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from surefoot.errors import Unsupported
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.export.model import without_choices
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update
from surefoot.term.reserved_names import location_key
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal, split_target
from surefoot.term.traverse import substitute_names

MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A command to be. `branches`: probability, and new values by name."""

    action: str | None
    guard: Term
    branches: tuple[tuple[Term, tuple[tuple[str, Term], ...]], ...]
    rewards: tuple[tuple[str, Term], ...]


@dataclass(frozen=True, slots=True)
class WrittenModule:
    """`variables` of the environment, and keys of locations, that only this module writes."""

    name: str
    variables: tuple[str, ...]
    steps: tuple[WrittenStep, ...]


def written_modules(environment: Environment) -> tuple[tuple[str, ...], list[WrittenModule]]:
    """Global variables, and a module for each component; one module where PRISM needs it."""
    components = [_expand_edges(c) for c in environment.components]
    environment = replace(environment, components=tuple(components))
    alone = len(components) == 1 and not environment.synchronisations
    found = None if alone else _separate_modules(environment)
    return found if found is not None else ((), [_single_module(environment)])


def _expand_edges(component: Component) -> Component:
    edges = tuple(
        one
        for number, edge in enumerate(component.edges)
        for one in without_choices(edge, f"`{component.name}#{number}`", "PRISM")
    )
    return replace(component, edges=edges)


def _written_names(component: Component) -> Iterator[tuple[str, Edge]]:
    for edge in component.edges:
        for outcome in edge.outcomes:
            for update in outcome.updates:
                yield split_target(update.target)[0], edge


def _separate_modules(environment: Environment) -> tuple[tuple[str, ...], list[WrittenModule]] | None:
    """A module for each component; None if they share variables, or pay, in ways that PRISM cannot say."""
    writers: dict[str, set[int]] = {}
    joint: set[str] = set()
    for number, component in enumerate(environment.components):
        for name, edge in _written_names(component):
            writers.setdefault(name, set()).add(number)
            if edge.action is not None:
                joint.add(name)
    shared = [v.name for v in environment.variables if len(writers.get(v.name, ())) > 1]
    if any(name in joint for name in shared) or _has_order(environment) or _pays_together(environment):
        return None
    if shared and any(_pays(e) for c in environment.components for e in c.edges if e.action is None):
        return None
    vectors = _vector_names(environment)
    taken = {name for name in vectors if name is not None}
    modules: list[WrittenModule] = []
    for number, component in enumerate(environment.components):
        steps: list[WrittenStep] = []
        for place, edge in enumerate(component.edges):
            if edge.action is None:
                action = _fresh_action(f"{component.name}_{place}", taken) if _pays(edge) else None
                steps.append(_written_step(environment, [(number, edge)], action))
                continue
            for vector, label in zip(environment.synchronisations, vectors, strict=True):
                if label is not None and vector.actions[number] == edge.action:
                    steps.append(_written_step(environment, [(number, edge)], label))
        own = [v.name for v in environment.variables if writers.get(v.name, {0}) == {number}]
        keys = [location_key(component.name)] if len(component.locations) > 1 else []
        modules.append(WrittenModule(component.name, (*own, *keys), tuple(steps)))
    return tuple(shared), modules


def _vector_names(environment: Environment) -> list[str | None]:
    """An action for each vector, as PRISM synchronises on one name; None if some member has no such edge."""
    found: list[str | None] = []
    taken: set[str] = set()
    for vector in environment.synchronisations:
        members = zip(environment.components, vector.actions, strict=True)
        if any(a is not None and all(e.action != a for e in c.edges) for c, a in members):
            found.append(None)
            continue
        first = next(a for a in vector.actions if a is not None)
        found.append(_fresh_action(vector.result or first, taken))
    return found


def _fresh_action(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _pays(edge: Edge) -> bool:
    return any(amount != Const(0) for outcome in edge.outcomes for _, amount in outcome.rewards)


def _has_order(environment: Environment) -> bool:
    """Do updates in joint steps happen one after the other?"""
    indices = {
        u.index for c in environment.components for e in c.edges for o in e.outcomes for u in o.updates
    }
    return len(indices) > 1


def _pays_together(environment: Environment) -> bool:
    """Are there edges with one action and different rewards? Then it matters which of them is taken."""
    for component in environment.components:
        by_action: dict[str, set[tuple[tuple[str, Term], ...]]] = {}
        for edge in component.edges:
            if edge.action is not None:
                by_action.setdefault(edge.action, set()).add(_mean_rewards(edge.outcomes))
        if any(len(several) > 1 for several in by_action.values()):
            return True
    return False


def _single_module(environment: Environment) -> WrittenModule:
    """Every joint step as a command of its own."""
    steps: list[WrittenStep] = []
    alone = len(environment.components) == 1 and not environment.synchronisations
    for number, component in enumerate(environment.components):
        for edge in component.edges:
            if edge.action is None or alone:
                steps.append(_written_step(environment, [(number, edge)], edge.action))
    for vector in environment.synchronisations:
        several = [
            [(number, e) for e in environment.components[number].edges if e.action == action]
            for number, action in enumerate(vector.actions)
            if action is not None
        ]
        for members in product(*several):
            steps.append(_written_step(environment, list(members), vector.result))
            if len(steps) > MOST_STEPS:
                raise Unsupported(
                    f"more than {MOST_STEPS} joint steps", fix="write JANI, which has components"
                )
    keys = [location_key(c.name) for c in environment.components if len(c.locations) > 1]
    names = (*(v.name for v in environment.variables), *keys)
    return WrittenModule(environment.name, names, tuple(_pay_apart(steps)))


def _pay_apart(steps: list[WrittenStep]) -> Iterator[WrittenStep]:
    """Commands that pay have an action of their own, on which the rewards are."""
    paying = {s.action for s in steps if any(amount != Const(0) for _, amount in s.rewards)}
    taken = {s.action for s in steps if s.action is not None}
    for step in steps:
        shared = step.action is None or sum(s.action == step.action for s in steps) > 1
        if step.action in paying and shared:
            step = replace(step, action=_fresh_action(step.action or "step", taken))
        yield step


def _written_step(
    environment: Environment, members: Sequence[tuple[int, Edge]], action: str | None
) -> WrittenStep:
    guards: list[Term] = []
    for number, edge in members:
        component = environment.components[number]
        if len(component.locations) > 1:
            place = component.locations.index(edge.source)
            guards.append(equal(Var(location_key(component.name)), place))
        if edge.guard != TRUE:
            guards.append(edge.guard)
    branches = []
    for outcomes in product(*(edge.outcomes for _, edge in members)):
        weight = _product([o.probability for o in outcomes])
        updates = _sequenced([u for o in outcomes for u in o.updates])
        for (number, edge), outcome in zip(members, outcomes, strict=True):
            component = environment.components[number]
            if len(component.locations) > 1 and outcome.target != edge.source:
                place = component.locations.index(outcome.target)
                updates[location_key(component.name)] = Const(place)
        branches.append((weight, tuple(updates.items())))
    rewards: dict[str, Term] = {}
    for _, edge in members:
        for name, amount in _mean_rewards(edge.outcomes):
            rewards[name] = fold_constant_parts(rewards[name] + amount) if name in rewards else amount
    return WrittenStep(action, conjunction_of(tuple(guards)), tuple(branches), tuple(rewards.items()))


def _product(parts: list[Term]) -> Term:
    kept = [p for p in parts if p != Const(1)]
    if not kept:
        return Const(1)
    return kept[0] if len(kept) == 1 else fold_constant_parts(Apply(Op.MUL, tuple(kept)))


def _sequenced(updates: list[Update]) -> dict[str, Term]:
    """Updates in the order of their indices, as terms over the state before the step."""
    values: dict[str, Term] = {}
    for index in sorted({u.index for u in updates}):
        before = dict(values)
        written: set[str] = set()
        for update in updates:
            if update.index != index:
                continue
            if not isinstance(update.target, Var):
                raise Unsupported("PRISM has no arrays", fix="use one variable for each element")
            if update.target.name in written:
                what = f"`{update.target.name}` is written by two components in one step"
                raise Unsupported(what, fix="let one of them write it")
            written.add(update.target.name)
            values[update.target.name] = fold_constant_parts(substitute_names(update.value, before))
    return values


def _mean_rewards(outcomes: Sequence[Outcome]) -> tuple[tuple[str, Term], ...]:
    """PRISM pays for a choice, not for its outcome: what is earned on average."""
    names = dict.fromkeys(name for o in outcomes for name, _ in o.rewards)
    found: list[tuple[str, Term]] = []
    for name in names:
        amounts = [_amount(o, name) for o in outcomes]
        if all(a == amounts[0] for a in amounts):
            found.append((name, amounts[0]))
            continue
        parts = tuple(o.probability * a for o, a in zip(outcomes, amounts, strict=True))
        found.append((name, fold_constant_parts(Apply(Op.ADD, parts))))
    return tuple(found)


def _amount(outcome: Outcome, name: str) -> Term:
    amounts = [amount for other, amount in outcome.rewards if other == name]
    if not amounts:
        return Const(0)
    return amounts[0] if len(amounts) == 1 else fold_constant_parts(Apply(Op.ADD, tuple(amounts)))
