"""Functions of a state, written as Python syntax trees and compiled.

A tree is made of places in the state, numbers, operators and calls of functions that the checker itself puts
into the namespace of the code, under names that are counted: `k0`, `k1`, …. Nothing else is in there, not
even what Python has built in, and no text from outside becomes part of a tree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

INTEGER, BOOLEAN = "integer", "boolean"
WHOLE_NUMBER, TRUTH_VALUE = (INTEGER, None, None), (BOOLEAN,)
_ROW = "row"
_LONG = 4  # neighbouring entries of a row that are copied as a slice


@dataclass(frozen=True, slots=True, eq=False)
class TermSyntax:
    """A term as a syntax tree, and what is known of its value."""

    node: ast.expr
    kind: tuple[Any, ...] = ("",)  # as the kernel has it; ends of ranges may be unknown, or all of it
    constant: bool = False
    value: Any = None  # of a constant


@dataclass(frozen=True, slots=True)
class Temporary:
    """A value that is used twice."""

    name: str

    def bound_to(self, node: ast.expr) -> ast.expr:
        return ast.NamedExpr(ast.Name(self.name, ast.Store()), node)

    def load_node(self) -> ast.expr:
        return ast.Name(self.name, ast.Load())


class ExpressionCompiler:
    """What one function needs besides the state."""

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {"__builtins__": {}}
        self._names: dict[object, str] = {}
        self._temporaries = 0

    def temporary(self) -> Temporary:
        self._temporaries += 1
        return Temporary(f"t{self._temporaries}")

    def store_value(self, value: Any) -> ast.expr:
        """A value in the namespace; numbers and arrays that are written alike are stored once."""
        key: object = id(value) if callable(value) else _storage_key(value)
        if key not in self._names:
            self._names[key] = f"k{len(self._names)}"
            self._namespace[self._names[key]] = value
        return ast.Name(self._names[key], ast.Load())

    def call(self, function: Callable[..., Any], arguments: Sequence[ast.expr]) -> ast.expr:
        return ast.Call(self.store_value(function), list(arguments), [])

    def function(self, body: ast.expr) -> Callable[[tuple[Any, ...]], Any]:
        """The function from a state to the value of the tree."""
        parameters = ast.arguments([], [ast.arg(_ROW)], None, [], [], None, [])
        tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(parameters, body)))
        whole = compile(tree, "<certificate>", "eval")
        (inner,) = (c for c in whole.co_consts if isinstance(c, CodeType))
        return FunctionType(inner, self._namespace)

    def define(self, tree: ast.Module) -> Callable[..., Any]:
        """The function that is the only thing in a module."""
        whole = compile(ast.fix_missing_locations(tree), "<certificate>", "exec")
        (inner,) = (c for c in whole.co_consts if isinstance(c, CodeType))
        return FunctionType(inner, self._namespace)


def slot_syntax(slot: int) -> ast.expr:
    return ast.Subscript(ast.Name(_ROW, ast.Load()), ast.Constant(slot), ast.Load())


def _storage_key(value: Any) -> object:
    """Not equal for 1 and True; Python does not write out numbers of thousands of digits."""
    return tuple(map(_storage_key, value)) if type(value) is tuple else (type(value), value)


def constant_syntax(value: Any, code: ExpressionCompiler) -> TermSyntax:
    kind = _kind_of_value(value)
    node = ast.Constant(value) if kind[0] in (INTEGER, BOOLEAN) else code.store_value(value)
    return TermSyntax(node, kind, True, value)


def _kind_of_value(value: Any) -> tuple[Any, ...]:
    if type(value) is bool:
        return TRUTH_VALUE
    if type(value) is int:
        return WHOLE_NUMBER
    if type(value) is not tuple:
        return ("",)
    inner = {_kind_of_value(v) for v in value}
    return ("array", len(value), inner.pop() if len(inner) == 1 else ("",))


def choice_syntax(left: ast.expr, better: ast.cmpop, right: ast.expr, code: ExpressionCompiler) -> ast.expr:
    """The one that compares better, the left one if both do."""
    first, second = code.temporary(), code.temporary()
    test = ast.Compare(first.bound_to(left), [better], [second.bound_to(right)])
    return ast.IfExp(test, first.load_node(), second.load_node())


def compile_next_row(
    width: int, written: dict[int, ast.expr], code: ExpressionCompiler
) -> Callable[[tuple[Any, ...]], Any]:
    """The function to the next state: these entries are written, all others stay."""
    entries: list[ast.expr] = []
    slot = 0
    while slot < width:
        if slot in written:
            entries.append(written[slot])
            slot += 1
            continue
        stop = slot
        while stop < width and stop not in written:
            stop += 1
        if stop - slot < _LONG:
            entries += [slot_syntax(i) for i in range(slot, stop)]
        else:
            part = ast.Slice(ast.Constant(slot), ast.Constant(stop))
            several = ast.Subscript(ast.Name(_ROW, ast.Load()), part, ast.Load())
            entries.append(ast.Starred(several, ast.Load()))
        slot = stop
    return code.function(ast.Tuple(entries, ast.Load()))


def range_check_syntax(
    node: ast.expr, low: int, high: int, otherwise: Callable[[Any], Any], code: ExpressionCompiler
) -> ast.expr:
    """A whole number if it lies between two; else what is called instead raises."""
    here = code.temporary()
    inside = ast.Compare(ast.Constant(low), [ast.LtE(), ast.LtE()], [here.bound_to(node), ast.Constant(high)])
    return ast.IfExp(inside, here.load_node(), code.call(otherwise, [here.load_node()]))
