"""The ways to take a transition, as terms over one state: when each is possible and what it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment, Outcome, Update
from surefoot.problem.meaning.transition import Transition
from surefoot.reductions.enabled_edges import Position
from surefoot.reductions.expand import (
    ScalarTree,
    TreeScope,
    equal_trees,
    expand_scalar,
    expand_term,
    fractional_condition,
    replace_tree_element,
    tree_leaves,
    undefined_condition,
)
from surefoot.reductions.scalar_layout import ScalarLayout, declare_scalars
from surefoot.term.float32 import is_float32
from surefoot.term.interval import Kinds, Scalar, decide_by_bounds
from surefoot.term.reserved_names import location_key
from surefoot.term.term import (
    FALSE,
    Const,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    negate_condition,
    split_target,
)
from surefoot.term.value_types import Bool, Int, Real, ValueType

_ChosenTrees: TypeAlias = Mapping[
    tuple[Position, str], ScalarTree
]  # per edge and chosen value its quantities


@dataclass(frozen=True, slots=True)
class TransitionBranch:
    """One way to move: a transition, an outcome of each of its edges, and what that means."""

    transition: Transition
    outcomes: tuple[int, ...]
    chosen: tuple[tuple[str, ValueType, ScalarTree], ...]  # values that the environment picks
    possible: Term  # where enabled: assumed, of positive probability and defined
    after: Mapping[str, Term]  # the next value of every scalar of the state
    fails: Term  # where enabled: it would have no value, or one outside a variable's kind
    doubts: tuple[str, ...]  # what the encoding cannot say about it


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """What the names in an edge's terms stand for."""

    environment: Environment
    layout: ScalarLayout
    scope: TreeScope
    kinds: Kinds


def declare_chosen_values(
    environment: Environment, kinds: dict[str, Scalar], taken: set[str]
) -> _ChosenTrees:
    """Quantities for the values that the environment picks on each edge."""
    return {
        ((number, e), choice.name): declare_scalars(choice.name, choice.kind, kinds, taken)
        for number, component in enumerate(environment.components)
        for e, edge in enumerate(component.edges)
        for choice in edge.chosen
    }


def enumerate_transition_branches(
    around: EdgeContext, transition: Transition, free: _ChosenTrees
) -> Iterator[TransitionBranch]:
    """The ways to take one transition: one for each combination of outcomes that may have a probability."""
    edges = [around.environment.components[c].edges[e] for c, e in transition.edges]
    chosen = tuple(
        (choice.name, choice.kind, free[position, choice.name])
        for position, edge in zip(transition.edges, edges, strict=True)
        for choice in edge.chosen
    )
    scope = {**around.scope, **{name: tree for name, _, tree in chosen}}
    # Synchronised edges that pick a value of the same name pick the same value.
    shared = conjunction_of(
        tuple(equal_trees(tree, scope[name]) for name, _, tree in chosen if tree != scope[name])
    )
    assuming = conjunction_of(tuple(e.assuming for e in edges))
    unsure = undefined_condition(assuming, scope, around.kinds)
    assumed = decide_by_bounds(expand_scalar(assuming, scope), around.kinds)
    for picks in product(*(range(len(e.outcomes)) for e in edges)):
        parts = [e.outcomes[i] for e, i in zip(edges, picks, strict=True)]
        odd, positive = _probability_conditions(parts, scope, around.kinds)
        if odd == FALSE and positive == FALSE:
            continue
        after, wrong = _successor_terms(around, transition, parts, scope)
        possible = (
            shared,
            negate_condition(unsure),
            assumed,
            negate_condition(odd),
            positive,
            negate_condition(wrong),
        )
        leaving = disjunction_of(
            (wrong, *(_out_of_range(v, around.layout.kinds[n], around.kinds) for n, v in after.items()))
        )
        unfit = conjunction_of((assumed, disjunction_of((odd, conjunction_of((positive, leaving))))))
        fails = conjunction_of((shared, disjunction_of((unsure, unfit))))
        doubts = tuple(_float32_doubts(after, around))
        yield TransitionBranch(transition, picks, chosen, conjunction_of(possible), after, fails, doubts)


def _probability_conditions(parts: list[Outcome], scope: TreeScope, kinds: Kinds) -> tuple[Term, Term]:
    """Where a probability is none, and where all of them are positive."""
    odd, positive = [], []
    for part in parts:
        value = expand_scalar(part.probability, scope)
        odd += [
            undefined_condition(part.probability, scope, kinds),
            decide_by_bounds(value < 0, kinds),
            decide_by_bounds(value > 1, kinds),
        ]
        positive.append(decide_by_bounds(value > 0, kinds))
    return disjunction_of(tuple(odd)), conjunction_of(tuple(positive))


def _successor_terms(
    around: EdgeContext, transition: Transition, parts: list[Outcome], scope: TreeScope
) -> tuple[dict[str, Term], Term]:
    """The next value of every scalar, and where some update has none."""
    trees = dict(around.layout.trees)
    wrong: list[Term] = []
    updates = sorted((u for part in parts for u in part.updates), key=lambda u: u.index)
    for _, together in groupby(updates, key=lambda u: u.index):
        before = {**scope, **trees}
        written: list[tuple[str, tuple[Term, ...]]] = []
        for update in together:
            name, indices = split_target(update.target)
            path = tuple(expand_scalar(index, before) for index in indices)
            wrong += _undefined_update(update, before, around.kinds)
            wrong += [_same_place(path, p) for n, p in written if n == name and len(p) == len(path)]
            written.append((name, path))
            trees[name] = replace_tree_element(trees[name], path, expand_term(update.value, before))
    for (number, _), part in zip(transition.edges, parts, strict=True):
        component = around.environment.components[number]
        if len(component.locations) > 1:
            trees[location_key(component.name)] = Const(component.locations.index(part.target))
    after: dict[str, Term] = {}
    for name, tree in around.layout.trees.items():
        old, new = tree_leaves(tree), tree_leaves(trees[name])
        if len(old) != len(new):
            raise InvalidProblem(f"`{name}` has {len(old)} values, but {len(new)} are assigned to it")
        after.update((o.name, n) for o, n in zip(old, new, strict=True) if isinstance(o, Var))
    return after, disjunction_of(tuple(wrong))


def _same_place(left: tuple[Term, ...], right: tuple[Term, ...]) -> Term:
    return conjunction_of(tuple(equal_trees(a, b) for a, b in zip(left, right, strict=True)))


def _undefined_update(update: Update, before: TreeScope, kinds: Kinds) -> list[Term]:
    """Where the value or an index of an update cannot be evaluated, or an index is out of range."""
    # The target read as a term is undefined exactly where one of its indices is wrong.
    return [
        undefined_condition(update.value, before, kinds),
        undefined_condition(update.target, before, kinds),
    ]


def _out_of_range(value: Term, kind: Scalar, kinds: Kinds) -> Term:
    """Is the value outside this kind?"""
    if isinstance(kind, Bool) or (isinstance(value, Var) and kinds[value.name] == kind):
        return FALSE
    below = FALSE if kind.low is None else decide_by_bounds(value < kind.low, kinds)
    above = FALSE if kind.high is None else decide_by_bounds(value > kind.high, kinds)
    fraction = fractional_condition(value, kinds) if isinstance(kind, Int) else FALSE
    return disjunction_of((below, above, fraction))


def _float32_doubts(after: Mapping[str, Term], around: EdgeContext) -> Iterator[str]:
    for name, value in after.items():
        kind = around.layout.kinds[name]
        if isinstance(kind, Real) and kind.float32 and not is_float32(value, around.kinds):
            yield f"that the value assigned to `{name}` is a float32 number is not part of the encoding"
