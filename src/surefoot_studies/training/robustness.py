"""How badly outputs break a property, as a number that torch can differentiate.

A comparison is worth the difference of its sides; `and` is the least of its parts, `or` the greatest, `not`
the negative (the quantitative meaning of temporal logics, Fainekos and Pappas 2009, without time). It is
positive only if the condition holds and negative only if it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

from surefoot.errors import Unsupported
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import output_index
from surefoot.term.term import Apply, Const, Op, Term, Var

RULES: dict[Op, Callable[..., Any]] = {
    Op.ADD: lambda *parts: sum(parts[1:], parts[0]),
    Op.SUB: lambda left, right: left - right,
    Op.NEG: lambda part: -part,
    Op.MUL: lambda *parts: reduce(lambda a, b: a * b, parts),
    Op.LT: lambda left, right: right - left,
    Op.LE: lambda left, right: right - left,
    Op.NOT: lambda part: -part,
    Op.AND: lambda *parts: reduce(torch.minimum, parts),
    Op.OR: lambda *parts: reduce(torch.maximum, parts),
}


def robustness_degree(condition: Term, outputs: Any) -> Any:
    """One number per row of outputs."""
    match condition:
        case Var(name) if (index := output_index(name)) is not None:
            return outputs[:, index]
        case Const(value) if not isinstance(value, bool):
            return torch.full_like(outputs[:, 0], float(value))
        case Apply(op, parts) if op in RULES:
            return RULES[op](*(robustness_degree(part, outputs) for part in parts))
        case other:
            what = f"`{show_term(other)}` cannot be learnt"
            raise Unsupported(what, fix="ask about outputs of the network, with linear comparisons")
