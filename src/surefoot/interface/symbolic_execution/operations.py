"""Every operation on numbers and symbols by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surefoot.interface.symbolic_execution import arithmetic, remainders
from surefoot.term.term import Op

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "power": arithmetic.power,
    "negative": arithmetic.negative,
    "positive": arithmetic.positive,
    "absolute": arithmetic.absolute,
    "sign": arithmetic.sign,
    "invert": arithmetic.invert,
    "round_python": arithmetic.round_python,
    "round_numpy": arithmetic.round_numpy,
    "less": arithmetic.less,
    "less_equal": arithmetic.less_equal,
    "equal": arithmetic.equal,
    "not_equal": arithmetic.not_equal,
    "truth": arithmetic.truth,
    "choose": arithmetic.choose,
    "bit_and": arithmetic.bit_and,
    "bit_or": arithmetic.bit_or,
    "bit_xor": arithmetic.bit_xor,
    "floor_divide": remainders.floor_divide,
    "remainder": remainders.remainder,
    "fmod": remainders.c_remainder,
    "floor": arithmetic.floor_value,
    "ceil": arithmetic.ceil_value,
    "trunc": arithmetic.trunc_value,
    "floor_int": arithmetic.floor_to_int,
    "ceil_int": arithmetic.ceil_to_int,
    "trunc_int": arithmetic.truncate,
    "logical_not": arithmetic.invert_truth,
    "logical_and": lambda a, b: arithmetic.connect_truths(Op.AND, a, b),
    "logical_or": lambda a, b: arithmetic.connect_truths(Op.OR, a, b),
    "logical_xor": arithmetic.exclusive,
    "minimum": arithmetic.smallest,
    "maximum": arithmetic.largest,
}
