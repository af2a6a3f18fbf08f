"""A problem made ready for exploration with open outcomes: edges, question, and what is not covered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.explore.delayed.lazy_term import LazyTerm, compile_lazy_term
from surefoot.explore.delayed.relevance import LazyEdge, LazyOutcome, LazyUpdate, Relevance
from surefoot.explore.interpret.updates import CompiledUpdate, compile_update
from surefoot.explore.policy_decisions import variables_read
from surefoot.explore.row_layout import RowLayout, row_layout
from surefoot.explore.state_conditions import locate_by_number
from surefoot.problem.environment import Environment, Update
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, ShieldedPolicy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.problem.property import counts_steps
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import TRUE, Term, free_names, split_target
from surefoot.term.traverse import map_variables
from surefoot.term.value_types import Arithmetic


@dataclass(frozen=True, slots=True)
class DelayedQuestion:
    """What is asked of every state: `left U right`, or a reward until `right`."""

    left: Term
    right: Term
    reward: str | Term | None  # None: a probability

    def terms(self, environment: Environment) -> tuple[Term, ...]:
        """`left`, `right` and perhaps what a state is worth, over variables and numbers of locations."""
        worth = () if self.reward is None or isinstance(self.reward, str) else (self.reward,)
        several = (self.left, self.right, *worth)
        return tuple(map_variables(t, lambda v: locate_by_number(environment, v)) for t in several)


@dataclass(frozen=True, slots=True, eq=False)
class DelayedModel:
    problem: Problem
    layout: RowLayout
    by_place: tuple[tuple[tuple[tuple[int, LazyEdge], ...], ...], ...]  # component, location: edges, numbered
    edges: Mapping[tuple[int, int], LazyEdge]
    writes: Mapping[LazyOutcome, tuple[CompiledUpdate, ...]]  # in the order of their indices
    question: DelayedQuestion
    left: LazyTerm
    right: LazyTerm
    worth: LazyTerm | None  # what a step from a state pays, where that is a term
    read: frozenset[int]  # by the policy
    relevance: Relevance


def delayed_objection(problem: Problem, question: DelayedQuestion) -> str | None:
    """Why outcomes cannot be left open in this problem, in a sentence."""
    environment, policy = problem.environment, problem.policy
    if environment.arithmetic is not Arithmetic.EXACT or environment.flow is not None:
        return "outcomes stay open in exact arithmetic only"
    edges = [edge for component in environment.components for edge in component.edges]
    if environment.controls or any(edge.chosen or edge.assuming != TRUE for edge in edges):
        return "where values are chosen, no outcome stays open"
    if any(is_reserved(name) for term in question.terms(environment) for name in free_names(term)):
        return "the question asks what may happen next"
    if policy is None:
        return None
    for part in nested_policies(policy):
        draws = isinstance(part, NeuralPolicy) and part.choose is Choose.SAMPLE
        if draws or isinstance(part, OraclePolicy | ShieldedPolicy):
            return "outcomes stay open beside programs and networks that do not draw"
    return None if variables_read(policy) is not None else "what the policy reads is not known"


def build_delayed_model(problem: Problem, question: DelayedQuestion) -> DelayedModel:
    """The model of a problem to which there is no objection."""
    environment, layout = problem.environment, row_layout(problem.environment)
    counted = isinstance(question.reward, str) and not counts_steps(question.reward)
    builder = _Builder(environment, layout, str(question.reward) if counted else None)
    by_place, edges = [], {}
    for c, component in enumerate(environment.components):
        table: list[list[tuple[int, LazyEdge]]] = [[] for _ in component.locations]
        for e in range(len(component.edges)):
            edge = edges[c, e] = builder.edge(c, e)
            table[edge.source].append((e, edge))
        by_place.append(tuple(map(tuple, table)))
    left, right, *worth = (compile_lazy_term(t, layout) for t in question.terms(environment))
    names = None if problem.policy is None else variables_read(problem.policy)
    read = frozenset(layout.slots[name] for name in names or ())
    goal = right if question.reward is None else None
    asked = (left, right, *worth)
    relevance = Relevance(layout, tuple(edges.values()), asked, goal, read)
    return DelayedModel(
        problem,
        layout,
        tuple(by_place),
        edges,
        builder.writes,
        question,
        left,
        right,
        worth[0] if worth else None,
        read,
        relevance,
    )


class _Builder:
    """Edges with their terms compiled; a term that occurs again is compiled once."""

    def __init__(self, environment: Environment, layout: RowLayout, reward: str | None) -> None:
        self._environment, self._layout, self._reward = environment, layout, reward
        self._terms: dict[int, tuple[Term, LazyTerm]] = {}  # by identity, which lasts as long as the term
        self.writes: dict[LazyOutcome, tuple[CompiledUpdate, ...]] = {}

    def _term(self, term: Term) -> LazyTerm:
        if (found := self._terms.get(id(term))) is None:
            found = self._terms[id(term)] = term, compile_lazy_term(term, self._layout)
        return found[1]

    def edge(self, component: int, number: int) -> LazyEdge:
        part = self._environment.components[component]
        edge = part.edges[number]
        outcomes = []
        for outcome in edge.outcomes:
            updates = sorted(outcome.updates, key=lambda u: u.index)
            made = LazyOutcome(
                self._term(outcome.probability),
                tuple(self._update(u) for u in updates),
                tuple(self._term(amount) for name, amount in outcome.rewards if name == self._reward),
                part.locations.index(outcome.target),
            )
            self.writes[made] = tuple(compile_update(self._environment, self._layout, u) for u in updates)
            outcomes.append(made)
        source, place = part.locations.index(edge.source), self._layout.places[component]
        return LazyEdge(component, place, source, self._term(edge.guard), tuple(outcomes))

    def _update(self, update: Update) -> LazyUpdate:
        name, path = split_target(update.target)
        slot = self._layout.slots[name]
        return LazyUpdate(slot, tuple(map(self._term, path)), self._term(update.value))


def may_delay(problem: Problem) -> bool:
    """Is anything drawn at all that could stay open?"""
    components = problem.environment.components
    return any(len(edge.outcomes) > 1 for component in components for edge in component.edges)
