"""Help and usage errors: in groups, and without waiting for what only an answer needs."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot.cli import COMMANDS
from surefoot_studies.commands import COMMANDS as STUDY_COMMANDS

HEAVY = ("numpy", "scipy", "onnx", "highspy", "z3", "clarabel", "llvmlite", "rich")
LATER = ("engines", "solvers", "run", "problem", "formats.model_file", "report", "search", "shields")
MOST_MODULES = 150  # beside those of click; with the engines there are more than 500
WRONG = (
    ("check",),
    ("check", "toy.toml", "--nonsense"),
    ("check", "toy.toml", "--engine", "nonsense"),
    ("check", "toy.toml", "--engine", "bmc", "--eps", "0.1"),
    ("check", "toy.toml", "--depth", "many"),
    ("check", "toy.toml", "--timeout", "-1"),
    ("check", "toy.toml", "--flow-method", "rk4"),
    ("check", "toy.toml", "--json", "no/such/folder/r.json"),
    ("check", "there-is-none.toml"),
    ("shield", "there-is-none.toml", "--degree", "3"),
    ("heatmap", "there-is-none.toml"),
    ("invariant", "there-is-none.toml"),
    ("vnnlib", "net.onnx"),
    ("sweep", "toy.toml", "--timeout", "0"),
    ("nonsense",),
    ("study", "compare", "nonsense"),
    ("study", "table", "control", "7"),
)


def imported_modules(*arguments: str, folder: Path | None = None) -> list[str]:
    """The modules that a process has imported by the end of a command; without arguments, those of click."""
    code = "import sys, click\n"
    if arguments:
        code += "import surefoot.cli\nsurefoot.cli.run_command_line(sys.argv[1:])\n"
    code += "print('modules', *sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, cwd=folder
    )
    return shown.stdout.strip().splitlines()[-1].split()[1:]


@cache
def modules_of_click() -> frozenset[str]:
    return frozenset(imported_modules())


def assert_light(modules: list[str]) -> None:
    later = tuple(f"surefoot.{name}" for name in LATER)
    assert not [m for m in modules if m in HEAVY or m in later]
    assert len(set(modules) - modules_of_click()) <= MOST_MODULES


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_imports_no_engine(name: str) -> None:
    assert_light(imported_modules(name, "--help"))


@pytest.mark.parametrize("name", STUDY_COMMANDS)
def test_the_help_of_a_study_command_imports_no_engine(name: str) -> None:
    assert_light(imported_modules("study", name, "--help"))


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_first_options_import_next_to_nothing(option: str) -> None:
    assert_light(imported_modules(option))


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_usage_error_imports_no_engine(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text("never read")
    assert_light(imported_modules(*arguments, folder=tmp_path))


def test_the_options_of_check_stand_in_groups(command: Command) -> None:
    code, out, _ = command("check", "--help")
    assert code == 0
    titles = [line.rstrip(":") for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    engines = ("falsify", "bmc, induction, recurrence", "explicit", "predicates", "barrier")
    engines += ("reach", "reach, statistical", "statistical")
    assert titles == ["Model", "Question", "Output", "Limits", *(f"Engine {e}" for e in engines), "Help"]
    assert out.count("--solver ") == 1
    assert out.index("Engine statistical") < out.index("--eps") < out.index("--delta") < out.index("--method")
