"""The step of an exported Python module as a function of machine code that Python calls directly.

    faster = machine_step(step)                 # `Unsupported` says why there is none

It answers where state and proposal are lists or tuples of floats, as many as there have to be, and every
result is finite; otherwise it asks the Python step, so errors and special cases are Python's own. It has no
memory of its own, so threads may share it. What is translated is the text of the module's file, and only if
what Python runs was made from the very same text; the file is not executed.
"""

from __future__ import annotations

import ast
import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.shield.export.step_to_llvm import TranslatedStep, emit_is_finite, translate_step
from surefoot.work.machine.jit import compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction

StepFunction: TypeAlias = Callable[[Sequence[float], Sequence[float]], tuple[tuple[float, ...], int]]
_MEANT: dict[str, object] = {"type": type, "float": float, "max": max, "isfinite": math.isfinite}
_MOST_BYTES = 300_000
_WITH_NAMES = 0x0080 | 0x0002  # METH_FASTCALL | METH_KEYWORDS


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def machine_step(step: object) -> StepFunction:
    """The same step in machine code, or `Unsupported` with the reason why it stays as it is."""
    if type(step) is not FunctionType or step.__code__.co_name != "step":
        raise Unsupported("it is not the function `step` of a module")
    own = {name for name, value in step.__globals__.items() if type(value) is FunctionType}
    if not {*step.__code__.co_names} <= {*_MEANT, *own, "ValueError"}:
        raise Unsupported("no exported shield: it uses other names")
    if not _has_expected_layout():
        raise Unsupported("this Python keeps its objects in another way")
    try:
        tree = _parse_module(step.__code__.co_filename)
        found = translate_step({part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)})
        _check_same_code(step, tree, found)
        machine = compile_llvm_ir(f"{found.text}\n{_entry_point_text(found)}\n", None, 0)
    except (ImportError, AttributeError, OSError, SyntaxError, ValueError, RuntimeError) as problem:
        raise Unsupported(f"it cannot be compiled: {problem}") from None
    method = _Method(b"step", machine.address("called"), _WITH_NAMES, None)
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    create = kind(("PyCFunction_NewEx", ctypes.pythonapi))
    made: StepFunction = create(
        ctypes.addressof(method), (step, machine, method), None
    )  # which it keeps alive
    return made


def _parse_module(path: str) -> ast.Module:
    content = Path(path).read_bytes()
    if len(content) > _MOST_BYTES:
        raise Unsupported(f"to compile more than {_MOST_BYTES} bytes takes too long")
    return ast.parse(content, path)


def _check_same_code(step: FunctionType, tree: ast.Module, found: TranslatedStep) -> None:
    """Is what Python would run made from this text, and are names what they are taken for?"""
    code = compile(tree, step.__code__.co_filename, "exec", dont_inherit=True)
    codes = {(c.co_name, c.co_firstlineno): c for c in code.co_consts if isinstance(c, CodeType)}
    lines = {part.name: part.lineno for part in tree.body if isinstance(part, ast.FunctionDef)}
    known: dict[str, object] = step.__globals__
    for name in found.functions:
        function = step if name == "step" else known.get(name)
        if type(function) is not FunctionType or function.__globals__ is not known:
            raise Unsupported(f"`{name}` is not as its file has it")
        if (function.__closure__, function.__defaults__, function.__kwdefaults__) != (None, None, None):
            raise Unsupported(f"`{name}` is not as its file has it")
        if function.__code__ != codes.get((name, lines[name])):  # not one of the same name below a condition
            raise Unsupported(f"the text of `{name}` has changed")
    usual: dict[str, object] = step.__builtins__  # type: ignore[attr-defined, unused-ignore]
    for name in found.called:
        if known.get(name, usual.get(name)) is not _MEANT[name]:
            raise Unsupported(f"`{name}` is another function here")


def _has_expected_layout() -> bool:
    """Are the parts of floats, tuples and lists where `_called` looks for them?"""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False

    def word(address: int) -> int:
        return ctypes.c_ssize_t.from_address(address).value

    numbers = [1.5, -0.1]
    pair = tuple(numbers)
    kinds = all(word(id(value) + 8) == id(type(value)) for value in (numbers, pair, *numbers))
    if not kinds or (word(id(numbers) + 16), word(id(pair) + 16)) != (2, 2):
        return False
    items = word(id(numbers) + 24), id(pair) + 24
    same = all(word(first + 8 * i) == id(numbers[i]) for first in items for i in range(2))
    return same and all(ctypes.c_double.from_address(id(v) + 16).value == v for v in numbers)


def _entry_point_text(found: TranslatedStep) -> str:
    """What Python calls: numbers are taken out of objects, and results put into a tuple.

    Its arguments are those of METH_FASTCALL | METH_KEYWORDS; the first part of the tuple `%self` is the
    Python step.
    """
    f = IrFunction("called", "ptr %self, ptr %arguments, i64 %count, ptr %names", "ptr")
    f.leave(f.compare("ne", "%count", "2"), "python")
    f.leave(f.value("icmp ne ptr %names, null"), "python")
    applied = f.value(f"alloca double, i64 {max(found.applied, 1)}")
    numbers = []
    for position, count in enumerate((found.states, found.controls)):
        numbers += _emit_unboxing(f, f.load("%arguments", str(position), "ptr"), count)
    given = "".join(f", double {number}" for number in numbers)
    word = f.value(f"call i64 @own_step(ptr {applied}{given})")
    f.leave(f.compare("slt", word, "0"), "python")
    results = [f.load(applied, str(index), "double") for index in range(found.applied)]
    for result in results:
        f.leave(f.value(f"xor i1 {emit_is_finite(f, result)}, true"), "python")
    values = "".join(f", double {result}" for result in results)
    small = f.value(f"trunc i64 {word} to i32")
    build = f"call ptr (ptr, ...) {_api_address('Py_BuildValue')}"
    f.do(f"ret ptr {f.value(f'{build}(ptr @shape{values}, i32 {small})')}")
    f.begin("python")
    step = f.load("%self", "3", "ptr")
    asked = f.value(
        f"call ptr {_api_address('PyObject_Vectorcall')}(ptr {step}, ptr %arguments, i64 %count, ptr %names)"
    )
    f.do(f"ret ptr {asked}")
    shape = f"(({'d' * found.applied})i)"
    return f'@shape = private constant [{len(shape) + 1} x i8] c"{shape}\\00"\n{f.text()}'


def _emit_unboxing(f: IrFunction, row: str, count: int) -> list[str]:
    """The numbers of a list or tuple, if they are so many floats."""
    kind = f.load(row, "1", "ptr")
    is_list = f.value(f"icmp eq ptr {kind}, {_type_address(list)}")
    is_row = f.value(f"or i1 {is_list}, {f.value(f'icmp eq ptr {kind}, {_type_address(tuple)}')}")
    f.leave(f.value(f"xor i1 {is_row}, true"), "python")
    f.leave(f.compare("ne", f.load(row, "2"), str(count)), "python")
    items = f.value(f"select i1 {is_list}, ptr {f.load(row, '3', 'ptr')}, ptr {f.at(row, '3', 'ptr')}")
    numbers = []
    for index in range(count):
        item = f.load(items, str(index), "ptr")
        f.leave(f.value(f"icmp ne ptr {f.load(item, '1', 'ptr')}, {_type_address(float)}"), "python")
        numbers.append(f.load(item, "2", "double"))
    return numbers


def _type_address(kind: type) -> str:
    return f"inttoptr (i64 {id(kind)} to ptr)"


def _api_address(name: str) -> str:
    """A function of the running Python, by its address."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return f"inttoptr (i64 {address} to ptr)"
