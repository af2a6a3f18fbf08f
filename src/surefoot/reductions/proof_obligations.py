"""The three questions about an inductive invariant, each as a problem of its own, and the use of one.

A condition J is an inductive invariant that proves `never BAD` if every start satisfies J, no state that
satisfies J is bad, and no step leads from J out of it. The first is a question about the starts; the others
start in any state within the declared ranges that satisfies J, reachable or not, in any location.

Assuming J: where J is known to hold in every reachable state, demanding it changes no run. It is put into the
starts, into the assumption of every step and into the property, so that states outside J no longer disturb a
proof from arbitrary states.
"""

from __future__ import annotations

from dataclasses import replace

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.term.reserved_names import is_reserved, output_index
from surefoot.term.term import (
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
    split_conjunction,
)
from surefoot.term.traverse import substitute_names


def initiation_problem(problem: Problem, invariant: Term) -> Problem:
    """Every start satisfies the invariant."""
    return replace(problem, property=Never(~invariant, 0))


def starting_in(problem: Problem, part: Term) -> Problem:
    """The same with fewer starts: those that satisfy a condition as well."""
    start = conjunction_of((problem.environment.initial, part))
    return replace(problem, environment=replace(problem.environment, initial=start))


def safety_problem(problem: Problem, invariant: Term) -> Problem:
    """No state that satisfies the invariant is bad."""
    return replace(_start_from_invariant(problem, invariant), property=Never(_bad_condition(problem), 0))


def consecution_problem(problem: Problem, invariant: Term) -> Problem:
    """No step leads from the invariant out of it."""
    return replace(_start_from_invariant(problem, invariant), property=Never(~invariant, 1))


def invariance_problem(problem: Problem, invariant: Term) -> Problem:
    """Every reachable state satisfies the invariant, in whatever way that may be shown."""
    return replace(problem, property=Never(~invariant))


def assume_invariant(problem: Problem, invariant: Term) -> Problem:
    """The same runs, if the invariant holds in every reachable state; to be used only where it does."""
    environment, parts = problem.environment, split_conjunction(invariant)
    about_state = conjunction_of(tuple(p for p in parts if not _mentions_policy(p, environment)))
    in_steps = conjunction_of(tuple(s for p in parts if (s := _over_controls(p, problem)) is not None))
    components = tuple(
        replace(c, edges=tuple(replace(e, assuming=conjunction_of((in_steps, e.assuming))) for e in c.edges))
        for c in environment.components
    )
    start = conjunction_of((about_state, environment.initial))
    where = replace(environment, initial=start, components=components)
    return replace(problem, environment=where, property=_weaken_property(problem, invariant))


def _weaken_property(problem: Problem, invariant: Term) -> Never | Within | Eventually | Recurs:
    """The property with what is true of all reachable states built in."""
    match problem.property:
        case Never(bad, steps):
            return Never(conjunction_of((bad, invariant)), steps)
        case Within(good, steps, after):
            return Within(disjunction_of((good, ~invariant)), steps, after)
        case Eventually(good):
            return Eventually(disjunction_of((good, ~invariant)))
        case Recurs(good):
            return Recurs(disjunction_of((good, ~invariant)))
        case other:
            raise Unsupported(f"an invariant cannot be assumed for {type(other).__name__}")


def _bad_condition(problem: Problem) -> Term:
    if not isinstance(problem.property, Never):
        kind = type(problem.property).__name__
        raise Unsupported(f"an invariant separates starts from bad states; this property is {kind}")
    return problem.property.bad


def _start_from_invariant(problem: Problem, invariant: Term) -> Problem:
    """The same steps from every state that satisfies the invariant, in any location."""
    environment = problem.environment
    anywhere = tuple(replace(c, initial=c.locations) for c in environment.components)
    return replace(problem, environment=replace(environment, initial=invariant, components=anywhere))


def _mentions_policy(condition: Term, environment: Environment) -> bool:
    controls = {c.name for c in environment.controls}
    return any(is_reserved(n) or n in controls for n in free_names(condition))


def _over_controls(condition: Term, problem: Problem) -> Term | None:
    """The condition in the words of an edge, which knows controls but no outputs; None if it has none."""
    policy, controls = problem.policy, problem.environment.controls
    names: dict[str, Term] = {}
    for name in free_names(condition):
        index = output_index(name)
        if index is not None:
            values = isinstance(policy, NeuralPolicy) and policy.choose is Choose.VALUE
            if not values or index >= len(controls) or controls[index].clipped:
                return None
            names[name] = Var(controls[index].name)
        elif is_reserved(name):
            return None
    return substitute_names(condition, names)
