"""Terms as text in which every operation is done once, in the order in which it is written.

A value that is used twice gets a name of its own, which changes no bit of it. Operations on numbers alone are
done here, as `term/evaluate.py` does them: whole numbers stay exact until they meet a float.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import isfinite
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.term.evaluate import MOST_PRODUCTS
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term


@dataclass(frozen=True, slots=True)
class ListedComparison:
    sign: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class ListedConnective:
    """By `and`, `or` or `not`; without parts: `true` or `false`."""

    word: str
    parts: tuple[ListedCondition, ...] = ()


ListedCondition: TypeAlias = ListedComparison | ListedConnective
ListedNode: TypeAlias = tuple[str, tuple[int, ...]] | int | float | str  # an operation, a number or a name
_SIGNS = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
_COMPARISONS = {Op.LT: "<", Op.LE: "<=", Op.EQ: "=="}


@dataclass(slots=True)
class OperationListing:
    """`name` and `number` write a variable and a number in the language that is wanted."""

    name: Callable[[str], str]
    number: Callable[[float], str]
    nodes: list[ListedNode] = field(default_factory=list)
    known: dict[object, int] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)

    def value(self, term: Term) -> int:
        """The place of a term's value among the nodes."""
        return fold_term(term, self._leaf, self._operator, _binary_arguments)

    def _leaf(self, leaf: Leaf) -> int:
        if isinstance(leaf, Var):
            return self._place(leaf.name)
        if isinstance(leaf.value, bool):
            raise Unsupported("a truth value where a number is needed")
        return self._place(leaf.value if isinstance(leaf.value, int) else _nearest_double(leaf.value))

    def _operator(self, term: Apply, places: list[int]) -> int:
        match term:
            case Apply(Op.MAX, _):
                return self._largest(places)
            case Apply(Op.POW, (_, Const(int(exponent)))):
                return reduce(lambda total, place: self._operation("*", total, place), places * exponent)
            case Apply(Op.NEG, _):
                return self._operation("-", *places)
            case _:
                return reduce(lambda left, right: self._operation(_SIGNS[term.op], left, right), places)

    def condition(self, term: Term) -> ListedCondition:
        """A condition over values, to be written by `shown` when all uses are known."""
        match term:
            case Const(bool(value)):
                return ListedConnective("true" if value else "false")
            case Apply((Op.AND | Op.OR) as op, parts):
                return ListedConnective(
                    "and" if op is Op.AND else "or", tuple(self.condition(p) for p in parts)
                )
            case Apply(Op.NOT, (inner,)):
                return ListedConnective("not", (self.condition(inner),))
            case Apply(Op.LE, (Apply(Op.MAX, parts), right)):  # the first row above it decides
                return ListedConnective("and", tuple(self.condition(part <= right) for part in parts))
            case Apply(op, (left, right)) if op in _COMPARISONS:
                return ListedComparison(_COMPARISONS[op], self.use_term(left), self.use_term(right))
            case _:
                raise Unsupported(
                    f"`{show_term(term)}` cannot be written as source code: it is no comparison"
                )

    def use_term(self, term: Term) -> int:
        """A value that is a result."""
        place = self.value(term)
        self.uses[place] += 1
        return place

    def _largest(self, places: list[int]) -> int:
        """Two and two: the second where it is larger than the first, else the first."""
        while len(places) > 1:
            pairs = [places[i : i + 2] for i in range(0, len(places), 2)]
            places = [self._operation("max", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return places[0]

    def _operation(self, sign: str, *places: int) -> int:
        numbers = [self.nodes[p] for p in places]
        if all(isinstance(n, int | float) for n in numbers):
            return self._place(_fold_constants(sign, [n for n in numbers if isinstance(n, int | float)]))
        if (sign, places) not in self.known:
            self.uses.update(places)
        return self._place((sign, places))

    def _place(self, node: ListedNode) -> int:
        key: object = (type(node).__name__, repr(node))  # 1, 1.0, 0.0 and -0.0 are different numbers
        if key not in self.known:
            if isinstance(node, int | float) and not _is_double(node):
                raise Unsupported("a number is beyond float64")
            self.known[key] = len(self.nodes)
            self.nodes.append(node)
            if isinstance(node, tuple):
                self.known[node] = self.known[key]
        return self.known[key]

    def named_places(self) -> list[int]:
        """Operations that get a name, in an order in which they can be computed."""
        return [i for i, node in enumerate(self.nodes) if isinstance(node, tuple) and self.uses[i] > 1]

    def render_value(self, place: int, *, whole: bool = False) -> str:
        """The text of a value; `whole`: the operation itself, where others see its name."""
        node = self.nodes[place]
        match node:
            case ("max", (left, right)):
                text = f"max({self.render_value(left)}, {self.render_value(right)})"
            case (str(sign), (inner,)):
                text = f"{sign}{self._factor(inner)}"
            case (str(sign), (left, right)):
                text = f"{self._first(sign, left)} {sign} {self._factor(right)}"
            case str(name):
                return self.name(name)
            case int(value) | float(value):
                return self.number(float(value))
            case _:
                raise AssertionError(node)
        return text if whole or self.uses[place] < 2 else f"t{place}"

    def render_condition(self, condition: ListedCondition, words: Mapping[str, str]) -> str:
        """A condition in a language whose words are these."""
        match condition:
            case ListedComparison(sign, left, right):
                return f"{self.render_value(left)} {sign} {self.render_value(right)}"
            case ListedConnective(word, ()):
                return words[word]
            case ListedConnective("not", (inner,)):
                return f"{words['not']}({self.render_condition(inner, words)})"
            case ListedConnective(word, parts):
                return f" {words[word]} ".join(f"({self.render_condition(p, words)})" for p in parts)

    def _factor(self, place: int) -> str:
        text = self.render_value(place)
        return f"({text})" if " " in text or text.startswith("-") else text

    def _first(self, sign: str, place: int) -> str:
        """What comes first needs no parentheses where the language reads from left to right anyway."""
        node = self.nodes[place]
        text = self.render_value(place)
        inner = node[0] if isinstance(node, tuple) and len(node[1]) == 2 and " " in text else ""
        same = (sign in "+-" and inner in "+-*/") or (sign in "*/" and inner in "*/")
        return text if " " not in text or (inner and same) else f"({text})"


def _fold_constants(sign: str, numbers: list[int | float]) -> int | float:
    if len(numbers) == 1:
        return -numbers[0]
    left, right = numbers
    if sign == "/" or isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    if sign == "max":
        return max(left, right)
    if sign == "/":
        return left / right
    return left + right if sign == "+" else left - right if sign == "-" else left * right


def _binary_arguments(term: Apply, _: list[int]) -> Iterator[Term]:
    """Of a sum of many, the sum of all but the last: operations are listed in the order they are done."""
    match term:
        case Apply(Op.NEG, (_,)) | Apply(Op.MAX, _):
            return iter(term.args)
        case Apply(Op.POW, (base, Const(int(exponent)))) if 0 < exponent <= MOST_PRODUCTS:
            return iter((base,))
        case Apply(op, (_, *_) as args) if op in _SIGNS:
            return iter(args if len(args) < 3 else (Apply(op, args[:-1]), args[-1]))
    raise Unsupported(f"`{show_term(term)}` cannot be written as source code: it is not a polynomial")


def _nearest_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Unsupported("a number is beyond float64") from None


def _is_double(number: int | float) -> bool:
    """Is there a double nearest to it?"""
    try:
        return isfinite(float(number))
    except OverflowError:
        return False
