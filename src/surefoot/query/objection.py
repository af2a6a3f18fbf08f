"""Whether a query can be lowered, and whether all of it has bounds: seen in its terms, without lowering it.

Sums, choices and comparisons can always be lowered. What is in doubt is a product, quotient, remainder or
power of several things that vary: there, and for table look-ups, that one part is lowered to find out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.interval import interval_bounds
from surefoot.query.auxiliary import Auxiliaries
from surefoot.query.bounds import declared_box, is_empty
from surefoot.query.lower import LoweredQuery, Lowering, lower_query
from surefoot.query.query import Query
from surefoot.query.reduction import Reduction
from surefoot.term.interval import term_interval
from surefoot.term.number import MOST_BITS, bits_of
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names

_ALWAYS = frozenset(  # of numbers a number that can be lowered
    {Op.ADD, Op.SUB, Op.NEG, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC}
)
_CONNECTIVES = frozenset({Op.NOT, Op.AND, Op.OR, Op.IMPLIES})
_SHORT = MOST_BITS // 1000
_LARGEST = Fraction(10) ** 300  # a bound beyond this is no bound for float64 arithmetic


def query_objection(name: str, query: Query, refuse_open_ends: Callable[[Query], None]) -> str | None:
    """Why a solver of linear comparisons over bounded quantities cannot take a query.

    `refuse_open_ends` translates it, and is called only where no declaration bounds something: whether the
    constraints do is not seen without.
    """
    why = lowering_objection(query)
    if why is None and not is_bounded_by_declaration(query):
        try:
            refuse_open_ends(query)
        except Unsupported as found:
            why = found
    if why is None:
        return None
    return f"`{name}` cannot take this query: {why.what}; {why.fix}" if why.fix else why.what


def lowering_objection(query: Query) -> Unsupported | None:
    """Why `lower_query` would refuse this query, or None.

    Of numbers that only together become too long nothing is said: that is found out at work.
    """
    look = _Look(query)
    try:
        for constraint in query.constraints:
            look.truth(constraint)
        for call in query.calls:
            for term in call.inputs:
                look.number(term)
    except Unsupported as why:
        return why
    return None


class _Look:
    """One pass over the terms of a query; `Unsupported` comes from lowering a part that is in doubt."""

    def __init__(self, query: Query) -> None:
        self.lowering = Lowering(Auxiliaries(query.quantities))
        self.truths = self.lowering.made.truths
        self._seen: dict[tuple[int, bool], Term] = {}  # by identity, with the term kept alive

    def _is_new(self, term: Term, is_number: bool) -> bool:
        key = (id(term), is_number)
        if key in self._seen:
            return False
        self._seen[key] = term
        return True

    def number(self, term: Term) -> None:
        match term:
            case Const(value) if not isinstance(value, bool) and bits_of(value) < _SHORT:
                return
            case Var(name) if name not in self.truths:
                return
            case Apply(op, args) if self._is_new(term, True):
                if op in _ALWAYS or (op is Op.MUL and self._varying(args) <= 1) or _by_constant(op, args):
                    for argument in args:
                        self.number(argument)
                elif op is Op.ITE:
                    self.truth(args[0])
                    self.number(args[1])
                    self.number(args[2])
                else:
                    self.lowering.number(term)
            case Apply():
                return
            case _:
                self.lowering.number(term)

    def truth(self, term: Term) -> None:
        match term:
            case Const(bool()):
                return
            case Var(name) if name in self.truths:
                return
            case Apply(op, args) if self._is_new(term, False):
                if op in _CONNECTIVES or op is Op.ITE:
                    for argument in args:
                        self.truth(argument)
                elif op is Op.LE or op is Op.LT or op is Op.EQ:
                    of_truths = op is Op.EQ and self.lowering.is_truth(args[0])
                    for argument in args:
                        self.truth(argument) if of_truths else self.number(argument)
                else:
                    self.lowering.truth(term, True)
            case Apply():
                return
            case _:
                self.lowering.truth(term, True)

    def _varying(self, args: tuple[Term, ...]) -> int:
        return sum(not isinstance(a, Const) for a in args)


def _by_constant(op: Op, args: tuple[Term, ...]) -> bool:
    return op is Op.DIV and isinstance(args[1], Const)


def is_bounded_by_declaration(query: Query) -> bool:
    """Whether the declarations alone bound every quantity and every value of the networks.

    Then no solver can miss a bound, whatever the constraints say. Outputs of the only network may be open:
    their bounds are those of the network.
    """
    outputs = {name for call in query.calls for name in call.outputs}
    read = {name for call in query.calls for term in call.inputs for name in free_names(term)}
    if read & outputs:
        return False
    box = declared_box(query.quantities)
    if any(map(is_empty, box.values())):
        return True  # there is nothing to bound
    single = len(query.calls) == 1
    if any(None in ends for name, ends in box.items() if not (single and name in outputs)):
        return False
    kinds = {q.name: q.kind for q in query.quantities}
    for call in query.calls:
        ends = [term_interval(term, kinds) for term in call.inputs]
        if any(low < -_LARGEST or high > _LARGEST for low, high in ends):
            return False
        values = interval_bounds(
            call.network, np.array([float(low) for low, _ in ends]), np.array([float(h) for _, h in ends])
        )
        if not all(np.isfinite(v.low).all() and np.isfinite(v.high).all() for v in values):
            return False
    return True


LOWER = Reduction("lower", lowering_objection, lower_query, LoweredQuery.invert)
