"""Does an assignment satisfy a query? Exact, and independent of everything that solvers use.

Terms are evaluated by the reference meaning, networks in exact rationals. A constraint that is undefined
under the assignment (an index out of range where it is looked at, a division by zero) is not satisfied.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot.network.exact import exact_outputs
from surefoot.query.query import Assignment, NetworkCall, Query, QueryVariable
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.float32 import is_float32_number
from surefoot.term.printer import show_term
from surefoot.term.value_types import Bool, Int, Real


def assignment_defect(query: Query, assignment: Assignment) -> str | None:
    """None if every bound, constraint and network call holds exactly; else the first that does not."""
    for quantity in query.quantities:
        if (trouble := _variable_defect(quantity, assignment)) is not None:
            return trouble
    names = {q.name: _normalise_integer(assignment[q.name]) for q in query.quantities}
    for constraint in query.constraints:
        try:
            holds = evaluate_term(constraint, names)
        except Undefined as error:
            return f"constraint `{show_term(constraint)}` is undefined: {error.what}"
        if holds is not True:
            return f"constraint `{show_term(constraint)}` does not hold"
    for number, call in enumerate(query.calls):
        if (trouble := _call_defect(number, call, names)) is not None:
            return trouble
    return None


def _variable_defect(quantity: QueryVariable, assignment: Assignment) -> str | None:
    if quantity.name not in assignment:
        return f"`{quantity.name}` has no value"
    value, kind = assignment[quantity.name], quantity.kind
    if isinstance(kind, Bool):
        return None if isinstance(value, bool) else f"`{quantity.name}` = {value} is not a truth value"
    if isinstance(value, bool | float):
        return f"`{quantity.name}` = {value} is not an exact number"
    if isinstance(kind, Int) and Fraction(value).denominator != 1:
        return f"`{quantity.name}` = {value} is not a whole number"
    if isinstance(kind, Real) and kind.float32 and not is_float32_number(value):
        return f"`{quantity.name}` = {value} is not a float32 number"
    if (kind.low is not None and value < kind.low) or (kind.high is not None and value > kind.high):
        return f"`{quantity.name}` = {value} is out of its bounds"
    return None


def _normalise_integer(value: bool | int | Fraction) -> bool | int | Fraction:
    """Whole numbers as `int`, as the evaluator has them: an array index must be one."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _call_defect(number: int, call: NetworkCall, names: Assignment) -> str | None:
    inputs = []
    for term in call.inputs:
        try:
            inputs.append(Fraction(evaluate_term(term, names)))
        except Undefined as error:
            return f"input `{show_term(term)}` of network call {number} is undefined: {error.what}"
    try:
        exact = exact_outputs(call.network, inputs)
    except Undefined as error:
        return f"network call {number} is undefined: {error.what}"
    slack = call.slack or (Fraction(0),) * len(exact)
    for name, value, allowed in zip(call.outputs, exact, slack, strict=True):
        if abs(Fraction(names[name]) - value) > allowed:
            return f"`{name}` is not the output of network call {number}"
    return None
