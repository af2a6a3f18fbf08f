"""What stands for `math`, `numpy`, `random` and some of Python's own functions while a trace is made."""

from __future__ import annotations

import builtins
import math
import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution import arithmetic, numpy_functions
from surefoot.interface.symbolic_execution.arithmetic import is_symbol
from surefoot.interface.symbolic_execution.elementary_functions import (
    FUNCTIONS,
    hypotenuse,
    is_close,
    logarithm,
)
from surefoot.interface.symbolic_execution.numpy_functions import (
    MAKING,
    NUMPY,
    call_with_numbers,
    holds_symbols,
    refuse_random,
)
from surefoot.interface.symbolic_execution.operations import OPERATIONS
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.interface.symbolic_execution.symbol_array import SymbolArray, unbox
from surefoot.term.term import Op


def only_for_symbols(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself wherever no symbol is among its arguments."""

    def call(*given: Any, **named: Any) -> Any:
        if holds_symbols(given) or holds_symbols(named):
            return traced(*given, **named)
        if any(type(v) is SymbolArray for v in given):
            return call_with_numbers(original, given, named)
        return original(*given, **named)

    return call


def _root(value: Any) -> Any:
    term = arithmetic.number_term(value)
    below = (-math.inf, -math.ulp(0.0))
    arithmetic.raise_where(
        lambda: arithmetic.make(Op.LT, term, arithmetic.const(0)),
        term,
        below,
        ValueError("math domain error"),
    )
    return FUNCTIONS["sqrt"](value)


def _log(value: Any, base: Any = None) -> Any:
    term = arithmetic.number_term(value)
    below = (-math.inf, 0)
    arithmetic.raise_where(
        lambda: arithmetic.make(Op.LE, term, arithmetic.const(0)),
        term,
        below,
        ValueError("math domain error"),
    )
    return logarithm(value) if base is None else arithmetic.divide(logarithm(value), math.log(base))


def _distance(p: Any, q: Any) -> Any:
    return hypotenuse(*(arithmetic.subtract(a, b) for a, b in zip(p, q, strict=True)))


def _multiply_all(values: Any, *, start: Any = 1) -> Any:
    for value in values:
        start = start * value
    return start


_MATH: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "log": _log,
    "sqrt": _root,
    "pow": lambda x, y: OPERATIONS["power"](arithmetic.to_float(x), y),
    "fabs": lambda x: arithmetic.to_float(abs(x)),
    "floor": OPERATIONS["floor_int"],
    "ceil": OPERATIONS["ceil_int"],
    "trunc": arithmetic.to_int,
    "fmod": lambda x, y: OPERATIONS["fmod"](arithmetic.to_float(x), y),
    "isclose": is_close,
    "dist": _distance,
    "prod": _multiply_all,
    "isnan": lambda x: False,
    "isinf": lambda x: False,
    "isfinite": lambda x: True,
}


def _unboxing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Functions of `math` give Python's numbers."""
    return lambda *given, **named: unbox(function(*given, **named))


def _extreme(original: Callable[..., Any], operation: str) -> Callable[..., Any]:
    def pick(*given: Any, **named: Any) -> Any:
        values = list(given[0]) if len(given) == 1 else list(given)
        if named or not values or not holds_symbols(values) or any(type(v) is SymbolArray for v in values):
            return original(values, **named) if values else original(*given, **named)
        if any(type(v) is Unfollowed or not isinstance(v, int | float | np.number) for v in values):
            return original(values)
        return OPERATIONS[operation](*values)

    return pick


def _sum(values: Any, /, start: Any = 0) -> Any:
    found = list(values)
    if not holds_symbols(found) and not holds_symbols(start):
        return builtins.sum(found, start)
    if any(not isinstance(v, int | float | np.number) for v in found):
        return builtins.sum(found, start)
    return arithmetic.add_in_order([start, *found])


class _NumberType(type):
    """A type of numbers that also converts symbols; `isinstance` asks for the type that it stands for."""

    stands_for: Any
    convert: Any

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if given and type(given[0]) is Unfollowed:
            raise given[0].reason
        if len(given) == 1 and type(given[0]) is SymbolArray:
            given = (given[0].item(),)
        if len(given) == 1 and is_symbol(given[0]):
            return cls.convert(given[0])
        return cls.stands_for(*given, **named)

    def __instancecheck__(cls, value: object) -> bool:
        if type(value) is Symbol and issubclass(cls.stands_for, np.generic):
            return value.boxed and issubclass(value.dtype.type, cls.stands_for)
        return isinstance(value, cls.stands_for)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stands_for

    def __hash__(cls) -> int:
        return hash(cls.stands_for)


def _number_type(original: Any, convert: Callable[[Any], Any]) -> Any:
    return _NumberType(
        original.__name__, (original,), {"stands_for": original, "convert": staticmethod(convert)}
    )


def _numpy_type(name: str) -> Any:
    original = getattr(np, name)
    return _number_type(original, lambda value: numpy_functions.cast_scalar(value, original))


class Stand:
    """Stands for a module: the names of the table, and all its other names."""

    def __init__(self, module: ModuleType, table: dict[str, Any]) -> None:
        self.__dict__["_module"], self.__dict__["_table"] = module, table

    def __getattr__(self, name: str) -> Any:
        table = self.__dict__["_table"]
        return table[name] if name in table else getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: object) -> None:
        raise Refusal("a module is changed inside the step", "pass the value as an argument")


_RANDOM = (
    "random uniform randint randrange gauss normalvariate choice choices shuffle sample triangular "
    "betavariate expovariate"
)
_NUMPY_RANDOM = (
    "random rand randn randint uniform normal choice standard_normal binomial poisson exponential "
    "shuffle permutation"
)


class RefusedGenerator:
    """Stands for a generator of random numbers."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return refuse_random


def _refuse_by_name(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Refusal(f"`math.{name}` is not followed", "write it with + - * / and conditional expressions")

    return refuse


def _make_stands() -> tuple[dict[int, Any], dict[str, Any]]:
    """What is put in place of objects, by their identity, and of Python's own names."""
    maths = {
        name: only_for_symbols(f, _unboxing(_MATH[name]) if name in _MATH else _refuse_by_name(name))
        for name, f in vars(math).items()
        if callable(f) and not name.startswith("__")
    }
    arrays = {n: only_for_symbols(getattr(np, n), f) for n, f in NUMPY.items() if hasattr(np, n)}
    arrays |= {n: f for n, f in MAKING.items() if hasattr(np, n)}
    types = {
        n: _numpy_type(n)
        for n in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool_")
    }
    linear = {"norm": only_for_symbols(np.linalg.norm, numpy_functions.vector_norm)}
    draws = dict.fromkeys(_NUMPY_RANDOM.split(), refuse_random) | {
        "default_rng": lambda *_: RefusedGenerator()
    }
    drawn = dict.fromkeys(_RANDOM.split(), refuse_random)
    stands: dict[int, Any] = {
        id(math): Stand(math, maths),
        id(random): Stand(random, drawn),
        id(np.linalg): (linalg := Stand(np.linalg, linear)),
        id(np.random): (chance := Stand(np.random, draws)),
        id(np): Stand(np, {**arrays, **types, "linalg": linalg, "random": chance}),
        id(np.linalg.norm): linear["norm"],
    }
    for module, table in ((math, maths), (np, {**arrays, **types}), (random, drawn)):
        stands |= {id(getattr(module, name)): traced for name, traced in table.items()}
    own = {
        "int": _number_type(int, arithmetic.to_int),
        "float": _number_type(float, arithmetic.to_float),
        "min": _extreme(min, "minimum"),
        "max": _extreme(max, "maximum"),
        "sum": _sum,
    }
    for name in own:  # numpy offers some of them under the same identity
        stands.pop(id(getattr(builtins, name)), None)
    return stands, own


STANDS, PYTHON_NAMES = _make_stands()
