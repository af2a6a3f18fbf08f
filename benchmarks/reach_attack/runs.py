"""Runs of random closed loops, by the reference semantics in steps and by an integrator of its own in time.

Continuous time: the classical Runge-Kutta method with 12 and with 24 steps a period, disturbances constant
during each of the 12. The difference of the two bounds what the finer one is off: where a method of order p
converges the error of the finer one is the difference / (2^p - 1), that is at most the difference for p >= 1
(corners in the derivative), and a fifteenth of it where it is smooth; four times the difference and 1e-9 of
the size are allowed for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reach_attack.loops import RandomLoop
from surefoot.errors import SurefootError
from surefoot.problem.environment import Choice
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.policy import Branch, NeuralPolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, apply_move, free_choices, permitted_transitions
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Bool, Int

Array = NDArray[np.float64]
COARSE = 12  # steps of a period
FUNCTIONS: dict[Op, Any] = {
    Op.SUB: np.subtract,
    Op.NEG: np.negative,
    Op.DIV: np.divide,
    Op.ABS: np.abs,
    Op.SQRT: np.sqrt,
    Op.EXP: np.exp,
    Op.LOG: np.log,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.ASIN: np.arcsin,
    Op.ACOS: np.arccos,
    Op.ATAN: np.arctan,
    Op.TANH: np.tanh,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.NOT: np.logical_not,
}
FOLDS: dict[Op, Any] = {
    Op.ADD: np.add,
    Op.MUL: np.multiply,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
}


def evaluate_arrays(term: Term, names: Mapping[str, Any]) -> Any:
    """In floats; NaN where there is no value."""
    match term:
        case Const(value):
            return bool(value) if isinstance(value, bool) else float(value)
        case Var(name):
            return names[name]
        case Apply(Op.POW, (base, Const(exponent))):
            return np.power(evaluate_arrays(base, names), int(exponent))
        case Apply(Op.ITE, (test, then, otherwise)):
            return np.where(*(evaluate_arrays(t, names) for t in (test, then, otherwise)))
        case Apply(Op.IMPLIES, (premise, conclusion)):
            return np.logical_or(~evaluate_arrays(premise, names), evaluate_arrays(conclusion, names))
        case Apply(op, parts) if op in FOLDS:
            values = [evaluate_arrays(p, names) for p in parts]
            found = values[0]
            for value in values[1:]:
                found = FOLDS[op](found, value)
            return found
        case Apply(op, parts):
            return FUNCTIONS[op](*(evaluate_arrays(p, names) for p in parts))
    raise AssertionError(term)


@dataclass(frozen=True, slots=True)
class TimedRuns:
    """States at all times that are looked at (times, runs, variables), and what they may be off by."""

    times: list[Fraction]
    states: Array
    slack: Array

    def at_period(self, number: int) -> tuple[Array, Array]:
        return self.states[number * COARSE], self.slack[number * COARSE]


def sample_starts(loop: RandomLoop, draw: Random, count: int) -> list[dict[str, Fraction]]:
    """Corners, middles and others."""
    found = []
    for i in range(count):
        start = {}
        for name, (low, high) in loop.starts.items():
            share = Fraction(draw.choice((0, 1))) if i % 2 else Fraction(draw.randint(0, 64), 64)
            start[name] = low + share * (high - low)
        found.append(start)
    return found


def _decide(policy: Policy, names: Mapping[str, Array], count: int) -> Array:
    """Values of the controls, run by run."""
    match policy:
        case NeuralPolicy(network, observe):
            seen = [np.broadcast_to(evaluate_arrays(t, names), count) for t in observe]
            inputs = np.stack(seen, 1).astype(np.float32)
            usable = np.isfinite(inputs).all(1)
            outputs = infer_outputs(network, np.where(usable[:, None], inputs, np.float32(0)))
            return np.where(usable[:, None], outputs.astype(np.float64), np.nan)
    found: Array | None = None
    open_ = np.ones(count, bool)
    for branch in policy.branches:  # type: ignore[union-attr]
        values = _branch_values(branch, names, count)
        holds = np.broadcast_to(evaluate_arrays(branch.when, names), count) & open_
        found = np.where(holds[:, None], values, np.nan if found is None else found)
        open_ = open_ & ~holds
    assert found is not None
    return found


def _branch_values(branch: Branch, names: Mapping[str, Array], count: int) -> Array:
    if isinstance(branch.then, tuple):
        return np.stack([np.broadcast_to(evaluate_arrays(t, names), count) for t in branch.then], 1)
    return _decide(branch.then, names, count)  # type: ignore[arg-type]


def simulate_time(loop: RandomLoop, periods: int, draw: Random, count: int = 12) -> TimedRuns:
    environment = loop.problem.environment
    flow = environment.flow
    assert flow is not None
    starts = sample_starts(loop, draw, count)
    state = np.array([[float(s[n]) for n in loop.reals] for s in starts])
    chosen = environment.components[0].edges[0].chosen
    gusts = _draw_gusts(chosen, periods * COARSE, count, draw)
    with np.errstate(all="ignore"):
        coarse = _integrate(loop, state, gusts, periods, 1)
        fine = _integrate(loop, state, gusts, periods, 2)
    length = flow.control_period / COARSE
    times = [k * length for k in range(periods * COARSE + 1)]
    slack = 4 * np.maximum.accumulate(np.abs(coarse - fine), 0) + 1e-9 * (1 + np.abs(fine))
    return TimedRuns(times, np.where(np.isfinite(slack), fine, np.nan), slack)


def _draw_gusts(chosen: tuple[Choice, ...], steps: int, count: int, draw: Random) -> Array:
    """(steps, runs, chosen): at the ends, moving between them, at random, constant."""
    found = np.zeros((steps, count, len(chosen)))
    for i, choice in enumerate(chosen):
        low, high = float(choice.kind.low), float(choice.kind.high)  # type: ignore[union-attr, arg-type]
        for run in range(count):
            match run % 4:
                case 0:
                    found[:, run, i] = draw.choice((low, high))
                case 1:
                    found[:, run, i] = [draw.choice((low, high)) for _ in range(steps)]
                case 2:
                    found[:, run, i] = [draw.uniform(low, high) for _ in range(steps)]
                case _:
                    turn = draw.randrange(steps)
                    found[:, run, i] = [low if k < turn else high for k in range(steps)]
    return found


def _integrate(loop: RandomLoop, state: Array, gusts: Array, periods: int, finer: int) -> Array:
    environment, policy = loop.problem.environment, loop.problem.policy
    flow = environment.flow
    assert flow is not None
    assert policy is not None
    chosen = environment.components[0].edges[0].chosen
    given, h = dict(flow.derivatives), float(flow.control_period) / (COARSE * finer)
    count = len(state)
    found = [state]
    for period in range(periods):
        names = {n: state[:, i] for i, n in enumerate(loop.reals)}
        held: dict[str, Array] = {}
        values = _decide(policy, names, count)
        for i, control in enumerate(environment.controls):
            low = -np.inf if control.low is None else float(control.low)
            high = np.inf if control.high is None else float(control.high)
            inside = np.clip(values[:, i], low, high)
            held[control.name] = (
                inside if control.clipped else np.where(inside == values[:, i], inside, np.nan)
            )
        for step in range(COARSE):
            w = {c.name: gusts[period * COARSE + step, :, i] for i, c in enumerate(chosen)}

            def rate(x: Array, known: Mapping[str, Array] = {**held, **w}) -> Array:
                own = {n: x[:, i] for i, n in enumerate(loop.reals)}
                several = [
                    np.broadcast_to(evaluate_arrays(given.get(n, Const(0)), {**own, **known}), count)
                    for n in loop.reals
                ]
                return np.stack(several, 1)

            for _ in range(finer):
                a = rate(state)
                b = rate(state + h / 2 * a)
                c = rate(state + h / 2 * b)
                d = rate(state + h * c)
                state = state + h / 6 * (a + 2 * b + 2 * c + d)
                state = np.where(_in_ranges(loop, state)[:, None], state, np.nan)
            found.append(state)
    return np.stack(found)


def _in_ranges(loop: RandomLoop, state: Array) -> NDArray[np.bool_]:
    """A run that leaves a range is not one of the model; nor is one that has no number."""
    fine = np.isfinite(state).all(1)
    for variable in loop.problem.environment.variables:
        kind, place = variable.kind, loop.reals.index(variable.name)
        if kind.low is not None:  # type: ignore[union-attr]
            fine &= state[:, place] >= float(kind.low)  # type: ignore[union-attr, arg-type]
            fine &= state[:, place] <= float(kind.high)  # type: ignore[union-attr, arg-type]
    return fine


@dataclass(frozen=True, slots=True)
class SteppedRun:
    """States as far as they are defined; `whole`: it went on for as many steps as were asked for."""

    states: list[dict[str, Any]]
    whole: bool
    ended: bool  # no transition was left


def simulate_steps(loop: RandomLoop, steps: int, draw: Random, count: int = 10) -> list[SteppedRun]:
    problem, found = loop.problem, []
    exact = problem.environment.arithmetic is Arithmetic.EXACT
    component = problem.environment.components[0]
    for start in sample_starts(loop, draw, count):
        state: dict[str, Any] = {**{n: v if exact else float(v) for n, v in start.items()}, **loop.others}
        if len(component.locations) > 1:
            state[location_key(component.name)] = 0
        states, ended = [state], False
        try:
            for _ in range(steps):
                following = _step(problem, states[-1], draw, exact)
                if following is None:
                    ended = True
                    break
                if any(
                    isinstance(v, Fraction) and v.denominator.bit_length() > 20_000
                    for v in following.values()
                ):
                    break
                states.append(following)
        except SurefootError:
            pass
        found.append(SteppedRun(states, len(states) == steps + 1, ended))
    return found


def _step(problem: Problem, state: dict[str, Any], draw: Random, exact: bool) -> dict[str, Any] | None:
    permitted = permitted_transitions(problem, state)
    if not permitted:
        return None
    transition = draw.choice(permitted)
    component = problem.environment.components[0]
    edge = component.edges[transition.edges[0][1]]
    for _ in range(6):
        chosen: dict[str, Any] = {}
        for choice in free_choices(problem.environment, transition):
            match choice.kind:
                case Bool():
                    chosen[choice.name] = draw.random() < 0.5
                case Int(int() as low, int() as high):
                    chosen[choice.name] = draw.randint(low, high)
                case kind:
                    share = draw.choice((Fraction(0), Fraction(1), Fraction(draw.randint(0, 64), 64)))
                    value = kind.low + share * (kind.high - kind.low)  # type: ignore[union-attr]
                    chosen[choice.name] = value if exact else float(value)
        if evaluate_term(edge.assuming, {**state, **chosen}, problem.environment.arithmetic):
            outcome = draw.randrange(len(edge.outcomes))
            return dict(apply_move(problem, state, Move(transition, (outcome,), chosen)))
    raise SurefootError("no values that satisfy the assumption were found")
