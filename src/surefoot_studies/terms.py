"""Terms that models of several studies are made of."""

from __future__ import annotations

from surefoot import api


def minimum_term(left: api.Operand, right: api.Operand) -> api.Apply:
    return api.Apply(api.Op.MIN, (api.term_from_python(left), api.term_from_python(right)))


def maximum_term(left: api.Operand, right: api.Operand) -> api.Apply:
    return api.Apply(api.Op.MAX, (api.term_from_python(left), api.term_from_python(right)))
