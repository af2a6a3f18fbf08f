"""Random terms over the names of a model, typed, small, mostly defined."""

from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from tests.laws.oracle.model import Kind
from tests.laws.oracle.terms import Term


@dataclass
class Scope:
    """The names that terms may mention, by kind."""

    whole: list[Term] = field(default_factory=list)
    real: list[Term] = field(default_factory=list)
    truth: list[Term] = field(default_factory=list)
    arrays: list[tuple[str, Kind]] = field(default_factory=list)
    linear: bool = False  # no products, quotients, remainders
    risky: bool = False  # divisors and indices may be anything
    calls: bool = False  # functions of a JANI model
    negative: bool = False  # remainders by negative numbers

    def add(self, name: str, kind: Kind) -> None:
        if kind.length is not None:
            self.arrays.append((name, kind))
            for i in range(kind.length):
                self.add_place(("select", ("var", name), i), kind.base)
        else:
            self.add_place(("var", name), kind.base)

    def add_place(self, place: Term, base: str) -> None:
        {"int": self.whole, "real": self.real, "bool": self.truth}[base].append(place)

    def copy(self) -> "Scope":
        lists = ([*self.whole], [*self.real], [*self.truth], [*self.arrays])
        return Scope(*lists, self.linear, self.risky, self.calls, self.negative)


P, Q = ("var", "p"), ("var", "q")
FUNCTIONS = [
    lambda a, b: ("call", "twice", ("p",), ("*", 2, P), a()),
    lambda a, b: ("call", "spread", ("p", "q"), ("abs", ("-", P, Q)), a(), b()),
    lambda a, b: ("call", "pick", ("p", "q"), ("ite", ("<", P, Q), P, ("-", Q, 1)), a(), b()),
]


def whole_term(r: Random, scope: Scope, depth: int = 2) -> Term:
    if depth == 0 or r.random() < 0.25:
        if scope.whole and r.random() < 0.75:
            return r.choice(scope.whole)
        return r.randint(-2, 4)

    def more() -> Term:
        return whole_term(r, scope, depth - 1)

    kinds = ["+", "-", "min", "max", "ite", "+", "-", "neg", "abs"]
    if not scope.linear:
        kinds += ["*", "%", "floor", "ceil", "trc", "sgn", "^", "select", "rounded"]
    if not scope.linear:
        kinds += ["sum"]
    if scope.calls and r.random() < 0.15:
        return r.choice(FUNCTIONS)(more, more)
    kind = r.choice(kinds)
    if kind == "sum":
        many = [more() for _ in range(r.choice([2, 3]))]
        return ("product", *many[:2]) if r.random() < 0.2 else ("sum", *many)
    if kind in ("neg", "abs", "sgn"):
        return (kind, more())
    if kind == "ite":
        return ("ite", truth_term(r, scope, 1), more(), more())
    if kind == "*" and r.random() < 0.5:
        return ("*", r.choice([-1, 2, 3]), more())
    if kind == "%":
        if scope.risky and r.random() < 0.4:
            return ("%", more(), more())
        if scope.negative and r.random() < 0.5:
            return ("%", more(), r.choice([-2, -3]))
        return ("%", more(), r.choice([2, 3, 4]))
    if kind in ("floor", "ceil", "trc"):
        return (kind, ("/", more(), more() if scope.risky and r.random() < 0.3 else r.choice([2, 3, -2])))
    if kind == "rounded":
        return (r.choice(["floor", "ceil", "trc"]), real_term(r, scope, depth - 1))
    if kind == "^":
        base = r.choice(scope.whole) if scope.whole else 2
        return ("^", base, r.choice([0, 1, 2, 2, 3])) if r.random() < 0.8 else ("^", 2, ("abs", base))
    if kind == "select":
        found = [(name, k) for name, k in scope.arrays if k.base == "int"]
        if not found:
            return more()
        name, array = r.choice(found)
        index = more() if scope.risky and r.random() < 0.5 else ("%", more(), array.length)
        return ("select", ("var", name), index)
    if kind in ("min", "max") and r.random() < 0.2:
        return (kind, more(), more(), more()) if not scope.linear else (kind, more(), more())
    return (kind, more(), more())


def real_term(r: Random, scope: Scope, depth: int = 1) -> Term:
    if depth <= 0 or r.random() < 0.3:
        if scope.real and r.random() < 0.75:
            return r.choice(scope.real)
        return Fraction(r.randint(-4, 8), r.choice([2, 4]))

    def more() -> Term:
        return real_term(r, scope, depth - 1)

    kind = r.choice(["+", "-", "min", "max", "ite", "whole", "/", "abs"])
    if kind == "abs":
        return ("abs", more())
    if kind == "ite":
        return ("ite", truth_term(r, scope, 0), more(), more())
    if kind == "whole":
        return whole_term(r, scope, depth - 1)
    if kind == "/":
        return (
            "/",
            more(),
            whole_term(r, scope, 0) if scope.risky and r.random() < 0.3 else r.choice([2, 4]),
        )
    return (kind, more(), more())


def truth_term(r: Random, scope: Scope, depth: int = 1) -> Term:
    if depth > 0 and r.random() < 0.5:
        kind = r.choice(["and", "or", "not", "=>", "and", "or"])
        if kind == "not":
            return ("not", truth_term(r, scope, depth - 1))
        parts = 3 if kind != "=>" and r.random() < 0.15 else 2
        return (kind, *(truth_term(r, scope, depth - 1) for _ in range(parts)))
    if scope.truth and r.random() < 0.35:
        return r.choice(scope.truth)
    return comparison(r, scope)


def comparison(r: Random, scope: Scope) -> Term:
    op = r.choice(["=", "!=", "<", "<=", ">", ">=", "<", "<="])
    if scope.real and (not scope.whole or r.random() < 0.4):
        left, right = r.choice(scope.real), real_term(r, scope, 1)
    else:
        left, right = whole_term(r, scope, 1), whole_term(r, scope, r.choice([0, 0, 1]))
        if r.random() < 0.6 and scope.whole:
            left, right = r.choice(scope.whole), r.randint(-1, 4)
    if r.random() < 0.08 and op in ("<", "<="):
        return ("chain", r.randint(-1, 1), op, left, r.choice(["<", "<="]), right)
    return (op, left, right)


def kept_in(r: Random, kind: Kind, term: Term) -> Term:
    """The term, made to lie within the limits of a kind."""
    low, high = kind.low, kind.high
    if low is None or high is None:
        return term
    if kind.base == "int" and r.random() < 0.4:
        return ("+", low, ("%", term, high - low + 1)) if low else ("%", term, high + 1)
    return ("max", low, ("min", high, term))
