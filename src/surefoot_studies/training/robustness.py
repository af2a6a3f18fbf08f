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

from surefoot import api

RULES: dict[api.Op, Callable[..., Any]] = {
    api.Op.ADD: lambda *parts: sum(parts[1:], parts[0]),
    api.Op.SUB: lambda left, right: left - right,
    api.Op.NEG: lambda part: -part,
    api.Op.MUL: lambda *parts: reduce(lambda a, b: a * b, parts),
    api.Op.LT: lambda left, right: right - left,
    api.Op.LE: lambda left, right: right - left,
    api.Op.NOT: lambda part: -part,
    api.Op.AND: lambda *parts: reduce(torch.minimum, parts),
    api.Op.OR: lambda *parts: reduce(torch.maximum, parts),
}


def robustness_degree(condition: api.Term, outputs: Any) -> Any:
    """One number per row of outputs."""
    match condition:
        case api.Var(name) if (index := api.output_index(name)) is not None:
            return outputs[:, index]
        case api.Const(value) if not isinstance(value, bool):
            return torch.full_like(outputs[:, 0], float(value))
        case api.Apply(op, parts) if op in RULES:
            return RULES[op](*(robustness_degree(part, outputs) for part in parts))
        case other:
            what = f"`{api.show_term(other)}` cannot be learnt"
            raise api.Unsupported(what, fix="ask about outputs of the network, with linear comparisons")
