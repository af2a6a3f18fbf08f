"""Runs that end where a goal is reached: `never BAD before GOAL` as `never BAD` of another environment.

No edge is enabled in a goal state, so the runs of the new environment are those of the old one up to the
first goal state. What a condition says about acting is false there: nobody acts, and that nothing is enabled
is no deadlock. States, edges and outcomes keep their names and numbers: a run of the new environment is the
beginning of one of the old.
"""

from __future__ import annotations

from dataclasses import replace

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore
from surefoot.query.reduction import Reduction, keep_answer
from surefoot.term.reserved_names import is_about_acting, location_key, location_name
from surefoot.term.term import FALSE, TRUE, Term, Var, conjunction_of, equal, free_names
from surefoot.term.traverse import substitute_names


def end_at_goal(problem: Problem) -> Problem:
    """The same question as a plain `never`; a problem without a goal stays as it is.

    So does one in continuous time, where a goal is reached between steps: who reads it looks at the goal.
    """
    if (why := goal_objection(problem)) is not None:
        raise why
    asked, environment = problem.property, problem.environment
    if not isinstance(asked, NeverBefore) or environment.flow is not None:
        return problem
    going = ~_resolve_locations(asked.goal, environment)
    components = tuple(
        replace(c, edges=tuple(replace(e, guard=conjunction_of((going, e.guard))) for e in c.edges))
        for c in environment.components
    )
    acting = {n: conjunction_of((~asked.goal, Var(n))) for n in free_names(asked.bad) if is_about_acting(n)}
    never = Never(substitute_names(asked.bad, acting), asked.steps)
    return replace(problem, environment=replace(environment, components=components), property=never)


def goal_objection(problem: Problem) -> Unsupported | None:
    flow = problem.environment.flow
    if not isinstance(problem.property, NeverBefore) or flow is None or flow.continuous:
        return None
    return Unsupported("the environment has a flow; it must be discretised first")


def _resolve_locations(condition: Term, environment: Environment) -> Term:
    """A condition in the words of a guard, which reads the number of a location instead of its name."""
    places: dict[str, Term] = {}
    for component in environment.components:
        for number, place in enumerate(component.locations):
            several = len(component.locations) > 1
            here = equal(Var(location_key(component.name)), number) if several else TRUE
            places[location_name(component.name, place)] = here
    return substitute_names(
        condition, {n: places.get(n, FALSE) for n in free_names(condition) if n in places}
    )


END_AT_GOAL = Reduction("end at goal", goal_objection, end_at_goal, keep_answer)
