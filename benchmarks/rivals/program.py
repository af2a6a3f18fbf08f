"""A question as variables, linear rows, ReLUs and products: the form from which every engine is fed.

All piecewise-linear nodes are written with ReLU: leaky(x) = s x + (1 - s) relu(x),
clip(x) = low + relu(x - low) - relu(x - high), max(x, y) = y + relu(x - y).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INFINITE = float("inf")
Coefficients = dict[int, float]


class CannotTake(Exception):
    """The engine has no form for some part of the question."""


@dataclass(frozen=True)
class Form:
    """A linear form over variables."""

    terms: Coefficients
    constant: float = 0.0

    def plus(self, other: Form, factor: float = 1.0) -> Form:
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            terms[variable] = terms.get(variable, 0.0) + factor * coefficient
        return Form({v: c for v, c in terms.items() if c}, self.constant + factor * other.constant)

    def times(self, factor: float) -> Form:
        return Form({v: c * factor for v, c in self.terms.items() if c * factor}, self.constant * factor)


@dataclass(frozen=True)
class Row:
    """low <= terms <= high; `asked`: a comparison of the question, not part of a network."""

    terms: Coefficients
    low: float
    high: float
    strict: bool = False
    asked: bool = False


@dataclass(frozen=True)
class Relu:
    before: int
    after: int
    low: float
    high: float


@dataclass
class Program:
    """`inputs`: the variables of the question that are not outputs of networks, by name."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    relus: list[Relu] = field(default_factory=list)
    products: list[tuple[int, int, int]] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)

    def variable(self, low: float, high: float, whole: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.low) - 1

    def named(self, form: Form, low: float, high: float) -> int:
        """A variable that equals a form."""
        if len(form.terms) == 1 and not form.constant and 1.0 in form.terms.values():
            return next(iter(form.terms))
        variable = self.variable(low, high)
        self.rows.append(Row({**form.terms, variable: -1.0}, -form.constant, -form.constant))
        return variable

    def relu(self, form: Form, low: float, high: float) -> Form:
        if high <= 0:
            return Form({})
        if low >= 0:
            return form
        before, after = self.named(form, low, high), self.variable(0.0, high)
        self.relus.append(Relu(before, after, low, high))
        return Form({after: 1.0})


def programs(document: dict[str, Any], use_bounds: bool = True) -> Iterator[Program]:
    """One program per case of the question; it has a solution if one of them has.

    Without bounds every ReLU stays: an engine that analyses layers itself wants to see them.
    """
    return (program(document, case, use_bounds) for case in document["cases"])


def program(document: dict[str, Any], case: dict[str, Any], use_bounds: bool) -> Program:
    found = Program()
    boxes_of = dict(zip(names_of(document), case["box"], strict=True))
    outputs = {name for _, _, names in document["calls"] for name in names}
    known: dict[str, Form] = {}
    for (name, whole), (low, high) in zip(document["variables"], case["box"], strict=True):
        if name not in outputs:
            found.inputs[name] = found.variable(ends(low, -INFINITE), ends(high, INFINITE), whole)
            known[name] = Form({found.inputs[name]: 1.0})
    for (number, arguments, names), bounds in zip(document["calls"], case["bounds"], strict=True):
        inputs = [linear(a, known) for a in arguments]
        boxes = [(numbers(low, "<f8"), numbers(high, "<f8")) for low, high in bounds]
        if not use_bounds:
            boxes = [(np.full(len(low), -INFINITE), np.full(len(low), INFINITE)) for low, _ in boxes]
        values = network(found, document["networks"][number]["nodes"], inputs, boxes)
        for name, value, low, high in zip(names, values, *boxes[-1], strict=True):
            known[name] = Form({found.named(value, low, high): 1.0})
    for name, _ in document["variables"]:
        if name in outputs and boxes_of[name] != [None, None]:
            form = known[name]
            low, high = ends(boxes_of[name][0], -INFINITE), ends(boxes_of[name][1], INFINITE)
            found.rows.append(Row(form.terms, low - form.constant, high - form.constant, asked=True))
    for relation, terms in case["rows"]:
        form = linear(terms, known)
        least = -form.constant if relation == "=" else -INFINITE
        found.rows.append(Row(form.terms, least, -form.constant, relation == "<", asked=True))
    return found


def names_of(document: dict[str, Any]) -> list[str]:
    return [name for name, _ in document["variables"]]


def ends(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def linear(terms: dict[str, float], known: dict[str, Form]) -> Form:
    total = Form({}, terms.get("", 0.0))
    for name, coefficient in terms.items():
        if name:
            total = total.plus(known[name], coefficient)
    return total


def numbers(text: str, kind: str = "<f4") -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.frombuffer(b64decode(text), dtype=kind).astype(np.float64)


def network(found: Program, nodes: Sequence[Any], inputs: list[Form], boxes: Sequence[Any]) -> list[Form]:
    values = [inputs]
    for number, node in enumerate(nodes):
        values.append(NODES[node[0]](found, node, values, boxes, number))
    return values[-1]


def affine(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    _, source, rows, columns, weights, bias = node
    matrix, offsets = numbers(weights).reshape(rows, columns), numbers(bias)
    results = []
    for row, offset, low, high in zip(matrix, offsets, *boxes[number + 1], strict=True):
        total: Coefficients = {}
        constant = float(offset)
        for column in np.nonzero(row)[0]:
            form, weight = values[source][column], float(row[column])
            constant += weight * form.constant
            for variable, coefficient in form.terms.items():
                total[variable] = total.get(variable, 0.0) + weight * coefficient
        results.append(Form({found.named(Form(total, constant), float(low), float(high)): 1.0}))
    return results


def relu(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    low, high = boxes[node[1]]
    slope = float.fromhex(node[2]) if node[0] == "leaky_relu" else 0.0
    results = []
    for form, least, most in zip(values[node[1]], low, high, strict=True):
        results.append(form.times(slope).plus(found.relu(form, least, most), 1.0 - slope))
    return results


def clip(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    low, high = (float.fromhex(p) for p in node[2:])
    results = []
    for form, least, most in zip(values[node[1]], *boxes[node[1]], strict=True):
        up = found.relu(form.plus(Form({}, -low)), least - low, most - low)
        over = found.relu(form.plus(Form({}, -high)), least - high, most - high)
        results.append(up.plus(over, -1.0).plus(Form({}, low)))
    return results


def maximum(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    (low_x, high_x), (low_y, high_y) = boxes[node[1]], boxes[node[2]]
    pairs = zip(values[node[1]], values[node[2]], low_x - high_y, high_x - low_y, strict=True)
    return [y.plus(found.relu(x.plus(y, -1.0), least, most)) for x, y, least, most in pairs]


def product(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    results = []
    low, high = boxes[number + 1]
    for i, (x, y) in enumerate(zip(values[node[1]], values[node[2]], strict=True)):
        left, right = (
            found.named(f, *(float(b[i]) for b in boxes[n])) for f, n in ((x, node[1]), (y, node[2]))
        )
        found.products.append((left, right, found.variable(float(low[i]), float(high[i]))))
        results.append(Form({found.products[-1][2]: 1.0}))
    return results


def constant(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    change: Callable[[Form, float], Form] = {
        "add": lambda form, c: form.plus(Form({}, c)),
        "multiply": Form.times,
        "divide": lambda form, c: form.times(1.0 / c),
    }[node[0]]
    return [change(form, float(c)) for form, c in zip(values[node[1]], numbers(node[2]), strict=True)]


def total(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    return [x.plus(y) for x, y in zip(values[node[1]], values[node[2]], strict=True)]


def pick(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    return [values[node[1]][i] for i in node[2]]


def join(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    return [form for source in node[1] for form in values[source]]


def refuse(found: Program, node: Any, values: Any, boxes: Any, number: int) -> list[Form]:
    raise CannotTake(f"no form for `{node[0]}`")


NODES: dict[str, Callable[..., list[Form]]] = {
    "affine": affine,
    "relu": relu,
    "leaky_relu": relu,
    "clip": clip,
    "maximum": maximum,
    "product": product,
    "add": constant,
    "multiply": constant,
    "divide": constant,
    "sum": total,
    "pick": pick,
    "join": join,
    "tanh": refuse,
    "sigmoid": refuse,
    "quotient": refuse,
}
