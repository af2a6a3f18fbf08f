"""Is a threshold met? `P>=0.9 [ … ]` is a question that is answered with yes or no, or not at all."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from surefoot.problem.environment import Environment
from surefoot.problem.property import Expected, Probability, Property, Threshold
from surefoot.term.term import Apply, Const, Op, Term, Var, split_conjunction
from surefoot.verdict.verdict import (
    Estimated,
    Exact,
    Holds,
    PerStart,
    Proved,
    Reason,
    Verdict,
    Violated,
)

ThresholdAnswer: TypeAlias = Literal["met", "missed", "undecided"]


def threshold_of(asked: Property) -> Threshold | None:
    """What the value has to meet; a number of starts that meet something has to meet nothing itself."""
    if not isinstance(asked, Probability | Expected) or asked.over == "count":
        return None
    return asked.threshold


def answer_threshold(asked: Property, verdict: Verdict) -> ThresholdAnswer | None:
    """None: no threshold is asked about. With several values each of them has to meet it."""
    threshold = threshold_of(asked)
    return None if threshold is None else compare_with_threshold(threshold, verdict)


def compare_with_threshold(threshold: Threshold, verdict: Verdict) -> ThresholdAnswer:
    match verdict:
        case Proved() | Holds(as_asked=True):
            return "met"
        case Violated():
            return "missed"
        case Estimated(low, high, stop=stop):
            # what was cut short by the user is no basis for a claim
            return "undecided" if stop == Reason.INTERRUPTED.value else place_interval(threshold, low, high)
        case Exact(low, high):
            return place_interval(threshold, low, high)
        case PerStart(table):
            answers = [compare_with_threshold(threshold, one) for _, one in table]
            return "missed" if "missed" in answers else "undecided" if "undecided" in answers else "met"
        case _:
            return "undecided"


def place_interval(threshold: Threshold, low: Fraction | None, high: Fraction | None) -> ThresholdAnswer:
    """Where a value between these ends (None: infinite) lies, as far as that is certain."""
    ends = (keeps_threshold(threshold, low), keeps_threshold(threshold, high))
    return "met" if all(ends) else "undecided" if any(ends) else "missed"


def keeps_threshold(threshold: Threshold, value: Fraction | None) -> bool:
    """Does one value (None: infinite) keep to it?"""
    limit = threshold.value
    match threshold.relation:
        case "<":
            return value is not None and value < limit
        case "<=":
            return value is not None and value <= limit
        case ">":
            return value is None or value > limit
        case ">=":
            return value is None or value >= limit


def best_start_reminder(asked: Property, environment: Environment) -> str:
    """A reminder where a threshold is met as soon as one of several starts meets it; else nothing."""
    threshold = threshold_of(asked)
    if threshold is None or not isinstance(asked, Probability | Expected):
        return ""
    upward = threshold.relation in (">", ">=")
    if asked.over != ("max" if upward else "min") or (asked.starts is None and _has_one_start(environment)):
        return ""
    which, other = ("largest", "min") if upward else ("smallest", "max")
    return f"the {which} value of all starts is compared; `over {other}` asks about every start"


def _has_one_start(environment: Environment) -> bool:
    """Does the start condition give every variable a value? (False: it may still do so in another way.)"""
    fixed = set(map(_fixed_variable, split_conjunction(environment.initial)))
    alone = all(len(component.initial) == 1 for component in environment.components)
    return alone and all(v.name in fixed for v in environment.variables)


def _fixed_variable(term: Term) -> str | None:
    match term:
        case Var(name) | Apply(Op.NOT, (Var(name),)):
            return name
        case Apply(Op.EQ, (Var(name), Const()) | (Const(), Var(name))):
            return name
        case _:
            return None
