"""What all models share: starts by the reset law, the end of an episode, steps that are counted where asked.

Plants go on where the library would end an episode, because engines take that best; a question is posed such
that nothing after the end counts (`pose_question`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.gymnasium.gym_model import ELAPSED, GymModel, shortest_decimal
from surefoot.problem.environment import Component, Control, Edge, Environment, Law, Update, Variable
from surefoot.problem.property import Expected, Never, NeverBefore, Path, Probability, Property, Within
from surefoot.term.term import (
    TRUE,
    Const,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    split_conjunction,
)
from surefoot.term.value_types import Arithmetic, Int

SINES = (
    "sine and cosine are rounded correctly here; the library takes those of its platform, which may differ "
    "in the last bit (proofs of `reach` cover 2^-51)"
)


def uniform_start(low: float, high: float) -> Law | Const:
    """The law of a number that `reset` draws between two others."""
    if low > high:
        what = f"`reset` cannot draw from [{low:g}, {high:g}]"
        raise InvalidProblem(what, fix="give the smaller number first")
    if low == high:
        return Const(shortest_decimal(low))
    return Law("uniform", (shortest_decimal(low), shortest_decimal(high)))


def build_environment(
    name: str,
    variables: Sequence[Variable],
    reset: Mapping[str, Law | Const],
    edges: Sequence[Edge],
    *,
    over: Term | None = None,
    controls: Sequence[Control] = (),
    limit: int | None = None,
    counted: bool = False,
) -> Environment:
    """The environment; `over`: where episodes end. If steps are `counted`, none is beyond the `limit`."""
    starts = [
        equal(Var(variable), value)
        if isinstance(value, Const)
        else (Const(value.parameters[0]) <= Var(variable)) & (Var(variable) <= Const(value.parameters[1]))
        for variable, value in reset.items()
    ]
    if counted:
        variables = (*variables, Variable(ELAPSED, Int(0, limit)))
        starts.append(equal(Var(ELAPSED), Const(0)))
        edges = [_count_step(edge, limit) for edge in edges]
    return Environment(
        name,
        tuple(variables),
        conjunction_of(tuple(starts)),
        (Component("main", tuple(edges)),),
        tuple(controls),
        arithmetic=Arithmetic.FLOAT64,
        definitions=() if over is None else (("terminated", over),),
        start_laws=tuple((variable, law) for variable, law in reset.items() if isinstance(law, Law)),
    )


def pose_question(model: GymModel, asked: Property) -> tuple[Environment, Property]:
    """The environment and the property such that nothing counts which comes after the end of an episode."""
    over, environment = model.terminates, model.environment
    if model.outside is not None:
        return environment, _include_outside(asked, model.outside)
    if over is None:
        return environment, asked
    match asked:
        case Never(bad, steps) if bad != over:
            return environment, NeverBefore(bad, over, steps)
        case NeverBefore(bad, goal, steps) if goal != over:
            return environment, NeverBefore(bad, disjunction_of((goal, over)), steps)
        case Never() | NeverBefore():
            return environment, asked
        case Within(good, _, 0) if good == over:
            return environment, asked
        case Probability(Path("F", right, left)) if right == over and left == TRUE:
            return environment, asked
        case Probability(Path("G", right)) if right == ~over:
            return environment, asked
        case Expected(until=until) if until == over:
            return environment, asked
    return end_episodes(environment, over), asked


def _include_outside(asked: Property, outside: Term) -> Property:
    """Whether nothing bad happens while the model is the library, and whether it always is."""
    match asked:
        case Never(bad, steps):
            return asked if bad == outside else Never(disjunction_of((bad, outside)), steps)
    raise Unsupported(
        "a model that is close to the library in some states only answers `never BAD`",
        fix="ask that, or leave `polynomial_within` out",
    )


def end_episodes(environment: Environment, over: Term) -> Environment:
    """The environment in which no step is possible where the episode is over."""
    components = tuple(
        replace(c, edges=tuple(_end_at(e, over) for e in c.edges)) for c in environment.components
    )
    return replace(environment, components=components)


def _end_at(edge: Edge, over: Term) -> Edge:
    """The edge where the episode goes on; tables say so themselves."""
    return edge if ~over in split_conjunction(edge.guard) else replace(edge, guard=edge.guard & ~over)


def _count_step(edge: Edge, limit: int | None) -> Edge:
    counted = Update(Var(ELAPSED), Var(ELAPSED) + 1)
    outcomes = tuple(replace(o, updates=(*o.updates, counted)) for o in edge.outcomes)
    guard = edge.guard if limit is None else edge.guard & (Var(ELAPSED) < limit)
    return replace(edge, guard=guard, outcomes=outcomes)
