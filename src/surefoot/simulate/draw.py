"""How random words become outcomes, actions and chosen values.

An outcome of an edge: the first one whose threshold is above the word, where the threshold of outcome k is
the least integer that is not below 2^64 (p_0 + … + p_k). Its probability is p_k with an error below 2^-64.
An edge with a single outcome reads no word; edges that move together read one word each, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.work.philox import Stream

_STANDARD = NormalDist()


def cumulative_thresholds(shares: Iterable[Fraction]) -> tuple[int, ...]:
    """For shares that sum to 1."""
    total, found = Fraction(0), []
    for share in shares:
        total += share
        found.append(-(-(total.numerator << 64) // total.denominator))
    return tuple(found)


def word_thresholds(shares: Iterable[Fraction]) -> tuple[list[int], int]:
    """Thresholds in 64 bits, and the first outcome that is taken whatever the word is."""
    limits = cumulative_thresholds(shares)
    certain = next(i for i, limit in enumerate(limits) if limit >= 1 << 64)
    return [min(limit, (1 << 64) - 1) for limit in limits], certain


def draw_outcome(word: int, limits: Sequence[int]) -> int:
    return next(i for i, limit in enumerate(limits) if word < limit)


def draw_choice(choice: Choice, arithmetic: Arithmetic, stream: Stream) -> Any:
    """A value by the law of the choice."""
    if choice.law is None:
        raise Unsupported(
            f"`{choice.name}` is chosen freely and has no sampling law, so it cannot be simulated",
            fix="give the choice a law, for example uniform(low, high)",
        )
    match choice.kind, choice.law.name, choice.law.parameters:
        case Bool(), "uniform", _:
            return bool(stream.below(2))
        case Int(), "integer", (low, high):
            return int(low) + stream.below(int(high) - int(low) + 1)
        case Real(), "uniform", (low, high):
            return _in_arithmetic(low + (high - low) * Fraction(stream.word() >> 11, 1 << 53), arithmetic)
        case Real(), "normal", (mean, deviation):
            # The inverse of the distribution function, in the middle of one of 2^53 equal parts.
            share = (2 * (stream.word() >> 11) + 1) / (1 << 54)
            standard = _STANDARD.inv_cdf(min(share, 1 - 2.0**-53))
            return _in_arithmetic(mean + deviation * Fraction(standard), arithmetic)
        case _:
            raise InvalidProblem(f"the law {choice.law} does not fit the choice `{choice.name}`")


def _in_arithmetic(value: Fraction, arithmetic: Arithmetic) -> Fraction | float:
    return value if arithmetic is Arithmetic.EXACT else float(value)
