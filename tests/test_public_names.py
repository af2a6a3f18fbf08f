"""The public interface: exactly the listed names, each importable, and cheap to import."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot
from surefoot import api


def test_every_name_of_the_table_is_defined_in_its_module() -> None:
    assert set(surefoot.__all__) == set(api.USER_NAMES) <= set(api.HOMES)
    assert all(getattr(surefoot, name) is getattr(api, name) for name in api.HOMES)


def test_type_checkers_see_the_names_of_the_table() -> None:
    tree = ast.parse(Path(api.__file__).read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen: list[tuple[str, str]] = []
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert all(alias.asname == alias.name for alias in node.names), "`name as name` exports a name"
        seen += [(alias.name, str(node.module)) for alias in node.names]
    assert sorted(seen) == sorted(api.HOMES.items())


def test_type_checkers_do_not_believe_that_every_name_is_there() -> None:
    for module in (surefoot, api):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        assert not [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"]


def test_no_offered_name_is_that_of_a_folder() -> None:
    assert not {module.name for module in pkgutil.iter_modules(surefoot.__path__)} & set(api.HOMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = surefoot.nonsense


def test_importing_surefoot_imports_nothing_heavy() -> None:
    heavy = ("numpy", "onnx", "scipy", "highspy", "z3", "torch", "rich", "click")
    assert imported_by("surefoot", heavy) == "[]"


def test_starting_a_check_imports_no_solver() -> None:
    heavy = ("scipy", "llvmlite", "highspy", "z3", "onnx", "clarabel")
    assert imported_by("surefoot.cli.commands.check", heavy) == "[]"


def imported_by(module: str, heavy: tuple[str, ...]) -> str:
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return shown.stdout.strip()
