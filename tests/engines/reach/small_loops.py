"""Closed loops of a few lines: terms are texts, networks are one layer unless they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.reach import Reach
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import Affine, Network
from surefoot.problem.policy import Choose, NeuralPolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.term.parser import parse_term
from surefoot.term.term import Var, conjunction_of
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.verdict.verdict import Proved, Verdict
from surefoot.work.budget import Budget
from surefoot_checker.check import CheckerVerdict, judge_certificate

Ends = tuple[object, object]


def linear_network(*rows: Sequence[float]) -> Network:
    """The last number of each row is the bias."""
    weights = np.array([row[:-1] for row in rows], dtype=np.float32)
    return Network(weights.shape[1], (Affine(0, weights, np.array([row[-1] for row in rows], np.float32)),))


def idle_network(inputs: int, outputs: int = 1) -> Network:
    return linear_network(*([[0.0] * (inputs + 1)] * outputs))


def timed_loop(
    derivatives: Mapping[str, str],
    starts: Mapping[str, Ends],
    asked: str,
    *,
    chosen: Mapping[str, Ends] | None = None,
    network: Network | None = None,
    policy: Policy | None = None,
    period: object = 1,
    limits: Ends = (None, None),
    ranges: Mapping[str, Ends] | None = None,
) -> Problem:
    """x' = …, with one control `u` that a network of all variables sets."""
    variables = tuple(_variable(v, ends, ranges) for v, ends in starts.items())
    edge = Edge(chosen=tuple(Choice(w, Real(*map(_number, e))) for w, e in (chosen or {}).items()))
    flow = Flow(
        tuple((v, parse_term(text)) for v, text in derivatives.items()),
        Fraction(str(period)),
        continuous=True,
    )
    control = Control("u", *map(_number, limits))
    environment = Environment(
        "loop", variables, _starts(starts), (Component("plant", (edge,)),), (control,), flow=flow
    )
    network = network or idle_network(len(starts))
    who = policy or NeuralPolicy(network, tuple(map(Var, starts)), (), Choose.VALUE)
    return Problem("loop", environment, who, parse_property(asked))


def stepped_loop(
    updates: Mapping[str, str] | Sequence[Edge],
    starts: Mapping[str, Ends],
    asked: str,
    *,
    chosen: Mapping[str, Ends] | None = None,
    network: Network | None = None,
    policy: Policy | None = None,
    guard: str = "true",
    actions: tuple[str, ...] = (),
    choose: Choose = Choose.ARGMAX,
    arithmetic: Arithmetic = Arithmetic.EXACT,
    ranges: Mapping[str, Ends] | None = None,
) -> Problem:
    """One edge with these updates and one control `u`, or edges and actions."""
    variables = tuple(_variable(v, ends, ranges) for v, ends in starts.items())
    if isinstance(updates, Mapping):
        one = write_edge(updates, guard=guard, chosen=chosen)
        edges: Sequence[Edge] = (one,)
    else:
        edges = updates
    controls = () if actions else (Control("u"),)
    environment = Environment(
        "loop",
        variables,
        _starts(starts),
        (Component("plant", tuple(edges)),),
        controls,
        arithmetic=arithmetic,
    )
    network = network or idle_network(len(starts), max(len(actions), 1))
    how = choose if actions else Choose.VALUE
    who = policy or NeuralPolicy(network, tuple(map(Var, starts)), actions, how)
    return Problem("loop", environment, who, parse_property(asked))


def write_edge(
    updates: Mapping[str, str],
    *,
    action: str | None = None,
    guard: str = "true",
    chosen: Mapping[str, Ends] | None = None,
) -> Edge:
    written = tuple(Update(Var(v), parse_term(text)) for v, text in updates.items())
    choices = tuple(Choice(w, Real(*map(_number, e))) for w, e in (chosen or {}).items())
    return Edge(action=action, guard=parse_term(guard), chosen=choices, outcomes=(Outcome(updates=written),))


def _number(end: object) -> Any:
    return None if end is None else Fraction(str(end))


def _variable(name: str, ends: Ends, ranges: Mapping[str, Ends] | None) -> Variable:
    if isinstance(ends[0], bool):
        return Variable(name, Bool())
    if name in (ranges or {}):
        low, high = (_number(e) for e in (ranges or {})[name])
        return Variable(name, Real(low, high))
    return Variable(name, Int(0, 100) if isinstance(ends[0], int) else Real())


def _starts(starts: Mapping[str, Ends]) -> Any:
    parts = []
    for name, (low, high) in starts.items():
        if isinstance(low, bool):
            parts.append(Var(name) if low else ~Var(name))
        else:
            parts += [Var(name) >= Fraction(str(low)), Var(name) <= Fraction(str(high))]
    return conjunction_of(tuple(parts))


def ask_reach(problem: Problem, seconds: float = 5.0, **options: int) -> Verdict:
    return Reach(**options).check(problem, Budget(seconds))


def check_reach_proof(problem: Problem, verdict: Verdict) -> CheckerVerdict:
    assert isinstance(verdict, Proved)
    assert verdict.certificate is not None
    return judge_certificate(build_reach_certificate(problem, verdict.certificate.content, {}).content)
