"""Properties from text, such as `never BAD`, `within 20 GOOD after 5` or `P<=0.01 [ a U<=20 b ]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
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
    Timed,
    Within,
    default_filter,
)
from surefoot.term.lexer import Token, TokenKind, shorten_text
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
_AT_TIME = re.compile(r"\bat\s+time\b")


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
    if _AT_TIME.match(reader.text.lstrip()):
        reader.advance()
        moment = _read_moment(reader)
        return Timed(Eventually(reader.term()), moment, moment)
    if token.kind is not TokenKind.NAME or token.text not in _FIRST_WORDS:
        if _AT_TIME.search(reader.text):
            good = reader.term()
            reader.expect("at", "and a time after the goal")
            moment = _read_moment(reader)
            return Timed(Eventually(good), moment, moment)
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
            return _read_eventually(reader)
        case "recurs":
            return Recurs(reader.term())
        case "within":
            return _read_within(reader)
        case measure:
            return _read_measure(reader, measure)


def _read_never(bad: Term, reader: TermReader) -> Never | NeverBefore | Timed:
    goal = reader.term() if reader.takes("before") else None
    plain = Never(bad) if goal is None else NeverBefore(bad, goal)
    if reader.takes("from"):
        return _read_interval(plain, reader)
    if reader.takes("at"):
        if reader.takes("all"):
            reader.expect("times", "after `at all`")
            return plain
        if reader.sees("time"):
            moment = _read_moment(reader)
            return Timed(plain, moment, moment)
        return replace(plain, steps=_read_start(reader))
    if not reader.takes("for"):
        return plain
    first = reader.token
    amount = _read_amount(reader, "the number of steps", "a whole number")
    if reader.takes("seconds", "second"):
        return Timed(plain, amount)
    return replace(plain, steps=_read_steps(reader, first, amount))


def _read_interval(plain: Never | NeverBefore, reader: TermReader) -> Timed:
    """`0.5 to 1 seconds`, or `0.5 seconds`: from then on."""
    token = reader.token
    since = _read_amount(reader, "the first moment")
    until = _read_amount(reader, "the last moment") if reader.takes("to") else None
    _expect_seconds(reader)
    if until is None and since == 0:
        reader.fail(token, "`from 0 seconds` is no limit", "leave it out")
    return Timed(plain, until, since)


def _read_step_limit(reader: TermReader) -> int | None:
    if reader.takes("at"):
        return _read_start(reader)
    if not reader.takes("for"):
        return None
    first = reader.token
    return _read_steps(reader, first, _read_amount(reader, "the number of steps", "a whole number"))


def _read_start(reader: TermReader) -> int:
    reader.expect("the", "after `at`")
    reader.expect("start", "after `at the`")
    return 0


def _read_steps(reader: TermReader, first: Token, amount: Fraction) -> int:
    """The number before `steps`, which was read from the token `first` on."""
    if amount.denominator != 1:
        reader.fail(first, "the number of steps has to be a whole number", "write a number such as 3")
    if not reader.takes("steps"):
        reader.fail_unexpected("`steps` after the number", "add `steps`", ("steps", "seconds"))
    return int(amount)


def _read_moment(reader: TermReader) -> Fraction:
    """`time 5`, after `at`; it may be said that these are seconds."""
    reader.expect("time", "after `at`")
    moment = _read_amount(reader, "the time")
    reader.takes("seconds", "second")
    return moment


def _expect_seconds(reader: TermReader) -> None:
    if not reader.takes("second"):
        reader.expect("seconds", "after the number")


def _read_amount(reader: TermReader, wanted: str, kind: str = "a number") -> Fraction:
    """A number or a quotient of two, perhaps negative; each may be the name of a constant."""
    first = reader.token
    parts: list[Fraction] = []
    sign = -1 if reader.takes("-") else 1
    while not parts or (len(parts) == 1 and reader.takes("/")):
        token = reader.token
        named = token.kind in (TokenKind.NAME, TokenKind.QUOTED) and token.text in reader.constants
        if token.kind is not TokenKind.NUMBER and not named:
            reader.fail(first, f"{wanted} has to be {kind}", "write a number such as 3")
        parts.append(_read_constant(reader))
    if len(parts) == 1:
        return sign * parts[0]
    if not parts[1]:
        reader.fail(first, f"{wanted} divides by zero", "write a number")
    return sign * parts[0] / parts[1]


def _read_eventually(reader: TermReader) -> Eventually | Timed:
    good = reader.term()
    if not reader.takes("after"):
        return Eventually(good)
    token = reader.token
    since = _read_amount(reader, "the first moment")
    _expect_seconds(reader)
    if since == 0:
        reader.fail(token, "`after 0 seconds` is no limit", "leave it out")
    return Timed(Eventually(good), None, since)


def _read_within(reader: TermReader) -> Within | Timed:
    first = reader.token
    amount = _read_amount(reader, "the number of steps", "a whole number")
    if _takes_unit(reader, "seconds", "second"):
        good = reader.term()
        since = Fraction(0)
        if reader.takes("after"):
            since = _read_amount(reader, "the first moment")
            _expect_seconds(reader)
        return Timed(Eventually(good), amount, since)
    if amount.denominator != 1:
        reader.fail(first, "the number of steps has to be a whole number", "write a number such as 3")
    _takes_unit(reader, "steps", "step")
    good = reader.term()
    after = reader.integer("the number of the first step") if reader.takes("after") else 0
    return Within(good, int(amount), after)


def _takes_unit(reader: TermReader, *units: str) -> bool:
    """A unit before a condition, unless it is a name: `within 3 steps - 2 > x` may be about `steps`."""
    return reader.token.word not in (reader.names or ()) and reader.takes(*units)


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
