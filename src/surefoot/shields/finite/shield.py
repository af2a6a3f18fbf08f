"""A shield of actions as a policy, with the proof about everybody who acts behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import numpy as np

from surefoot.engines.explicit.engine import asked_parts
from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import policy_decision
from surefoot.problem.validate import environment_labels
from surefoot.shields.export.action_shield import ActionExample, ActionTable
from surefoot.shields.finite.arena import OWN, Arena, arena_of
from surefoot.shields.finite.decision_tree import (
    Leaf,
    Numbers,
    StateColumn,
    Tree,
    grow_tree,
    state_columns,
    tree_to_term,
)
from surefoot.shields.finite.safest_strategy import NONE, Flags, SafestStrategy, safest_strategy
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import FALSE, TRUE, Term, Var, conjunction_of, disjunction_of
from surefoot.work.budget import Budget

EXAMPLES = 64  # of the self-test in C
MOST_ASKED = 2000  # states in which the policy is asked only to tell that it is always overruled
Place = tuple[int, int]  # component, edge


@dataclass(frozen=True, slots=True, eq=False)
class FiniteShield:
    """`classes[c]`: the permitted actions and what is done instead of others, for a leaf c of the tree."""

    problem: Problem
    arena: Arena
    safest: SafestStrategy
    visited: Numbers  # states that the shielded system may come to and in which somebody acts
    columns: list[StateColumn]
    tree: Tree
    classes: tuple[tuple[tuple[int, ...], int], ...]

    def permission_term(self, action: int) -> Term:
        """May the action be taken in a state?"""
        return tree_to_term(
            self.tree, self.columns, lambda c: TRUE if action in self.classes[c][0] else FALSE
        )

    def fallback(self) -> ProgramPolicy:
        names = self.arena.actions
        used = sorted({instead for _, instead in self.classes})
        terms = [
            tree_to_term(self.tree, self.columns, lambda c, a=a: TRUE if self.classes[c][1] == a else FALSE)  # type: ignore[misc]
            for a in used
        ]
        branches = [Branch(term, names[a]) for a, term in zip(used[:-1], terms[:-1], strict=True)]
        return ProgramPolicy((*branches, Branch(TRUE, names[used[-1]])))

    def shielded_problem(self) -> Problem | None:
        """The problem with its policy behind the shield; None: it has no policy."""
        if self.problem.policy is None:
            return None
        names = self.arena.actions
        parts = (
            conjunction_of((Var(chosen_name(name)), self.permission_term(a))) for a, name in enumerate(names)
        )
        permits = disjunction_of(tuple(parts))
        policy = ShieldedPolicy(self.problem.policy, permits, self.fallback(), self.problem.environment)
        return replace(self.problem, policy=policy)

    def anybody(self) -> Problem:
        """The problem in which only permitted actions can be taken, by whoever acts."""
        terms = {name: self.permission_term(a) for a, name in enumerate(self.arena.actions)}
        return replace(
            self.problem, environment=restrict_to_permitted(self.problem.environment, terms), policy=None
        )

    def notes(self) -> Iterator[str]:
        """What makes the shield useless, or takes away what was to be reached."""
        may, enabled = _allowed_actions(self.arena, self.safest), self.arena.enabled_actions()
        if (may[self.visited] == enabled[self.visited]).all():
            yield "the shield permits everything: no action is ever overruled"
        elif self._overrules_always(may):
            yield "the policy is overruled in every state in which it acts behind the shield"
        reached = _reachable_behind_shield(self.arena, may) & ~self.arena.bad
        for name, goal in self.arena.goals.items():
            if (goal & ~self.arena.bad).any() and not (goal & reached).any():
                yield f"behind the shield no run comes to the goal of `{name}` any more"

    def _overrules_always(self, may: Flags) -> bool:
        if self.problem.policy is None or len(self.visited) > MOST_ASKED:
            return False
        for number in self.visited.tolist():
            made = policy_decision(self.problem, self.arena.explored.valuation(number))
            proposed = [] if made is None else [self.arena.actions.index(a) for a in made.actions]
            if not proposed or may[number, proposed].any():
                return False
        return True


def finite_shield(
    problem: Problem,
    allowed: Fraction,
    budget: Budget,
    max_states: int | None = None,
    goals: Mapping[str, Term] | None = None,
) -> FiniteShield:
    """Explore, find the safest way to act, and write down what may be permitted as a tree."""
    for part in asked_parts(problem.policy) if problem.policy is not None else ():
        if isinstance(part, NeuralPolicy) and part.choose is Choose.SAMPLE:
            raise Unsupported("a shield needs a policy that proposes one action; this one draws")
    arena = arena_of(problem, budget, max_states, goals)
    budget.progress(f"safest actions in {arena.markov.states} states")
    found = safest_strategy(arena, allowed, budget.remaining)
    may = _allowed_actions(arena, found)
    numbers = np.flatnonzero(_reachable_behind_shield(arena, may) & may.any(axis=1))
    if not len(numbers):
        what = "there is no action in any state that is reached and not bad: nothing to permit"
        fix = "look for starts that are not bad, or none at all, and for states without a step"
        raise Unsupported(what, fix=fix)
    pairs = np.column_stack([may[numbers].astype(np.int64), found.action[numbers]])
    distinct, codes = np.unique(pairs, axis=0, return_inverse=True)
    columns = state_columns(problem.environment, arena.explored.states, numbers)
    budget.progress(f"tree for {len(numbers)} states, {len(distinct)} sets of actions")
    tree = grow_tree([c.values for c in columns], codes.reshape(-1).astype(np.int64))
    classes = tuple((tuple(np.flatnonzero(row[:-1]).tolist()), int(row[-1])) for row in distinct)
    return FiniteShield(problem, arena, found, numbers, columns, tree, classes)


def _allowed_actions(arena: Arena, found: SafestStrategy) -> Flags:
    """Permitted actions, and the safest one even where it is not safe enough."""
    may = found.permitted.copy()
    acting = np.flatnonzero(found.action != NONE)
    may[acting, found.action[acting]] = True
    return may


def _reachable_behind_shield(arena: Arena, may: Flags) -> Flags:
    """The states to which permitted actions and the environment lead from the starts."""
    markov, owners = arena.markov, arena.markov.owners()
    taken = arena.action == OWN
    taken |= may[owners, np.maximum(arena.action, 0)]
    reached = np.zeros(markov.states, dtype=np.bool_)
    reached[markov.initial] = True
    while True:
        going = taken & reached[owners]
        rows = np.repeat(going, np.diff(markov.outcomes))
        more = reached.copy()
        more[markov.targets[rows]] = True
        if (more == reached).all():
            return reached
        reached = more


def restrict_to_permitted(environment: Environment, permitted: Mapping[str, Term]) -> Environment:
    """The environment in which steps that carry out an action have its condition in their guards.

    A proof about it, without a policy, holds for every policy that keeps to what is permitted.
    """
    labels = environment_labels(environment)
    places = _named_edges(environment, {n: t for n, t in permitted.items() if n not in labels})
    by_label = {n: t for n, t in permitted.items() if n in labels}
    if len({number for number, _ in places}) > 1 or (places and by_label):
        # Guards of two edges that move together would both have to hold: fewer steps than are permitted.
        raise Unsupported("a shield needs a policy that picks labels, or edges of one component")
    if environment.synchronisations:
        places |= _synchronised_places(environment, by_label)
    else:
        places |= {
            (number, index): by_label[edge.action]
            for number, component in enumerate(environment.components)
            for index, edge in enumerate(component.edges)
            if edge.action is not None and edge.action in by_label
        }
    parts = [_strengthen_guards(number, part, places) for number, part in enumerate(environment.components)]
    return replace(environment, components=tuple(parts))


def _strengthen_guards(number: int, component: Component, places: Mapping[Place, Term]) -> Component:
    def edge_with(index: int, edge: Edge) -> Edge:
        more = places.get((number, index))
        return edge if more is None else replace(edge, guard=conjunction_of((edge.guard, more)))

    return replace(component, edges=tuple(edge_with(i, e) for i, e in enumerate(component.edges)))


def _named_edges(environment: Environment, permitted: Mapping[str, Term]) -> dict[Place, Term]:
    """`car#3`: the fourth edge of the component `car`."""
    named = {
        f"{component.name}#{index}": (number, index)
        for number, component in enumerate(environment.components)
        for index in range(len(component.edges))
    }
    return {named[name]: term for name, term in permitted.items() if name in named}


def _synchronised_places(environment: Environment, permitted: Mapping[str, Term]) -> dict[Place, Term]:
    """For every action a component all of whose steps by that name carry out this very action."""
    together = environment.synchronisations
    found: dict[Place, Term] = {}
    for step in together:
        if step.result is None or step.result not in permitted:
            continue
        for number, action in enumerate(step.actions):
            others = {s.result for s in together if action is not None and s.actions[number] == action}
            if others == {step.result}:
                edges = environment.components[number].edges
                term = permitted[step.result]
                found |= {(number, i): term for i, e in enumerate(edges) if e.action == action}
                break
        else:
            raise Unsupported(
                f"the steps of `{step.result}` also carry out other actions, so that their guards cannot say "
                "what is permitted"
            )
    return found


def action_table(shield: FiniteShield, promise: str) -> ActionTable:
    """Inner nodes in the order in which they are met, the left side first."""
    nodes: list[tuple[int, int, int, int]] = []

    def place_node(tree: Tree) -> int:
        if isinstance(tree, Leaf):
            return -1 - tree.value
        at = len(nodes)
        nodes.append((tree.column, tree.limit, 0, 0))
        nodes[at] = (tree.column, tree.limit, place_node(tree.low), place_node(tree.high))
        return at

    root = place_node(shield.tree)
    column, limit, low, high = zip(*nodes, strict=True) if nodes else ((), (), (), ())
    return ActionTable(
        name=shield.problem.name,
        promise=promise,
        state=tuple(c.name for c in shield.columns),
        limits=tuple((int(c.values.min()), int(c.values.max())) for c in shield.columns),
        actions=shield.arena.actions,
        root=root,
        column=column,
        limit=limit,
        low=low,
        high=high,
        permitted=tuple(actions for actions, _ in shield.classes),
        instead=tuple(instead for _, instead in shield.classes),
    )


def examples_of(shield: FiniteShield) -> list[ActionExample]:
    """Random states and proposals, decided from what was found for the state, not by the tree."""
    random, found = Random(0), []
    count = len(shield.arena.actions)
    for _ in range(min(EXAMPLES, len(shield.visited))):
        row = random.randrange(len(shield.visited))
        number, proposed = int(shield.visited[row]), random.randrange(count)
        instead = int(shield.safest.action[number])
        fine = bool(shield.safest.permitted[number, proposed]) or proposed == instead
        state = tuple(int(c.values[row]) for c in shield.columns)
        found.append(ActionExample(state, proposed, proposed if fine else instead, int(not fine)))
    return found
