"""Probabilities of an edge add up to exactly 1; where only digits are missing they can be made to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from surefoot.problem.environment import Edge, Environment
from surefoot.term.printer import show_term
from surefoot.term.term import Const, Term, is_number

NEAR = Fraction(1, 10**9)  # how far from 1 a sum may be that is taken for 1 when asked
_SHOWN = 6  # probabilities in a message
_EXACTLY = "they have to add up to exactly 1"


def constant_sum(probabilities: Sequence[Term]) -> Fraction | None:
    """The sum, if no probability depends on the state."""
    numbers = [Fraction(p.value) for p in probabilities if is_number(p)]
    return sum(numbers, Fraction(0)) if len(numbers) == len(probabilities) else None


def is_nearly_one(total: Fraction) -> bool:
    return total != 1 and abs(total - 1) <= NEAR


def sum_defect(probabilities: Sequence[Term]) -> tuple[str, str] | None:
    """What is wrong with the sum, and what to do about it."""
    total = constant_sum(probabilities)
    if total is None or total == 1:
        return None
    shown = " + ".join(show_term(p) for p in probabilities[:_SHOWN]) + (
        " + …" if len(probabilities) > _SHOWN else ""
    )
    near = f"{_EXACTLY}; as the sum is within 1e-9 of 1, --normalise divides each of them by it"
    fix = near if is_nearly_one(total) else _EXACTLY
    return f"the probabilities {shown} add up to {show_term(Const(total))}", fix


def normalise_probabilities(environment: Environment) -> Environment:
    """Divide exactly by their sum the probabilities of each edge whose sum is within 1e-9 of 1.

    The edges are named in `normalised`. Other sums stay as they are, and so are errors; probabilities that
    depend on the state stay as they are too, and have to add up to exactly 1 wherever they are used.

    >>> from surefoot import Environment, integer, normalise_probabilities
    >>> x = integer("x", 0, 3)
    >>> dice = Environment("dice", start=x == 0)
    >>> dice = dice.edge("roll", outcomes=[(0.3333333333, {x: n}) for n in (1, 2, 3)])
    >>> rolled = normalise_probabilities(dice).components[0].edges[0].outcomes
    >>> [outcome.probability.value for outcome in rolled]
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    named: list[str] = []
    components = []
    for component in environment.components:
        edges = []
        for number, edge in enumerate(component.edges):
            divided = _divide_by_sum(edge)
            named += [f"{component.name}.edges[{number}]"] if divided is not edge else []
            edges.append(divided)
        components.append(replace(component, edges=tuple(edges)))
    if not named:
        return environment
    return replace(environment, components=tuple(components), normalised=(*environment.normalised, *named))


def _divide_by_sum(edge: Edge) -> Edge:
    probabilities = [outcome.probability for outcome in edge.outcomes]
    total = constant_sum(probabilities)
    if total is None or not is_nearly_one(total):
        return edge
    numbers = [Fraction(p.value) for p in probabilities if is_number(p)]
    if any(p < 0 for p in numbers):
        return edge
    shares = (Const(p / total) for p in numbers)
    outcomes = zip(edge.outcomes, shares, strict=True)
    return replace(edge, outcomes=tuple(replace(o, probability=share) for o, share in outcomes))
