"""The queries that the checker derives, as a solver takes them: the same variables, calls and conjuncts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, inf, isfinite, nextafter

import numpy as np

from surefoot.network.float32_error import error_bounds
from surefoot.problem.network import Network
from surefoot.query.bounds import declared_box, integer_variable_names, is_small_integer, linear_range
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.linear import LinearForm, term_from_linear
from surefoot.term.term import Apply, Const, Op, Term, conjunction_of, disjunction_of
from surefoot.term.value_types import Int, Real
from surefoot_checker.claims.unsat.cases import formula_conjuncts
from surefoot_checker.kernel.query import ClaimedQuery as Derived
from surefoot_checker.kernel.query import ClaimedVariable, Formula, comparison_form, formula_parts
from surefoot_checker.kernel.query import Linear as Form

_RELATIONS = {"<=": Op.LE, "<": Op.LT, "=": Op.EQ}


def solver_query_from_claim(derived: Derived, network: Network | None, float32: bool) -> Query:
    """The same query for a solver."""
    quantities = tuple(QueryVariable(v.name, _variable_type(v)) for v in derived.variables)
    box, whole = declared_box(quantities), integer_variable_names(quantities)
    calls = []
    for call in derived.calls:
        assert network is not None
        lines = [_form_to_linear(line) for line in call.inputs]
        ranges = [linear_range(line, box) for line in lines]
        exact = (_is_single(line, quantities) or is_small_integer(line, whole, box) for line in lines)
        low = np.array([_float_below(low) for low, _ in ranges])
        high = np.array([-_float_below(None if high is None else -high) for _, high in ranges])
        errors = error_bounds(network, low, high, input_rounding=not all(exact))
        slack = tuple(Fraction(float(e)) if isfinite(e) and float32 else Fraction(0) for e in errors)
        calls.append(NetworkCall(network, tuple(map(term_from_linear, lines)), call.outputs, slack, float32))
    return Query(quantities, tuple(map(_formula_to_term, formula_conjuncts(derived.formula))), tuple(calls))


def _variable_type(variable: ClaimedVariable) -> Int | Real:
    low, high = variable.low, variable.high
    if variable.kind == "integer":
        return Int(None if low is None else ceil(low), None if high is None else floor(high))
    return Real(low, high, variable.kind == "float32")


def _form_to_linear(line: Form) -> LinearForm:
    return LinearForm(tuple((n, c) for n, c in line.items() if n), line.get("", Fraction(0)))


def _is_single(line: LinearForm, quantities: Sequence[QueryVariable]) -> bool:
    float32 = {q.name for q in quantities if isinstance(q.kind, Real) and q.kind.float32}
    return not line.constant and len(line.coefficients) == 1 and line.coefficients[0][0] in float32


def _float_below(value: Fraction | None) -> float:
    if value is None or abs(value) >= 2**1023:
        return -inf
    near = float(value)
    return near if near <= value else nextafter(near, -inf)


def _formula_to_term(part: Formula) -> Term:
    if part[0] in ("and", "or"):
        parts = tuple(map(_formula_to_term, formula_parts(part)))
        return conjunction_of(parts) if part[0] == "and" else disjunction_of(parts)
    return Apply(
        _RELATIONS[str(part[0])], (term_from_linear(_form_to_linear(comparison_form(part))), Const(0))
    )
