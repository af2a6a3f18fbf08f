"""Terms from text, by operator precedence; nodes are built as Python's operators on terms build them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import NoReturn

from surefoot.errors import InvalidProblem, WrongType, did_you_mean
from surefoot.term.arguments import describe_value
from surefoot.term.decimal_literals import exponent_of, read_number
from surefoot.term.lexer import Token, TokenKind, iterate_tokens, shorten_text, term_syntax_error
from surefoot.term.number import LongNumber
from surefoot.term.operator_syntax import (
    AND,
    AT,
    CHOSEN,
    COMPARE,
    CONSTANTS,
    FUNCTIONS,
    IMPLIES,
    KEYWORDS,
    LEVEL,
    NEGATIONS,
    NOT,
    OR,
    OUTPUT,
    UNARY,
)
from surefoot.term.reserved_names import chosen_name, is_reserved, location_name, network_output_name
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    divide_terms,
    equal,
    negate_number,
)
from surefoot.term.traverse import fold_term

MOST_LEVELS = 200
_MOST_WORK = 1_000_000  # digits that all numbers of one text may need together
_PREFIXES = frozenset({"-", *NEGATIONS})
_OPERATOR_WORDS = KEYWORDS.difference(CONSTANTS)
_RIGHT = {"=>": IMPLIES, "^": UNARY}  # how far the right operand reaches where it is not the usual next level
_RISING, _FALLING = ("<", "<=", "=", "=="), (">", ">=", "=", "==")
_ELSEWHERE = {  # operators of other languages
    **{
        "&&": "and",
        "||": "or",
        "xor": "!=",
        "mod": "%",
        "implies": "=>",
        "iff": "=",
        "is": "=",
        "in": "x = 1 or x = 2",
    },
    **{"===": "=", "!==": "!=", "<=>": "=", "<->": "=", "->": "=>", "=<": "<=", "<>": "!=", "~=": "!="},
    **{"/=": "!=", "**": "^", "//": "floor(a / b)"},
}
_FUNCTIONS_ELSEWHERE = {
    **{"pow": "a ^ b", "mod": "a % b", "round": "floor(x + 0.5)", "clip": "max(low, min(x, high))"},
    **{"ln": "log(x)", "if": "ite(condition, a, b)", "int": "trc(x)"},
}
_DEEP = "the expression nests more than 200 levels deep"
_FLATTEN = "split it, or write sum(a, b, …) for a long chain of additions"


def parse_term(
    text: str, *, names: Iterable[str] | None = None, constants: Mapping[str, Term] | None = None
) -> Term:
    """The term a text stands for; `names` lists what may occur, `constants` are replaced while reading.

    >>> from surefoot import Var, parse_term
    >>> parse_term("2 * x + 1") == 2 * Var("x") + 1
    True
    """
    reader = TermReader(text, names=names, constants=constants)
    result = reader.term()
    reader.finish("an operator")
    return result


class TermReader:
    """A text being read: the current token, and the limits that keep reading fast."""

    def __init__(
        self,
        text: str,
        *,
        names: Iterable[str] | None = None,
        constants: Mapping[str, Term] | None = None,
        hidden: Mapping[str, str] | None = None,
        reserved: Iterable[str] = (),
    ) -> None:
        if not isinstance(text, str):
            raise WrongType(f"{describe_value(text)} is not a text", fix="give a str, or use it as it is")
        self.text = text
        self.reserved = tuple(reserved)  # what a misspelled name may have been meant to be
        self.names = None if names is None else dict.fromkeys((*names, *(constants or ())))
        self.constants = constants or {}
        self.hidden = hidden or {}  # names that cannot be used, and why
        self._tokens = iterate_tokens(text)
        self.token = next(self._tokens)
        self._levels = 0
        self._work = 0
        self._chains = 0

    # The current token.

    def advance(self) -> Token:
        done = self.token
        if done.kind is not TokenKind.END:
            self.token = next(self._tokens)
        return done

    def sees(self, *spellings: str) -> bool:
        """The current token is one of these symbols or plain words."""
        return self.token.word in spellings

    def takes(self, *spellings: str) -> bool:
        """The same, and step over it."""
        return self.sees(*spellings) and bool(self.advance())

    def expect(self, spelling: str, after: str) -> None:
        if not self.takes(spelling):
            self.fail_unexpected(f"`{spelling}` {after}", f"add `{spelling}`", (spelling,))

    def finish(
        self, wanted: str, *words: str, fix: str = "remove it, or write an operator before it"
    ) -> None:
        """Nothing may follow; `words` are those that could have been meant."""
        if self.token.kind is not TokenKind.END:
            self.fail_unexpected(wanted, fix, words)

    def fail(self, token: Token, what: str, fix: str = "") -> NoReturn:
        raise term_syntax_error(self.text, token.offset, what, fix)

    def fail_unexpected(self, wanted: str, fix: str, words: tuple[str, ...] = ()) -> NoReturn:
        """The current token is wrong; a misspelled operator or one of `words` is recognised."""
        if self.token.kind is TokenKind.END:
            self.fail(self.token, f"the text ends where {wanted} is expected", fix)
        if meant := _operator_around(self.text, self.token) or _guess_operator(self.token.word, words):
            fix = f"did you mean `{meant}`?"
        self.fail(self.token, f"unexpected `{shorten_text(self.token.text)}` where {wanted} is expected", fix)

    # Expressions. One level of nesting costs at most three Python frames.

    def term(self) -> Term:
        """One whole term, refused if later recursion over it could go too deep."""
        first = self.token
        try:
            result = self._expression(IMPLIES)
        except RecursionError:  # the caller itself is deep already
            self.fail(first, _DEEP, _FLATTEN)
        if _is_deep(result):
            self.fail(first, _DEEP, _FLATTEN)
        return result

    def _expression(self, level: int) -> Term:
        self._levels += 1
        left = (
            self._parse_prefix(level) if self.token.word in _PREFIXES else self._parse_index(self.primary())
        )
        chained = 0
        while (strength := LEVEL.get(self.token.word, 0)) >= level:
            chained += 1
            if self._levels + chained > MOST_LEVELS:
                self.fail(self.token, _DEEP, _FLATTEN)
            if strength in (AND, OR, COMPARE):
                left = self._series(left, strength)
            else:
                left = self._binary(left, self.advance(), strength)
        self._levels -= 1
        return left

    def _parse_prefix(self, level: int) -> Term:
        sign = self.advance()
        own = UNARY if sign.text == "-" else NOT
        if level > own:
            self.fail(sign, f"`{sign.text}` needs parentheses here", f"write `({sign.text} …)`")
        if self._levels >= MOST_LEVELS:
            self.fail(sign, _DEEP, _FLATTEN)
        inner = self._expression(own)
        return negate_number(inner) if own == UNARY else ~inner

    def _parse_index(self, value: Term) -> Term:
        while self.token.word == "[":
            self.advance()
            value = value[self._expression(IMPLIES)]
            self.expect("]", "after the index")
        return value

    def _binary(self, left: Term, sign: Token, strength: int) -> Term:
        right = self._expression(_RIGHT.get(sign.text, strength + 1))
        match sign.text:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "%":
                return left % right
            case "^":
                return Apply(Op.POW, (left, right))
            case "=>":
                return Apply(Op.IMPLIES, (left, right))
            case _:
                return self._quotient(left, right, sign)

    def _quotient(self, left: Term, right: Term, sign: Token) -> Term:
        """`/` of two numbers is computed at once, so its cost counts like that of a long literal."""
        for part in (left, right):
            if isinstance(part, Const):
                bits = part.value.numerator.bit_length() + part.value.denominator.bit_length()
                self._spend(bits // 3, sign)
        try:
            return divide_terms(left, right)
        except LongNumber as error:
            self.fail(sign, error.what, error.fix)

    def _series(self, left: Term, strength: int) -> Term:
        """`a and b and c`, `a or b`, `a < b`, or a chain of comparisons such as `0 <= x < 10`."""
        signs: list[Token] = []
        parts = [left]
        chains = [self._chains]
        while LEVEL.get(self.token.word, 0) == strength:
            signs.append(self.advance())
            parts.append(self._expression(strength + 1))
            chains.append(self._chains)
        if strength == AND:
            return conjunction_of(tuple(parts))
        if strength == OR:
            return disjunction_of(tuple(parts))
        if len(signs) > 1:
            # The middle of a chain occurs twice in the result: chains inside chains would double each time.
            self._check_chain(signs, holds_chain=chains[-2] > chains[0])
        compared = zip(signs, parts, parts[1:], strict=False)
        return conjunction_of(tuple(_comparison_term(s.text, a, b) for s, a, b in compared))

    def _check_chain(self, signs: list[Token], holds_chain: bool) -> None:
        spelled = {s.text for s in signs}
        if not (spelled.issubset(_RISING) or spelled.issubset(_FALLING)):
            self.fail(signs[1], "these comparisons cannot be chained", "join them with `and`")
        if holds_chain:
            self.fail(signs[1], "a chain of comparisons inside another one", "join them with `and`")
        self._chains += 1

    def primary(self) -> Term:
        """A number, a name, an array, a function call or anything in parentheses: what needs no operator."""
        token = self.token
        if token.kind is TokenKind.NUMBER:
            return Const(self.number(self.advance()))
        if token.kind is TokenKind.QUOTED:
            return self._variable(self.advance())
        if token.word == "[":
            return Apply(Op.ARRAY, self._arguments("]", several=True))
        if token.word == "(":
            (inner,) = self._arguments(")")
            return inner
        if token.kind is not TokenKind.NAME or token.text in _OPERATOR_WORDS:
            self.fail_unexpected("a number, a name or `(`", "write what is missing")
        self.advance()
        if token.text in CONSTANTS:
            return Const(CONSTANTS[token.text])
        if not (self.sees("(") or (token.text == OUTPUT and self.sees("["))):
            return self._variable(token)
        if token.text in (OUTPUT, CHOSEN, AT):
            return self._with_parts(token.text)
        if token.text not in FUNCTIONS:
            known = did_you_mean(token.text, (*FUNCTIONS, CHOSEN, AT))
            if token.text in _FUNCTIONS_ELSEWHERE:
                known = f"write `{_FUNCTIONS_ELSEWHERE[token.text]}`"
            self.fail(token, f"unknown function `{shorten_text(token.text)}`", known)
        op, arity = FUNCTIONS[token.text]
        args = self._arguments(")", several=True)
        if not arity.allows(len(args)):
            fix = "add what is missing" if len(args) < arity.least else "leave out the rest"
            self.fail(token, f"`{token.text}` takes {arity}, not {len(args)}", fix)
        return Apply(op, args)

    def limit(self) -> Term:
        """A number, a name or a term in parentheses; a name is never a function here: `F<=N (x > 3)`."""
        if self.token.kind is TokenKind.NAME and self.token.text not in KEYWORDS:
            return self._variable(self.advance())
        return self.primary()

    def _arguments(self, closing: str, several: bool = False) -> tuple[Term, ...]:
        """What stands between the bracket at the current token and its `closing`: one term, or any number."""
        opening = self.advance()
        if self._levels >= MOST_LEVELS:
            self.fail(opening, _DEEP, _FLATTEN)
        if several and self.takes(closing):
            return ()
        parts = [self._expression(IMPLIES)]
        while several and self.takes(","):
            parts.append(self._expression(IMPLIES))
        self.expect(closing, "or `,`" if several else "after the expression")
        return tuple(parts)

    def _with_parts(self, word: str) -> Term:
        """The reserved names `output[3]`, `chosen(brake)` and `at(car, drive)`."""
        self.advance()
        if word == OUTPUT:
            if (index := self.integer("the number of an output")) < 0:
                self.fail_unexpected(
                    "an output number from 0 on, not a negative one,", "the first is `output[0]`"
                )
            self.expect("]", "after the number of the output")
            return Var(network_output_name(index))
        first = self.name("an action" if word == CHOSEN else "a component")
        if word == CHOSEN:
            self.expect(")", "after the action")
            return Var(chosen_name(first))
        self.expect(",", "after the component")
        location = self.name("a location")
        self.expect(")", "after the location")
        return Var(location_name(first, location))

    # Names and numbers.

    def name(self, wanted: str) -> str:
        """A plain or quoted name, whatever it is."""
        if self.token.kind not in (TokenKind.NAME, TokenKind.QUOTED):
            self.fail_unexpected(wanted, "write its name")
        return self.advance().text

    def _variable(self, token: Token) -> Term:
        if token.text in self.hidden:
            self.fail(token, self.hidden[token.text], "use another name")
        if token.text in self.constants:
            return self.constants[token.text]
        if self.names is None or token.text in self.names or is_reserved(token.text):
            return Var(token.text)
        known = did_you_mean(token.text, self.names, (*self.reserved, *CONSTANTS))
        self.fail(token, f"unknown name `{shorten_text(token.text)}`", known)

    def number(self, token: Token) -> int | Fraction:
        try:
            self._spend(abs(exponent_of(token.text)), token)
            return read_number(token.text)
        except InvalidProblem as error:
            if error.where:
                raise
            self.fail(token, error.what, error.fix)

    def integer(self, wanted: str) -> int:
        """A whole number, perhaps negative, perhaps the name of a constant."""
        token = self.token
        sign = -1 if self.takes("-") else 1
        value: object = None
        if self.token.kind is TokenKind.NUMBER:
            value = self.number(self.advance())
        elif self.token.kind in (TokenKind.NAME, TokenKind.QUOTED) and self.token.text in self.constants:
            meant = self.constants[self.advance().text]
            value = meant.value if isinstance(meant, Const) else None
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(token, f"{wanted} has to be a whole number", "write a number such as 3")
        return sign * value

    def _spend(self, digits: int, token: Token) -> None:
        self._work += digits
        if self._work > _MOST_WORK:
            self.fail(token, "the numbers of this text are too large together", "use fewer large exponents")


def _operator_around(text: str, token: Token) -> str:
    """What an operator of another language is called here that ends or begins with the token: `**`, `=<`."""
    if token.kind is not TokenKind.SYMBOL:
        return ""
    near = text[max(0, token.offset - 2) : token.offset + 3]
    signs = (sign for sign in _ELSEWHERE if not sign.isalpha() and token.text in sign and sign in near)
    return _ELSEWHERE.get(max(signs, key=len, default=""), "")


def _guess_operator(found: str, words: tuple[str, ...]) -> str:
    """The operator or one of the `words` that a misspelled word resembles, or nothing."""
    known = (*words, "and", "or")
    if found in _ELSEWHERE or found in known or len(found) < 2:
        return _ELSEWHERE.get(found, "")
    close = get_close_matches(found.lower(), known, 1)
    return close[0] if close else ""


def _comparison_term(sign: str, left: Term, right: Term) -> Term:
    match sign:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "!=":
            return ~equal(left, right)
        case _:
            return equal(left, right)


def _is_deep(whole: Term) -> bool:
    """More than `MOST_LEVELS` nodes lie above some leaf."""
    return fold_term(whole, lambda _: 0, lambda _, below: 1 + max(below, default=0)) > MOST_LEVELS
