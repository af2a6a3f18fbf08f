"""Replace a differential equation by the discrete map that is executed.

Every outcome of every edge that does not itself write a variable of the flow gets an update for it. With h
the step and f the derivatives, the new value of x is

    euler   x + h*f(x)
    rk4     x + (h/6)*(k1 + 2*k2 + 2*k3 + k4)      k1 = f(x), k2 = f(x + (h/2)*k1),
                                                   k3 = f(x + (h/2)*k2), k4 = f(x + h*k3)

where all derivatives read the state before the step. In exact arithmetic that is the map; in float64 it is
computed in the order written: h, h/2 and h/6 are exact numbers rounded once, a sum runs from left to right, a
product is taken as its two factors stand, and no value is shared between places where it is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.problem.environment import Edge, Environment, Outcome, Update
from surefoot.problem.flow import Flow
from surefoot.problem.problem import Problem
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names, split_target
from surefoot.term.traverse import count_term_parts, substitute_names
from surefoot.verdict.verdict import Verdict

_MOST_NODES = 200_000  # of one new value, counted as often as they are computed


def discretise(problem: Problem, *, continuous: bool = False) -> tuple[Problem, Callable[[Verdict], Verdict]]:
    """The problem without a flow; its states are those of the original, so verdicts stay as they are.

    A flow in continuous time is no map of steps: it is left as it is for who says that he can read it.
    """
    environment = problem.environment
    if environment.flow is None:
        return problem, _same_verdict
    if environment.flow.continuous:
        if continuous:
            return problem, _same_verdict
        raise Unsupported(
            "the problem is about continuous time: only `check --engine barrier` and `shield` answer",
            fix="ask about the steps that are executed: `--time steps`, or no `time` in `[flow]`",
        )
    _refuse_joint_steps(environment)
    values = _next_values(environment.flow)
    for name, value in values.items():
        if (size := count_term_parts(value)) > _MOST_NODES:
            raise Unsupported(
                f"the next value of `{name}` by {environment.flow.method} has {size} operations",
                fix="use method `euler` or simpler derivatives",
            )
    components = tuple(
        replace(c, edges=tuple(_edge_with_flow(edge, values, environment) for edge in c.edges))
        for c in environment.components
    )
    return replace(problem, environment=replace(environment, components=components, flow=None)), _same_verdict


def in_time(problem: Problem, time: str, method: str | None = None) -> Problem:
    """The same equations in `continuous` time or by `steps`; methods of the other one are replaced."""
    flow = problem.environment.flow
    if flow is None:
        raise Unsupported(
            f"`{problem.name}` has no differential equation: its steps are all that there is",
            fix="leave --time out, or write derivatives in `[flow]`",
        )
    continuous = time == "continuous"
    kept = flow.method if continuous is flow.continuous else None
    usual = "taylor" if continuous else "euler"
    changed = replace(flow, continuous=continuous, method=method or kept or usual)
    return replace(problem, environment=replace(problem.environment, flow=changed))


def _next_values(flow: Flow) -> dict[str, Term]:
    """The value of each variable one step later."""
    if flow.method not in _METHODS:
        raise InvalidProblem(f"unknown method `{flow.method}`", fix=did_you_mean(flow.method, _METHODS))
    if flow.step <= 0:
        raise InvalidProblem(f"the step of a flow must be positive, not {flow.step}")
    derivatives = dict(flow.derivatives)
    if len(derivatives) != len(flow.derivatives):
        raise InvalidProblem("the flow has two derivatives for one variable")
    return _METHODS[flow.method](derivatives, flow.step)


def _same_verdict(verdict: Verdict) -> Verdict:
    return verdict


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


def _refuse_joint_steps(environment: Environment) -> None:
    """Two edges that move together would both carry the flow."""
    for vector in environment.synchronisations:
        if sum(action is not None for action in vector.actions) > 1:
            raise Unsupported(
                "a flow cannot be combined with components that move together",
                fix="write the discrete updates on one of the edges",
            )


def _edge_with_flow(edge: Edge, values: Mapping[str, Term], environment: Environment) -> Edge:
    declared = {v.name for v in environment.variables} | {c.name for c in environment.controls}
    known = declared | {c.name for c in edge.chosen}
    for name, value in values.items():
        if unknown := sorted((free_names(value) | {name}) - known):
            raise InvalidProblem(
                f"the flow mentions `{unknown[0]}`, which an edge does not know",
                fix=did_you_mean(unknown[0], sorted(known)),
            )
    return replace(edge, outcomes=tuple(_outcome_with_flow(outcome, values) for outcome in edge.outcomes))


def _outcome_with_flow(outcome: Outcome, values: Mapping[str, Term]) -> Outcome:
    written = {split_target(update.target)[0] for update in outcome.updates}
    first = min((u.index for u in outcome.updates), default=0)  # before anything else of this step is written
    flow = tuple(Update(Var(name), value, first) for name, value in values.items() if name not in written)
    return replace(outcome, updates=outcome.updates + flow)
