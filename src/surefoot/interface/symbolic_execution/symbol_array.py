"""Arrays of symbols: what numpy's arrays have, with the type of elements that they would have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution import arithmetic
from surefoot.interface.symbolic_execution.arithmetic import is_symbol, kind_of, make, term_of
from surefoot.interface.symbolic_execution.operations import OPERATIONS
from surefoot.interface.symbolic_execution.path import current_path
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.term.term import Apply, Op, Var
from surefoot.term.value_types import Array

_RANK = {bool: 0, int: 1, float: 2}
_TYPES: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}


class SymbolArray:
    """An array of symbols and numbers, all of one kind; `cells` is numpy's array of these objects."""

    __slots__ = ("cells", "kind")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, cells: Any, kind: type) -> None:
        self.cells, self.kind = cells, kind

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.cells.shape)

    @property
    def ndim(self) -> int:
        return int(self.cells.ndim)

    @property
    def size(self) -> int:
        return int(self.cells.size)

    @property
    def dtype(self) -> Any:
        return np.dtype(_TYPES[self.kind])

    @property
    def T(self) -> SymbolArray:
        return SymbolArray(self.cells.T, self.kind)

    @property
    def flat(self) -> Iterator[Any]:
        return iter(self.cells.ravel().tolist())

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous")
        return bool(self.cells.ravel()[0])

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __repr__(self) -> str:
        return f"<array of {self.kind.__name__}, {self.shape}>"

    def __format__(self, _: str) -> str:
        return repr(self)

    def __contains__(self, value: object) -> bool:
        return bool(arithmetic.connect_truths(Op.OR, *apply_elementwise("equal", (self, value)).flat))

    def __copy__(self) -> SymbolArray:
        return SymbolArray(self.cells.copy(), self.kind)

    def __deepcopy__(self, _: object) -> SymbolArray:
        return self.__copy__()

    # Elements

    def __getitem__(self, index: Any) -> Any:
        if _has_symbols(index):
            return _take_at(self, index)
        if type(index) is SymbolArray:
            index = np.array([bool(i) if index.kind is bool else int(i) for i in index])
        found = self.cells[index]
        return SymbolArray(found, self.kind) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is SymbolArray and index.kind is bool and index.shape == self.shape:
            if not is_array(value) or value.size == 1:
                mixed = where(index, value, self)
                self.cells[...] = convert_cells(mixed.cells, self.kind)
                return
            places = [
                bool(i) for i in index.cells.ravel()
            ]  # the values go to the places that are chosen, in order
            index = np.array(places).reshape(self.shape)
        if _has_symbols(index):
            _set_at(self, index, value)
            return
        given = to_array(value)
        target = self.cells[index]
        if isinstance(target, np.ndarray):
            self.cells[index] = convert_cells(given.cells, self.kind)
        else:
            self.cells[index] = convert_cells(given.cells, self.kind).reshape(-1)[0]

    def item(self, *index: Any) -> Any:
        """A Python number."""
        found = self[index] if index else self.cells.ravel()[0] if self.size == 1 else None
        if found is None:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return Symbol(found.term, found.kind) if is_symbol(found) else found.item()

    def tolist(self) -> Any:
        return [v.tolist() if type(v) is SymbolArray else unbox(v) for v in self]

    def copy(self, *_: Any, **__: Any) -> SymbolArray:
        return self.__copy__()

    def fill(self, value: Any) -> None:
        self[...] = value

    def astype(self, kind: Any, **_: Any) -> Any:
        wanted = kind_of_dtype(kind)
        if wanted is None:
            return Unfollowed(
                f"`{np.dtype(kind)}` rounds in another way than the model", "write float or np.float64"
            )
        return SymbolArray(convert_cells(self.cells, wanted), wanted)

    def reshape(self, *shape: Any) -> SymbolArray:
        return SymbolArray(self.cells.reshape(*shape), self.kind)

    def ravel(self) -> SymbolArray:
        return SymbolArray(self.cells.ravel(), self.kind)

    def flatten(self) -> SymbolArray:
        return SymbolArray(self.cells.flatten(), self.kind)

    def squeeze(self) -> SymbolArray:
        return SymbolArray(self.cells.squeeze(), self.kind)

    def transpose(self, *axes: Any) -> SymbolArray:
        return SymbolArray(self.cells.transpose(*axes), self.kind)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return _call("apply_ufunc", ufunc, method, inputs, named)

    def __array_function__(self, function: Any, _: Any, given: Any, named: Any) -> Any:
        return _call("apply_numpy_function", function, given, named)


def _call(name: str, *given: Any, **named: Any) -> Any:
    from surefoot.interface.symbolic_execution import numpy_functions

    return getattr(numpy_functions, name)(*given, **named)


def _operator(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        return apply_elementwise(name, (other, self) if swapped else (self, other))

    return operate


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    """`a += b` writes into the same array, as its type."""

    def operate(self: Any, other: Any) -> Any:
        found = apply_elementwise(name, (self, other))
        if _RANK[found.kind] > _RANK[self.kind]:
            raise TypeError(f"cannot cast {found.kind.__name__} to {self.kind.__name__} in place")
        self[...] = found
        return self

    return operate


for _sign, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
}.items():  # fmt: skip
    setattr(SymbolArray, f"__{_sign}__", _operator(_name))
    setattr(SymbolArray, f"__r{_sign}__", _operator(_name, swapped=True))
    setattr(SymbolArray, f"__i{_sign}__", _in_place(_name))
for _sign, _name in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}.items():
    setattr(SymbolArray, f"__{_sign}__", _operator(_name))
for _sign, _name in {"gt": "less", "ge": "less_equal"}.items():
    setattr(SymbolArray, f"__{_sign}__", _operator(_name, swapped=True))
for _sign, _name in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(SymbolArray, f"__{_sign}__", lambda self, _name=_name: apply_elementwise(_name, (self,)))
setattr(SymbolArray, "__matmul__", lambda self, other: _call("multiply_matrices", self, other))  # noqa: B010
setattr(SymbolArray, "__rmatmul__", lambda self, other: _call("multiply_matrices", other, self))  # noqa: B010
for _method, _function in {
    "sum": "sum_values", "mean": "mean_value", "prod": "product_of_values", "dot": "multiply_matrices",
    "min": "smallest_value", "max": "largest_value", "argmin": "place_of_smallest",
    "argmax": "place_of_largest", "any": "any_value", "all": "all_values", "clip": "clip_values",
    "round": "round_values", "cumsum": "running_sums", "take": "take_values", "std": "standard_deviation",
    "var": "variance",
}.items():  # fmt: skip
    setattr(
        SymbolArray,
        _method,
        lambda self, *given, _function=_function, **named: _call(_function, self, *given, **named),
    )


def is_array(value: object) -> bool:
    """An array of numpy, or of symbols?"""
    return type(value) is SymbolArray or isinstance(value, np.ndarray)


def unbox(value: Any) -> Any:
    """The Python number of one of numpy's."""
    if is_symbol(value):
        return Symbol(value.term, value.kind)
    return value.item() if isinstance(value, np.generic) else value


def box_value(value: Any, kind: type) -> Any:
    """One of numpy's scalars of this kind, converted as numpy does."""
    if type(value) is Unfollowed:
        raise value.reason
    own = kind_of(value)
    if not is_symbol(value):
        return _TYPES[kind](value)
    if own is not kind:
        if kind is float:
            value = arithmetic.to_float(value)
        elif kind is int:
            value = arithmetic.to_int(value) if own is float else arithmetic.positive(value)
        else:
            value = arithmetic.truth(value)
    return Symbol(value.term, kind, True) if is_symbol(value) else _TYPES[kind](value)


def convert_cells(cells: Any, kind: type) -> Any:
    found = np.empty(cells.shape, dtype=object)
    for place in np.ndindex(*cells.shape):
        found[place] = box_value(cells[place], kind)
    return found


def kind_of_dtype(dtype: Any) -> type | None:
    """The kind that a type of numpy's stands for; None for those that round or wrap in another way."""
    if isinstance(dtype, type) and dtype.__name__ in ("int", "float", "bool"):
        return {"int": int, "float": float, "bool": bool}[dtype.__name__]
    found = np.dtype(dtype)
    kinds = {np.dtype(np.bool_): bool, np.dtype(np.int64): int, np.dtype(np.float64): float}
    return kinds.get(found)


def to_array(value: Any, dtype: Any = None) -> SymbolArray:
    """What `np.array` makes of numbers, symbols, and lists of them."""
    found = _array_from(value)
    if dtype is None:
        return found
    wanted = kind_of_dtype(dtype)
    if wanted is None:
        raise Refusal(f"an array of `{np.dtype(dtype)}` is not followed", "write dtype=float")
    return SymbolArray(convert_cells(found.cells, wanted), wanted)


def _array_from(value: Any) -> SymbolArray:
    if type(value) is SymbolArray:
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        kind = kind_of_dtype(value.dtype)
        if kind is None:
            raise Refusal(f"an array of `{value.dtype}` is not followed", "write dtype=float")
        return SymbolArray(convert_cells(value, kind), kind)
    if isinstance(value, list | tuple | np.ndarray | range) and not is_symbol(value):
        parts = [_array_from(part) for part in value]
        if not parts:
            return SymbolArray(np.empty((0,), dtype=object), float)
        if len({part.shape for part in parts}) > 1:
            raise ValueError("setting an array element with a sequence: the shapes differ")
        kind = max((part.kind for part in parts), key=_RANK.__getitem__)
        cells = np.empty((len(parts), *parts[0].shape), dtype=object)
        for place, part in enumerate(parts):
            converted = convert_cells(part.cells, kind)
            cells[place] = converted if converted.shape else converted[()]
        return SymbolArray(cells, kind)
    kind = kind_of(value)
    cells = np.empty((), dtype=object)
    cells[()] = box_value(value, kind)
    return SymbolArray(cells, kind)


def apply_elementwise(name: str, operands: tuple[Any, ...]) -> Any:
    """An operation on each element of arrays of one shape, or of shapes that numpy fits to each other."""
    arrays = [to_array(operand) for operand in operands]
    if name == "power" and not is_symbol(operands[1]) and np.isscalar(operands[1]) and operands[1] == 2:
        name, arrays = "multiply", [arrays[0], arrays[0]]  # numpy's arrays are squared by a product
    return map_cells(OPERATIONS[name], arrays)


def map_cells(function: Callable[..., Any], arrays: list[SymbolArray]) -> Any:
    cells = np.broadcast_arrays(*(array.cells for array in arrays))
    shape = cells[0].shape
    found = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        found[place] = function(*(c[place] for c in cells))
    kinds = {kind_of(v) for v in found.ravel()}
    kind = max(kinds, key=_RANK.__getitem__, default=float)
    boxed = convert_cells(found, kind)
    return SymbolArray(boxed, kind) if shape else boxed[()]


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """`np.where` with three arguments."""
    return map_cells(arithmetic.choose, [to_array(v) for v in (condition, then, otherwise)])


# Places that are symbols


def _has_symbols(index: Any) -> bool:
    return is_symbol(index) or (isinstance(index, tuple) and any(is_symbol(i) for i in index))


def _split_index(array: SymbolArray, index: Any) -> tuple[int, Any, tuple[Any, ...]]:
    """The axis of the first symbol, the symbol, and the whole index."""
    whole = index if isinstance(index, tuple) and not is_symbol(index) else (index,)
    axis = next(i for i, part in enumerate(whole) if is_symbol(part))
    if not all(is_symbol(part) or isinstance(part, int | np.integer) for part in whole):
        raise Refusal("an index with a slice and a symbol", "take the row first, then the slice")
    return axis, whole[axis], whole


def _wrap_place(place: Any, length: int) -> Any:
    """From the start of the axis; outside of it Python raises."""
    if place.kind is not int:
        raise IndexError("arrays are indexed by whole numbers")
    inside = current_path()
    if not inside.decide(make(Op.LE, term_of(-length), place.term)):
        raise IndexError(f"index is out of bounds for axis with size {length}")
    if not inside.decide(make(Op.LT, place.term, term_of(length))):
        raise IndexError(f"index is out of bounds for axis with size {length}")
    if place.interval()[0] < 0:
        return arithmetic.choose(arithmetic.less(place, 0), arithmetic.add(place, length), place)
    return place


def _take_at(array: SymbolArray, index: Any) -> Any:
    """An element: a choice by the index among the array's places."""
    axis, symbol, whole = _split_index(array, index)
    length = array.shape[axis]
    place = _wrap_place(symbol, length)
    rows = [SymbolArray(_along(array.cells, axis, i), array.kind) for i in range(length)]
    rest = tuple(part for i, part in enumerate(whole) if i != axis)
    found = [row[rest] if rest else (row if row.ndim else row.cells[()]) for row in rows]
    if type(found[0]) is SymbolArray:
        shape = found[0].shape
        picked = np.empty(shape, dtype=object)
        for cell in product(*map(range, shape)):
            picked[cell] = _select(place, [f.cells[cell] for f in found], array.kind)
        return SymbolArray(picked, array.kind)
    return _select(place, found, array.kind)


def _along(cells: Any, axis: int, place: int) -> Any:
    taken = cells[(slice(None),) * axis + (place,)]
    if isinstance(taken, np.ndarray):
        return taken
    single = np.empty((), dtype=object)
    single[()] = taken
    return single


def _select(place: Any, values: list[Any], kind: type) -> Any:
    if not is_symbol(place):
        return values[int(place)]
    terms = [term_of(v) for v in values]
    low, high = place.interval()  # which may be wider than the places, as that of a wrapped one is
    low, high = max(int(low), 0), min(int(high), len(values) - 1)
    if all(term is terms[low] for term in terms[low : high + 1]):
        return values[low]
    if (whole := _declared_array(terms)) is not None:
        return Symbol(make(Op.SELECT, whole, place.term), kind, True)
    found = make(Op.SELECT, make(Op.ARRAY, *terms), place.term)
    return Symbol(found, kind, True)


def _declared_array(terms: list[Any]) -> Any:
    """The variable whose elements these are, all of them and in their order."""
    base = terms[0].args[0] if isinstance(terms[0], Apply) and terms[0].op is Op.SELECT else None
    if not isinstance(base, Var):
        return None
    kind = current_path().recording.kinds.get(base.name)
    if not isinstance(kind, Array) or kind.length != len(terms):
        return None
    same = all(term is make(Op.SELECT, base, term_of(i)) for i, term in enumerate(terms))
    return base if same else None


def _set_at(array: SymbolArray, index: Any, value: Any) -> None:
    """Each place keeps its element or takes the value, as the index says."""
    axis, symbol, whole = _split_index(array, index)
    if array.ndim != len(whole):
        raise Refusal("a whole row is written at an index that is a symbol", "write one element at a time")
    place = _wrap_place(symbol, array.shape[axis])
    given = box_value(value if not is_array(value) else value.item(), array.kind)
    for i in range(array.shape[axis]):
        here = (*whole[:axis], i, *whole[axis + 1 :])
        here_only = arithmetic.equal(place, i)
        new = arithmetic.choose(here_only, given, array[here])
        array[here] = box_value(new, array.kind)
