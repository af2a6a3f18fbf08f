"""The public interface: exactly the listed names, each importable, and cheap to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import surefoot


def test_every_listed_name_has_one_home() -> None:
    assert sorted(surefoot.__all__) == sorted(surefoot._HOME_OF)
    assert all(getattr(surefoot, name) is not None for name in surefoot.__all__)


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
