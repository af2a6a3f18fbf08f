"""The control benchmarks of the shield paper as problems: who controls them is to be synthesised."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Law,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Var, conjunction_of
from surefoot.term.value_types import Arithmetic, Real
from surefoot_studies.control.plants import CHANGED, OTHERS, TABLE_1, PaperPlant

PLANTS = TABLE_1 | CHANGED | OTHERS


def plant_environment(name: str, plant: PaperPlant) -> Environment:
    """One step for ever, in float64; controls are clipped to their ends."""
    names, rates = plant.names(), tuple(parse_term(text) for text in plant.rates)
    initial = conjunction_of(
        tuple(
            side
            for variable, (low, high) in zip(names, plant.starts, strict=True)
            for side in (Var(variable) >= Const(Fraction(low)), Var(variable) <= Const(Fraction(high)))
        )
    )
    chosen = tuple(
        Choice(n, Real(Fraction(a), Fraction(b)), Law("uniform", (Fraction(a), Fraction(b))))
        for n, a, b in plant.disturbances
    )
    updates = tuple(Update(Var(v), rate) for v, rate in zip(names, rates, strict=True))
    outcome = Outcome(updates=updates if plant.step is None else ())
    return Environment(
        name=name,
        variables=tuple(Variable(v, Real()) for v in names),
        initial=initial,
        components=(Component("plant", (Edge(chosen=chosen, outcomes=(outcome,)),)),),
        controls=tuple(
            Control(f"u{i + 1}", clipped=False)
            if ends is None
            else Control(f"u{i + 1}", Fraction(ends[0]), Fraction(ends[1]))
            for i, ends in enumerate(plant.controls)
        ),
        arithmetic=Arithmetic.FLOAT64,
        flow=None
        if plant.step is None
        else Flow(tuple(zip(names, rates, strict=True)), Fraction(plant.step)),
        notes=plant.notes,
    )


def stays_safe(name: str, network: Network | None = None) -> Problem:
    """The benchmark of that name; the network, if there is one, reads all variables."""
    plant = PLANTS[name]
    observed = tuple(Var(v) for v in plant.names())
    policy = None if network is None else NeuralPolicy(network, observed, choose=Choose.VALUE)
    return Problem(f"control/{name}", plant_environment(name, plant), policy, Never(parse_term(plant.unsafe)))


PROBLEMS: dict[str, Callable[[], Problem]] = {name: partial(stays_safe, name) for name in PLANTS}
NEEDS_NETWORK: dict[str, Callable[..., Problem]] = {
    f"network-{name}": partial(stays_safe, name) for name in PLANTS
}
