"""Symbols: numbers and truth values that record what Python does with them.

A symbol is of the Python kind `bool`, `int` or `float`, and says so to `isinstance`; `boxed` is one
of numpy's scalars, whose operators differ in places. What an operator means is in `arithmetic.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from surefoot.interface.symbolic_execution.path import current_path
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.term.interval import Interval, is_infinite
from surefoot.term.term import Op, Term

MOST_VALUES = 1_000  # that a whole number may have where each is tried


class Symbol:
    """A number or truth value that is not known yet."""

    __slots__ = ("boxed", "kind", "term")

    def __init__(self, term: Term, kind: type, boxed: bool = False) -> None:
        self.term, self.kind, self.boxed = term, kind, boxed

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` is told."""
        return self.dtype.type if self.boxed else self.kind

    # Operators

    def __add__(self, other: object) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: object) -> Any:
        return _operate("add", other, self)

    def __sub__(self, other: object) -> Any:
        return _operate("subtract", self, other)

    def __rsub__(self, other: object) -> Any:
        return _operate("subtract", other, self)

    def __mul__(self, other: object) -> Any:
        return _operate("multiply", self, other)

    def __rmul__(self, other: object) -> Any:
        return _operate("multiply", other, self)

    def __truediv__(self, other: object) -> Any:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _operate("divide", other, self)

    def __floordiv__(self, other: object) -> Any:
        return _operate("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _operate("floor_divide", other, self)

    def __mod__(self, other: object) -> Any:
        return _operate("remainder", self, other)

    def __rmod__(self, other: object) -> Any:
        return _operate("remainder", other, self)

    def __divmod__(self, other: object) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: object) -> Any:
        return (other // self, other % self)

    def __pow__(self, other: object, modulus: object = None) -> Any:
        raised = _operate("power", self, other)
        return raised if modulus is None else raised % modulus

    def __rpow__(self, other: object) -> Any:
        return _operate("power", other, self)

    def __lshift__(self, other: object) -> Any:
        return self * 2 ** _whole(other) if _whole(other) >= 0 else NotImplemented

    def __rshift__(self, other: object) -> Any:
        return self // 2 ** _whole(other) if _whole(other) >= 0 else NotImplemented

    def __and__(self, other: object) -> Any:
        return _operate("bit_and", self, other)

    def __rand__(self, other: object) -> Any:
        return _operate("bit_and", other, self)

    def __or__(self, other: object) -> Any:
        return _operate("bit_or", self, other)

    def __ror__(self, other: object) -> Any:
        return _operate("bit_or", other, self)

    def __xor__(self, other: object) -> Any:
        return _operate("bit_xor", self, other)

    def __rxor__(self, other: object) -> Any:
        return _operate("bit_xor", other, self)

    def __invert__(self) -> Any:
        return _operate("invert", self)

    def __neg__(self) -> Any:
        return _operate("negative", self)

    def __pos__(self) -> Any:
        return _operate("positive", self)

    def __abs__(self) -> Any:
        return _operate("absolute", self)

    def __floor__(self) -> Any:
        return _operate("floor_int", self)

    def __ceil__(self) -> Any:
        return _operate("ceil_int", self)

    def __trunc__(self) -> Any:
        return _operate("trunc_int", self)

    def __round__(self, digits: int | None = None) -> Any:
        return _operate("round_python", self, digits)

    def __lt__(self, other: object) -> Any:
        return _operate("less", self, other)

    def __le__(self, other: object) -> Any:
        return _operate("less_equal", self, other)

    def __gt__(self, other: object) -> Any:
        return _operate("less", other, self)

    def __ge__(self, other: object) -> Any:
        return _operate("less_equal", other, self)

    def __eq__(self, other: object) -> Any:
        return _operate("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _operate("not_equal", self, other)

    # Where Python wants a value at once

    def __bool__(self) -> bool:
        if self.kind is bool:
            return current_path().decide(self.term)
        return bool(self != 0)

    def __index__(self) -> int:
        if self.kind is float:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return self.pick_value()

    def __int__(self) -> int:
        return self.pick_value() if self.kind is not float else self.__trunc__().pick_value()

    def __float__(self) -> NoReturn:
        what = "a function that computes with numbers only is given a symbol"
        raise Refusal(
            what, "write numpy's or math's function, as in np.sin(x), imported at the top of the file"
        )

    def __complex__(self) -> NoReturn:
        raise Refusal("complex numbers are not followed", "compute with real numbers")

    def __hash__(self) -> int:
        if self.kind is float:
            raise Refusal("a real number is looked up in a dictionary or set", "compare it with `<` or `==`")
        return hash(self.pick_value())

    def __repr__(self) -> str:
        return f"<{self.kind.__name__}>"

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, _: str) -> str:
        return repr(self)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, _: object) -> Symbol:
        return self

    def __reduce__(self) -> NoReturn:
        raise Refusal("a symbol is stored", "write no files inside the step")

    def pick_value(self) -> int:
        """Each value that a whole number may have, on a path of its own."""
        path = current_path()
        recording = path.recording
        term = (
            recording.choose(self.term, recording.constant(1), recording.constant(0))
            if self.kind is bool
            else self.term
        )
        low, high = path.interval(term)
        if is_infinite(low) or is_infinite(high) or high - low >= MOST_VALUES:
            what = "a whole number with many values is used as an index, as a key or to count turns"
            raise Refusal(what, f"give it limits with fewer than {MOST_VALUES} values")
        for value in range(int(low), int(high)):
            if path.decide(recording.apply(Op.EQ, term, recording.constant(value))):
                return value
        return int(high)

    def interval(self) -> Interval:
        return current_path().interval(self.term)

    # What numbers and numpy's scalars have

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[()]:
        return ()

    @property
    def ndim(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return 1

    @property
    def dtype(self) -> Any:
        import numpy as np

        return np.dtype({float: np.float64, int: np.int64, bool: np.bool_}[self.kind])

    def item(self) -> Any:
        return Symbol(self.term, self.kind)

    def copy(self) -> Any:
        return self

    def conjugate(self) -> Any:
        return self

    def is_integer(self) -> Any:
        return _operate("equal", self, self.__floor__())

    def astype(self, kind: object, **_: object) -> Any:
        return _call("cast_scalar", self, kind)

    def clip(self, *given: Any, **named: Any) -> Any:
        return _call("clip_values", self, *given, **named)

    def round(self, decimals: int = 0) -> Any:
        return _operate("round_numpy", self, decimals)

    def sum(self) -> Any:
        return self

    def any(self) -> Any:
        return _operate("truth", self)

    all = any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return _call("apply_ufunc", ufunc, method, inputs, named)

    def __array_function__(self, function: Any, _: Any, given: Any, named: Any) -> Any:
        return _call("apply_numpy_function", function, given, named)


class Unfollowed:
    """A value that is not recorded, and refused where the model would need it."""

    def __init__(self, what: str, fix: str) -> None:
        self.reason = Refusal(what, fix)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.reason


def _refuse_use(self: Unfollowed, *_: object, **__: object) -> NoReturn:
    raise self.reason


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "neg",
    "pos",
    "abs",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "bool",
    "index",
    "int",
    "float",
    "hash",
    "getitem",
    "setitem",
    "iter",
    "len",
    "matmul",
    "rmatmul",
    "and",
    "or",
    "xor",
    "rand",
    "ror",
    "rxor",
    "invert",
    "array_ufunc",
    "array_function",
    "round",
    "floor",
    "ceil",
    "trunc",
]:
    setattr(Unfollowed, f"__{_name}__", _refuse_use)


def _operate(name: str, *operands: Any) -> Any:
    from surefoot.interface.symbolic_execution.operations import OPERATIONS
    from surefoot.interface.symbolic_execution.symbol_array import SymbolArray, is_array

    for operand in operands:
        if type(operand) is SymbolArray or is_array(operand):
            return _call("apply_elementwise", name, operands)
        if type(operand) is Unfollowed:
            raise operand.reason
    operation: Callable[..., Any] = OPERATIONS[name]
    return operation(*operands)


def _call(name: str, *given: Any, **named: Any) -> Any:
    from surefoot.interface.symbolic_execution import numpy_functions

    return getattr(numpy_functions, name)(*given, **named)


def _whole(given: object) -> int:
    return int(given)  # type: ignore[call-overload, no-any-return]
