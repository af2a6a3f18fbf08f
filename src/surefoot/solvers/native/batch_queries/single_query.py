"""One question as a query of its own, for the search that takes as long as it needs."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

import numpy as np

from surefoot.network.float32_error import error_bounds
from surefoot.query.query import Answer, NetworkCall, Query, QueryVariable, Undecided, UndecidedReason
from surefoot.solvers.native.batch_queries.queries import BatchQueries
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.linear import LinearForm, term_from_linear
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Int, Real


def build_single_query(questions: BatchQueries, index: int) -> Query | None:
    """The query of a question; None where float32 inference may overflow on its box.

    The outputs of float32 inference are those within its error bound of the exact ones: no solution is lost.
    """
    network, low, high = questions.network, questions.low[index], questions.high[index]
    quantities: list[QueryVariable] = []
    for i in range(network.width):
        ends = Fraction(low[i]), Fraction(high[i])
        kind = Int(-(-ends[0] // 1), ends[1] // 1) if questions.whole[i] else Real(*ends)
        quantities.append(QueryVariable(f"x{i}", kind))
    outputs = tuple(f"y{j}" for j in range(network.outputs))
    quantities += [QueryVariable(name, Real()) for name in outputs]
    slack: tuple[Fraction, ...] = ()
    if questions.float32:
        errors = error_bounds(network, low, high, input_rounding=True).tolist()
        if not all(map(isfinite, errors)):
            return None
        slack = tuple(map(Fraction, errors))
    names = [q.name for q in quantities]
    call = NetworkCall(network, tuple(Var(q.name) for q in quantities[: network.width]), outputs, slack)
    return Query(tuple(quantities), tuple(_row_constraints(questions, index, names)), (call,))


def _row_constraints(questions: BatchQueries, index: int, names: list[str]) -> list[Term]:
    system = questions.systems[questions.system[index]]
    rows: list[Term] = []
    for row, strict, offset in zip(
        system.coefficients.tolist(), system.strict.tolist(), questions.offsets[index].tolist(), strict=False
    ):
        if offset == np.inf:
            continue
        linear = LinearForm(tuple((n, Fraction(c)) for n, c in zip(names, row, strict=True) if c))
        left, right = term_from_linear(linear), Const(Fraction(offset))
        rows.append(left < right if strict else left <= right)
    return rows


def decide_single_query(questions: BatchQueries, index: int, seed: int, seconds: float) -> Answer:
    """The answer of the search; `Sat` gives a point, which for float32 inference is only a candidate."""
    asked = build_single_query(questions, index)
    if asked is None:
        return Undecided(UndecidedReason.NUMERICS, "float32 inference may overflow on this box")
    return decide_native_query(asked, seed, seconds=seconds)
