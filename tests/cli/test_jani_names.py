"""Transient values, labels and functions of a JANI file are names in questions."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.formats.jani.build import X, assign, automaton, edge, goes, model, op, variable, write

from surefoot.cli.model import load_model
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.property_printer import show_property

GOAL = variable("goal", "bool", False, transient=True)
COST = variable("cost", "real", 0, transient=True)
ENERGY = variable("energy", "real", 0, transient=True)
MORE = assign("x", op("+", "x", 1))
LEVEL = variable("level", "int", 0, transient=True)


def function(name: str, kind: str, body: object, *parameters: str) -> dict[str, object]:
    listed = [{"name": p, "type": "int"} for p in parameters]
    return {"name": name, "type": kind, "parameters": listed, "body": body}


LABELLED = model(
    automaton(
        "main",
        edge(goes("slow", MORE, assign("cost", 2)), source="slow", guard=op("<", "x", 2)),
        edge(goes("fast"), source="slow", guard=op("=", "x", 2)),
        edge(goes("fast", MORE, assign("cost", 5)), source="fast", guard=op("<", "x", 5)),
        edge(goes("fast"), source="fast", guard=op("=", "x", 5)),
        locations=(
            {
                "name": "slow",
                "transient-values": [
                    {"ref": "goal", "value": op("=", "x", 9)},
                    {"ref": "level", "value": "x"},
                    {"ref": "energy", "value": 1},
                ],
            },
            {
                "name": "fast",
                "transient-values": [
                    {"ref": "goal", "value": op("=", "x", 5)},
                    {"ref": "level", "value": op("*", 2, "x")},
                ],
            },
        ),
        functions=[function("halfway", "bool", op("≥", "x", 3))],
    ),
    variables=[X, GOAL, COST, ENERGY, LEVEL],
    functions=[
        function("crashed", "bool", op(">", "x", "LIMIT")),
        function("plus", "int", op("+", "x", "k"), "k"),
        function("x", "int", 7),
    ],
    constants=[{"name": "LIMIT", "type": "int", "value": 4}],
)  # fmt: skip


ARRIVED = "ite(at(main, slow), x = 9, at(main, fast) and x = 5)"
DOUBLED = "ite(at(main, slow), x, ite(at(main, fast), 2 * x, 0))"


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return write(tmp_path, LABELLED)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("never goal", f"never {ARRIVED}"),
        ("never halfway", "never x >= 3"),
        ("Pmax=? [ F goal ]", f"Pmax=? [ F ({ARRIVED}) ]"),
        ("never crashed and not goal", f"never x > 4 and not {ARRIVED}"),
        ("Emax=? [ (level) until goal ]", f"Emax=? [ ({DOUBLED}) until {ARRIVED} ]"),
    ],
)
def test_names_stand_for_their_terms(tmp_path: Path, asked: str, meant: str) -> None:
    path = write(tmp_path, {**LABELLED, "functions": LABELLED["functions"][:2]})
    (problem,) = load_model(path, properties=(asked,)).problems.values()
    assert show_property(problem.property) == meant


def test_every_command_that_asks_knows_them(tmp_path: Path, command: Command) -> None:
    path = write(tmp_path, {**LABELLED, "functions": LABELLED["functions"][:2]})
    code, out, _ = command("check", path, "--property", "Pmax=? [ F goal ]")
    assert (code, out.startswith("exactly 1")) == (0, True)
    code, out, _ = command("check", path, "--property", "never goal")
    assert code == 1
    assert out.startswith("violated after 6 steps")
    code, out, _ = command("starts", path, "--property", "never crashed and not halfway")
    assert code == 0
    drawn = ("--json", "-", "--quiet")
    code, out, _ = command(
        "heatmap", path, "--property", "Pmax=? [ F goal ]", "--starts", "halfway", "--x", "level", *drawn
    )
    assert code == 0
    assert json.loads(out)["panels"][0]["x"]["values"] == ["6", "7", "8", "9", "10"]
    code, out, _ = command("inspect", path)
    assert code == 0
    for line in (f"goal = {ARRIVED}", "crashed = x > 4", "halfway = x >= 3"):
        assert line in out


def test_transient_variables_are_rewards(labelled: Path, command: Command, tmp_path: Path) -> None:
    """Of steps: 2 twice, then 5 three times; of states: 1 for each of three at the slow place."""
    stored = tmp_path / "r.json"
    for asked, value in (("cost", 19), ("energy", 3), ("steps", 6)):
        question = f"Emax=? [ {asked} until goal ]"
        code, out, _ = command("check", labelled, "--property", question, "--json", stored)
        assert code == 0
        found = json.loads(stored.read_text())
        found = found.get("results", [found])[0]["verdict"]
        assert abs(Fraction(found["low"]) - value) < Fraction(1, 10**9)
        assert command("certify", stored)[0] == 0
    code, out, _ = command("check", labelled, "--property", "Pmax=? [ F{cost}<=18 goal ]")
    assert out.startswith("exactly 0")
    code, _, err = command("check", labelled, "--property", "Emax=? [ costs until goal ]")
    assert (code, "there is no reward `costs`; fix: did you mean `cost`?" in err) == (2, True)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("never x > 3", "`x` is the name of both a variable and a function"),
        ("never plus", "function `plus` takes arguments (1), and questions give none"),
        ("never cost > 3", "`cost` is set during steps: in every state it has its initial value 0"),
        ("within goal x = 3", "has to be a number"),
        ("never gaol", "unknown name `gaol`; fix: did you mean `goal`?"),
        ("goal", '`goal` is a name that properties can use: "never goal"'),
    ],
)
def test_names_that_cannot_be_used_say_why(labelled: Path, asked: str, told: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        load_model(labelled, properties=(asked,))
    assert told in str(error.value)


def test_a_function_that_cannot_be_read_stops_nobody_who_does_not_ask(tmp_path: Path) -> None:
    calls = {"op": "call", "function": "loop", "args": []}
    path = write(tmp_path, model(functions=[function("loop", "bool", calls)]))
    assert load_model(path, properties=("never x > 5",)).problems
    with pytest.raises(InvalidProblem, match=r"function `loop` cannot be used: function `loop` calls itself"):
        load_model(path, properties=("never loop",))


def test_names_of_automata_that_are_used_twice(tmp_path: Path) -> None:
    own = [variable("y", "int", 0), variable("done", "bool", False, transient=True)]
    places = ({"name": "here", "transient-values": [{"ref": "done", "value": op("=", "y", 1)}]},)
    walker = automaton(
        "walker",
        edge(goes("here", assign("y", 1))),
        locations=places,
        variables=own,
        functions=[function("moved", "bool", op(">", "y", 0))],
    )
    path = write(tmp_path, model(walker, elements=[{"automaton": "walker"}, {"automaton": "walker"}]))
    (problem,) = load_model(path, properties=("never walker_1.done and walker_2.moved",)).problems.values()
    assert show_property(problem.property) == "never walker_1.y = 1 and walker_2.y > 0"
    environment: Environment = problem.environment
    assert [name for name, _ in environment.definitions] == [
        *("walker_1.done", "walker_2.done", "walker_1.moved", "walker_2.moved")
    ]
