"""Expressions of the PRISM language as trees: precedence as in PRISM's own grammar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from surefoot.errors import did_you_mean, locate_errors
from surefoot.formats.prism.tokens import PrismPlace, PrismToken, split_prism_text
from surefoot.term.decimal_literals import read_number

MOST_LEVELS = 100  # of brackets, negations and functions inside each other
ARITIES: dict[str, tuple[int, int | None]] = {
    "min": (1, None),
    "max": (1, None),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "pow": (2, 2),
    "mod": (2, 2),
    "log": (2, 2),
}
_BINARY = (
    ("=>",),
    ("<=>",),
    ("|",),
    ("&",),
    (),  # negation stands between `&` and `=`
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
)
_STRENGTHS = {operator: strength for strength, several in enumerate(_BINARY) for operator in several}
_NEGATION = 4
_ARITHMETIC = 7
_CHAINS = frozenset("|&+*")
_TEMPORAL = ("X", "F", "G", "U", "W", "P", "Pmin", "Pmax", "R", "Rmin", "Rmax", "S", "E", "A", "filter")


@dataclass(frozen=True, slots=True)
class PrismExpression:
    """`op` is an operator, the name of a function, or one of number, truth, name, label."""

    op: str
    place: PrismPlace
    args: tuple[PrismExpression, ...] = ()
    value: int | Fraction | bool | str = field(default=False)


class PrismReader:
    """Walks through the words of a text."""

    def __init__(self, text: str) -> None:
        self._tokens = split_prism_text(text)
        self._position = 0
        self._levels = 0

    @property
    def token(self) -> PrismToken:
        return self._tokens[self._position]

    def ahead(self, number: int = 1) -> PrismToken:
        return self._tokens[min(self._position + number, len(self._tokens) - 1)]

    def advance(self) -> PrismToken:
        token = self.token
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def sees(self, *texts: str) -> bool:
        return self.token.kind in ("symbol", "keyword") and self.token.text in texts

    def takes(self, *texts: str) -> bool:
        if self.sees(*texts):
            self.advance()
            return True
        return False

    def expect(self, text: str, where: str) -> PrismToken:
        if not self.sees(text):
            self.fail_unexpected(f"`{text}` {where}")
        return self.advance()

    def fail_unexpected(self, wanted: str, fix: str = "") -> NoReturn:
        self.token.place.fail(f"{wanted} is expected, not {self.token.shown()}", fix)

    def name(self, what: str) -> PrismToken:
        if self.token.kind == "keyword":
            self.token.place.fail(f"`{self.token.text}` is a keyword and cannot be {what}", "rename it")
        if self.token.kind != "name":
            self.fail_unexpected(what)
        return self.advance()

    def names(self, what: str, end: str) -> tuple[PrismToken, ...]:
        """Names with commas between them, up to a closing symbol."""
        found = [self.name(what)]
        while self.takes(","):
            found.append(self.name(what))
        self.expect(end, f"after {what}")
        return tuple(found)

    def expression(self) -> PrismExpression:
        """`a ? b : c` binds least."""
        self._levels += 1
        if self._levels > MOST_LEVELS:
            self.token.place.refuse(f"an expression of more than {MOST_LEVELS} levels", "nest it less deeply")
        condition = self._operators(0)
        if self.sees("?"):
            place = self.advance().place
            then = self._operators(0)
            if self.sees("?"):
                self.token.place.fail("`?` inside `?` needs parentheses here", "write a ? (b ? c : d) : e")
            self.expect(":", "after the first value of `?`")
            condition = PrismExpression("?", place, (condition, then, self.expression()))
        self._levels -= 1
        return condition

    def bound(self) -> PrismExpression:
        """A limit before something else: arithmetic only, and a name is not called."""
        if self.token.kind == "name" and self.ahead().text == "(":
            named = self.advance()
            return PrismExpression("name", named.place, value=named.text)
        return self._operators(_ARITHMETIC)

    def _operators(self, least: int) -> PrismExpression:
        left = self._operand(least)
        while self.token.kind == "symbol" and _STRENGTHS.get(self.token.text, -1) >= least:
            sign = self.advance()
            right = self._operators(_STRENGTHS[sign.text] + 1)
            chained = (
                sign.text in _CHAINS and left.op == sign.text and len(left.args) > 1 and left.value is True
            )
            parts = (*left.args, right) if chained else (left, right)
            left = PrismExpression(sign.text, sign.place, parts, sign.text in _CHAINS)
        if self.sees("<-"):
            self.token.place.fail("`<-` renames actions", "write a space between `<` and `-`")
        return left

    def _operand(self, least: int) -> PrismExpression:
        if not self.sees("!", "-"):
            return self._basic()
        sign = self.advance()
        self._levels += 1
        if self._levels > MOST_LEVELS:
            sign.place.refuse(f"an expression of more than {MOST_LEVELS} levels", "nest it less deeply")
        if sign.text == "!":
            if least > _NEGATION:
                sign.place.fail(
                    "`!` binds less than the operator before it", "put the negation in parentheses"
                )
            inner = PrismExpression("!", sign.place, (self._operators(_NEGATION),))
        else:
            inner = PrismExpression("negate", sign.place, (self._operand(len(_BINARY)),))
        self._levels -= 1
        return inner

    def _basic(self) -> PrismExpression:
        token = self.token
        if token.kind == "number":
            self.advance()
            with locate_errors(str(token.place)):
                value = read_number(f"0{token.text}" if token.text.startswith(".") else token.text)
            whole = token.text.isdigit()  # `2.0` is a double of PRISM, whatever its value
            return PrismExpression("number", token.place, value=value if whole else Fraction(value))
        if self.takes("true", "false"):
            return PrismExpression("truth", token.place, value=token.text == "true")
        if self.takes("("):
            inner = self.expression()
            self.expect(")", "after the expression")
            closed = inner.op in _CHAINS  # what follows is no part of this chain
            return PrismExpression(inner.op, inner.place, inner.args) if closed else inner
        if token.kind == "quoted":
            self.advance()
            return PrismExpression("label", token.place, value=token.text)
        if token.kind == "name" or self.sees("min", "max", "func"):
            return self._name_or_call()
        if self.sees(*_TEMPORAL):
            what = f"`{token.text}` inside an expression is not supported"
            token.place.refuse(what, "ask about one formula over conditions on states")
        self.fail_unexpected("an expression")

    def _name_or_call(self) -> PrismExpression:
        first = self.advance()
        named = first
        if first.text == "func" and first.kind == "keyword":
            self.expect("(", "after `func`")
            named = self.advance()
            self.expect(",", "after the name of the function")
        elif not self.takes("("):
            if first.kind == "keyword":
                self.fail_unexpected("`(`")
            return PrismExpression("name", first.place, value=first.text)
        arguments = [self.expression()]
        while self.takes(","):
            arguments.append(self.expression())
        self.expect(")", "after the arguments")
        return PrismExpression("call", named.place, tuple(arguments), named.text)

    def finish(self, wanted: str) -> None:
        if self.token.kind != "end":
            self.fail_unexpected(wanted)


def check_call(name: str, count: int, place: PrismPlace) -> None:
    """Is there such a function, with so many arguments?"""
    if name not in ARITIES:
        if name == "multi":
            place.refuse("questions with several objectives are not supported", "ask one by one")
        place.fail(f"unknown function `{name}`", did_you_mean(name, ARITIES))
    least, most = ARITIES[name]
    if count < least or (most is not None and count > most):
        place.fail(f"`{name}` takes {least} {'argument' if least == 1 else 'arguments'}, not {count}")


def names_in(expression: PrismExpression) -> Iterable[PrismExpression]:
    """Every name in an expression."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if part.op == "name":
            yield part
        waiting.extend(part.args)
