"""Bounds on rewards in a path formula: counters that the environment keeps, and conditions about them.

Each component with edges that earn a reward has a counter of its own for each bound (components that move
together earn both), which stops where more does not matter. `right` counts where the sum is enough and not
too much, `left` fails as soon as it is too much: rewards never fall. The runs are those of any environment,
in both tiers, and the policy does not see the counters.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

from surefoot.engines.pctl_question import PctlQuestion, constant_bound
from surefoot.engines.statistical.reward_range import never_falls
from surefoot.errors import InvalidProblem
from surefoot.explore.row_layout import row_layout
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound
from surefoot.simulate.path_property import reward_names
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, equal
from surefoot.term.types import sort_of
from surefoot.term.value_types import Int, Real


def bounds_objection(environment: Environment, what: PctlQuestion) -> str | None:
    """Why runs cannot be judged by these bounds."""
    for bound in what.bounds:
        assert bound.reward is not None
        if bound.reward not in reward_names(environment):
            return f"the environment has no reward `{bound.reward}`"
        if not never_falls(environment, bound.reward):
            return f"statistical does not cover a bound on `{bound.reward}`, which may be negative"
    return None


def count_bounded_rewards(problem: Problem, what: PctlQuestion) -> tuple[Problem, Term, Term]:
    """The problem with counters, `left` and `right`."""
    environment, left, right = problem.environment, what.left, what.right
    if (why := bounds_objection(environment, what)) is not None:
        raise InvalidProblem(why)
    for number, bound in enumerate(what.bounds):
        environment, enough, bearable = _count_reward(environment, bound, number)
        left, right = conjunction_of((left, bearable)), conjunction_of((right, bearable, enough))
    return replace(problem, environment=environment), left, right


def _count_reward(environment: Environment, bound: Bound, number: int) -> tuple[Environment, Term, Term]:
    """The environment with counters for one bound; the sum is enough; it is not too much."""
    low, high = constant_bound(bound.low), constant_bound(bound.high)
    amounts = [t for c in environment.components for t in _amounts(c, bound.reward)]
    kinds = row_layout(environment).kinds
    whole = all(isinstance(t, Const) or sort_of(t, kinds) is int for t in amounts)
    grain = lcm(1, *(Fraction(t.value).denominator for t in amounts if isinstance(t, Const)))
    largest = max(low or Fraction(0), high or Fraction(0), Fraction(0)) * grain
    limit = largest.__floor__() + 1  # more than this is no different
    outcomes = [o for c in environment.components for e in c.edges for o in e.outcomes]
    first = min((u.index for o in outcomes for u in o.updates), default=0)  # rewards are about states before
    variables, components = list(environment.variables), []
    initial, counters = environment.initial, []
    for component in environment.components:
        if not _amounts(component, bound.reward):
            components.append(component)
            continue
        counter = Var(f"@{component.name} earned {number}")
        variables.append(
            Variable(counter.name, Int(0, limit) if whole else Real(Fraction(0), Fraction(limit)))
        )
        initial = conjunction_of((initial, equal(counter, Const(0))))
        counters.append(counter)
        components.append(_with_counter(component, bound.reward, counter, grain, limit, first))
    total: Term = counters[0]
    for counter in counters[1:]:
        total = total + counter
    counted = replace(environment, variables=tuple(variables), initial=initial, components=tuple(components))
    enough = Const(True) if low is None else total >= Const(low * grain)
    if high is None:
        return counted, enough, Const(True)
    return counted, enough, total < Const(high * grain) if bound.strict else total <= Const(high * grain)


def _amounts(component: Component, reward: str | None) -> list[Term]:
    outcomes = (o for edge in component.edges for o in edge.outcomes)
    return [term for o in outcomes for name, term in o.rewards if name == reward]


def _with_counter(
    component: Component, reward: str | None, counter: Var, grain: int, limit: int, first: int
) -> Component:
    def count_outcome(outcome: Outcome) -> Outcome:
        earned = [term for name, term in outcome.rewards if name == reward]
        if not earned:
            return outcome
        total: Term = counter
        for term in earned:
            total = total + (Const(term.value * grain) if isinstance(term, Const) else term * Const(grain))
        capped = Apply(Op.MIN, (total, Const(limit)))
        return replace(outcome, updates=(Update(counter, capped, first), *outcome.updates))

    def count_edge(edge: Edge) -> Edge:
        return replace(edge, outcomes=tuple(map(count_outcome, edge.outcomes)))

    return replace(component, edges=tuple(map(count_edge, component.edges)))
