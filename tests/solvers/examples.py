"""Small queries with known answers; many are wrong answers that other verifiers have given."""

import os
import time
from fractions import Fraction

import numpy as np

from surefoot.problem.network import Network, dense_network
from surefoot.query.query import Answer, NetworkCall, Query, QueryVariable
from surefoot.solvers.remote import Question
from surefoot.term.term import Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Bool, Int, Real

x, y, z = Var("x"), Var("y"), Var("z")
RELU = dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])], name="relu")
TWO = dense_network(
    [([[1, 0], [0, 1], [1, -1]], [0, 0, 0.5]), ([[1, 1, -1], [1, -1, 0]], [0, 0.25])], name="two"
)


def real(name: str, low: object = None, high: object = None) -> QueryVariable:
    return QueryVariable(name, Real(*(None if b is None else Fraction(b) for b in (low, high))))


def relu(*constraints: Term, low: object = 0, high: object = 1) -> Query:
    """y = relu(x) and constraints."""
    return Query((real("x", low, high), real("y")), constraints, (NetworkCall(RELU, (x,), ("y",)),))


def two(*constraints: Term, x_box: tuple[object, object], y_box: tuple[object, object]) -> Query:
    quantities = (real("x", *x_box), real("y", *y_box), real("u"), real("v"))
    return Query(quantities, constraints, (NetworkCall(TWO, (x, y), ("u", "v")),))


TINY = Fraction(1, 10**7)
NARROW = (Fraction(1, 10), Fraction(1, 10) + Fraction(1, 10**6))

# name: (query, whether it has a solution)
EXAMPLES: dict[str, tuple[Query, bool]] = {
    # Marabou #669: duplicate addends made this unsatisfiable.
    "x = x and x = 5": (Query((real("x", -9, 9),), (equal(x, x), equal(x, 5))), True),
    "cancelling terms": (Query((real("x", -9, 9),), (equal(x + x - x, 5), x - x <= 0)), True),
    "x + x = 2x - 1": (Query((real("x", -9, 9),), (equal(x + x, x * 2 - 1),)), False),
    # Marabou #670: inputs with equal bounds made satisfiable queries unsatisfiable.
    "fixed input": (relu(y >= Const(Fraction(1, 3)), low="1/3", high="1/3"), True),
    "fixed input, too low": (relu(y > Const(Fraction(1, 3)), low="1/3", high="1/3"), False),
    "all inputs fixed": (
        two(equal(Var("u"), Fraction(1, 10)), x_box=("1/10", "1/10"), y_box=("3/10", "3/10")),
        True,
    ),
    # Marabou #813: bounds in the wrong order were satisfiable.
    "low above high": (Query((real("x", "3/2", "1/2"),), ()), False),
    "low above high in an input": (relu(low="3/2", high="1/2"), False),
    "whole number between": (Query((QueryVariable("x", Int(2, 1)),), ()), False),
    # Marabou #568: a tolerance fixed inputs that were not fixed.
    "narrow box, low end": (relu(y < Const(NARROW[0] + TINY), low=NARROW[0], high=NARROW[1]), True),
    "narrow box, high end": (relu(y > Const(NARROW[1] - TINY), low=NARROW[0], high=NARROW[1]), True),
    "narrow box, both ends": (
        relu(equal(y, NARROW[0]) & equal(y, NARROW[1]), low=NARROW[0], high=NARROW[1]),
        False,
    ),
    # maraboupy 2.0.0: satisfiable, with x outside its box.
    "just above the largest output": (relu(y >= Const(1 + TINY)), False),
    "the largest output": (relu(y >= 1), True),
    # NeuralSAT #20: the answer of the last alternative was the answer.
    "last alternative impossible": (relu((y >= Const(Fraction(1, 2))) | (y >= 2)), True),
    "first alternative impossible": (relu((y >= 2) | (y >= Const(Fraction(1, 2)))), True),
    "no alternative possible": (relu((y >= 2) | (y <= -1) | (x > 1)), False),
    # NNV #315: (A or B) and C read as A or B or C.
    "alternatives and a constraint": (relu((y >= 2) | (y <= 1), x < 0), False),
    "tie": (two(equal(Var("u"), Var("v")), x_box=(-1, 1), y_box=(-1, 1)), True),
    "strict tie": (two(Var("u") > Var("v"), Var("v") > Var("u"), x_box=(-1, 1), y_box=(-1, 1)), False),
    "dead neuron": (relu(y > 0, low=-2, high=-1), False),
    "kink": (relu(equal(y, 0), x > Const(-TINY), x < 0, low=-1), True),
    "empty disjunction": (Query((real("x", 0, 1),), (Apply(Op.OR, (x < 0, x > 1)),)), False),
    "no constraints": (Query((real("x", 0, 1), QueryVariable("p", Bool())), ()), True),
    "unbounded but free": (Query((real("x"), real("y")), (equal(x, y + 1), y >= 10)), True),
    "whole and real": (
        Query((QueryVariable("x", Int(0, 9)), real("y", 0, 1)), (equal(x * 2 + y, Fraction(13, 2)),)),
        True,
    ),
    "parity": (
        Query((QueryVariable("x", Int(0, 9)), QueryVariable("y", Int(0, 9))), (equal(x * 2 - y * 2, 1),)),
        False,
    ),
}


def hard_network(width: int = 40, seed: int = 3) -> Network:
    generator = np.random.default_rng(seed)
    sizes = [(width, 12), (width, width), (width, width), (1, width)]
    return dense_network(
        [(generator.normal(size=s) / np.sqrt(s[1]), generator.normal(size=s[0]) * 0.1) for s in sizes]
    )


def hard_query() -> Query:
    """Takes minutes: the output is somewhat larger than random search finds."""
    inputs = tuple(real(f"x{i}", -1, 1) for i in range(12))
    call = NetworkCall(hard_network(), tuple(Var(q.name) for q in inputs), ("y",))
    return Query((*inputs, real("y")), (y >= 2,), (call,))


def sleepy(base: Query) -> Question:
    """A solver that never looks at the clock."""
    return lambda more, seconds: time.sleep(60)  # type: ignore[func-returns-value,return-value]


def crashing(base: Query) -> Question:
    return lambda more, seconds: os._exit(7)


def greedy(base: Query) -> Question:
    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        raise MemoryError

    return question
