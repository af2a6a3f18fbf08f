"""The ways to take a transition, as terms over one state: when each is possible and what it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product
from typing import TypeAlias

from surefoot.encode.expand import (
    Scope,
    Tree,
    expand,
    expand_scalar,
    leaves,
    not_whole,
    opposite,
    placed,
    same,
    undefined,
)
from surefoot.encode.interval import Kinds, Scalar, known
from surefoot.encode.layout import Layout, declare
from surefoot.encode.sort import is_float32
from surefoot.encode.transition import Position
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Bool, Environment, Int, Kind, Outcome, Real, Update
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.names import location_key
from surefoot.problem.term import FALSE, Apply, Const, Op, Term, Var, conjunction, disjunction

Free: TypeAlias = Mapping[tuple[Position, str], Tree]  # per edge and chosen value its quantities


@dataclass(frozen=True, slots=True)
class Leap:
    """One way to move: a transition, an outcome of each of its edges, and what that means."""

    transition: Transition
    outcomes: tuple[int, ...]
    chosen: tuple[tuple[str, Kind, Tree], ...]  # values that the environment picks
    possible: Term  # where enabled: assumed, of positive probability and defined
    after: Mapping[str, Term]  # the next value of every scalar of the state
    fails: Term  # where enabled: it would have no value, or one outside a variable's kind
    doubts: tuple[str, ...]  # what the encoding cannot say about it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the names in an edge's terms stand for."""

    environment: Environment
    layout: Layout
    scope: Scope
    kinds: Kinds


def declare_chosen(environment: Environment, kinds: dict[str, Scalar], taken: set[str]) -> Free:
    """Quantities for the values that the environment picks on each edge."""
    return {
        ((number, e), choice.name): declare(choice.name, choice.kind, kinds, taken)
        for number, component in enumerate(environment.components)
        for e, edge in enumerate(component.edges)
        for choice in edge.chosen
    }


def leaps(around: Surroundings, transition: Transition, free: Free) -> Iterator[Leap]:
    """The ways to take one transition: one for each combination of outcomes that may have a probability."""
    edges = [around.environment.components[c].edges[e] for c, e in transition.edges]
    chosen = tuple(
        (choice.name, choice.kind, free[position, choice.name])
        for position, edge in zip(transition.edges, edges, strict=True)
        for choice in edge.chosen
    )
    scope = {**around.scope, **{name: tree for name, _, tree in chosen}}
    # Synchronised edges that pick a value of the same name pick the same value.
    shared = conjunction(tuple(same(tree, scope[name]) for name, _, tree in chosen if tree != scope[name]))
    assuming = conjunction(tuple(e.assuming for e in edges))
    unsure = undefined(assuming, scope, around.kinds)
    assumed = known(expand_scalar(assuming, scope), around.kinds)
    for picks in product(*(range(len(e.outcomes)) for e in edges)):
        parts = [e.outcomes[i] for e, i in zip(edges, picks, strict=True)]
        odd, positive = _likelihood(parts, scope, around.kinds)
        if odd == FALSE and positive == FALSE:
            continue
        after, wrong = _after(around, transition, parts, scope)
        possible = (shared, opposite(unsure), assumed, opposite(odd), positive, opposite(wrong))
        leaving = disjunction(
            (wrong, *(_leaves(v, around.layout.kinds[n], around.kinds) for n, v in after.items()))
        )
        unfit = conjunction((assumed, disjunction((odd, conjunction((positive, leaving))))))
        fails = conjunction((shared, disjunction((unsure, unfit))))
        doubts = tuple(_doubts(after, around))
        yield Leap(transition, picks, chosen, conjunction(possible), after, fails, doubts)


def _likelihood(parts: list[Outcome], scope: Scope, kinds: Kinds) -> tuple[Term, Term]:
    """Where a probability is none, and where all of them are positive."""
    odd, positive = [], []
    for part in parts:
        value = expand_scalar(part.probability, scope)
        odd += [undefined(part.probability, scope, kinds), known(value < 0, kinds), known(value > 1, kinds)]
        positive.append(known(value > 0, kinds))
    return disjunction(tuple(odd)), conjunction(tuple(positive))


def _after(
    around: Surroundings, transition: Transition, parts: list[Outcome], scope: Scope
) -> tuple[dict[str, Term], Term]:
    """The next value of every scalar, and where some update has none."""
    trees = dict(around.layout.trees)
    wrong: list[Term] = []
    updates = sorted((u for part in parts for u in part.updates), key=lambda u: u.index)
    for _, together in groupby(updates, key=lambda u: u.index):
        before = {**scope, **trees}
        written: list[tuple[str, tuple[Term, ...]]] = []
        for update in together:
            name, path = _place(update.target, before)
            wrong += _wrong(update, before, around.kinds)
            wrong += [_same_place(path, p) for n, p in written if n == name and len(p) == len(path)]
            written.append((name, path))
            trees[name] = placed(trees[name], path, expand(update.value, before))
    for (number, _), part in zip(transition.edges, parts, strict=True):
        component = around.environment.components[number]
        if len(component.locations) > 1:
            trees[location_key(component.name)] = Const(component.locations.index(part.target))
    after: dict[str, Term] = {}
    for name, tree in around.layout.trees.items():
        old, new = leaves(tree), leaves(trees[name])
        if len(old) != len(new):
            raise InvalidProblem(f"`{name}` has {len(old)} values, but {len(new)} are assigned to it")
        after.update((o.name, n) for o, n in zip(old, new, strict=True) if isinstance(o, Var))
    return after, disjunction(tuple(wrong))


def _place(target: Term, before: Scope) -> tuple[str, tuple[Term, ...]]:
    match target:
        case Var(name):
            return name, ()
        case Apply(Op.SELECT, (array, index)):
            name, path = _place(array, before)
            return name, (*path, expand_scalar(index, before))
        case _:
            raise InvalidProblem("an update's target must be a variable or an array element")


def _same_place(left: tuple[Term, ...], right: tuple[Term, ...]) -> Term:
    return conjunction(tuple(same(a, b) for a, b in zip(left, right, strict=True)))


def _wrong(update: Update, before: Scope, kinds: Kinds) -> list[Term]:
    """Where the value or an index of an update cannot be evaluated, or an index is out of range."""
    # The target read as a term is undefined exactly where one of its indices is wrong.
    return [undefined(update.value, before, kinds), undefined(update.target, before, kinds)]


def _leaves(value: Term, kind: Scalar, kinds: Kinds) -> Term:
    """Is the value outside this kind?"""
    if isinstance(kind, Bool) or (isinstance(value, Var) and kinds[value.name] == kind):
        return FALSE
    below = FALSE if kind.low is None else known(value < kind.low, kinds)
    above = FALSE if kind.high is None else known(value > kind.high, kinds)
    fraction = not_whole(value, kinds) if isinstance(kind, Int) else FALSE
    return disjunction((below, above, fraction))


def _doubts(after: Mapping[str, Term], around: Surroundings) -> Iterator[str]:
    for name, value in after.items():
        kind = around.layout.kinds[name]
        if isinstance(kind, Real) and kind.float32 and not is_float32(value, around.kinds):
            yield f"that the value assigned to `{name}` is a float32 number is not part of the encoding"
