"""Terms of a differential equation as a list of operations, each over earlier ones, and their power series.

Along a solution every term is a power series in time. Its coefficients follow from those of its parts by
rules of order k: the product is a sum of products, and a function f with f' = g a' follows from comparing
coefficients. The rules are the same for intervals and for affine forms. A coefficient None is exactly zero.

`abs`, `min`, `max` and `ite` are smooth where it is decided, for the whole enclosure of a sub-step, which
branch they take; otherwise they, and all that is computed from them, have a value but no series: `rough`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused
from ...kernel.term import ELEMENTARY, Term, is_number
from .interval import Interval, IntervalArithmetic, join_intervals

LARGEST_EXPONENT = 64
Node = tuple[Any, ...]
Condition = Any  # True, False, ("and" | "or" | "not", …), or (comparison, node of left - right)
Truth = bool | None
BRANCHING = frozenset({"abs", "min", "max", "ite"})


class FlowProgram:
    """`names`: the inputs in order. `finest`: sub-steps keep to the symbols of a cell (sub_step.py)."""

    def __init__(self, names: Sequence[str]) -> None:
        self.finest = False
        self.nodes: list[Node] = [("input", i) for i in range(len(names))]
        self._inputs = {name: i for i, name in enumerate(names)}
        self._known: dict[Node, int] = {}

    def add_term(self, term: Term) -> int:
        """The number of the operation whose value this term is."""
        if is_number(term):
            return self._add("number", Fraction(term))
        if type(term) is not tuple:
            raise BadCertificate("a truth value stands where a number is needed")
        word = term[0]
        if word == "name":
            if term[1] not in self._inputs:
                raise BadCertificate("a term of a differential equation mentions something that it cannot")
            return self._inputs[term[1]]
        if word == "ite":
            condition = self.add_condition(term[1])
            return self._add("ite", condition, self.add_term(term[2]), self.add_term(term[3]))
        if word == "^":
            return self._add_power(self.add_term(term[1]), term[2])
        parts = [self.add_term(part) for part in term[1:]]
        if word in ("+", "*", "min", "max"):
            found = parts[0]
            for part in parts[1:]:
                found = self._add_binary(word, found, part)
            return found
        if word in ("-", "/"):
            return self._add_binary(word, *parts)
        if word in ("negate", "abs"):
            return self._add(word, *parts)
        if word in ELEMENTARY:
            return self._add_function(word, parts[0])
        raise BadCertificate(f"`{word}` is not covered in continuous time")

    def add_condition(self, term: Term) -> Condition:
        if type(term) is bool:
            return term
        word = term[0] if type(term) is tuple else ""
        if word in ("and", "or", "not"):
            return (word, *(self.add_condition(part) for part in term[1:]))
        if word == "=>":
            return ("or", ("not", self.add_condition(term[1])), self.add_condition(term[2]))
        if word in ("<", "<=", "="):
            return (word, self._add_binary("-", self.add_term(term[1]), self.add_term(term[2])))
        raise BadCertificate("a condition in continuous time is made of comparisons of numbers")

    def _add(self, *node: Any) -> int:
        if node not in self._known:
            self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return self._known[node]

    def _number(self, i: int) -> Fraction | None:
        node = self.nodes[i]
        return node[1] if node[0] == "number" else None

    def _add_binary(self, word: str, i: int, j: int) -> int:
        a, b = self._number(i), self._number(j)
        if word == "/" and b is not None:
            if not b:
                raise Refused("a division by zero")
            word, b = "*", 1 / b
            j = self._add("number", b)
        if a is not None and b is not None and word in ("+", "-", "*"):
            return self._add("number", a + b if word == "+" else a - b if word == "-" else a * b)
        if word == "*":
            if a is not None:
                return self._add("scale", j, a.numerator, a.denominator)
            if b is not None:
                return self._add("scale", i, b.numerator, b.denominator)
            if i == j:
                return self._add("square", i)
        return self._add(word, i, j)

    def _add_power(self, base: int, exponent: Term) -> int:
        if type(exponent) is tuple and exponent[0] == "negate" and type(exponent[1]) is int:
            exponent = -exponent[1]
        if type(exponent) is not int or abs(exponent) > LARGEST_EXPONENT:
            raise BadCertificate("an exponent that is not a small whole number")
        if exponent < 0:
            return self._add_binary("/", self._add("number", Fraction(1)), self._add_power(base, -exponent))
        if exponent == 0:
            return self._add("number", Fraction(1))
        half = self._add_power(base, exponent // 2) if exponent > 1 else base
        if exponent == 1:
            return base
        squared = self._add_binary("*", half, half)
        return self._add_binary("*", squared, base) if exponent % 2 else squared

    def _add_function(self, word: str, i: int) -> int:
        """With those operations that the rule of its series needs."""
        if (word, i) in self._known:
            return self._known[word, i]
        count = len(self.nodes)
        match word:
            case "sin" | "cos":
                self.nodes += [("sin", i, count + 1), ("cos", i, count)]
                self._known["sin", i], self._known["cos", i] = count, count + 1
            case "tan" | "tanh":
                self.nodes += [(word, i, count + 1), ("square", count)]
                self._known[word, i] = count
            case "atan":
                total = self._add_binary("+", self._add("number", Fraction(1)), self._add("square", i))
                self._known[word, i] = self._add("atan of", i, total)
            case "asin" | "acos":
                rest = self._add_binary("-", self._add("number", Fraction(1)), self._add("square", i))
                self._known[word, i] = self._add(word + " of", i, self._add_function("sqrt", rest))
            case _:
                self._add(word, i)
        return self._known[word, i]


def decide_condition(condition: Condition, bounds: Callable[[int], Interval]) -> Truth:
    """Surely true, surely false, or not known (None)."""
    if type(condition) is bool:
        return condition
    word, *parts = condition
    if word == "not":
        inner = decide_condition(parts[0], bounds)
        return None if inner is None else not inner
    if word in ("and", "or"):
        decisive: bool = word == "or"
        found = [decide_condition(part, bounds) for part in parts]
        if decisive in found:
            return decisive
        return None if None in found else not decisive
    return decide_comparison(word, bounds(parts[0]))


def decide_comparison(word: str, difference: Interval) -> Truth:
    """Of left and right, given an enclosure of left - right."""
    low, high = difference
    if word == "<":
        return True if high < 0 else False if low >= 0 else None
    if word == "<=":
        return True if high <= 0 else False if low > 0 else None
    return True if low == high == 0 else False if low > 0 or high < 0 else None


class SeriesRun:
    """Coefficients of all operations up to some order, in one arithmetic.

    `ranges`, `choices`, `rough` are what `enclose_values` gives for the whole sub-step: values, and which
    branch each of `abs`, `min`, `max`, `ite` takes; operations that are rough are left out.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        arithmetic: Any,
        inputs: Sequence[Any],
        ranges: Sequence[Interval],
        choices: Mapping[int, int],
        rough: frozenset[int],
    ) -> None:
        self.nodes, self.arithmetic, self.choices, self.rough = nodes, arithmetic, choices, rough
        self.ranges = ranges
        self.series: list[list[Any]] = [[] for _ in nodes]
        self._inverse: dict[int, Any] = {}
        self._made = 0  # coefficients of what `catch_up` adds
        for i, value in enumerate(inputs):
            self.series[i].append(value)

    def set_input(self, i: int, value: Any) -> None:
        """The next coefficient of an input."""
        self.series[i].append(value)

    def advance(self, first: int, last: int) -> None:
        """One more coefficient of the operations between two numbers that are no inputs."""
        for number in range(first, last):
            node = self.nodes[number]
            if node[0] != "input" and number not in self.rough:
                own = self.series[number]
                own.append(self._coefficient(number, node, len(own)))

    def catch_up(self, first: int) -> None:
        """All operations from this one on have as many coefficients as those before it, of which there are
        inputs."""
        while self._made < len(self.series[0]):
            self.advance(first, len(self.nodes))
            self._made += 1

    def _coefficient(self, number: int, node: Node, k: int) -> Any:
        arithmetic, series, word = self.arithmetic, self.series, node[0]
        match word:
            case "number":
                return arithmetic.enclose_number(node[1]) if k == 0 else None
            case "scale":
                x = series[node[1]][k]
                return None if x is None else arithmetic.scale(x, node[2], node[3])
            case "+":
                return self._plus(series[node[1]][k], series[node[2]][k])
            case "-":
                return self._minus(series[node[1]][k], series[node[2]][k])
            case "negate":
                x = series[node[1]][k]
                return None if x is None else arithmetic.negate(x)
            case "*":
                return self._convolve(series[node[1]], series[node[2]], k, 0, k)
            case "square":
                return self._square(series[node[1]], k)
            case "/":
                return self._quotient(number, node, k)
            case "abs" | "min" | "max" | "ite":
                return self._branch(number, node, k)
        if k == 0:
            return arithmetic.apply(word.removesuffix(" of"), self._first(node[1]), self.ranges[node[1]])
        return self._function(number, node, k)

    def _first(self, i: int) -> Any:
        value = self.series[i][0]
        return self.arithmetic.enclose_number(0) if value is None else value

    def _plus(self, x: Any, y: Any) -> Any:
        if x is None or y is None:
            return y if x is None else x
        return self.arithmetic.add(x, y)

    def _minus(self, x: Any, y: Any) -> Any:
        if y is None:
            return x
        return self.arithmetic.negate(y) if x is None else self.arithmetic.subtract(x, y)

    def _times(self, x: Any, y: Any) -> Any:
        return None if x is None or y is None else self.arithmetic.multiply(x, y)

    def _scaled(self, x: Any, top: int, below: int = 1) -> Any:
        return x if x is None or top == below else self.arithmetic.scale(x, top, below)

    def _convolve(self, x: Sequence[Any], y: Sequence[Any], k: int, first: int, last: int) -> Any:
        """The sum of x_i y_(k-i) for i from first to last."""
        total = None
        for i in range(first, last + 1):
            total = self._plus(total, self._times(x[i], y[k - i]))
        return total

    def _weigh(self, x: Sequence[Any], y: Sequence[Any], k: int, last: int) -> Any:
        """The sum of i x_i y_(k-i) for i from 1 to last."""
        total = None
        for i in range(1, last + 1):
            total = self._plus(total, self._scaled(self._times(x[i], y[k - i]), i))
        return total

    def _square(self, x: Sequence[Any], k: int) -> Any:
        total = self._scaled(self._convolve(x, x, k, 0, (k - 1) // 2), 2) if k else None
        middle = x[k // 2] if k % 2 == 0 else None
        return self._plus(total, None if middle is None else self.arithmetic.square(middle))

    def _inverse_of(self, number: int) -> Any:
        """One over the first coefficient of an operation."""
        if number not in self._inverse:
            self._inverse[number] = self.arithmetic.reciprocal(self._first(number), self.ranges[number])
        return self._inverse[number]

    def _quotient(self, number: int, node: Node, k: int) -> Any:
        """q b = a: q_k = (a_k - sum b_i q_(k-i)) / b_0."""
        a, b, own = self.series[node[1]], self.series[node[2]], self.series[number]
        rest = self._minus(a[k], self._convolve(b, own, k, 1, k) if k else None)
        return self._times(rest, self._inverse_of(node[2]))

    def _function(self, number: int, node: Node, k: int) -> Any:
        word, a, own = node[0], self.series[node[1]], self.series[number]
        match word:
            case "exp":  # e' = a' e
                return self._scaled(self._weigh(a, own, k, k), 1, k)
            case "sin":  # s' = a' c
                return self._scaled(self._weigh(a, self.series[node[2]], k, k), 1, k)
            case "cos":  # c' = -a' s
                return self._scaled(self._weigh(a, self.series[node[2]], k, k), -1, k)
            case "sqrt":  # s s = a
                rest = self._minus(a[k], self._convolve(own, own, k, 1, k - 1))
                return self._scaled(self._times(rest, self._inverse_of(number)), 1, 2)
            case "log":  # a l' = a'
                rest = self._minus(a[k], self._scaled(self._weigh(own, a, k, k - 1), 1, k))
                return self._times(rest, self._inverse_of(node[1]))
            case "tan" | "tanh":  # t' = a' (1 + t^2), a' (1 - t^2)
                squares = self.series[node[2]]
                bent = self._scaled(self._weigh(a, squares, k, k), 1, k)
                return self._plus(a[k], bent) if word == "tan" else self._minus(a[k], bent)
            case "atan of":  # (1 + a^2) z' = a'
                sums = self.series[node[2]]
                rest = self._minus(a[k], self._scaled(self._weigh(own, sums, k, k - 1), 1, k))
                return self._times(rest, self._inverse_of(node[2]))
        # asin, acos: z' r = a', -a' with r = sqrt(1 - a^2)
        root = self.series[node[2]]
        known = self._scaled(self._weigh(own, root, k, k - 1), 1, k)
        wanted = self._scaled(a[k], 1 if word == "asin of" else -1)
        return self._times(self._minus(wanted, known), self._inverse_of(node[2]))

    def _branch(self, number: int, node: Node, k: int) -> Any:
        taken = self.choices[number]
        if node[0] == "abs":
            x = self.series[node[1]][k]
            return x if taken == 0 or x is None else self.arithmetic.negate(x)
        return self.series[node[1 + (node[0] == "ite") + taken]][k]


def enclose_values(
    nodes: Sequence[Node], arithmetic: IntervalArithmetic, inputs: Sequence[Interval]
) -> tuple[list[Interval], dict[int, int], frozenset[int]]:
    """The values of all operations for inputs within intervals; branches that are decided; what is rough."""
    values: list[Interval] = list(inputs)
    choices: dict[int, int] = {}
    rough: set[int] = set()
    for number, node in enumerate(nodes):
        word = node[0]
        if word == "input":
            continue
        if word == "number":
            values.append(arithmetic.enclose_number(node[1]))
            continue
        if word == "ite":
            truth = decide_condition(node[1], values.__getitem__)
            both = values[node[2]], values[node[3]]
            values.append(join_intervals(*both) if truth is None else both[0 if truth else 1])
            taken = None if truth is None else 0 if truth else 1
            read = node[2:] if taken is None else (node[2 + taken],)
        else:
            taken, read = 0, node[1 : (2 if word in _SINGLE else 3)]
            parts = [values[i] for i in read]
            if word in ("abs", "min", "max"):
                taken = _decided_branch(word, parts)
                if taken is not None and word != "abs":
                    read = (read[taken],)
            values.append(_interval_operation(arithmetic, node, parts))
        if word == "sqrt" and values[number][0] <= 0:
            taken = None  # it has no slope at 0
        if word.endswith(" of"):
            read = node[1:3]
        if word in BRANCHING and taken is not None:
            choices[number] = taken
        if taken is None or not rough.isdisjoint(read):
            rough.add(number)
    return values, choices, frozenset(rough)


_SINGLE = frozenset(
    {"scale", "negate", "square", "abs", *ELEMENTARY, "atan of", "asin of", "acos of"}
)  # of one part


def _decided_branch(word: str, parts: Sequence[Interval]) -> int | None:
    """Which part, or sign, it is everywhere."""
    if word == "abs":
        low, high = parts[0]
        return 0 if low >= 0 else 1 if high <= 0 else None
    (a, b), (c, d) = parts if word == "max" else parts[::-1]
    return 0 if a >= d else 1 if b <= c else None


def _interval_operation(arithmetic: IntervalArithmetic, node: Node, parts: Sequence[Interval]) -> Interval:
    match node[0]:
        case "scale":
            return arithmetic.scale(parts[0], node[2], node[3])
        case "+":
            return arithmetic.add(*parts)
        case "-":
            return arithmetic.subtract(*parts)
        case "negate":
            return arithmetic.negate(parts[0])
        case "*":
            return arithmetic.multiply(*parts)
        case "square":
            return arithmetic.square(parts[0])
        case "/":
            return arithmetic.multiply(parts[0], arithmetic.reciprocal(parts[1]))
        case "abs":
            return arithmetic.absolute(parts[0])
        case "min":
            return min(parts[0][0], parts[1][0]), min(parts[0][1], parts[1][1])
        case "max":
            return max(parts[0][0], parts[1][0]), max(parts[0][1], parts[1][1])
    return arithmetic.apply(node[0].removesuffix(" of"), parts[0])
