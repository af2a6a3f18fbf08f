"""The start of a command: what it imports, and that the time of `--timeout` counts from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest
from tests.cli.test_help import imported_modules

from surefoot.cli import run_command_line

CART = """
name = "cart"
arithmetic = "float64"
initial = "-1 <= x <= 1 and v = 0"
[variables]
x = "real"
v = "real"
[[edges]]
action = "go"
updates = { x = "x + 0.1 * v", v = "v + 0.1" }
[policy.program]
branches = [ { action = "go" } ]
[properties]
near = "never x > 1.5"
never = "never x < -10"
"""
UNUSED = (  # by a run that a look at random ones finds
    "surefoot.solvers.native.solver",
    "surefoot.solvers.milp.solver",
    "surefoot.engines.predicates.table_check",
    "surefoot.engines.predicates.symbolic.search",
    "surefoot.certify.runs.prove",
    "surefoot.certify.runs.canonical",
    "surefoot.report.result_page",
    "surefoot_checker.claims",
    "surefoot_checker.kernel.problem",
    "highspy",
    "z3",
    "scipy",
    "clarabel",
)


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    path = tmp_path / "cart.toml"
    path.write_text(CART)
    return path


def test_a_violation_is_shown_without_what_proves(cart: Path) -> None:
    modules = imported_modules("check", str(cart), "--property", "near")
    assert "surefoot.engines.falsify.looking" in modules
    assert not [m for m in modules if m in UNUSED]


def test_the_time_of_a_command_counts_from_where_it_is_told_to_have_begun(
    cart: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, now = ["check", str(cart), "--property", "never", "--quiet", "--timeout", "30"], monotonic()
    assert run_command_line(asked, now - 1000) == 3
    assert monotonic() - now < 15
    assert "unknown (timeout)" in capsys.readouterr().out


def test_the_start_of_the_process_is_part_of_the_time(cart: Path) -> None:
    """What is imported, here something that takes three seconds, is no gift."""
    code = "import surefoot.cli, time; time.sleep(3); surefoot.cli.main()"
    words = ["check", str(cart), "--property", "never", "--engine", "falsify", "--quiet", "--timeout", "1"]
    shown = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert shown.returncode == 3, shown.stderr
    assert "while the question was read or prepared" in shown.stdout
