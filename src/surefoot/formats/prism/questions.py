"""Questions in the property syntax of PRISM: P, R, A and E operators, and filters around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, cast

from surefoot.errors import did_you_mean
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.prism.expressions import PrismExpression, PrismReader
from surefoot.formats.prism.terms import PrismScope, read_prism_constant, read_prism_term, start_of
from surefoot.formats.prism.tokens import PrismPlace
from surefoot.problem.property import (
    Bound,
    Eventually,
    Expected,
    Filter,
    Never,
    Optimise,
    Path,
    Probability,
    Property,
    Threshold,
    Within,
    default_filter,
)
from surefoot.term.term import FALSE, TRUE, Const, Term
from surefoot.term.types import BOOL, INT, REAL

UNTIMED = ("ctmc", "ma")
_UNARY, _BINARY = ("X", "F", "G"), ("U", "W", "R")
_RELATIONS = ("<", "<=", ">", ">=")
_FILTERS: dict[str, Filter] = {
    "min": "min",
    "max": "max",
    "sum": "sum",
    "+": "sum",
    "avg": "avg",
    "count": "count",
    "argmin": "argmin",
    "argmax": "argmax",
    "print": "values",
    "printall": "values",
}
_DECIDING = {"forall": True, "&": True, "exists": False, "|": False}
_SINGLE = ("state", "first")
_COMBINING = ("+", "-", "*", "/", "&", "|", "=>", "<=>", "=", "!=", "<", "<=", ">", ">=", "?")
_SUFFIXES = ("filter", "P", "Pmin", "Pmax", "R", "Rmin", "Rmax", "A", "E", "S")
_LIKELY = Threshold(">=", Fraction(1, 2))  # of what is certain or impossible
_OBJECTIVES = "questions with several objectives are not supported"


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What questions may name. `kind` None: of a model that is not PRISM's, of any type."""

    scope: PrismScope
    kind: str | None
    rewards: tuple[tuple[str | None, str], ...]  # name in the file (None: without) and in the environment
    any_reward: bool = False  # rewards that are not listed may exist
    chain: bool = False  # nothing is left to strategies


@dataclass(frozen=True, slots=True)
class InstantReward:
    """`R=? [ I=k ]`: what a reward structure says of the state after so many steps."""

    reward: str
    step: int


@dataclass(frozen=True, slots=True)
class PrismQuestion:
    asked: Property
    instant: InstantReward | None = None  # then `asked` is about the reward of that name


def parse_prism_question(text: str, known: QuestionScope) -> PrismQuestion:
    """The question that a text stands for."""
    reader = PrismReader(text)
    found = read_prism_question(reader, known)
    reader.takes(";")
    reader.finish("the end of the question")
    return found


def read_prism_question(reader: PrismReader, known: QuestionScope) -> PrismQuestion:
    """A question, up to what follows it."""
    token = reader.token
    if reader.takes("filter"):
        return _read_filter(reader, known)
    if token.kind == "name" and token.text == "multi":
        token.place.refuse(_OBJECTIVES, "ask one by one")
    if reader.sees("<") and reader.ahead().text == "<":
        token.place.refuse("coalitions of players are not supported", "ask Pmin or Pmax")
    if reader.sees("(") and reader.ahead().kind == "keyword" and reader.ahead().text in _SUFFIXES:
        reader.advance()
        inner = read_prism_question(reader, known)
        reader.expect(")", "after the question")
        return inner
    found = _read_operator(reader, known)
    if found is None:
        condition = _condition(reader, known)
        return PrismQuestion(Never(fold_constant_parts(~condition), 0))
    if reader.token.kind == "symbol" and reader.token.text in _COMBINING:
        reader.token.place.refuse("a combination of questions is not supported", "ask one by one")
    return found


def _read_operator(reader: PrismReader, known: QuestionScope) -> PrismQuestion | None:
    """One of the operators; None if a condition on states follows."""
    token = reader.token
    if token.kind != "keyword" or token.text not in _SUFFIXES:
        return None
    reader.advance()
    match token.text:
        case "P" | "Pmin" | "Pmax":
            return PrismQuestion(_read_probability(reader, token.text, known))
        case "R" | "Rmin" | "Rmax":
            return _read_reward(reader, token.text, token.place, known)
        case "A" | "E":
            return PrismQuestion(_read_runs(reader, token.text == "A", known))
        case "S":
            token.place.refuse("steady-state probabilities are not supported", "ask for P or R")
    token.place.refuse("a filter inside a filter is not supported", "ask one by one")


def _read_filter(reader: PrismReader, known: QuestionScope) -> PrismQuestion:
    reader.expect("(", "after `filter`")
    token = reader.advance()
    name = token.text
    choices = (*_FILTERS, *_DECIDING, *_SINGLE)
    if name == "range":
        token.place.refuse("the filter `range` is not supported", "ask with min and with max")
    if name not in choices:
        token.place.fail(f"unknown filter `{name}`", did_you_mean(name, choices))
    reader.expect(",", "after the name of the filter")
    place = reader.token.place
    found = _read_operator(reader, known)
    condition = None if found is not None else _condition(reader, known)
    starts: Term | None = TRUE
    if reader.takes(","):
        initial = reader.token.kind == "quoted" and reader.token.text == "init" and reader.ahead().text == ")"
        starts = _condition(reader, known)
        starts = None if initial else starts
    reader.expect(")", "after the filter")
    if found is None:
        return PrismQuestion(_filter_condition(name, TRUE if condition is None else condition, starts, place))
    if found.instant is not None and starts is not None:  # the counter of steps is 0 in initial states only
        place.refuse("`I=k` from other states than the initial ones is not supported", 'end with , "init")')
    return replace(found, asked=_filter_value(name, found.asked, starts, place))


def _filter_condition(name: str, condition: Term, starts: Term | None, place: PrismPlace) -> Property:
    """`filter(forall, x<5, …)`: what holds in those states."""
    if name in ("count", "exists", "|"):  # where it holds at once
        holds = Probability(Path("F", condition, TRUE, (Bound(None, Const(0)),)), _LIKELY, "max", "min")
        return _filter_value(name, holds, starts, place)
    if name not in ("forall", "&"):
        what = f"the filter `{name}` of a condition on states is not supported"
        place.refuse(what, "use forall, exists or count")
    bad = fold_constant_parts(~condition)
    return Never(bad, 0) if starts is None else Never(fold_constant_parts(starts & bad))


def _filter_value(name: str, asked: Property, starts: Term | None, place: PrismPlace) -> Property:
    if not isinstance(asked, Probability | Expected):
        if name in ("forall", "&", *_SINGLE) and starts is None:
            return asked
        place.refuse(f"the filter `{name}` of what holds of runs is not supported", 'use forall and "init"')
    if name in _DECIDING:
        if asked.threshold is None:
            place.fail(f"the filter `{name}` needs a truth value, but this is a number", "give a limit")
        lowest = asked.threshold.relation in (">", ">=")
        return replace(asked, over="min" if lowest == _DECIDING[name] else "max", starts=starts)
    if name in _SINGLE:
        if starts is not None and name == "first":
            place.refuse("the filter `first` is only supported for the initial states", "use min and max")
        return replace(asked, over="values", starts=starts)
    if name == "count":
        if asked.threshold is None:
            place.fail("the filter `count` needs a truth value, but this is a number", "give a limit")
        return replace(asked, over="count", starts=starts)
    if asked.threshold is not None and name not in ("print", "printall"):
        place.fail(f"the filter `{name}` needs a number, but this is a truth value", "ask with =?")
    return replace(asked, over=_FILTERS[name], starts=starts)


def _read_probability(reader: PrismReader, word: str, known: QuestionScope) -> Probability:
    optimise, threshold = _read_comparison(reader, word, known)
    reader.expect("[", f"after `{word}`")
    path = _read_path(reader, known)
    _refuse_old_filter(reader)
    reader.expect("]", "after the path formula")
    return Probability(path, threshold, optimise, default_filter(threshold))


def _refuse_old_filter(reader: PrismReader) -> None:
    if reader.sees("{"):
        reader.token.place.refuse("a filter in braces is not supported", "write filter(min, …, states)")


def _read_comparison(
    reader: PrismReader, word: str, known: QuestionScope
) -> tuple[Optimise | None, Threshold | None]:
    """`=?`, `min=?` or a limit; a limit has to be met by every strategy."""
    optimise: Optimise | None = "min" if word.endswith("min") else "max" if word.endswith("max") else None
    if optimise is None and reader.sees("min", "max"):
        optimise = cast(Optimise, reader.advance().text)
    if known.chain and optimise is None:
        optimise = "max"  # nothing is left to strategies: all have the same value
    if reader.takes("="):
        reader.expect("?", "after `=`")
        return optimise, None
    relation = reader.token.text
    if not reader.takes(*_RELATIONS):
        reader.fail_unexpected("`=?` or a limit such as `>=0.9`")
    limit = reader.bound()
    value = read_prism_constant(limit, known.scope, REAL).value
    if optimise is None:
        optimise = "min" if relation in (">", ">=") else "max"
    sign = cast(Literal["<", "<=", ">", ">="], relation)
    return optimise, Threshold(sign, Fraction(value))


def _read_path(reader: PrismReader, known: QuestionScope) -> Path:
    token = reader.token
    if reader.takes(*_UNARY):
        bounds = _read_bounds(reader, known, token.text)
        return Path(cast(Literal["X", "F", "G"], token.text), _condition(reader, known), TRUE, bounds)
    left = _condition(reader, known)
    sign = reader.token
    if not reader.takes(*_BINARY):
        what = "a path formula with `U`, `W` or `R`, or `X`, `F`, `G` in front,"
        reader.fail_unexpected(what, "write F GOAL for: the goal is reached")
    bounds = _read_bounds(reader, known, sign.text)
    return Path(cast(Literal["U", "W", "R"], sign.text), _condition(reader, known), left, bounds)


def _condition(reader: PrismReader, known: QuestionScope) -> Term:
    return read_prism_term(reader.expression(), known.scope, BOOL)


def _read_bounds(reader: PrismReader, known: QuestionScope, operator: str) -> tuple[Bound, ...]:
    """Limits on the number of steps."""
    sign = reader.token
    if not reader.takes("<", "<=", ">", ">=", "=", "["):
        return ()
    if known.kind in UNTIMED:
        sign.place.refuse(
            f"bounds on time in models of type {known.kind} are not supported", "leave them out"
        )
    if operator == "X":
        sign.place.fail("`X` has no bound", "leave it out")
    if sign.text == "[":
        low = _read_step(reader.expression(), known)
        reader.expect(",", "between the bounds")
        high = _read_step(reader.expression(), known)
        reader.expect("]", "after the bounds")
        if low > high:
            sign.place.fail("the lower bound is above the upper bound", "swap them")
        return (Bound(Const(low), Const(high)),)
    value = _read_step(reader.bound(), known)
    match sign.text:
        case "<=":
            return (Bound(None, Const(value)),)
        case "<":
            if value == 0:
                sign.place.fail("fewer than 0 steps: nothing satisfies this bound", "use a larger one")
            return (Bound(None, Const(value - 1)),)
        case ">=":
            return (Bound(Const(value), None),)
        case ">":
            return (Bound(Const(value + 1), None),)
        case _:
            return (Bound(Const(value), Const(value)),)


def _read_step(expression: PrismExpression, known: QuestionScope) -> int:
    value = read_prism_constant(expression, known.scope, INT).value
    if not isinstance(value, int) or value < 0:
        start_of(expression).fail(f"{value} is not a number of steps", "use a whole number from 0 on")
    return value


def _read_reward(reader: PrismReader, word: str, place: PrismPlace, known: QuestionScope) -> PrismQuestion:
    if known.kind in UNTIMED:
        place.refuse(f"rewards in models of type {known.kind} are not supported", "they depend on time")
    reward = _read_reward_name(reader, place, known)
    optimise, threshold = _read_comparison(reader, word, known)
    reader.expect("[", "after the reward operator")
    token = reader.token
    until: Term = FALSE
    steps: int | None = None
    instant: InstantReward | None = None
    if reader.takes("F"):
        if reader.sees("<=", "<", ">=", ">", "=", "["):
            reader.token.place.refuse(
                "a bound on `F` of a reward is not supported", "ask C<=k, or without a bound"
            )
        until = _condition(reader, known)
    elif reader.takes("C"):
        if not reader.takes("<="):
            token.place.refuse("the total reward `C` is not supported", "write C<=k, or F GOAL")
        steps = _read_step(reader.expression(), known)
    elif reader.takes("I"):
        reader.expect("=", "after `I`")
        instant = InstantReward(reward, _read_step(reader.expression(), known))
        steps = instant.step + 1
    elif reader.sees("S"):
        token.place.refuse("steady-state rewards are not supported", "ask C<=k, or F GOAL")
    else:
        token.place.refuse("of rewards only F GOAL, C<=k and I=k are supported", "write one of them")
    _refuse_old_filter(reader)
    reader.expect("]", "after what is rewarded")
    asked = Expected(reward, until, threshold, optimise, default_filter(threshold), steps=steps)
    return PrismQuestion(asked, instant)


def _read_reward_name(reader: PrismReader, place: PrismPlace, known: QuestionScope) -> str:
    names = dict(known.rewards)
    if not reader.takes("{"):
        if not known.rewards:
            fix = 'name one: R{"x"}=? [ F GOAL ]' if known.any_reward else "add `rewards … endrewards`"
            place.fail("the model has no first reward structure", fix)
        return known.rewards[0][1]
    token = reader.token
    if token.kind == "quoted":
        reader.advance()
        reader.expect("}", "after the name of the rewards")
        if token.text in names:
            return names[token.text]
        if known.any_reward:
            return token.text
        shown = [n for n in names if n is not None]
        token.place.fail(f'there are no rewards "{token.text}"', did_you_mean(token.text, shown))
    number = read_prism_constant(reader.expression(), known.scope, INT).value
    reader.expect("}", "after the number of the rewards")
    if not 1 <= number <= len(known.rewards):
        token.place.fail(f"there are no rewards number {number}", f"the model has {len(known.rewards)}")
    return known.rewards[int(number) - 1][1]


def _read_runs(reader: PrismReader, every: bool, known: QuestionScope) -> Property:
    """`A [ … ]` and `E [ … ]`: what holds of all runs, or of some run."""
    place = reader.expect("[", "after `A` or `E`").place
    path = _read_path(reader, known)
    reader.expect("]", "after the path formula")
    steps = _steps_of(path)
    bounded = steps is not None
    match every, path.operator:
        case True, "G" if bounded or not path.bounds:
            return Never(fold_constant_parts(~path.right), steps)
        case True, "F" if not path.bounds:
            return Eventually(path.right)
        case True, "F" if steps is not None:
            return Within(path.right, steps)
        case True, "X" | "W" | "R" | "G":
            return Probability(path, Threshold(">=", Fraction(1)), "min", "min")
        case False, "X" | "F" | "U":
            return Probability(path, Threshold(">", Fraction(0)), "max", "min")
    shown = "A" if every else "E"
    place.refuse(f"`{shown} [ … {path.operator} … ]` is not supported", "ask P>=1 or P>0")


def _steps_of(path: Path) -> int | None:
    match path.bounds:
        case (Bound(None, Const(int() as high), None, False),):
            return high
        case _:
            return None
