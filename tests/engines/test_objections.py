"""Where no engine can take a problem the reason that a user can act on comes first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surefoot import Budget, load, verify
from surefoot.cli import main
from surefoot.engines.reach import Reach
from surefoot.engines.selection import NoEngine, describe_objections, order_solvers
from surefoot.run import build_portfolio, portfolio_objections
from surefoot.verdict.verdict import Unknown

PLANT = """
initial = "0 <= x <= 1"
[variables]
x = "real [-10, 10]"
y = "{kind}"
[controls]
u = "[-1, 1]"
[[edges]]
chosen = {{ w = "{chosen}" }}
updates = {{ x = "{update}", y = "y" }}
[policy.program]
branches = [{{ controls = ["0"] }}]
[properties]
p = "{asked}"
"""
KINDS = {
    "an operator": (
        {"update": "floor(x * x) / 2"},
        "reach: `floor(x * x)`: reach has no rule for `floor`; fix:",
    ),
    "starts": (
        {"kind": "real", "update": "x * y"},
        "reach: the start values of `y` have no bounds; fix: bound",
    ),
    "choices": (
        {"chosen": "real", "update": "x * w"},
        "reach: the chosen value `w` has no bounds; fix: declare",
    ),
}


def plant(folder: Path, **given: str) -> Path:
    usual = {
        "kind": "real [0, 1]",
        "chosen": "real [0, 1]",
        "update": "x",
        "asked": "never x > 9 for 5 steps",
    }
    (folder / "plant.toml").write_text(PLANT.format(**{**usual, **given}))
    return folder / "plant.toml"


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_engine_is_heard_first(tmp_path: Path, kind: str) -> None:
    given, expected = KINDS[kind]
    problem = load(plant(tmp_path, **given), property="p")
    said = [(e.name, why) for e, why in portfolio_objections(problem) if why and e.name != "falsify"]
    text = describe_objections(problem, said)
    assert text.startswith(f"no engine can take this problem: {expected}")
    _, _, others = text.partition(" (others: ")
    assert "bmc: " in others
    assert others.count("explicit: ") == 1
    assert "statistical" not in text  # it is about another kind of question
    assert "recurrence" not in text
    assert "; fix: " not in others
    assert max(map(len, others.split("; "))) <= 120
    assert "@0" not in text


def test_the_result_begins_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, expected = KINDS["an operator"]
    result = tmp_path / "result.json"
    with pytest.raises(SystemExit) as ended:
        main(["check", str(plant(tmp_path, **given)), "--timeout", "6", "--json", str(result)])
    verdict = json.loads(result.read_text())["verdict"]
    assert ended.value.code == 3
    assert f"because   no engine can take this problem: {expected}" in capsys.readouterr().out
    assert verdict["detail"].startswith(f"no engine can take this problem: {expected}")
    assert verdict["holds_up_to"] == 0


def test_one_engine_says_its_own_reason_alone(tmp_path: Path) -> None:
    problem = load(plant(tmp_path, update="floor(x * x) / 2"), property="p")
    with pytest.raises(NoEngine, match=r"reach: `floor.*fix: write") as caught:
        verify(problem, "reach", Budget(5))
    assert "others" not in str(caught.value)
    found = verify(problem, "bmc", Budget(5)).verdict
    assert isinstance(found, Unknown)
    assert found.detail.startswith(
        "no engine can take this problem: bmc: `milp` cannot take this query: `x * x`"
    )


def test_whole_numbers_and_programs_are_for_milp_first(tmp_path: Path) -> None:
    problem = load(plant(tmp_path), property="p")
    solvers = [e.solver.name for e in order_solvers(problem, build_portfolio()) if hasattr(e, "solver")]
    assert solvers[0] == "milp"


@pytest.mark.parametrize(
    ("update", "suits"),
    [("sin(x)", True), ("x * y", True), ("x / (y + 2)", True), ("max(0.5 * x, u - w)", False)],
)
def test_curved_plants_are_for_sets(tmp_path: Path, update: str, suits: bool) -> None:
    assert Reach().suits(load(plant(tmp_path, update=update), property="p")) is suits
