"""Recurrent policies: their hidden state as variables of the environment, which every decision writes.

A network with a memory of n values reads, beside what it observes, what its last n outputs were at the
decision before. Written out, it is a plain network that sets controls:

    memory_i        a variable, 0 at first; an edge that carries out a decision sets it to `next_memory_i`
    next_memory_i   a control: the output of the network
    score_i         where the policy picks actions, a control as well: the score of its action number i. An
                    edge with that action is enabled where its guard holds and no score is better (of equal
                    ones the first wins), so that an action that is not enabled leaves none of them

What a property says about acting is said in these words: `chosen(a)` is that an action could be taken and
the score of a is the best. States, edges and outcomes keep their names and numbers. Limits are such that
clipping to them changes nothing: a value between -1 and 1 stays there when it is rounded, and the cell of an
LSTM is at most k after k decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Component, Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.decision import action_among, action_names
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.network import Remembered
from surefoot.problem.policy import Choose, NeuralPolicy, Policy, ShieldedPolicy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore, Property, Within
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_name,
    fresh_name,
    location_key,
    location_name,
)
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
)
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real

MEMORY, NEXT, SCORE = "memory_", "next_memory_", "score_"


def has_memory(policy: Policy | None) -> bool:
    """Does a network in it remember anything?"""
    if policy is None:
        return False
    return any(isinstance(p, NeuralPolicy) and bool(p.network.memory) for p in nested_policies(policy))


def memory_objection(problem: Problem) -> SurefootError | None:
    """Why the memory of a policy cannot be written out, or None."""
    environment, policy = problem.environment, problem.policy
    if policy is None or not has_memory(policy):
        return None
    if not isinstance(policy, NeuralPolicy):
        around = "a shield" if isinstance(policy, ShieldedPolicy) else "a program"
        return Unsupported(f"a policy with memory inside {around}", fix="ask about the policy alone")
    if environment.flow is not None and environment.flow.continuous:
        fix = "ask about the steps that are executed: `--time steps`, or no `time` in `[flow]`"
        return Unsupported("a policy with memory in continuous time", fix=fix)
    if policy.choose is Choose.SAMPLE:
        return Unsupported("a policy with memory that draws its actions", fix='use `choose = "argmax"`')
    if not environment.controls and (len(environment.components) != 1 or environment.synchronisations):
        what = "a policy with memory that picks actions of several components"
        return Unsupported(what, fix="write the environment as one component")
    return None


def write_out_memory(problem: Problem) -> Problem:
    """The same question about a policy without memory; a problem without one stays as it is."""
    if (why := memory_objection(problem)) is not None:
        raise why
    policy, environment = problem.policy, problem.environment
    if not isinstance(policy, NeuralPolicy) or not policy.network.memory:
        return problem
    memory = _name_memory(policy, environment, _last_step(problem.property))
    starts = tuple(equal(Var(v.name), 0) for v in memory.variables)
    edges, meanings = _Actions(policy, environment, memory).write_out()
    components = tuple(replace(c, edges=edges[number]) for number, c in enumerate(environment.components))
    written = replace(
        environment,
        variables=(*environment.variables, *memory.variables),
        initial=conjunction_of((environment.initial, *starts)),
        controls=(*environment.controls, *memory.scores, *memory.next),
        components=components,
    )
    network = replace(policy.network, memory=(), head="", scores="")
    observe = (*policy.observe, *(Var(v.name) for v in memory.variables))
    acting = replace(policy, network=network, observe=observe, actions=(), choose=Choose.VALUE)
    asked = _substitute_in(problem.property, meanings) if meanings else problem.property
    return replace(problem, environment=written, policy=acting, property=asked)


@dataclass(frozen=True, slots=True)
class _Memory:
    """The variables, what is written into them, and the scores of actions."""

    variables: tuple[Variable, ...]
    next: tuple[Control, ...]
    scores: tuple[Control, ...]

    def updates(self, outcome: Outcome) -> Outcome:
        """The outcome of a decision: the memory is written before anything else of the step."""
        first = min((u.index for u in outcome.updates), default=0)
        pairs = zip(self.variables, self.next, strict=True)
        more = tuple(Update(Var(v.name), Var(c.name), first) for v, c in pairs)
        return replace(outcome, updates=(*outcome.updates, *more))

    def best(self, number: int, rivals: Mapping[int, Term]) -> Term:
        """That a score is the best of those whose rivals hold; of equal ones the first wins."""
        own = Var(self.scores[number].name)
        found: list[Term] = []
        for other, rival in rivals.items():
            if other == number:
                continue
            score = Var(self.scores[other].name)
            less = Apply(Op.LT if other < number else Op.LE, (score, own))
            found.append(disjunction_of((~rival, less)))
        return conjunction_of(tuple(found))


def _name_memory(policy: NeuralPolicy, environment: Environment, last: int | None) -> _Memory:
    taken = {v.name for v in environment.variables} | {c.name for c in environment.controls}
    taken |= {name for name, _ in environment.definitions}
    taken |= {c.name for part in environment.components for e in part.edges for c in e.chosen}
    variables, following = [], []
    for number, kind in enumerate(policy.network.memory):
        limit = Fraction(1) if kind is Remembered.UNIT else None
        if kind is Remembered.SUM and last is not None:
            limit = Fraction(last + 1)
        low = None if limit is None else -limit
        variables.append(Variable(fresh_name(f"{MEMORY}{number}", taken), Real(low, limit)))
        name = fresh_name(f"{NEXT}{number}", taken)
        following.append(Control(name, low, limit, clipped=limit is not None))
    count = 0 if environment.controls else policy.network.decided
    scores = (Control(fresh_name(f"{SCORE}{i}", taken), clipped=False) for i in range(count))
    return _Memory(tuple(variables), tuple(following), tuple(scores))


def _last_step(asked: Property) -> int | None:
    """The number of the last step that a property is about, if there is one."""
    match asked:
        case Never(_, steps) | NeverBefore(_, _, steps):
            return steps
        case Within(_, steps, _):
            return steps
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Actions:
    """Which edges carry out a decision, and when."""

    policy: NeuralPolicy
    environment: Environment
    memory: _Memory

    def write_out(self) -> tuple[list[tuple[Edge, ...]], dict[str, Term]]:
        """The edges of every component, and what the reserved names about acting stand for."""
        components = self.environment.components
        if self.environment.controls:  # every step carries out a decision
            return [tuple(self._remember(e) for e in c.edges) for c in components], {}
        names = action_names(self.policy, self.environment)
        owners = [self._owner(number, names) for number in range(len(components[0].edges))]
        enabled = {i: self._enabled(i, owners) for i in range(len(names))}
        only = self.policy.choose is Choose.ARGMAX_APPLICABLE
        rivals = enabled if only else dict.fromkeys(enabled, TRUE)
        best = {i: self.memory.best(i, rivals) for i in range(len(names))}
        edges = tuple(
            edge
            if owner is None
            else self._remember(replace(edge, guard=conjunction_of((edge.guard, best[owner]))))
            for edge, owner in zip(components[0].edges, owners, strict=True)
        )
        return [edges], self._meanings(names, enabled, best, only)

    def _owner(self, number: int, names: tuple[str, ...]) -> int | None:
        edge = self.environment.components[0].edges[number]
        found = action_among(names, self.environment, Transition(((0, number),), edge.action))
        return None if found is None else names.index(found)

    def _remember(self, edge: Edge) -> Edge:
        return replace(edge, outcomes=tuple(self.memory.updates(outcome) for outcome in edge.outcomes))

    def _enabled(self, action: int, owners: list[int | None]) -> Term:
        edges = self.environment.components[0].edges
        return disjunction_of(
            tuple(self._possible(e) for e, owner in zip(edges, owners, strict=True) if owner == action)
        )

    def _possible(self, edge: Edge) -> Term:
        """That its guard holds in its location, in the words of a guard."""
        component = self.environment.components[0]
        if len(component.locations) == 1:
            return edge.guard
        here = equal(Var(location_key(component.name)), component.locations.index(edge.source))
        return conjunction_of((here, edge.guard))

    def _meanings(
        self, names: tuple[str, ...], enabled: Mapping[int, Term], best: Mapping[int, Term], only: bool
    ) -> dict[str, Term]:
        asked = disjunction_of(
            tuple(enabled.values())
        )  # the policy is asked where one of its actions is possible
        chosen = {i: conjunction_of((asked, *((enabled[i],) if only else ()), best[i])) for i in enabled}
        stalls = tuple(conjunction_of((chosen[i], ~enabled[i])) for i in enabled)
        component = self.environment.components[0]
        said = {
            **{chosen_name(name): chosen[i] for i, name in enumerate(names)},
            STALLED: FALSE if only else disjunction_of(stalls),
            DEADLOCKED: ~disjunction_of(tuple(self._possible(e) for e in component.edges)),
        }
        if len(component.locations) == 1:
            return said
        return {name: _name_locations(meaning, component) for name, meaning in said.items()}


def _name_locations(condition: Term, component: Component) -> Term:
    """A condition in the words of a property, which names locations instead of their numbers."""
    key = location_key(component.name)
    number: Term = Const(len(component.locations) - 1)
    for place in range(len(component.locations) - 2, -1, -1):
        here = Var(location_name(component.name, component.locations[place]))
        number = ite(here, place, number)
    return substitute_names(condition, {key: number})


def _substitute_in(data: Any, meanings: Mapping[str, Term]) -> Any:
    """A property, whose names stand for what they mean."""
    if isinstance(data, Term):
        return substitute_names(data, meanings)
    if isinstance(data, tuple):
        return tuple(_substitute_in(part, meanings) for part in data)
    if is_dataclass(data) and not isinstance(data, type):
        parts = {f.name: _substitute_in(getattr(data, f.name), meanings) for f in fields(data) if f.init}
        return replace(data, **parts)
    return data
