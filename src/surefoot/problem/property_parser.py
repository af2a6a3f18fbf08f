"""Properties from text, such as `never BAD`, `within 20 GOOD after 5` or `P<=0.01 [ a U<=20 b ]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Literal, cast, get_args

from surefoot.errors import did_you_mean
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
    default_filter,
)
from surefoot.term.lexer import TokenKind, shorten_text
from surefoot.term.operator_syntax import BINARY_PATHS, UNARY_PATHS
from surefoot.term.parser import TermReader
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name, network_output_name
from surefoot.term.term import FALSE, TRUE, Const, Term

_FILTERS: tuple[str, ...] = get_args(Filter)
_MEASURES: dict[str, Optimise | None] = {
    "P": None,
    "Pmin": "min",
    "Pmax": "max",
    "E": None,
    "Emin": "min",
    "Emax": "max",
}
_RESERVED = (STALLED, DEADLOCKED, network_output_name(0), chosen_name("ACTION"))
_PATHS_ELSEWHERE = {
    "G": "write `always GOOD`, or `P=? [ G GOOD ]` for its probability",
    "F": "write `eventually GOOD`, or `P=? [ F GOOD ]` for its probability",
}
_FIRST_WORDS = ("never", "always", "eventually", "recurs", "within", *_MEASURES)


def parse_property(
    text: str,
    *,
    names: Iterable[str] | None = None,
    constants: Mapping[str, Term] | None = None,
    hidden: Mapping[str, str] | None = None,
) -> Property:
    """The property a text stands for; `names` and `constants` as for terms, `hidden` says why not others.

    >>> from surefoot import Never, parse_property, parse_term
    >>> parse_property("never x >= 5") == Never(parse_term("x >= 5"))
    True
    """
    reader = TermReader(text, names=names, constants=constants, hidden=hidden, reserved=_RESERVED)
    result = _read_property(reader)
    reader.finish("the end of the property", "for", "after", "before", "over")
    return result


def _read_property(reader: TermReader) -> Property:
    token = reader.token
    if token.kind is not TokenKind.NAME or token.text not in _FIRST_WORDS:
        known = "write `never BAD` first"
        if token.kind is TokenKind.NAME:
            known = did_you_mean(token.text, _FIRST_WORDS)
            if token.text in (reader.names or ()):
                known = "write `never` or `always` before the condition"
            known = _PATHS_ELSEWHERE.get(token.text, known)
        found = (
            f"unknown kind of property `{shorten_text(token.text)}`"
            if token.text
            else "the property is empty"
        )
        reader.fail(token, found, known)
    reader.advance()
    match token.text:
        case "never":
            return _read_never(reader.term(), reader)
        case "always":
            return _read_never(~reader.term(), reader)
        case "eventually":
            return Eventually(reader.term())
        case "recurs":
            return Recurs(reader.term())
        case "within":
            return _read_within(reader)
        case measure:
            return _read_measure(reader, measure)


def _read_never(bad: Term, reader: TermReader) -> Never | NeverBefore:
    if not reader.takes("before"):
        return Never(bad, _read_step_limit(reader))
    return NeverBefore(bad, reader.term(), _read_step_limit(reader))


def _read_step_limit(reader: TermReader) -> int | None:
    if reader.takes("at"):
        reader.expect("the", "after `at`")
        reader.expect("start", "after `at the`")
        return 0
    if not reader.takes("for"):
        return None
    steps = reader.integer("the number of steps")
    reader.expect("steps", "after the number")
    return steps


def _read_within(reader: TermReader) -> Within:
    steps = reader.integer("the number of steps")
    good = reader.term()
    after = reader.integer("the number of the first step") if reader.takes("after") else 0
    return Within(good, steps, after)


def _read_measure(reader: TermReader, measure: str) -> Probability | Expected:
    optimise = _MEASURES[measure]
    threshold = _read_threshold(reader)
    reader.expect("[", f"after `{measure}` and `=?` or a limit")
    if measure.startswith("P"):
        path = _read_path(reader)
        reader.expect("]", "after the path formula")
        over, starts = _read_starts(reader, threshold)
        return Probability(path, threshold, optimise, over, starts)
    reward = _read_reward(reader)
    until: Term = FALSE
    steps = _read_step_limit(reader)
    if steps is None:
        reader.expect("until", "after what is counted")
        until, steps = reader.term(), _read_step_limit(reader)
    reader.expect("]", "after the goal")
    over, starts = _read_starts(reader, threshold)
    return Expected(reward, until, threshold, optimise, over, starts, steps)


def _read_threshold(reader: TermReader) -> Threshold | None:
    if reader.takes("="):
        reader.expect("?", "after `=`")
        return None
    token = reader.token
    if not reader.takes("<", "<=", ">", ">="):
        reader.fail_unexpected("`=?` or a limit such as `<= 0.01`", "write `=?` to ask for the value")
    value = _read_rational(reader)
    return Threshold(cast(Literal["<", "<=", ">", ">="], token.text), value)


def _read_rational(reader: TermReader) -> Fraction:
    """A number, the name of a constant, or a quotient of two of these; perhaps negative."""
    first = reader.token
    sign = -1 if reader.takes("-") else 1
    top = _read_constant(reader)
    bottom = _read_constant(reader) if reader.takes("/") else Fraction(1)
    if not bottom:
        reader.fail(first, "the limit divides by zero", "write a number")
    return sign * top / bottom


def _read_constant(reader: TermReader) -> Fraction:
    token = reader.token
    value = reader.limit()
    if not isinstance(value, Const) or isinstance(value.value, bool):
        reader.fail(token, "a limit has to be a number", "write a number or the name of a constant")
    return Fraction(value.value)


def _read_path(reader: TermReader) -> Path:
    token = reader.token
    if reader.takes(*UNARY_PATHS):
        bounds = _read_bounds(reader)
        operator = cast(Literal["X", "F", "G"], token.text)
        return Path(operator, reader.term(), TRUE, bounds)
    left = reader.term()
    sign = reader.token
    if not reader.takes(*BINARY_PATHS):
        wanted = "`U`, `W` or `R` (or `X`, `F`, `G` in front)"
        reader.fail_unexpected(wanted, "write `F GOAL` for: the goal is reached")
    bounds = _read_bounds(reader)
    return Path(cast(Literal["U", "W", "R"], sign.text), reader.term(), left, bounds)


def _read_bounds(reader: TermReader) -> tuple[Bound, ...]:
    bounds: list[Bound] = []
    while reader.sees("{", "<", "<=", ">=", "["):
        bounds.append(_read_bound(reader))
    return tuple(bounds)


def _read_bound(reader: TermReader) -> Bound:
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


def _read_reward(reader: TermReader) -> str | Term:
    """A plain name is a reward of the model (or `steps`); a term is written in parentheses."""
    if reader.takes("("):
        value = reader.term()
        reader.expect(")", "after what is counted")
        return value
    return reader.name("`steps`, the name of a reward or a term in parentheses")


def _read_starts(reader: TermReader, threshold: Threshold | None) -> tuple[Filter, Term | None]:
    if not reader.takes("over"):
        return default_filter(threshold), None
    token = reader.token
    if not reader.takes(*_FILTERS):
        reader.fail(token, f"unknown filter `{shorten_text(token.text)}`", did_you_mean(token.text, _FILTERS))
    starts = reader.term() if reader.takes("of") else None
    return cast(Filter, token.text), starts
