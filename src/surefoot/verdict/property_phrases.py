"""What a property asks, in words."""

from __future__ import annotations

from surefoot.problem.property import Bound, Expected, Path, Probability, Property, Threshold, counts_steps
from surefoot.term.decimal_literals import show_number
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, TRUE, Term
from surefoot.verdict.sentences import property_clause

LONGEST = 200  # characters of a condition
_OPTIMUM = {"min": "smallest ", "max": "largest ", None: ""}
_RELATIONS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_OVER = {
    "min": "the smallest value over all starts",
    "max": "the largest value over all starts",
    "sum": "the sum over all starts",
    "avg": "the average over all starts",
    "count": "the number of starts for which it is so",
    "values": "for each start",
    "argmin": "the starts with the smallest value",
    "argmax": "the starts with the largest value",
}


def property_in_words(asked: Property) -> str:
    """A phrase for a reader who does not know the syntax."""
    match asked:
        case Probability(path, threshold, optimise, over):
            measured = f"the {_OPTIMUM[optimise]}probability that {_path_phrase(path)}"
        case Expected(reward, until, threshold, optimise, over, _, steps):
            what = "number of steps" if counts_steps(reward) else f"sum of `{_reward_text(reward)}`"
            goal = "" if until == FALSE else f" until {_quote_term(until)}"
            limit = "" if steps is None else f" in the first {steps} steps"
            measured = f"the {_OPTIMUM[optimise]}expected {what}{goal}{limit}"
        case _:
            return f"is it so that {property_clause(asked)}?"
    if threshold is not None and over == "count":
        return f"the number of starts for which {measured} is {_threshold_phrase(threshold)}"
    if threshold is not None:
        return f"is {measured} {_threshold_phrase(threshold)}?"
    return f"{measured} ({_OVER[over]})"


def _threshold_phrase(threshold: Threshold) -> str:
    return f"{_RELATIONS[threshold.relation]} {show_number(threshold.value)}"


def _reward_text(reward: str | Term) -> str:
    return reward if isinstance(reward, str) else show_term(reward)


def _path_phrase(path: Path) -> str:
    right, left = _quote_term(path.right), _quote_term(path.left)
    bounds = "".join(_bound_phrase(b) for b in path.bounds)
    match path.operator:
        case "X":
            return f"{right} holds after one step"
        case "F":
            return f"{right} is reached{bounds}"
        case "G":
            return f"{right} always holds{bounds}"
        case "U" if path.left == TRUE:
            return f"{right} is reached{bounds}"
        case "U":
            return f"{left} holds until {right} is reached{bounds}"
        case "W":
            return f"{left} holds for ever or until {right} is reached{bounds}"
        case "R":
            return f"{right} holds for ever or until {left} holds with it{bounds}"


def _bound_phrase(bound: Bound) -> str:
    what = "steps" if bound.reward is None else f"`{bound.reward}`"
    parts = []
    if bound.low is not None:
        parts.append(f"at least {show_term(bound.low)}")
    if bound.high is not None:
        parts.append(f"{'less than' if bound.strict else 'at most'} {show_term(bound.high)}")
    return f" with {' and '.join(parts)} {what}"


def _quote_term(term: Term) -> str:
    text = show_term(term)
    return f"`{text}`" if len(text) <= LONGEST else f"`{text[: LONGEST - 1]}…`"
