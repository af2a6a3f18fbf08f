"""What the oracle found, one small file each, with the answer that the documentation asks for.

Those that are not repaired yet are expected to fail, strictly: whoever repairs one takes its mark away.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.laws.oracle.judge import parse_number, run_check
from tests.laws.oracle.model import Layer
from tests.laws.oracle.network import write_network

COIN = """
name = "coin"
initial = "x = 0"
[variables]
x = "int 0..1"
[[edges]]
action = "a"
[[edges]]
action = "b"
guard = "x > 5"
[policy]
file = "policy.onnx"
observe = ["x"]
actions = ["a", "b"]
choose = "sample"
[properties]
unused = "never x = 1"
"""

CLIMB = """
name = "climb"
initial = "x <= 1"
[variables]
x = "int 0..3"
[[edges]]
guard = "x < 3"
[[edges.outcomes]]
probability = "x / 3"
updates = { x = "x + 1" }
[[edges.outcomes]]
probability = "1 - x / 3"
[properties]
unused = "never x = 1"
"""

UNBOUNDED = """
name = "unbounded"
initial = "x = 0 and y = 0"
[variables]
x = "int 0..1"
y = "real"
[[edges]]
action = "a"
[[edges.outcomes]]
probability = "0.5"
updates = { y = "max(0, y - 0.5)" }
[[edges.outcomes]]
probability = "0.5"
updates = { y = "0.5" }
[policy.program]
branches = [{ action = "a" }]
[properties]
unused = "never x = 1"
"""

UNPAID = {
    "jani-version": 1,
    "name": "unpaid",
    "type": "mdp",
    "variables": [
        {"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1}},
        {"name": "cost", "type": "int", "transient": True, "initial-value": 0},
    ],
    "automata": [
        {
            "name": "main",
            "locations": [{"name": "l"}],
            "initial-locations": ["l"],
            "edges": [{"location": "l", "destinations": [{"location": "l"}]}],
        }
    ],
    "system": {"elements": [{"automaton": "main"}]},
    "properties": [
        {
            "name": "q",
            "expression": {
                "op": "filter",
                "fun": "max",
                "states": {"op": "initial"},
                "values": {"op": "Emin", "exp": "cost", "accumulate": ["steps"], "step-instant": 1},
            },
        }
    ],
}


def write_file(folder: Path, text: str) -> Path:
    """A problem file, beside a network with one input and two outputs that are always equal."""
    write_network((Layer(((0,), (0,)), (0, 0)),), folder / "policy.onnx", batch=False)
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.xfail(strict=True, reason="conditions about what a policy draws count as true if they may be")
@pytest.mark.parametrize("question", ["within 0 chosen(b)", "eventually chosen(b)", "recurs stalled"])
def test_a_good_state_is_one_for_every_draw(question: str, tmp_path: Path) -> None:
    (answer,) = run_check(write_file(tmp_path, COIN), [question], ["--timeout", "60"])
    assert answer.verdict["kind"] not in ("proved", "holds")


@pytest.mark.xfail(strict=True, reason="conditions about what a policy draws count as true if they may be")
@pytest.mark.parametrize(
    ("question", "value"),
    [("P=? [ F<=0 stalled ]", "1/2"), ("P=? [ F<=1 stalled ]", "3/4"), ("P=? [ F<=0 chosen(a) ]", "1/2")],
)
def test_a_draw_stalls_as_often_as_it_is_drawn(question: str, value: str, tmp_path: Path) -> None:
    assert_value(write_file(tmp_path, COIN), question, Fraction(value))


@pytest.mark.xfail(strict=True, reason="a draw that ends the run counts as a step")
@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("E=? [ steps for 1 steps ]", "1/2"),
        ("E=? [ steps for 2 steps ]", "3/4"),
        ("E=? [ (x + 1) for 1 steps ]", "1/2"),
    ],
)
def test_a_draw_that_ends_the_run_earns_nothing(question: str, value: str, tmp_path: Path) -> None:
    assert_value(write_file(tmp_path, COIN), question, Fraction(value))


@pytest.mark.xfail(strict=True, reason="`over values` does not look at the threshold")
def test_a_threshold_is_missed_if_one_start_misses_it(tmp_path: Path) -> None:
    (answer,) = run_check(
        write_file(tmp_path, CLIMB), ["Pmin>0.3 [ F x = 3 ] over values"], ["--timeout", "60"]
    )
    assert answer.code == 1


@pytest.mark.xfail(strict=True, reason="an input error that names a variable of a query")
def test_a_number_without_bounds_is_no_mistake_in_the_file(tmp_path: Path) -> None:
    (answer,) = run_check(write_file(tmp_path, UNBOUNDED), ["within 1 x != 1 after 1"], ["--timeout", "60"])
    assert answer.result is not None, answer.message


@pytest.mark.xfail(strict=True, reason="a reward that no edge pays is not known")
def test_a_transient_variable_that_nothing_assigns_has_its_initial_value(tmp_path: Path) -> None:
    path = tmp_path / "model.jani"
    path.write_text(json.dumps(UNPAID), encoding="utf-8")
    assert_value(path, "q", Fraction(0))


def assert_value(path: Path, question: str, value: Fraction) -> None:
    (answer,) = run_check(path, [question], ["--timeout", "60", "--engine", "explicit"])
    assert answer.result is not None, answer.message
    low, high = parse_number(answer.verdict["low"]), parse_number(answer.verdict["high"])
    assert low is not None
    assert high is not None
    assert low <= value <= high
    assert high - low < Fraction(1, 1000)
