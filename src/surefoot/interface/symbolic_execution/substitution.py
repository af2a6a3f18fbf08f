"""While a trace is made, `math`, `numpy` and some of Python's names mean what follows symbols.

They are exchanged in the namespaces of the user's modules that the step can reach, and put back
afterwards. Code of Python, of numpy and of other packages keeps its own.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution.python_functions import PYTHON_NAMES, STANDS, RefusedGenerator
from surefoot.interface.symbolic_execution.refusal import Refusal, is_user_file

TRACING = RLock()  # what a namespace means is one trace's affair at a time
_MISSING = object()
_MOST_REACHED = 5_000


@contextmanager
def exchange_names(step: Any) -> Iterator[None]:
    """Inside, the step and everything of the user's that it can call works on symbols."""
    with TRACING:
        namespaces, cells = find_namespaces(step)
        names: list[tuple[dict[str, Any], str, Any]] = []
        contents: list[tuple[CellType, Any]] = []
        try:
            for namespace in namespaces:
                for name, value in list(namespace.items()):
                    stand = None if name.startswith("__") else stand_for(value)
                    if stand is not None:
                        names.append((namespace, name, value))
                        namespace[name] = stand
                for name, stand in PYTHON_NAMES.items():
                    if name not in namespace:
                        names.append((namespace, name, _MISSING))
                        namespace[name] = stand
            for cell in cells:
                if (stand := stand_for(cell.cell_contents)) is not None:
                    contents.append((cell, cell.cell_contents))
                    cell.cell_contents = stand
            yield
        finally:
            for namespace, name, value in reversed(names):
                if value is _MISSING:
                    namespace.pop(name, None)
                else:
                    namespace[name] = value
            for cell, value in reversed(contents):
                cell.cell_contents = value


def stand_for(value: object) -> Any:
    """What is put in its place; None if it stays."""
    if isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
        return RefusedGenerator()
    return STANDS.get(id(value))


def find_namespaces(step: Any) -> tuple[list[dict[str, Any]], list[CellType]]:
    """The namespaces and closures of all functions of the user's that the step can reach by name."""
    namespaces: dict[int, dict[str, Any]] = {}
    cells: dict[int, CellType] = {}
    seen: dict[int, object] = {}
    waiting = [step]
    while waiting and len(seen) < _MOST_REACHED:
        value = waiting.pop()
        if id(value) in seen or value is None or isinstance(value, int | float | str | bytes):
            continue
        seen[id(value)] = value
        if hasattr(value, "cache_info") and hasattr(value, "cache_clear"):
            what = f"`{getattr(value, '__name__', 'a function')}` keeps its results between calls"
            raise Refusal(what, "leave the cache out (functools.lru_cache)")
        if isinstance(value, FunctionType):
            if is_user_file(value.__code__.co_filename):
                namespaces[id(value.__globals__)] = value.__globals__
                waiting += [value.__globals__.get(name) for name in used_names(value.__code__)]
            for cell in value.__closure__ or ():
                if not _is_empty(cell):
                    cells[id(cell)] = cell
                    waiting.append(cell.cell_contents)
            waiting += [*(value.__defaults__ or ()), getattr(value, "__wrapped__", None)]
        else:
            waiting += _parts_of(value)
    return list(namespaces.values()), list(cells.values())


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is _MISSING
    except ValueError:
        return True


def used_names(code: CodeType) -> Iterator[str]:
    """Every name that is looked up in the code, also inside its inner functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from used_names(constant)


def _parts_of(value: Any) -> list[Any]:
    """What a value leads to: methods, wrapped functions, elements, attributes."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, classmethod | staticmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, ModuleType):
        own = getattr(value, "__file__", None)
        return (
            [v for v in vars(value).values() if isinstance(v, FunctionType | type)]
            if own and is_user_file(own)
            else []
        )
    if isinstance(value, type):
        return [part for kind in value.__mro__ if _is_users(kind) for part in vars(kind).values()]
    if _is_users(type(value)):
        return [type(value), *getattr(value, "__dict__", {}).values()]
    return []


def _is_users(kind: type) -> bool:
    """Has the class a function of the user's? (Where a class was written is not stored.)"""
    functions = [getattr(v, "__func__", v) for v in vars(kind).values()]
    functions += [v.fget for v in vars(kind).values() if isinstance(v, property) and v.fget is not None]
    codes = [getattr(f, "__code__", None) for f in functions]
    return any(code is not None and is_user_file(code.co_filename) for code in codes)
