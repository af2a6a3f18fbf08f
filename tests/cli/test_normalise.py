"""Probabilities that were written with too few digits: refused, or divided by their sum when asked."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot import equal
from surefoot.errors import InvalidProblem
from surefoot.formats.jani import read_jani
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Variable
from surefoot.problem.validate import check_environment
from surefoot.problem.validate.distribution import NEAR, normalise_probabilities
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Int
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

THIRD = "0.3333333333333333"
THIRDS = f"""
name = "thirds"
initial = "x = 0"
[variables]
x = "int 0..3"
[[edges]]
action = "go"
guard = "x = 0"
outcomes = [
  {{ probability = {THIRD}, updates = {{ x = "1" }} }},
  {{ probability = {THIRD}, updates = {{ x = "2" }} }},
  {{ probability = {THIRD}, updates = {{ x = "3" }} }},
]
[[edges]]
action = "go"
guard = "x > 0"
[policy]
program = {{ branches = [{{ action = "go" }}] }}
[properties]
likely = "P=? [ F x = 3 ]"
safe = "never x > 3"
"""


def jani(probability: object = 0.3333333333333333) -> str:
    def destination(value: int) -> object:
        assigned = [{"ref": "x", "value": value}]
        return {"location": "l", "probability": {"exp": probability}, "assignments": assigned}

    edges = [
        {
            "location": "l",
            "guard": {"exp": {"op": "=", "left": "x", "right": 0}},
            "destinations": [destination(value) for value in (1, 2, 3)],
        },
        {
            "location": "l",
            "guard": {"exp": {"op": "<", "left": 0, "right": "x"}},
            "destinations": [{"location": "l"}],
        },
    ]
    automaton = {"name": "a", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": edges}
    kind = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}
    model = {
        "jani-version": 1,
        "name": "thirds",
        "type": "mdp",
        "variables": [{"name": "x", "type": kind, "initial-value": 0}],
        "automata": [automaton],
        "system": {"elements": [{"automaton": "a"}]},
    }
    return json.dumps(model)


@pytest.fixture
def thirds(tmp_path: Path) -> Path:
    (tmp_path / "thirds.toml").write_text(THIRDS)
    return tmp_path / "thirds.toml"


def environment(*probabilities: Fraction | float) -> Environment:
    outcomes = tuple(Outcome(p) for p in probabilities)
    return Environment(
        "e", (Variable("x", Int(0, 3)),), equal(Var("x"), 0), (Component("c", (Edge(outcomes=outcomes),)),)
    )


def shares(found: Environment) -> list[Const]:
    return [o.probability for o in found.components[0].edges[0].outcomes]


def test_without_asking_it_is_an_error_with_a_hint(thirds: Path, command: Command) -> None:
    code, _, err = command("check", thirds)
    assert code == 2
    assert "add up to 0.9999999999999999" in err
    assert "--normalise" in err


def test_a_sum_that_is_far_from_one_has_no_such_hint_and_stays_an_error(
    thirds: Path, command: Command
) -> None:
    thirds.write_text(THIRDS.replace(THIRD, "0.33333333"))
    for more in ((), ("--normalise",)):
        code, _, err = command("check", thirds, *more)
        assert code == 2
        assert "add up to 0.99999999;" in err
        assert "--normalise" not in err


@pytest.mark.parametrize("kind", ["toml", "jani"])
def test_the_answer_is_exact_and_says_what_was_done(kind: str, tmp_path: Path, command: Command) -> None:
    model = tmp_path / f"thirds.{kind}"
    model.write_text(THIRDS if kind == "toml" else jani())
    asked = "likely" if kind == "toml" else "Pmax=? [ F x = 3 ]"
    stored = tmp_path / "r.json"
    code, out, _ = command("check", model, "--normalise", "--property", asked, "--json", stored)
    assert code == 0, out
    assert "between 0.333333333333 and 0.333333333334" in out
    assert "normalised: the probabilities of 1 edge were divided by their sum" in out
    result = json.loads(stored.read_text())
    result = result.get("results", [result])[0]
    assert any(n.startswith("normalised: the probabilities of 1 edge") for n in result["notes"])
    assert result["source"]["normalise"] == "yes"
    problem = result["verdict"]["certificate"]["content"]["claim"]["problem"]
    assert len(problem["normalised"]) == 1
    assert "1/3" in json.dumps(problem)
    code, out, _ = command("certify", stored)
    assert code == 0
    assert "not certified: that probabilities may be divided by their sum" in out
    assert problem["normalised"][0] in out


def test_a_result_that_hides_it_is_rejected(thirds: Path, tmp_path: Path, command: Command) -> None:
    stored = tmp_path / "r.json"
    command("check", thirds, "--normalise", "--property", "likely", "--json", stored)
    text = stored.read_text()
    data = json.loads(text)
    result = data.get("results", [data])[0]
    problem = result["verdict"]["certificate"]["content"]["claim"]["problem"]
    named = problem.pop("normalised")
    stored.write_text(json.dumps(data))
    assert command("certify", stored)[0] == 1  # the certificate does not say it
    problem["normalised"] = named
    del result["source"]["normalise"]
    stored.write_text(json.dumps(data))
    code, _, err = command("certify", stored)
    assert (code, "add up to" in err) == (2, True)  # the file read as the result says it was read
    problem["normalised"] = []
    with pytest.raises(BadCertificate, match="no edge is named"):
        judge_certificate(result["verdict"]["certificate"]["content"])


def test_a_proof_about_runs_says_it_too(thirds: Path, tmp_path: Path, command: Command) -> None:
    stored = tmp_path / "r.json"
    code, out, _ = command(
        "check", thirds, "--normalise", "--property", "never x > 2 and x < 2", "--json", stored
    )
    assert code == 0, out
    assert "normalised: the probabilities of 1 edge" in out
    code, out, _ = command("certify", stored)
    assert code == 0
    assert "that probabilities may be divided by their sum" in out


def test_other_commands_that_read_a_model_take_it(thirds: Path, tmp_path: Path, command: Command) -> None:
    assert command("inspect", thirds)[0] == 2
    assert command("inspect", thirds, "--normalise")[0] == 0
    assert command("engines", thirds, "--normalise")[0] == 0
    assert command("export", thirds, tmp_path / "out.jani", "--normalise")[0] == 0
    written = read_jani(tmp_path / "out.jani")
    assert shares(written.environment) == [Const(Fraction(1, 3))] * 3


def test_readers_take_it_as_an_argument(thirds: Path, tmp_path: Path) -> None:
    found = read_problem_file(thirds, property="likely", normalise=True).environment
    assert shares(found) == [Const(Fraction(1, 3))] * 3
    assert len(found.normalised) == 1
    (tmp_path / "thirds.jani").write_text(jani())
    assert shares(read_jani(tmp_path / "thirds.jani", normalise=True).environment) == shares(found)
    with pytest.raises(InvalidProblem, match="--normalise"):
        read_jani(tmp_path / "thirds.jani")


def test_only_sums_within_the_limit_are_divided() -> None:
    half = Fraction(1, 2)
    for total in (1 + NEAR, 1 - NEAR):
        found = normalise_probabilities(environment(half, total - half))
        check_environment(found)
        assert shares(found) == [Const(half / total), Const((total - half) / total)]
        assert found.normalised == ("c.edges[0]",)
    for total in (1 + 2 * NEAR, 1 - 2 * NEAR):
        far = environment(half, total - half)
        assert normalise_probabilities(far) is far
        with pytest.raises(InvalidProblem):
            check_environment(far)
    exact = environment(half, half)
    assert normalise_probabilities(exact) is exact
    negative = environment(Fraction(3, 2), NEAR - half)
    assert normalise_probabilities(negative) is negative
    with pytest.raises(InvalidProblem, match="not between 0 and 1"):
        check_environment(negative)


def test_probabilities_that_depend_on_the_state_stay_as_they_are(thirds: Path, command: Command) -> None:
    first = f'{{ probability = {THIRD}, updates = {{ x = "1" }} }}'
    varying = f'{{ probability = "{THIRD} + 0 * x", updates = {{ x = "1" }} }}'
    thirds.write_text(THIRDS.replace(first, varying))
    code, out, _ = command("check", thirds, "--normalise", "--property", "likely")
    assert code == 3
    assert "explicit: the probabilities of" in out
    assert "normalised:" not in out
