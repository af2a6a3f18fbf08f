"""Bad starts are found by whoever looks at states one by one, even if it cannot take a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot import Budget, load, verify
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.protocol import Engine
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.solvers.native import Native
from surefoot.verdict.verdict import Unknown, Vacuous, Violated

PLANT = """
initial = "{initial}"
[variables]
x = "real [-10, 10]"
n = "int 0..3"
[controls]
u = "[-1, 1]"
[[edges]]
updates = {{ x = "{update}" }}
[policy.program]
branches = [{{ controls = ["0"] }}]
[properties]
p = "{asked}"
"""


def plant(
    folder: Path, asked: str, *, initial: str = "0 <= x <= 1 and n = 0", update: str = "sin(x) + u"
) -> Problem:
    (folder / "plant.toml").write_text(PLANT.format(asked=asked, initial=initial, update=update))
    return load(folder / "plant.toml", property="p")


ASKED: list[Engine | str] = ["bmc", "induction", Bmc(), Bmc(Native()), Induction()]


@pytest.mark.parametrize("engine", ASKED, ids=repr)
@pytest.mark.parametrize("update", ["sin(x) + u", "x * x * u", "floor(x * x) + x / (x + 1)"])
def test_a_bad_start_needs_no_step(tmp_path: Path, engine: Engine | str, update: str) -> None:
    result = verify(plant(tmp_path, "never x > 0.5", update=update), engine, Budget(20))
    assert isinstance(result.verdict, Violated)
    assert result.certified
    assert len(result.verdict.trace.states) == 1


@pytest.mark.parametrize("engine", ASKED, ids=repr)
def test_good_starts_are_known_to_be_good(tmp_path: Path, engine: Engine | str) -> None:
    found = verify(plant(tmp_path, "never x > 1.5"), engine, Budget(20)).verdict
    assert isinstance(found, Unknown)
    assert found.holds_up_to == 0
    assert "is not linear" in found.detail


def test_a_limit_in_steps_changes_nothing(tmp_path: Path) -> None:
    found = verify(plant(tmp_path, "never x > 0.5 for 3 steps"), "bmc", Budget(20)).verdict
    assert isinstance(found, Violated)


def test_no_start_is_vacuous(tmp_path: Path) -> None:
    problem = plant(tmp_path, "never x > 1.5", initial="x > 1 and x < 0.5 and n = 0")
    assert isinstance(verify(problem, "bmc", Budget(20)).verdict, Vacuous)


def test_a_rare_bad_start_is_found_by_all_together(tmp_path: Path) -> None:
    initial = "0 <= x <= 1 and n = 0"
    problem = plant(tmp_path, "never 0.123456789 <= x <= 0.123456790", initial=initial)
    found = verify(problem, budget=Budget(20)).verdict
    assert isinstance(found, Violated)
    assert len(found.trace.states) == 1


@pytest.mark.parametrize("asked", ["never sin(x) > 0.5", "eventually x > 5"])
def test_what_cannot_be_asked_of_starts_is_said(tmp_path: Path, asked: str) -> None:
    with pytest.raises(Unsupported, match="is not linear"):
        verify(plant(tmp_path, asked), "bmc", Budget(20))
