"""What is asked: a path formula or an expected reward, read and brought into the form that is checked.

Every path formula is `left U right` or its opposite: F b = true U b, G b = not F not b, X b = b after exactly
one step, a W b = not (not b U neither), a R b = not (not a U not b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ...kernel.asked_property import MOST_STEPS, ExpectedReward, Probability, SumBound
from ...kernel.strict_json import BadCertificate
from ...kernel.term import ACTING, Term, term_atoms
from .term import Function, Row, compile_row_function
from .transitions import JointTransitions

Compile = Callable[[Term], Function]


class PolicyPredicates(Protocol):
    """What conditions may ask a policy."""

    def stalls(self, row: Row) -> bool: ...

    def picks(self, row: Row, action: str) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class QuantitativeQuery:
    kind: str  # "until" or "reward"
    optimise: str  # of what is checked: the opposite of what is asked where `negated`
    negated: bool
    left: Function
    right: Function
    steps: int | None
    after: int
    counters: tuple[SumBound, ...]
    reward: str | None  # "": steps
    over: str
    starts: Function | None
    worth: Function | None = None  # what every step from a state pays, where that is asked for
    terms: tuple[Term, Term] = (True, True)  # those of `left` and `right`

    def is_lost(self, row: Row, width: int) -> bool:
        if not self.counters:
            return False
        return any(c.is_over(v) for c, v in zip(self.counters, row[width:], strict=True))

    def is_counted(self, row: Row, width: int) -> bool:
        if not self.counters:
            return True
        return all(c.holds(v) for c, v in zip(self.counters, row[width:], strict=True))


def read_quantitative_query(
    asked: Probability | ExpectedReward, optimise: str, condition: Compile
) -> QuantitativeQuery:
    """`optimise`: what is looked at, where the property may leave it open."""
    starts = None if asked.starts is None else condition(asked.starts)
    if isinstance(asked, ExpectedReward):
        worth, goal = None if asked.worth is None else condition(asked.worth), condition(asked.until)
        paid = asked.reward or ""
        return QuantitativeQuery(
            "reward", optimise, False, goal, goal, asked.steps, 0, (), paid, asked.over, starts, worth,
            (asked.until, asked.until),
        )  # fmt: skip
    (left_term, right_term), negated = _until_form(asked)
    left, right = condition(left_term), condition(right_term)
    steps, after, counters = _split_bounds(asked)
    if asked.operator == "X":
        if asked.bounds:
            raise BadCertificate("property: X with bounds")
        steps, after = 1, 1
    if asked.operator == "W" and (after or any(c.low is not None for c in counters)):
        raise BadCertificate("property: W with a bound below")
    if after and steps is None:
        raise BadCertificate("property: a least number of steps without a largest one")
    if steps is not None and steps < after:
        raise BadCertificate("property: a bound on steps that nothing can meet")
    if counters and starts is not None:
        raise BadCertificate("property: rewards are counted from the initial states, not from other starts")
    if negated:
        optimise = "min" if optimise == "max" else "max"
    return QuantitativeQuery(
        "until", optimise, negated, left, right, steps, after, counters, None, asked.over, starts, None,
        (left_term, right_term),
    )  # fmt: skip


def _until_form(asked: Probability) -> tuple[tuple[Term, Term], bool]:
    """Left and right of the formula that is checked, and whether it is the opposite of what is asked."""
    left, right = asked.left, asked.right
    match asked.operator:
        case "F" | "X":
            return (True, right), False
        case "U":
            return (left, right), False
        case "G":
            return (True, ("not", right)), True
        case "W":
            return (("not", right), ("and", ("not", right), ("not", left))), True
        case "R":
            return (("not", left), ("not", right)), True
        case _:
            raise BadCertificate("property: an unknown path operator")


def _split_bounds(asked: Probability) -> tuple[int | None, int, tuple[SumBound, ...]]:
    """The largest and the least number of steps, and the rewards to be counted."""
    steps: int | None = None
    after = 0
    counters: list[SumBound] = []
    for bound in asked.bounds:
        low, high = bound.low, bound.high
        if bound.reward is not None:
            counters.append(bound)
        elif steps is None and after == 0 and high is not None:
            steps = _largest_steps(high, bound.strict)
            after = -((-low.numerator) // low.denominator) if low else 0
        else:
            raise BadCertificate("property: several bounds on steps, or one without a largest number")
    return steps, after, tuple(counters)


def _largest_steps(high: Fraction, strict: bool) -> int:
    """The largest number of steps that the bound permits."""
    most = high.numerator // high.denominator
    most = most - 1 if strict and most == high else most
    if not 0 <= most <= MOST_STEPS:
        raise BadCertificate("property: a number of steps that is not covered")
    return most


def compile_condition(term: Term, moves: JointTransitions, policy: PolicyPredicates | None) -> Function:
    """A condition on states: of variables, locations, deadlocks and what the policy does."""
    model = moves.model
    slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
    acting = sorted(atom for atom in term_atoms(term) if atom[0] in ACTING)
    extra = [_acting_function(atom, moves, policy) for atom in acting]
    names = slots | {atom: model.width + i for i, atom in enumerate(acting)}
    whole = compile_row_function(term, names, model.sure)
    if not extra:
        return whole
    return lambda row: whole((*row[: model.width], *(f(row) for f in extra)))


def _acting_function(atom: Term, moves: JointTransitions, policy: PolicyPredicates | None) -> Function:
    """What may happen next in a state, or what is picked there."""
    width = moves.model.width
    if atom == ("deadlocked",):
        return lambda row: not moves.enabled_steps(row[:width])
    if policy is None:
        raise BadCertificate("a condition asks what a policy does, and there is none")
    if atom == ("stalled",):
        return lambda row: policy.stalls(row[:width])
    return lambda row: policy.picks(row[:width], atom[1])
