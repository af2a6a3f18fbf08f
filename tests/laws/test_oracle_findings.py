"""What the oracle found, one small file each, with the answer that the documentation asks for."""

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


NO_BOUNDS = """
name = "no bounds"
initial = "y = 5"
[variables]
x = "array 2 of bool"
y = "int"
[[edges]]
action = "a"
guard = "y < 1"
chosen = { k = "int 0..3" }
assuming = "x[1] or 1 <= y <= -1"
[[edges.outcomes]]
probability = "0.1"
updates = { "x[0]" = "not x[0]" }
[[edges.outcomes]]
probability = "0.9"
updates = { y = "2" }
[[edges]]
action = "a"
guard = "x[1]"
updates = { y = "max(0, min(7, 0 - 4 + 0))" }
[[edges]]
action = "c"
guard = "y <= -1"
[[edges.outcomes]]
probability = "0.25"
updates = { "x[0]" = "y <= -1 or y <= 0", y = "min(y + y, -1) % 8" }
[[edges.outcomes]]
probability = "0.25"
updates = { "x[1]" = "x[1]", y = "max(0, y - 1)" }
rewards = { gold = "abs(max(y, 2))" }
[[edges.outcomes]]
probability = "0.5"
updates = { y = "min(7, y + 1)" }
[policy.program]
actions = ["c"]
branches = [
  { action = "c" },
]
[properties]
good = "recurs x[1] => y <= 0"
"""
PICKED_PLACE = """
name = "picked place"
initial = "x = 0 and not z[0] and not z[1]"
[variables]
x = "int 0..3"
z = "array 2 of bool"
[[edges]]
action = "a"
chosen = { k = "int 0..3" }
updates = { "z[k % 2]" = "k > 1", x = "(x + 1) % 3" }
[[edges]]
action = "b"
updates = { x = "0" }
[policy]
file = "policy.onnx"
observe = ["x"]
actions = ["a", "b"]
[properties]
small = "never x > 2"
"""


def write_file(folder: Path, text: str) -> Path:
    """A problem file, beside a network with one input and two outputs that are always equal."""
    write_network((Layer(((0,), (0,)), (0, 0)),), folder / "policy.onnx", batch=False)
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "question",
    [
        "within 0 chosen(b)",
        "eventually chosen(b)",
        "recurs stalled",
        "never not chosen(b)",
        "never chosen(a) and chosen(b)",
        "P=? [ F<=0 stalled ]",
        "P=? [ F<=0 chosen(a) ]",
        "E=? [ steps until stalled ]",
        "E=? [ (ite(stalled, 1, 0)) for 1 steps ]",
    ],
)
def test_what_is_drawn_is_no_matter_of_states(question: str, tmp_path: Path) -> None:
    """Each counted as true where it may be: proved and certified, or 1 instead of a probability of 1/2."""
    (answer,) = run_check(write_file(tmp_path, COIN), [question], ["--timeout", "60"])
    assert answer.code == 2
    assert "draws" in answer.message


@pytest.mark.parametrize("question", ["never chosen(b)", "never stalled", "never x = 0 and stalled"])
def test_that_something_is_never_drawn_can_be_asked(question: str, tmp_path: Path) -> None:
    (answer,) = run_check(write_file(tmp_path, COIN), [question], ["--timeout", "60"])
    assert answer.verdict["kind"] == "violated"


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


def test_a_threshold_is_missed_if_one_start_misses_it(tmp_path: Path) -> None:
    (answer,) = run_check(
        write_file(tmp_path, CLIMB), ["Pmin>0.3 [ F x = 3 ] over values"], ["--timeout", "60"]
    )
    assert answer.code == 1


def test_a_number_without_bounds_is_no_mistake_in_the_file(tmp_path: Path) -> None:
    (answer,) = run_check(write_file(tmp_path, UNBOUNDED), ["within 1 x != 1 after 1"], ["--timeout", "60"])
    assert answer.result is not None, answer.message


@pytest.mark.parametrize("engine", ["bmc", "induction", "explicit"])
def test_an_element_may_be_picked_by_what_the_environment_picks(engine: str, tmp_path: Path) -> None:
    """Whatever was found was lost while its certificate was written: `k` is not declared."""
    path = write_file(tmp_path, PICKED_PLACE)
    (answer,) = run_check(path, ["small"], ["--engine", engine, "--timeout", "4"])
    assert answer.result is not None, answer.message
    assert answer.verdict["kind"] in ("proved", "holds", "unknown")


@pytest.mark.parametrize("options", [(), ("--engine", "bmc", "--solver", "native")])
def test_nothing_holds_within_artificial_bounds(options: tuple[str, ...], tmp_path: Path) -> None:
    """The solver died where it looked for a solution beyond a box in which everything was refuted."""
    (answer,) = run_check(write_file(tmp_path, NO_BOUNDS), ["good"], ["--timeout", "4", *options])
    assert answer.result is not None, answer.message


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
