"""Replace a differential equation by the discrete map that is executed.

Every outcome of every edge that does not itself write a variable of the flow gets an update for it. With h
the step and f the derivatives, the new value of x is

    euler   x + h*f(x)
    rk4     x + (h/6)*(k1 + 2*k2 + 2*k3 + k4)      k1 = f(x), k2 = f(x + (h/2)*k1),
                                                   k3 = f(x + (h/2)*k2), k4 = f(x + h*k3)

where all derivatives read the state before the step. In exact arithmetic that is the map; in float64 it is
computed in the order written: h, h/2 and h/6 are exact numbers rounded once, a sum runs from left to right, a
product is taken as its two factors stand, and no value is shared between places where it is written twice.

Seconds become numbers of steps, and a control period of several steps becomes variables that count and keep
(`timed_steps.py`). The memory of a recurrent policy becomes variables too (`policy_memory.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from surefoot.errors import InvalidProblem, SurefootError, Unsupported, did_you_mean
from surefoot.problem.environment import Edge, Environment, Outcome, Update
from surefoot.problem.flow import Flow
from surefoot.problem.policy_memory import memory_objection, write_out_memory
from surefoot.problem.problem import Problem
from surefoot.query.reduction import Reduction, keep_answer
from surefoot.reductions.timed_steps import count_in_steps, timed_steps_objection
from surefoot.reductions.written_out_size import MOST_OPERATIONS, count_leaves
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names, split_target
from surefoot.term.traverse import substitute_names


def discretise(problem: Problem, *, continuous: bool = False) -> Problem:
    """The problem without a flow and without seconds; its states have all that those of the original have.

    A flow in continuous time is no map of steps: it is left as it is for who says that he can read it.
    """
    problem = write_out_memory(problem)
    if (why := discretise_objection(problem, continuous=continuous)) is not None:
        raise why
    environment = problem.environment
    if environment.flow is None or environment.flow.continuous:
        return problem
    problem = count_in_steps(problem)
    environment = problem.environment
    assert environment.flow is not None
    values = _METHODS[environment.flow.method](dict(environment.flow.derivatives), environment.flow.step)
    components = tuple(
        replace(c, edges=tuple(_edge_with_flow(edge, values) for edge in c.edges))
        for c in environment.components
    )
    return replace(problem, environment=replace(environment, components=components, flow=None))


def discretise_objection(problem: Problem, *, continuous: bool = False) -> SurefootError | None:
    """Why the flow of a problem cannot become updates, or None."""
    if (why := memory_objection(problem)) is not None:
        return why
    environment, flow = problem.environment, problem.environment.flow
    if flow is not None and flow.continuous and continuous:
        return None
    if flow is None:
        return timed_steps_objection(problem)
    if flow.continuous:
        return Unsupported(
            "the problem is about continuous time, which `barrier`, `falsify` and `shield` can look at",
            fix="ask about the steps that are executed: `--time steps`, or no `time` in `[flow]`",
        )
    if any(sum(action is not None for action in v.actions) > 1 for v in environment.synchronisations):
        return Unsupported(  # both edges would carry the flow
            "a flow cannot be combined with components that move together",
            fix="write the discrete updates on one of the edges",
        )
    if flow.method not in _METHODS:
        return InvalidProblem(f"unknown method `{flow.method}`", fix=did_you_mean(flow.method, _METHODS))
    if flow.step <= 0:
        return InvalidProblem(f"the step of a flow must be positive, not {flow.step}")
    if len(dict(flow.derivatives)) != len(flow.derivatives):
        return InvalidProblem("the flow has two derivatives for one variable")
    for name, size in _next_value_sizes(flow).items():
        if size > MOST_OPERATIONS:
            return Unsupported(
                f"the next value of `{name}` by {flow.method} has {size} operations",
                fix="use method `euler` or simpler derivatives",
            )
    if (why := timed_steps_objection(problem)) is not None:
        return why
    edges = (edge for component in environment.components for edge in component.edges)
    return next(filter(None, (_edge_objection(edge, flow, environment) for edge in edges)), None)


def _edge_objection(edge: Edge, flow: Flow, environment: Environment) -> InvalidProblem | None:
    known = {v.name for v in environment.variables} | {c.name for c in environment.controls}
    known |= {c.name for c in edge.chosen}
    for name, derivative in flow.derivatives:
        if unknown := sorted((free_names(derivative) | {name}) - known):
            return InvalidProblem(
                f"the flow mentions `{unknown[0]}`, which an edge does not know",
                fix=did_you_mean(unknown[0], sorted(known)),
            )
    return None


def _next_value_sizes(flow: Flow) -> dict[str, int]:
    """How many nodes the value of each variable one step later has, as often as they are computed."""
    counts = {name: count_leaves(derivative, {}) for name, derivative in flow.derivatives}
    moved = 4  # nodes of `x + h*f` beside those of f

    def sizes(at: Mapping[str, int]) -> dict[str, int]:
        return {
            name: sum(n * (at.get(leaf, 1) if leaf else 1) for leaf, n in leaves.items())
            for name, leaves in counts.items()
        }

    first = sizes({})
    if flow.method == "euler":
        return {name: moved + size for name, size in first.items()}
    later = [first]
    for _ in range(3):
        later.append(sizes({name: moved + size for name, size in later[-1].items()}))
    return {name: moved + 5 + sum(slopes[name] for slopes in later) for name in counts}


def _advance_state(names: Mapping[str, Term], by: Fraction, slopes: Mapping[str, Term]) -> dict[str, Term]:
    return {name: Var(name) + Const(by) * slopes[name] for name in names}


def _euler_step(derivatives: Mapping[str, Term], step: Fraction) -> dict[str, Term]:
    return _advance_state(derivatives, step, derivatives)


def _runge_kutta_step(derivatives: Mapping[str, Term], step: Fraction) -> dict[str, Term]:
    def slopes(at: Mapping[str, Term]) -> dict[str, Term]:
        return {name: substitute_names(f, at) for name, f in derivatives.items()}

    first = dict(derivatives)
    second = slopes(_advance_state(derivatives, step / 2, first))
    third = slopes(_advance_state(derivatives, step / 2, second))
    fourth = slopes(_advance_state(derivatives, step, third))
    mean = {
        name: Apply(Op.ADD, (first[name], 2 * second[name], 2 * third[name], fourth[name]))
        for name in derivatives
    }
    return _advance_state(derivatives, step / 6, mean)


_METHODS: dict[str, Callable[[Mapping[str, Term], Fraction], dict[str, Term]]] = {
    "euler": _euler_step,
    "rk4": _runge_kutta_step,
}


def _edge_with_flow(edge: Edge, values: Mapping[str, Term]) -> Edge:
    return replace(edge, outcomes=tuple(_outcome_with_flow(outcome, values) for outcome in edge.outcomes))


def _outcome_with_flow(outcome: Outcome, values: Mapping[str, Term]) -> Outcome:
    written = {split_target(update.target)[0] for update in outcome.updates}
    first = min((u.index for u in outcome.updates), default=0)  # before anything else of this step is written
    flow = tuple(Update(Var(name), value, first) for name, value in values.items() if name not in written)
    return replace(outcome, updates=outcome.updates + flow)


DISCRETISE = Reduction("discretise", discretise_objection, discretise, keep_answer)
