"""Environments that compute in float64: one step is what numpy's doubles say, in every tier, bit for bit.

What is expected is computed here from `docs/reference/problem-file.md` alone: real numbers are numpy doubles,
integers are Python's, and an integer that meets a real number becomes the double nearest to it.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import enumerate_successors
from surefoot.term.closures import UNDEFINED_ERRORS, compile_closure
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import (
    FALSE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    equal,
    free_names,
    ite,
)
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.term.vectorised import vectorise_terms

FLOAT64 = Arithmetic.FLOAT64
X, Y, N, M, B = (Var(name) for name in "xynmb")
EDGE = 2**53


# A reading of the manual that shares nothing with the package but the terms: kind and value in doubles.

REALS = {"x", "y"}


class NoValue(Exception):
    pass


def kind(term: Term) -> str:
    match term:
        case Const(bool()):
            return "truth"
        case Const(int()):
            return "int"
        case Const():
            return "real"
        case Var(name):
            return "real" if name in REALS else "truth" if name == "b" else "int"
        case Apply(op, args):
            if op in (Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR):
                return "truth"
            if op in (Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SIGN, Op.MOD):
                return "int"
            if op is Op.DIV:
                return "real"
            if op is Op.POW and isinstance(args[1], Const) and args[1].value < 0:
                return "real"
            several = {kind(a) for a in (args[1:] if op is Op.ITE else args)}
            return "real" if "real" in several else several.pop()


def number(term: Term, names: dict[str, Any]) -> Any:
    """The value where a real number is wanted."""
    value = expected(term, names)
    return np.float64(value) if isinstance(value, int) else value


def expected(term: Term, names: dict[str, Any]) -> Any:
    match term:
        case Const(bool() | int() as value):
            return value
        case Const(value):
            return np.float64(value.numerator / value.denominator)
        case Var(name):
            return names[name]
        case Apply(Op.ITE, (test, then, otherwise)):
            taken = then if expected(test, names) else otherwise
            return number(taken, names) if kind(term) == "real" else expected(taken, names)
        case Apply(Op.AND, args):
            return all(expected(a, names) for a in args)
        case Apply(Op.OR, args):
            return any(expected(a, names) for a in args)
        case Apply(Op.NOT, (inner,)):
            return not expected(inner, names)
        case Apply((Op.ADD | Op.MUL) as op, (first, *rest)):
            total = expected(first, names)
            for part in rest:
                value = expected(part, names)
                if isinstance(total, float) or isinstance(value, float):
                    total, value = np.float64(total), np.float64(value)
                total = finite(total + value if op is Op.ADD else total * value)
            return total
    assert isinstance(term, Apply)
    real = any(kind(a) == "real" for a in term.args) or term.op is Op.DIV
    parts = [(number if real else expected)(a, names) for a in term.args]
    match term.op:
        case Op.SUB:
            return finite(parts[0] - parts[1])
        case Op.DIV:
            return divided(parts[0], parts[1])
        case Op.NEG:
            return -parts[0]
        case Op.ABS:
            return abs(parts[0])
        case Op.MIN:
            return min(parts)
        case Op.MAX:
            return max(parts)
        case Op.LT:
            return bool(parts[0] < parts[1])
        case Op.LE:
            return bool(parts[0] <= parts[1])
        case Op.EQ:
            return bool(parts[0] == parts[1])
        case Op.FLOOR:
            return int(np.floor(parts[0])) if isinstance(parts[0], float) else parts[0]
        case Op.CEIL:
            return int(np.ceil(parts[0])) if isinstance(parts[0], float) else parts[0]
        case Op.TRUNC:
            return int(parts[0])
        case Op.SIGN:
            return int(parts[0] > 0) - int(parts[0] < 0)
        case Op.MOD:
            if parts[1] == 0:
                raise NoValue
            return parts[0] % abs(parts[1])
        case Op.POW:
            return powered(term, parts)
    raise AssertionError(term)


def powered(term: Apply, parts: list[Any]) -> Any:
    base, exponent = parts[0], term.args[1].value  # type: ignore[union-attr]
    if kind(term) == "int":
        return base**exponent
    product = np.float64(1)
    for _ in range(abs(exponent)):
        product = finite(product * np.float64(base))
    return product if exponent >= 0 else divided(np.float64(1), product)


def divided(left: Any, right: Any) -> Any:
    if right == 0:
        raise NoValue
    return finite(left / right)


def finite(value: Any) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        raise NoValue
    return value


def wanted(term: Term, names: dict[str, Any], real: bool) -> Any:
    """A Python number, or None where there is no value."""
    try:
        with np.errstate(all="ignore"):
            value = (number if real else expected)(term, names)
    except (NoValue, OverflowError):
        return None
    return float(value) if isinstance(value, float) else value


def drawn_number(rng: Random, depth: int, whole: bool) -> Term:
    if depth == 0 or rng.random() < 0.2:
        integers = [N, M, Const(rng.randint(-3, 3)), Const(rng.choice((1, -1)) * (EDGE + rng.randint(-3, 3)))]
        tenths = Fraction(rng.randint(-30, 30), 10)
        return rng.choice(integers) if whole else rng.choice([X, Y, Const(tenths), *integers])
    pair = tuple(drawn_number(rng, depth - 1, whole) for _ in range(2))
    match rng.randrange(12):
        case 0 | 1 | 2:
            return Apply(rng.choice((Op.ADD, Op.MUL)), (*pair, drawn_number(rng, depth - 1, whole)))
        case 3 | 4:
            return pair[0] - pair[1]
        case 5:
            return -pair[0]
        case 6:
            return Apply(rng.choice((Op.MIN, Op.MAX)), pair)
        case 7:
            return ite(drawn_condition(rng, depth - 1), *pair)
        case 8:
            return Apply(Op.POW, (pair[0], Const(rng.randint(0 if whole else -2, 3))))
        case 9 if not whole:
            return Apply(Op.DIV, pair)
        case 10:
            inner = drawn_number(rng, depth - 1, False)
            return Apply(rng.choice((Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SIGN)), (inner,))
        case 11 if whole:
            return pair[0] % pair[1]
        case _:
            return Apply(Op.ABS, pair[:1])


def drawn_condition(rng: Random, depth: int) -> Term:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([B, ~B, X < Y, N <= X])
    inner = tuple(drawn_condition(rng, depth - 1) for _ in range(2))
    if rng.random() < 0.3:
        return Apply(rng.choice((Op.AND, Op.OR)), inner)
    return Apply(
        rng.choice((Op.LT, Op.LE, Op.EQ)),
        tuple(drawn_number(rng, depth - 1, rng.random() < 0.3) for _ in "ab"),
    )


def drawn_state(rng: Random) -> dict[str, Any]:
    real = [0.1 * rng.randint(-20, 20), rng.uniform(-2, 2), float(rng.randint(-3, 3)), float(EDGE), 1e200]
    whole = [rng.randint(-4, 4), EDGE + 1, -EDGE - 3, 0]
    return {
        "x": rng.choice(real),
        "y": rng.choice(real),
        "n": rng.choice(whole),
        "m": rng.choice(whole),
        "b": rng.random() < 0.5,
    }


def as_bits(value: Any) -> Any:
    """Of a double its bits, the sign of zero aside; of others the type and value."""
    if isinstance(value, float):
        return (value + 0.0).hex()
    return (type(value).__name__, value)


def valued(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except UNDEFINED_ERRORS:
        return None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_terms_are_what_numpy_says(seed: int) -> None:
    rng = Random(seed)
    whole, state = rng.random() < 0.3, drawn_state(rng)
    term = drawn_number(rng, 3, whole)
    value = wanted(term, state, real=False)
    kinds = {"x": Real(), "y": Real(), "n": Int(), "m": Int()}
    row = tuple(state[name] for name in "xynmb")
    slots = {name: i for i, name in enumerate("xynmb")}
    assert as_bits(valued(evaluate_term, term, state, FLOAT64)) == as_bits(value)
    assert as_bits(valued(compile_closure(term, slots, kinds, FLOAT64), row)) == as_bits(value)
    if kind(term) == "real" and value is not None:
        vectorised(term, state, value)


def vectorised(term: Term, state: dict[str, Any], value: float) -> None:
    """Columns of doubles have no integer variables."""
    if free_names(term) & {"n", "m", "b"}:
        return
    try:
        table = vectorise_terms([term])
    except Unsupported:
        return
    found = table({name: np.array([state[name]]) for name in "xy"}, 1)[0][0][0]
    assert as_bits(float(found)) == as_bits(value)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_steps_are_what_numpy_says(seed: int) -> None:
    """Start values are written as decimals and whole numbers; the step is taken by every tier that can."""
    rng = Random(seed)
    state = drawn_state(rng)
    updates = {name: drawn_number(rng, 2, name in "nm") for name in "xynm"}
    kinds = {"x": Real(), "y": Real(), "n": Int(), "m": Int()}
    start = conjunction_of(
        (*(equal(Var(n), Const(_as_written(state[n]))) for n in kinds), B if state["b"] else ~B)
    )
    declared = (*(Variable(n, k) for n, k in kinds.items()), Variable("b", Bool()))
    written = tuple(Update(Var(n), t) for n, t in updates.items())
    edge = Edge(outcomes=(Outcome(updates=written),))
    environment = Environment("random", declared, start, (Component("one", (edge,)),), arithmetic=FLOAT64)
    problem = Problem("random", environment, None, Never(FALSE))
    (first,) = enumerate_initial_states(environment, 1)
    assert {n: as_bits(v) for n, v in first.items()} == {n: as_bits(v) for n, v in state.items()}
    after = {n: wanted(t, state, real=n in REALS) for n, t in updates.items()}
    if None in after.values():
        with pytest.raises(Undefined):
            list(enumerate_successors(problem, first))
        with pytest.raises(Undefined):
            explore_problem(problem, labels={}, tier="interpreter", max_states=2)
        return
    (found,) = (s.state for s in enumerate_successors(problem, first))
    assert {n: as_bits(found[n]) for n in after} == {n: as_bits(v) for n, v in after.items()}
    explored = explore_problem(problem, labels={}, tier="interpreter", max_states=2)
    rows = [explored.valuation(i) for i in range(explored.markov.states)]
    assert {n: as_bits(v) for n, v in found.items()} in [{n: as_bits(v) for n, v in r.items()} for r in rows]


def _as_written(value: Any) -> Any:
    """A number whose nearest double is the value: exact, or a little beside it."""
    return Fraction(repr(value)) if isinstance(value, float) else value
