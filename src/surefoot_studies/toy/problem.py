"""The toy network and its environment from whiRL 1.0 (Figures 1 and 4, sections 2 and 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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
from surefoot.problem.network import Network, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property, Within
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import Apply, Op, Term, Var, conjunction_of, term_from_python
from surefoot.term.value_types import Real

LARGEST_STEP = Fraction(1, 2)
OUTPUT = Var(network_output_name(0))
INPUTS = ("x1", "x2")
EVERYWHERE = ((Fraction(-1), Fraction(1)), (Fraction(-1), Fraction(1)))
UPPER_RIGHT = ((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1)))


def toy_network() -> Network:
    """Figure 1. The first layer is given in the text; the README says which of the other weights are ours."""
    return dense_network(
        [
            ([[1, 2], [-5, 1]], [1, 2]),
            ([[-1, 1], [2, 0]], [0, 1]),
            ([[2, -2]], [0]),
        ],
        name="toy",
    )


def toy_environment(
    starts: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]] = EVERYWHERE,
    smallest_step: Fraction = Fraction(0),
) -> Environment:
    """Both inputs rise by at most 1/2 while the output is positive, and fall by at most 1/2 otherwise.

    With a `smallest_step` they also move by at least that much, unless they have reached the border.
    """
    side = Real(Fraction(-1), Fraction(1))
    inside = conjunction_of(
        tuple(_between_bounds(Var(n), *box) for n, box in zip(INPUTS, starts, strict=True))
    )
    rise = tuple(
        _between_bounds(Var(f"next_{n}"), _minimum_term(Var(n) + smallest_step, 1), Var(n) + LARGEST_STEP)
        for n in INPUTS
    )
    fall = tuple(
        _between_bounds(Var(f"next_{n}"), Var(n) - LARGEST_STEP, _maximum_term(Var(n) - smallest_step, -1))
        for n in INPUTS
    )
    chosen = tuple(Choice(f"next_{n}", side) for n in INPUTS)
    move = (Outcome(updates=tuple(Update(Var(n), Var(f"next_{n}")) for n in INPUTS)),)
    edges = (
        Edge(guard=Var("y") > 0, chosen=chosen, assuming=conjunction_of(rise), outcomes=move),
        Edge(guard=Var("y") <= 0, chosen=chosen, assuming=conjunction_of(fall), outcomes=move),
    )
    return Environment(
        name="toy",
        variables=tuple(Variable(n, side) for n in INPUTS),
        initial=inside,
        components=(Component("inputs", edges),),
        controls=(Control("y", clipped=False),),
    )


def _between_bounds(value: Term, low: Term | Fraction, high: Term | Fraction) -> Term:
    return (value >= low) & (value <= high)


def _minimum_term(value: Term, bound: int) -> Term:
    return Apply(Op.MIN, (value, term_from_python(bound)))


def _maximum_term(value: Term, bound: int) -> Term:
    return Apply(Op.MAX, (value, term_from_python(bound)))


def _toy_problem(name: str, where: Environment, asked: Property) -> Problem:
    policy = NeuralPolicy(toy_network(), tuple(Var(n) for n in INPUTS), choose=Choose.VALUE)
    return Problem(f"toy/{name}", where, policy, asked)


def below_ten() -> Problem:
    """The paper's query: the output is always below 10, k = 3 (states 0, 1 and 2), from anywhere."""
    return _toy_problem("below-ten", toy_environment(), Never(OUTPUT >= 10, steps=2))


def always_positive() -> Problem:
    """The single query of section 2: the output is positive for every input."""
    return _toy_problem("always-positive", toy_environment(), Never(OUTPUT <= 0, steps=0))


def below_ten_from_upper_right() -> Problem:
    """The same bound from a smaller set of starts, where reaching it takes two steps."""
    return _toy_problem("below-ten-from-upper-right", toy_environment(UPPER_RIGHT), Never(OUTPUT >= 10))


def below_thirteen() -> Problem:
    """A bound that the network keeps everywhere: its largest output is 12, at (-1, 0)."""
    return _toy_problem("below-thirteen", toy_environment(), Never(OUTPUT >= 13, steps=2))


def settles_within(steps: int) -> Problem:
    """Bounded liveness: where inputs move by at least 1/4, the output falls to 1 or below in time."""
    return _toy_problem(
        f"settles-within-{steps}", toy_environment(smallest_step=Fraction(1, 4)), Within(OUTPUT <= 1, steps)
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "below-ten": below_ten,
    "always-positive": always_positive,
    "below-ten-from-upper-right": below_ten_from_upper_right,
    "below-thirteen": below_thirteen,
    "settles-within-3": lambda: settles_within(3),
    "settles-within-4": lambda: settles_within(4),
}
