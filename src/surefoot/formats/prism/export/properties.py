"""Properties as questions of PRISM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.formats.prism.export.terms import prism_expression
from surefoot.problem.property import (
    Bound,
    Eventually,
    Expected,
    Filter,
    Never,
    NeverBefore,
    Optimise,
    Path,
    Probability,
    Property,
    Threshold,
    Within,
    default_filter,
)
from surefoot.term.term import FALSE, Const, Term

_FILTERS = ("min", "max", "sum", "avg", "argmin", "argmax", "count")


@dataclass(frozen=True, slots=True)
class PropertyNames:
    """`may_end`: PRISM lets runs go on that end here, which some questions notice."""

    names: Mapping[str, str]
    rewards: Mapping[str, str]
    may_end: bool
    one_start: bool

    def condition(self, term: Term) -> str:
        return prism_expression(term, self.names, "property").within(2)


def prism_question(asked: Property, known: PropertyNames) -> str:
    """The question; refused with a sentence if PRISM cannot ask it."""
    match asked:
        case Never(bad, None):
            return f"A [ G {known.condition(~bad)} ]"
        case Never(bad, steps):
            return f"P>=1 [ G<={steps} {known.condition(~bad)} ]"
        case NeverBefore(bad, goal, None):
            return f"P<=0 [ {known.condition(~goal)} U {known.condition(bad)} ]"
        case NeverBefore(bad, goal, steps):
            return f"P<=0 [ {known.condition(~goal)} U<={steps} {known.condition(bad)} ]"
        case Eventually(good):
            return f"A [ F {known.condition(good)} ]"
        case Within(good, steps, 0):
            return f"P>=1 [ F<={steps} {known.condition(good)} ]"
        case Probability(path, threshold, optimise, over, starts):
            operator = f"P{_comparison(threshold, optimise)} [ {_path_text(path, known)} ]"
            return _filter_text(operator, over, threshold, starts, known)
        case Expected():
            return _expected_text(asked, known)
    raise Unsupported(f"PRISM cannot ask `{type(asked).__name__}`", fix="leave it out")


def _comparison(threshold: Threshold | None, optimise: Optimise | None) -> str:
    if threshold is None:
        return f"{optimise or ''}=?"
    own = "min" if threshold.relation in (">", ">=") else "max"
    if optimise is not None and optimise != own:
        raise Unsupported("a limit that only some strategy has to meet", fix="ask for the value")
    return f"{threshold.relation}{_number_text(threshold.value)}"


def _number_text(value: Fraction) -> str:
    return prism_expression(Const(value), {}, "property").within(9)


def _path_text(path: Path, known: PropertyNames) -> str:
    bounds = "".join(_bound_text(bound, known) for bound in path.bounds)
    if len(path.bounds) > 1:
        raise Unsupported("several bounds in one formula", fix="ask with one")
    if path.operator == "X" and known.may_end:
        raise Unsupported("`X` where runs may end: PRISM lets them go on", fix="ask F<=1")
    right = known.condition(path.right)
    if path.operator in ("X", "F", "G"):
        return f"{path.operator}{bounds} {right}"
    return f"{known.condition(path.left)} {path.operator}{bounds} {right}"


def _bound_text(bound: Bound, known: PropertyNames) -> str:
    if bound.reward is not None:
        raise Unsupported("bounds on rewards", fix="ask with a bound on steps")
    low, high = bound.low, bound.high
    if low is not None and known.may_end:
        raise Unsupported(
            "a least number of steps where runs may end: PRISM lets them go on", fix="leave it out"
        )
    if bound.strict or not isinstance(low, Const | None) or not isinstance(high, Const | None):
        raise Unsupported("a bound that is no number of steps", fix="write a whole number")
    if high is None:
        return f">={known.condition(low)}" if low is not None else ""
    if low is None:
        return f"<={known.condition(high)}"
    return f"[{known.condition(low)},{known.condition(high)}]"


def _filter_text(
    operator: str, over: Filter, threshold: Threshold | None, starts: Term | None, known: PropertyNames
) -> str:
    if starts is None and (known.one_start or threshold is not None) and over == default_filter(threshold):
        return operator
    states = '"init"' if starts is None else known.condition(starts)
    if threshold is not None and over in ("min", "max"):
        name = "forall" if over == default_filter(threshold) else "exists"
        return f"filter({name}, {operator}, {states})"
    if over not in _FILTERS:
        return f"filter(print, {operator}, {states})"
    return f"filter({over}, {operator}, {states})"


def _expected_text(asked: Expected, known: PropertyNames) -> str:
    if not isinstance(asked.reward, str) or asked.reward not in known.rewards:
        raise Unsupported("a reward without a name in the model", fix="ask about a reward of the model")
    if asked.steps is not None:
        if asked.until != FALSE:
            raise Unsupported("a goal and a number of steps in one question", fix="ask with one of them")
        what = f"C<={asked.steps}"
    else:
        what = f"F {known.condition(asked.until)}"
    comparison = _comparison(asked.threshold, asked.optimise)
    operator = f'R{{"{known.rewards[asked.reward]}"}}{comparison} [ {what} ]'
    return _filter_text(operator, asked.over, asked.threshold, asked.starts, known)
