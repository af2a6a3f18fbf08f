"""What the engine shows is certified: programs of networks, and starts that doubles mean."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from tests.closed_loop_rows import SHARED_NETWORKS, write_closed_loop_row

from surefoot.cli import main
from surefoot.engines.reach.start_regions import enumerate_start_regions
from surefoot.errors import Unsupported
from surefoot.interface.questions import load
from surefoot.reductions.closed_loop import read_closed_loop

EPIDEMIC = """
name = "epidemic"
initial = "0.68 <= S <= 0.79 and 0.06 <= I <= 0.11 and 0.14 <= R <= 0.2"
[variables]
S = "real"
I = "real"
R = "real"
[controls]
u = "[0, 1]"
[flow]
period = 1
time = "continuous"
[flow.derivatives]
S = "-0.6 * S * I / (S + I + R) - u * S"
I = "0.6 * S * I / (S + I + R) - 0.2 * I"
R = "0.2 * I + u * S"
[policy.program]
branches = [{ controls = ["0.1 + 0.7 * I"] }]
[properties]
peak = "never I > 0.4 for 2 seconds"
"""
STEPS = """
name = "steps"
arithmetic = "float64"
initial = "{initial}"
[variables]
x = "real"
[[edges]]
action = "go"
updates = {{ x = "x / 2" }}
[[policy.program.branches]]
when = "x <= 7"
action = "go"
[properties]
asked = "never x > 1 for 3 steps"
"""


Captured = pytest.CaptureFixture[str]


def proved_output(problem: Path, capsys: Captured, *options: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["check", str(problem), "--engine", "reach", "--timeout", "100", *options])
    output = capsys.readouterr().out
    assert left.value.code == 0, output
    assert output.startswith("proved: ")
    return output


@pytest.mark.skipif(not SHARED_NETWORKS.is_dir(), reason="the networks of the competition are not here")
@pytest.mark.parametrize("name", ["vcas_19_5", "vcas_22_5"])
def test_nine_networks_without_a_last_resort(name: str, tmp_path: Path, capsys: Captured) -> None:
    problem = write_closed_loop_row(name, tmp_path)
    assert "accepted by the independent checker" in proved_output(problem, capsys)


def test_starts_hold_the_doubles_that_numbers_mean(tmp_path: Path, capsys: Captured) -> None:
    """0.05 means a double above it; the claim without it was refused."""
    problem = tmp_path / "steps.toml"
    problem.write_text(STEPS.format(initial="-0.05 <= x <= 0.05"), "utf-8")
    (region,) = enumerate_start_regions(read_closed_loop(load(problem)))
    low, high = region.box["x"]
    assert high == Fraction(0.05) > Fraction("0.05")
    assert low == -high
    assert "accepted by the independent checker" in proved_output(problem, capsys)


def test_rounded_sums_bound_no_start(tmp_path: Path) -> None:
    """In doubles x + 1e20 <= 1e20 holds of 8000 as well."""
    problem = tmp_path / "steps.toml"
    problem.write_text(STEPS.format(initial="-1 <= x and x + 1e20 <= 1e20"), "utf-8")
    with pytest.raises(Unsupported, match="no bounds"):
        enumerate_start_regions(read_closed_loop(load(problem)))


def test_enclosures_do_not_grow_with_every_try(tmp_path: Path, capsys: Captured) -> None:
    """Half a unit of time is long for this epidemic: the checker widened its candidates until one had nobody
    in it, and the quotient no value."""
    problem = tmp_path / "epidemic.toml"
    problem.write_text(EPIDEMIC, "utf-8")
    options = ("--pieces", "2", "--taylor", "5")
    assert "accepted by the independent checker" in proved_output(problem, capsys, *options)
