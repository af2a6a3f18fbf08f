"""Terms as levels of operations on many values at once, for every arithmetic that sets are computed in.

A node is a name, a linear combination of nodes, a product of two, or a function of one. Nodes of a level do
not depend on each other, so that a level is a few operations on arrays, however many nodes it has. Functions
are solutions of z' = g x', where g is a node too: this one rule gives all their Taylor coefficients,

    exp: g = z     log: g = 1/x      sin: g = cos    sqrt: g = 1/(2 z)    atan: g = 1/(1 + x^2)
    1/x: g = -z^2  tan: g = 1 + z^2  cos: g = -sin   tanh: g = 1 - z^2    asin: g = 1/sqrt(1 - x^2)

Where values are rounded after every operation, as float64 does, sums are not put together: they are the
operations that are executed, two arguments each, and which nodes are rounded is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.term.evaluate import MOST_PRODUCTS
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term

Index = NDArray[np.intp]
FUNCTIONS = {
    Op.SQRT: "sqrt",
    Op.EXP: "exp",
    Op.LOG: "log",
    Op.SIN: "sin",
    Op.COS: "cos",
    Op.TAN: "tan",
    Op.ASIN: "asin",
    Op.ATAN: "atan",
    Op.TANH: "tanh",
}
ANY_SIGN = "\0sign"  # a number from -1 to 1


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + sum of coefficient * node."""

    parts: tuple[tuple[int, Fraction], ...]
    constant: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """left - right, a node, compared with 0."""

    node: int
    sign: Op  # LT, LE or EQ


@dataclass(frozen=True, slots=True)
class Connective:
    word: str  # "and", "or" or "not"; "and" of nothing is true
    parts: tuple[ListedCondition, ...] = ()


ListedCondition: TypeAlias = Comparison | Connective


def compared_nodes(condition: ListedCondition) -> Iterator[int]:
    """The nodes whose bounds decide a condition."""
    if isinstance(condition, Comparison):
        yield condition.node
        return
    for part in condition.parts:
        yield from compared_nodes(part)


@dataclass(frozen=True, slots=True)
class NameNode:
    name: str


@dataclass(frozen=True, slots=True)
class ProductNode:
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class FunctionNode:
    name: str
    argument: int


@dataclass(frozen=True, slots=True)
class AbsoluteNode:
    argument: int


@dataclass(frozen=True, slots=True)
class ChoiceNode:
    test: ListedCondition
    then: int
    otherwise: int


TermNode: TypeAlias = NameNode | Linear | ProductNode | FunctionNode | AbsoluteNode | ChoiceNode


@dataclass(slots=True)
class TermNodes:
    """The nodes of several terms, each once.

    `rounding`: `none`, `functions` (of exact arithmetic: elementary functions only) or `all` (float64).
    """

    rounding: str = "none"
    is_truth: Callable[[Term], bool] = lambda term: False  # knows truth values, which are 0 or 1 here
    is_whole: Callable[[str], bool] = lambda name: False  # knows variables that are whole numbers
    kinds: list[TermNode] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)  # relative error of a node, where `rounded`
    derivative: dict[int, int] = field(default_factory=dict)  # the node g of a function
    _known: dict[TermNode, int] = field(default_factory=dict)

    @property
    def is_rounded(self) -> bool:
        return self.rounding == "all"

    def name(self, name: str) -> int:
        return self._place(NameNode(name), 0)

    def value(self, term: Term) -> int:
        """The node of a number-valued term."""
        return self.node(self._read(term))

    def difference(self, left: Term, right: Term) -> int:
        """The node of left - right, exactly."""
        return self.node(_add(self._read(left), self._read(right), Fraction(-1)))

    def condition(self, term: Term) -> ListedCondition:
        """A truth-valued term."""
        match term:
            case Const(bool(value)):
                return Connective("and" if value else "or")
            case Apply(Op.AND, parts):
                return Connective("and", tuple(map(self.condition, parts)))
            case Apply(Op.OR, parts):
                return Connective("or", tuple(map(self.condition, parts)))
            case Apply(Op.NOT, (inner,)):
                return Connective("not", (self.condition(inner),))
            case Apply(Op.IMPLIES, (premise, conclusion)):
                return Connective(
                    "or", (Connective("not", (self.condition(premise),)), self.condition(conclusion))
                )
            case Apply(Op.ITE, (test, then, otherwise)):
                yes, no = self.condition(test), Connective("not", (self.condition(test),))
                ways = ((yes, self.condition(then)), (no, self.condition(otherwise)))
                return Connective("or", tuple(Connective("and", way) for way in ways))
            case Apply(Op.EQ, (left, right)) if self.is_truth(left):
                a, b = self.condition(left), self.condition(right)
                neither = Connective("and", (Connective("not", (a,)), Connective("not", (b,))))
                return Connective("or", (Connective("and", (a, b)), neither))
            case Apply((Op.LT | Op.LE | Op.EQ) as sign, (left, right)):
                return Comparison(self.difference(left, right), sign)
            case Var() if self.is_truth(term):
                return Connective("not", (Comparison(self.value(term), Op.EQ),))
        raise Unsupported(f"`{show_term(term)}`: reach has no rule for this condition")

    def _read(self, term: Term) -> Linear:
        return fold_term(term, self._leaf, self._operator, _read_arguments)

    def _leaf(self, leaf: Leaf) -> Linear:
        if isinstance(leaf, Var):
            return _node_itself(self.name(leaf.name))
        if isinstance(leaf.value, bool):
            raise Unsupported("a truth value stands where a number is needed")
        value = Fraction(leaf.value)
        return Linear((), Fraction(float(value)) if self.is_rounded else value)

    def _operator(self, term: Apply, args: list[Linear]) -> Linear:
        match term.op:
            case Op.ADD:
                return reduce(lambda a, b: self._round(_add(a, b)), args)
            case Op.SUB:
                return self._round(_add(args[0], args[1], Fraction(-1)))
            case Op.NEG:
                return _scale(args[0], Fraction(-1))
            case Op.MUL:
                return reduce(self._times, args)
            case Op.DIV:
                return self._divide(*args)
            case Op.POW if args[1].parts == () and args[1].constant.denominator == 1:
                return self._power(args[0], int(args[1].constant))
            case Op.ITE:
                return self._choose(self.condition(term.args[0]), *args)
            case Op.ABS:
                return self._switch("abs", args)
            case Op.MIN | Op.MAX:
                return reduce(lambda a, b: self._switch(term.op.value, [a, b]), args)
            case Op.ACOS:
                inverse = self.function("asin", self.node(args[0]))
                half = self.function("acos_at_zero", self._place(Linear((), Fraction(0)), 0))
                return self._round(_add(_node_itself(half), _node_itself(inverse), Fraction(-1)), 8.0)
            case op if op in FUNCTIONS:
                return _node_itself(self.function(FUNCTIONS[op], self.node(args[0])))
        raise Unsupported(
            f"`{show_term(term)}`: reach has no rule for `{term.op.value}`",
            fix="write it by + - * /, whole powers, elementary functions, min, max and ite",
        )

    def _times(self, a: Linear, b: Linear) -> Linear:
        if not a.parts or not b.parts:
            number, other = (a, b) if not a.parts else (b, a)
            return self._round(_scale(other, number.constant))
        return _node_itself(self.product(self.node(a), self.node(b)))

    def product(self, a: int, b: int) -> int:
        a, b = min(a, b), max(a, b)
        place = self._place(ProductNode(a, b), 1 + max(self.levels[a], self.levels[b]))
        return self._note_rounding(place)

    def _divide(self, a: Linear, b: Linear) -> Linear:
        if not b.parts:
            if not b.constant:
                raise Unsupported("a division by zero")
            return self._round(_scale(a, 1 / b.constant))
        inverse = self.function("inverse", self.node(b))
        if not a.parts:
            line = _scale(_node_itself(inverse), a.constant)
            return _node_itself(self._note_rounding(self.node(line))) if line.parts else line
        return _node_itself(self.product(self.node(a), inverse))

    def _power(self, base: Linear, exponent: int) -> Linear:
        if abs(exponent) > MOST_PRODUCTS:
            raise Unsupported(f"the power {exponent} is too large")
        if exponent < 0:
            return self._divide(Linear((), Fraction(1)), self._power(base, -exponent))
        if exponent == 0:
            return Linear((), Fraction(1))
        if self.is_rounded:  # from left to right, as it is executed
            return reduce(self._times, [base] * exponent)
        if not base.parts:
            return Linear((), base.constant**exponent)
        half = self._power(base, exponent // 2)
        square = self._times(half, half) if exponent > 1 else Linear((), Fraction(1))
        return self._times(square, base) if exponent % 2 else square

    def function(self, name: str, argument: int) -> int:
        """A function of a node, and the node of its derivative."""
        place = self._place(FunctionNode(name, argument), self.levels[argument] + 1)
        if place not in self.derivative:
            self.derivative[place] = -1  # those of sine and cosine are each other's
            if name != "inverse" and self.rounding != "none":  # a quotient is rounded once, as a whole
                self.rounds[place] = 4.0
            exact = replace(self, rounding="none")  # of the same nodes
            self.derivative[place] = exact._derivative_of(name, argument, place)
        return place

    def _derivative_of(self, name: str, x: int, z: int) -> int:
        one = Linear((), Fraction(1))

        def square(node: int) -> Linear:
            return _node_itself(self.product(node, node))

        match name:
            case "exp":
                return z
            case "log":
                return self.function("inverse", x)
            case "sin":
                return self.function("cos", x)
            case "cos":
                return self.node(_scale(_node_itself(self.function("sin", x)), Fraction(-1)))
            case "sqrt":
                return self.node(_scale(_node_itself(self.function("inverse", z)), Fraction(1, 2)))
            case "inverse":
                return self.node(_scale(square(z), Fraction(-1)))
            case "tan":
                return self.node(_add(one, square(z)))
            case "tanh":
                return self.node(_add(one, square(z), Fraction(-1)))
            case "atan":
                return self.function("inverse", self.node(_add(one, square(x))))
            case "asin":
                root = self.function("sqrt", self.node(_add(one, square(x), Fraction(-1))))
                return self.function("inverse", root)
            case "acos_at_zero":
                return self.node(one)
        raise AssertionError(name)

    def _switch(self, word: str, args: list[Linear]) -> Linear:
        """abs a, min(a, b) and max(a, b) as (a + b ± |a - b|) / 2 or ±a: one node |x|."""
        if all(not a.parts for a in args):
            values = [a.constant for a in args]
            return Linear(
                (), abs(values[0]) if word == "abs" else min(values) if word == "min" else max(values)
            )
        if word == "abs":
            return _node_itself(self._absolute(args[0]))
        gap = _node_itself(self._absolute(_add(args[0], args[1], Fraction(-1))))
        half, sign = Fraction(1, 2), Fraction(1 if word == "max" else -1)
        return _add(_scale(_add(args[0], args[1]), half), gap, half * sign)

    def _choose(self, test: ListedCondition, then: Linear, otherwise: Linear) -> Linear:
        if then == otherwise:
            return then
        if isinstance(test, Connective) and not test.parts:
            return then if test.word == "and" else otherwise
        a, b = self.node(then), self.node(otherwise)
        level = 1 + max(self.levels[n] for n in (a, b, *compared_nodes(test)))
        return _node_itself(self._place(ChoiceNode(test, a, b), level))

    def _absolute(self, argument: Linear) -> int:
        node = self.node(argument)
        return self._place(AbsoluteNode(node), self.levels[node] + 1)

    def partial(self, node: int, name: int, known: dict[tuple[int, int], Linear]) -> Linear:
        """The derivative of a node by a name; that of |x| is some number from -1 to 1 times that of x."""
        if (node, name) in known:
            return known[node, name]
        found = Linear(())
        match self.kinds[node]:
            case NameNode():
                found = Linear((), Fraction(node == name))
            case Linear(parts):
                for part, coefficient in parts:
                    found = _add(found, self.partial(part, name, known), coefficient)
            case ProductNode(left, right):
                for here, other in ((left, right), (right, left)):
                    found = _add(found, self._times(self.partial(here, name, known), _node_itself(other)))
            case FunctionNode(_, argument):
                found = self._times(self.partial(argument, name, known), _node_itself(self.derivative[node]))
            case AbsoluteNode(argument):
                found = self._times(self.partial(argument, name, known), _node_itself(self.name(ANY_SIGN)))
            case ChoiceNode(test, then, otherwise):
                found = self._choose(test, *(self.partial(n, name, known) for n in (then, otherwise)))
        known[node, name] = found
        return found

    def node(self, line: Linear) -> int:
        """The node with the value of a linear combination."""
        if len(line.parts) == 1 and line.parts[0][1] == 1 and not line.constant:
            return line.parts[0][0]
        line = Linear(tuple(sorted(line.parts)), line.constant)
        return self._place(line, 1 + max((self.levels[n] for n, _ in line.parts), default=-1))

    def _round(self, line: Linear, units: float = 1.0) -> Linear:
        if not self.is_rounded:
            return line
        if not line.parts:
            return Linear((), Fraction(float(line.constant)))
        if len(line.parts) == 1 and line.parts[0][1] in (1, -1) and not line.constant:
            return line
        return _node_itself(self._note_rounding(self.node(line), units))

    def _note_rounding(self, place: int, units: float = 1.0) -> int:
        if self.is_rounded:
            self.rounds[place] = max(self.rounds[place], units)
        return place

    def _place(self, node: TermNode, level: int) -> int:
        if node not in self._known:
            self._known[node] = len(self.kinds)
            self.kinds.append(node)
            self.levels.append(level)
            self.rounds.append(0.0)
        return self._known[node]


def _read_arguments(term: Apply, _: list[Linear]) -> Iterator[Term]:
    """The condition of a choice is not a number."""
    return iter(term.args[1:] if term.op is Op.ITE else term.args)


def _node_itself(place: int) -> Linear:
    return Linear(((place, Fraction(1)),))


def _scale(line: Linear, by: Fraction) -> Linear:
    if not by:
        return Linear(())
    return Linear(tuple((n, c * by) for n, c in line.parts), line.constant * by)


def _add(a: Linear, b: Linear, times: Fraction = Fraction(1)) -> Linear:
    total = dict(a.parts)
    for node, coefficient in b.parts:
        total[node] = total.get(node, Fraction(0)) + times * coefficient
    return Linear(tuple((n, c) for n, c in total.items() if c), a.constant + times * b.constant)


@dataclass(frozen=True, slots=True, eq=False)
class LinearGroup:
    nodes: Index
    reads: Index
    matrix: NDArray[np.float64]  # coefficients, nodes x reads
    constants: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ProductGroup:
    nodes: Index
    left: Index
    right: Index


@dataclass(frozen=True, slots=True, eq=False)
class FunctionGroup:
    nodes: Index
    arguments: Index
    derivatives: Index
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SwitchGroup:
    nodes: Index
    arguments: Index


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceGroup:
    """One node: `then` where the condition holds, else `otherwise`."""

    nodes: Index  # the one
    test: ListedCondition
    then: int
    otherwise: int


Group: TypeAlias = LinearGroup | ProductGroup | FunctionGroup | SwitchGroup | ChoiceGroup


@dataclass(frozen=True, slots=True, eq=False)
class TermLevels:
    """What is computed in which order; `names` are nodes whose values are given."""

    count: int
    names: Mapping[str, int]
    groups: tuple[Group, ...]
    rounds: NDArray[np.float64]  # units of 2^-53 by which float64 may be off, node by node
    whole: NDArray[np.bool_]  # nodes whose values are whole numbers

    @property
    def linear(self) -> bool:
        return all(isinstance(g, LinearGroup) for g in self.groups)

    @property
    def smooth(self) -> bool:
        return not any(isinstance(g, SwitchGroup | ChoiceGroup) for g in self.groups)


def arrange_levels(nodes: TermNodes) -> TermLevels:
    """The nodes, level by level."""
    names = {node.name: n for n, node in enumerate(nodes.kinds) if isinstance(node, NameNode)}
    groups: list[Group] = []
    by_level: dict[int, list[int]] = {}
    for number, level in enumerate(nodes.levels):
        by_level.setdefault(level, []).append(number)
    for level in sorted(by_level):
        groups += _groups_of_level(nodes, by_level[level])
    whole = np.zeros(len(nodes.kinds), bool)
    for number in sorted(range(len(nodes.kinds)), key=lambda n: nodes.levels[n]):
        whole[number] = _is_whole(nodes, nodes.kinds[number], whole)
    return TermLevels(len(nodes.kinds), names, tuple(groups), np.array(nodes.rounds), whole)


def _is_whole(nodes: TermNodes, node: TermNode, whole: NDArray[np.bool_]) -> bool:
    """Sums and products of whole numbers, which are not rounded as long as they are small."""
    match node:
        case NameNode(name):
            return nodes.is_whole(name)
        case Linear(parts, constant):
            return constant.denominator == 1 and all(c.denominator == 1 and whole[n] for n, c in parts)
        case ProductNode(left, right):
            return bool(whole[left] and whole[right])
    return False


def _groups_of_level(nodes: TermNodes, members: list[int]) -> Iterator[Group]:
    lines: dict[int, Linear] = {}
    products: dict[int, ProductNode] = {}
    functions: dict[int, FunctionNode] = {}
    switches: dict[int, AbsoluteNode] = {}
    for number in members:
        match nodes.kinds[number]:
            case Linear() as line:
                lines[number] = line
            case ProductNode() as product:
                products[number] = product
            case FunctionNode() as function:
                functions[number] = function
            case AbsoluteNode() as switch:
                switches[number] = switch
            case ChoiceNode(test, then, otherwise):
                yield ChoiceGroup(_places([number]), test, then, otherwise)
            case NameNode():
                pass
    if lines:
        yield _linear_group(lines)
    if products:
        left, right = (_places([getattr(p, side) for p in products.values()]) for side in ("left", "right"))
        yield ProductGroup(_places(products), left, right)
    if functions:
        arguments = _places([f.argument for f in functions.values()])
        derivatives = _places([nodes.derivative[n] for n in functions])
        names = tuple(f.name for f in functions.values())
        yield FunctionGroup(_places(functions), arguments, derivatives, names)
    if switches:
        yield SwitchGroup(_places(switches), _places([s.argument for s in switches.values()]))


def _places(numbers: Iterable[int]) -> Index:
    return np.array(list(numbers), dtype=np.intp)


def _linear_group(lines: Mapping[int, Linear]) -> LinearGroup:
    reads = sorted({n for line in lines.values() for n, _ in line.parts})
    column = {n: i for i, n in enumerate(reads)}
    matrix = np.zeros((len(lines), len(reads)))
    for row, line in enumerate(lines.values()):
        for n, coefficient in line.parts:
            matrix[row, column[n]] = float(coefficient)
    constants = np.array([float(line.constant) for line in lines.values()])
    return LinearGroup(_places(lines), _places(reads), matrix, constants)
