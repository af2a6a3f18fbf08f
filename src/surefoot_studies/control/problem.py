"""The control benchmarks of the shield paper as problems: who controls them is to be synthesised."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from surefoot import api
from surefoot_studies.control.plants import CHANGED, OTHERS, TABLE_1, PaperPlant

PLANTS = TABLE_1 | CHANGED | OTHERS


def plant_environment(name: str, plant: PaperPlant) -> api.EnvironmentData:
    """One step for ever, in float64; controls are clipped to their ends."""
    names, rates = plant.names(), tuple(api.parse_term(text) for text in plant.rates)
    starts = [(api.Var(v), Fraction(a), Fraction(b)) for v, (a, b) in zip(names, plant.starts, strict=True)]
    initial = api.conjunction_of(
        tuple(side for v, a, b in starts for side in (v >= api.Const(a), v <= api.Const(b)))
    )
    chosen = tuple(
        api.Choice(n, api.Real(Fraction(a), Fraction(b)), api.Law("uniform", (Fraction(a), Fraction(b))))
        for n, a, b in plant.disturbances
    )
    updates = tuple(api.Update(api.Var(v), rate) for v, rate in zip(names, rates, strict=True))
    outcome = api.Outcome(updates=updates if plant.step is None else ())
    flow = None
    if plant.step is not None:
        flow = api.Flow(tuple(zip(names, rates, strict=True)), Fraction(plant.step))
    return api.EnvironmentData(
        name=name,
        variables=tuple(api.Variable(v, api.Real()) for v in names),
        initial=initial,
        components=(api.Component("plant", (api.Edge(chosen=chosen, outcomes=(outcome,)),)),),
        controls=tuple(
            api.Control(f"u{i + 1}", clipped=False)
            if ends is None
            else api.Control(f"u{i + 1}", Fraction(ends[0]), Fraction(ends[1]))
            for i, ends in enumerate(plant.controls)
        ),
        arithmetic=api.Arithmetic.FLOAT64,
        flow=flow,
        notes=plant.notes,
    )


def stays_safe(name: str, network: api.Network | None = None) -> api.Problem:
    """The benchmark of that name; the network, if there is one, reads all variables."""
    plant = PLANTS[name]
    observed = tuple(api.Var(v) for v in plant.names())
    policy = None if network is None else api.NeuralPolicy(network, observed, choose=api.Choose.VALUE)
    return api.Problem(
        f"control/{name}", plant_environment(name, plant), policy, api.Never(api.parse_term(plant.unsafe))
    )


PROBLEMS: dict[str, Callable[[], api.Problem]] = {name: partial(stays_safe, name) for name in PLANTS}
NEEDS_NETWORK: dict[str, Callable[..., api.Problem]] = {
    f"network-{name}": partial(stays_safe, name) for name in PLANTS
}
