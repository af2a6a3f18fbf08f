"""A condition over exact numbers that is true wherever a condition that is computed in float64 may be.

`x * x <= 1` may be false in float64 where it is true, and `(x + 1e16) - 1e16 > 1` true where x is 0.6: every
comparison is loosened by what bounds the rounding of both its sides over a box.
"""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.errors import Unsupported
from surefoot.term.float64_error import float64_error
from surefoot.term.term import FALSE, Apply, Const, Op, Term, conjunction_of, disjunction_of
from surefoot.term.value_types import ValueType


def loosen_condition(whole: Term, kinds: Mapping[str, ValueType], may: bool = True) -> Term:
    """Where it may be true; without `may`, where it surely is. `Unsupported`: rounding has no bound."""
    match whole:
        case Const():
            return whole
        case Apply(Op.NOT, (inner,)):
            return ~loosen_condition(inner, kinds, not may)
        case Apply(Op.AND | Op.OR as op, parts):
            join = conjunction_of if op is Op.AND else disjunction_of
            return join(tuple(loosen_condition(part, kinds, may) for part in parts))
        case Apply(Op.IMPLIES, (premise, then)):
            return disjunction_of(
                (~loosen_condition(premise, kinds, not may), loosen_condition(then, kinds, may))
            )
        case Apply(Op.LT | Op.LE | Op.EQ, (left, right)):
            error = float64_error(left, kinds) + float64_error(right, kinds)
            if not error:
                return whole
            if whole.op is Op.EQ:
                near = (left <= right + Const(error), right <= left + Const(error))
                return conjunction_of(near) if may else FALSE
            return left <= right + Const(error) if may else left < right - Const(error)
    raise Unsupported("bad states are no comparisons of numbers, so that their rounding has no bound")
