"""Properties from text, such as `never BAD`, `within 20 GOOD after 5` or `P<=0.01 [ a U<=20 b ]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Literal, cast, get_args

from surefoot.errors import did_you_mean
from surefoot.problem.names import DEADLOCKED, STALLED, chosen_name, output_name
from surefoot.problem.parse.lexer import Kind, shorten
from surefoot.problem.parse.spelling import BINARY_PATHS, UNARY_PATHS
from surefoot.problem.parse.terms import Reader
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
    Recurs,
    Threshold,
    Within,
    filter_for,
)
from surefoot.problem.term import FALSE, TRUE, Const, Term

FILTERS: tuple[str, ...] = get_args(Filter)
_MEASURES: dict[str, Optimise | None] = {
    "P": None,
    "Pmin": "min",
    "Pmax": "max",
    "E": None,
    "Emin": "min",
    "Emax": "max",
}
_RESERVED = (STALLED, DEADLOCKED, output_name(0), chosen_name("ACTION"))
_FIRST_WORDS = ("never", "always", "eventually", "recurs", "within", *_MEASURES)


def parse_property(
    text: str,
    *,
    names: Iterable[str] | None = None,
    constants: Mapping[str, Term] | None = None,
    hidden: Mapping[str, str] | None = None,
) -> Property:
    """The property a text stands for; `names` and `constants` as for terms, `hidden` says why not others."""
    reader = Reader(text, names=names, constants=constants, hidden=hidden, reserved=_RESERVED)
    result = _property(reader)
    reader.finish("the end of the property", "for", "after", "before", "over")
    return result


def _property(reader: Reader) -> Property:
    token = reader.token
    if token.kind is not Kind.NAME or token.text not in _FIRST_WORDS:
        known = (
            did_you_mean(token.text, _FIRST_WORDS) if token.kind is Kind.NAME else "write `never BAD` first"
        )
        found = f"unknown kind of property `{shorten(token.text)}`" if token.text else "the property is empty"
        reader.fail(token, found, known)
    reader.advance()
    match token.text:
        case "never":
            return _never(reader.term(), reader)
        case "always":
            return _never(~reader.term(), reader)
        case "eventually":
            return Eventually(reader.term())
        case "recurs":
            return Recurs(reader.term())
        case "within":
            return _within(reader)
        case measure:
            return _measured(reader, measure)


def _never(bad: Term, reader: Reader) -> Never | NeverBefore:
    if not reader.takes("before"):
        return Never(bad, _for_steps(reader))
    return NeverBefore(bad, reader.term(), _for_steps(reader))


def _for_steps(reader: Reader) -> int | None:
    if reader.takes("at"):
        reader.expect("the", "after `at`")
        reader.expect("start", "after `at the`")
        return 0
    if not reader.takes("for"):
        return None
    steps = reader.integer("the number of steps")
    reader.expect("steps", "after the number")
    return steps


def _within(reader: Reader) -> Within:
    steps = reader.integer("the number of steps")
    good = reader.term()
    after = reader.integer("the number of the first step") if reader.takes("after") else 0
    return Within(good, steps, after)


def _measured(reader: Reader, measure: str) -> Probability | Expected:
    optimise = _MEASURES[measure]
    threshold = _threshold(reader)
    reader.expect("[", f"after `{measure}` and `=?` or a limit")
    if measure.startswith("P"):
        path = _path(reader)
        reader.expect("]", "after the path formula")
        over, starts = _starts(reader, threshold)
        return Probability(path, threshold, optimise, over, starts)
    reward = _reward(reader)
    until: Term = FALSE
    steps = _for_steps(reader)
    if steps is None:
        reader.expect("until", "after what is counted")
        until, steps = reader.term(), _for_steps(reader)
    reader.expect("]", "after the goal")
    over, starts = _starts(reader, threshold)
    return Expected(reward, until, threshold, optimise, over, starts, steps)


def _threshold(reader: Reader) -> Threshold | None:
    if reader.takes("="):
        reader.expect("?", "after `=`")
        return None
    token = reader.token
    if not reader.takes("<", "<=", ">", ">="):
        reader.unexpected("`=?` or a limit such as `<= 0.01`", "write `=?` to ask for the value")
    value = _rational(reader)
    return Threshold(cast(Literal["<", "<=", ">", ">="], token.text), value)


def _rational(reader: Reader) -> Fraction:
    """A number, the name of a constant, or a quotient of two of these; perhaps negative."""
    first = reader.token
    sign = -1 if reader.takes("-") else 1
    top = _literal(reader)
    bottom = _literal(reader) if reader.takes("/") else Fraction(1)
    if not bottom:
        reader.fail(first, "the limit divides by zero", "write a number")
    return sign * top / bottom


def _literal(reader: Reader) -> Fraction:
    token = reader.token
    value = reader.limit()
    if not isinstance(value, Const) or isinstance(value.value, bool):
        reader.fail(token, "a limit has to be a number", "write a number or the name of a constant")
    return Fraction(value.value)


def _path(reader: Reader) -> Path:
    token = reader.token
    if reader.takes(*UNARY_PATHS):
        bounds = _bounds(reader)
        operator = cast(Literal["X", "F", "G"], token.text)
        return Path(operator, reader.term(), TRUE, bounds)
    left = reader.term()
    sign = reader.token
    if not reader.takes(*BINARY_PATHS):
        wanted = "`U`, `W` or `R` (or `X`, `F`, `G` in front)"
        reader.unexpected(wanted, "write `F GOAL` for: the goal is reached")
    bounds = _bounds(reader)
    return Path(cast(Literal["U", "W", "R"], sign.text), reader.term(), left, bounds)


def _bounds(reader: Reader) -> tuple[Bound, ...]:
    bounds: list[Bound] = []
    while reader.sees("{", "<", "<=", ">=", "["):
        bounds.append(_bound(reader))
    return tuple(bounds)


def _bound(reader: Reader) -> Bound:
    reward = None
    if reader.takes("{"):
        reward = reader.name("the name of a reward")
        reader.expect("}", "after the reward")
    if reader.takes("<="):
        return Bound(high=reader.limit(), reward=reward)
    if reader.takes("<"):
        return Bound(high=reader.limit(), reward=reward, strict=True)
    if reader.takes(">="):
        return Bound(low=reader.limit(), reward=reward)
    reader.expect("[", "or `<=`, `<`, `>=`")
    low = reader.term()
    reader.expect(",", "after the lower limit")
    high = reader.term()
    if reader.takes(")"):
        return Bound(low, high, reward, strict=True)
    reader.expect("]", "or `)` after the upper limit")
    return Bound(low, high, reward)


def _reward(reader: Reader) -> str | Term:
    """A plain name is a reward of the model (or `steps`); a term is written in parentheses."""
    if reader.takes("("):
        value = reader.term()
        reader.expect(")", "after what is counted")
        return value
    return reader.name("`steps`, the name of a reward or a term in parentheses")


def _starts(reader: Reader, threshold: Threshold | None) -> tuple[Filter, Term | None]:
    if not reader.takes("over"):
        return filter_for(threshold), None
    token = reader.token
    if not reader.takes(*FILTERS):
        reader.fail(token, f"unknown filter `{shorten(token.text)}`", did_you_mean(token.text, FILTERS))
    starts = reader.term() if reader.takes("of") else None
    return cast(Filter, token.text), starts
