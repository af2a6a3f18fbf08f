"""How the step of a Python shield begins: numbers are taken out of a state and of what is proposed."""

from __future__ import annotations

import ast
from typing import NoReturn

from surefoot.errors import Unsupported


def parse_step_preamble(tree: ast.FunctionDef) -> tuple[tuple[list[str], list[str]], list[ast.stmt]]:
    """The names of a state and of controls, and what follows once all of them are floats.

    A list or tuple of the right length is taken apart without an error, and floats stay what they are: so
    what is done with anything else need not be translated.
    """
    match plain_parameters(tree), tree.body:
        case [first, second], [
            ast.Try(
                [
                    ast.Assign([left], ast.Name(one)),
                    ast.Assign([right], ast.Name(two)),
                    ast.If(test, conversions, []),
                ],
                [ast.ExceptHandler(ast.Name("ValueError"), None, [error])],
                [],
                [],
            ),
            *rest,
        ] if (one, two) == (first, second):
            states, controls = _unpacked_names(left), _unpacked_names(right)
            names = [*states, *controls]
            tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
            tested = {_tested_name(part) for part in tests}
            converted = {_converted_name(statement) for statement in conversions}
            if len({first, second, *names}) == 2 + len(names) and tested | converted <= {*names}:
                _check_raise(error)
                return (states, controls), rest
    refuse_syntax(tree, "it does not begin as an exported step does")


def _unpacked_names(target: ast.expr) -> list[str]:
    match target:
        case ast.Tuple([*parts]) if parts and all(isinstance(part, ast.Name) for part in parts):
            return [part.id for part in parts if isinstance(part, ast.Name)]
    refuse_syntax(target, "names in a tuple are expected here")


def _tested_name(test: ast.expr) -> str:
    match test:
        case ast.Compare(ast.Call(ast.Name("type"), [ast.Name(x)], []), [ast.IsNot()], [ast.Name("float")]):
            return x
    refuse_syntax(test, "only types are tested here")


def _converted_name(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign([ast.Name(name)], ast.Call(ast.Name("float"), [ast.Name(same)], [])) if name == same:
            return name
    refuse_syntax(statement, "only numbers are converted here")


def _check_raise(statement: ast.stmt) -> None:
    match statement:
        case ast.Raise(ast.Call(ast.Name("ValueError"), [ast.Constant(str())], []), ast.Constant(None)):
            return
    refuse_syntax(statement, "only an error is raised here")


def plain_parameters(tree: ast.FunctionDef) -> list[str]:
    match tree:
        case ast.FunctionDef(_, ast.arguments([], [*plain], None, [], [], None, []), decorator_list=[]):
            return [argument.arg for argument in plain]
    refuse_syntax(tree, "its parameters are not plain ones")


def refuse_syntax(place: ast.expr | ast.stmt, why: str) -> NoReturn:
    raise Unsupported(f"no exported shield: {why}", where=f"line {place.lineno}")
