"""The toy network and its environment from whiRL 1.0 (Figures 1 and 4, sections 2 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from surefoot import api
from surefoot_studies.terms import maximum_term, minimum_term

LARGEST_STEP = Fraction(1, 2)
OUTPUT = api.Var(api.network_output_name(0))
INPUTS = ("x1", "x2")
EVERYWHERE = ((Fraction(-1), Fraction(1)), (Fraction(-1), Fraction(1)))
UPPER_RIGHT = ((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1)))


def toy_network() -> api.Network:
    """Figure 1. The first layer is given in the text; the README says which of the other weights are ours."""
    return api.dense_network(
        [([[1, 2], [-5, 1]], [1, 2]), ([[-1, 1], [2, 0]], [0, 1]), ([[2, -2]], [0])], name="toy"
    )


def toy_environment(
    starts: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]] = EVERYWHERE,
    smallest_step: Fraction = Fraction(0),
) -> api.EnvironmentData:
    """Both inputs rise by at most 1/2 while the output is positive, and fall by at most 1/2 otherwise.

    With a `smallest_step` they also move by at least that much, unless they have reached the border.
    """
    side = api.Real(Fraction(-1), Fraction(1))
    inside = api.conjunction_of(
        tuple(_between_bounds(api.Var(n), *box) for n, box in zip(INPUTS, starts, strict=True))
    )
    rise = tuple(
        _between_bounds(
            api.Var(f"next_{n}"), minimum_term(api.Var(n) + smallest_step, 1), api.Var(n) + LARGEST_STEP
        )
        for n in INPUTS
    )
    fall = tuple(
        _between_bounds(
            api.Var(f"next_{n}"), api.Var(n) - LARGEST_STEP, maximum_term(api.Var(n) - smallest_step, -1)
        )
        for n in INPUTS
    )
    chosen = tuple(api.Choice(f"next_{n}", side) for n in INPUTS)
    move = (api.Outcome(updates=tuple(api.Update(api.Var(n), api.Var(f"next_{n}")) for n in INPUTS)),)
    edges = (
        api.Edge(guard=api.Var("y") > 0, chosen=chosen, assuming=api.conjunction_of(rise), outcomes=move),
        api.Edge(guard=api.Var("y") <= 0, chosen=chosen, assuming=api.conjunction_of(fall), outcomes=move),
    )
    return api.EnvironmentData(
        name="toy",
        variables=tuple(api.Variable(n, side) for n in INPUTS),
        initial=inside,
        components=(api.Component("inputs", edges),),
        controls=(api.Control("y", clipped=False),),
    )


def _between_bounds(value: api.Term, low: api.Term | Fraction, high: api.Term | Fraction) -> api.Term:
    return (value >= low) & (value <= high)


def _toy_problem(name: str, where: api.EnvironmentData, asked: api.Property) -> api.Problem:
    policy = api.NeuralPolicy(toy_network(), tuple(api.Var(n) for n in INPUTS), choose=api.Choose.VALUE)
    return api.Problem(f"toy/{name}", where, policy, asked)


def below_ten() -> api.Problem:
    """The paper's query: the output is always below 10, k = 3 (states 0, 1 and 2), from anywhere."""
    return _toy_problem("below-ten", toy_environment(), api.Never(OUTPUT >= 10, steps=2))


def always_positive() -> api.Problem:
    """The single query of section 2: the output is positive for every input."""
    return _toy_problem("always-positive", toy_environment(), api.Never(OUTPUT <= 0, steps=0))


def below_ten_from_upper_right() -> api.Problem:
    """The same bound from a smaller set of starts, where reaching it takes two steps."""
    return _toy_problem("below-ten-from-upper-right", toy_environment(UPPER_RIGHT), api.Never(OUTPUT >= 10))


def below_thirteen() -> api.Problem:
    """A bound that the network keeps everywhere: its largest output is 12, at (-1, 0)."""
    return _toy_problem("below-thirteen", toy_environment(), api.Never(OUTPUT >= 13, steps=2))


def settles_within(steps: int) -> api.Problem:
    """Bounded liveness: where inputs move by at least 1/4, the output falls to 1 or below in time."""
    return _toy_problem(
        f"settles-within-{steps}",
        toy_environment(smallest_step=Fraction(1, 4)),
        api.Within(OUTPUT <= 1, steps),
    )


PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    "below-ten": below_ten,
    "always-positive": always_positive,
    "below-ten-from-upper-right": below_ten_from_upper_right,
    "below-thirteen": below_thirteen,
    "settles-within-3": lambda: settles_within(3),
    "settles-within-4": lambda: settles_within(4),
}
