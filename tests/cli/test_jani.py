# ruff: noqa: E501 - one message on each line
"""JANI models on the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.formats.jani.build import asks, assign, automaton, edge, goes, model, op, unary, variable, write
from tests.formats.jani.reachable import packed, reachable

from surefoot.cli.model import load_model
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.property_printer import show_property
from surefoot.term.printer import show_term

Command = Callable[..., tuple[int, str, str]]
F3 = unary("F", op("=", "x", 3))
SAFE = {"name": "safe", "expression": {"op": "filter", "fun": "∀", "values": unary("∀", unary("G", op("<", "x", "N"))), "states": {"op": "initial"}}}  # fmt: skip
STEADY = {"name": "steady", "expression": {"op": "filter", "fun": "max", "values": {"op": "Smin", "exp": True}, "states": {"op": "initial"}}}  # fmt: skip
N = [{"name": "N", "type": "int"}]


def test_properties_by_name_as_text_and_all(tmp_path: Path) -> None:
    path = write(tmp_path, model(properties=[SAFE], constants=N))
    asked = {
        (): {"safe": "always x < 4"},
        ("safe",): {"safe": "always x < 4"},
        ("Pmax=? [ F x = N ]",): {"Pmax=? [ F x = N ]": "Pmax=? [ F (x = 4) ]"},
    }
    for properties, texts in asked.items():
        loaded = load_model(path, properties=properties, constants=("N=4",))
        assert {name: show_property(p.property) for name, p in loaded.problems.items()} == texts
        assert list(loaded.inputs) == [str(path)]


@pytest.mark.parametrize(
    ("properties", "asked", "message"),
    [
        ([], (), ':/properties: the model has no property; fix: ask with --property, for example "Pmax=? [ F x = 3 ]"'),
        ([SAFE], ("sfe",), ":/properties: the model has no property `sfe`; fix: did you mean `safe`?"),
        ([SAFE, STEADY], (), ":/properties/1/expression/values: property `steady`: `Smin` (a steady-state probability) is not supported; fix: ask for others with --property: `safe`"),
        ([STEADY], ("steady",), ":/properties/0/expression/values: `Smin` (a steady-state probability) is not supported; fix: ask for Pmin, Pmax, Emin, Emax, ∀ or ∃"),
    ],
)  # fmt: skip
def test_properties_that_cannot_be_asked(
    tmp_path: Path, properties: list, asked: tuple, message: str
) -> None:
    path = write(tmp_path, model(properties=properties, constants=N))
    with pytest.raises((InvalidProblem, Unsupported)) as error:
        load_model(path, properties=asked, constants=("N=4",))
    assert str(error.value) == f"{path}{message}"


def test_a_property_as_text_that_cannot_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, model())
    with pytest.raises(InvalidProblem, match=r"--property:1:7: unknown name `y`"):
        load_model(path, properties=("never y > 3",))


def test_inspect(tmp_path: Path, command: Command) -> None:
    path = write(tmp_path, asks({"op": "Pmax", "exp": F3}))
    code, told, _ = command("inspect", path, "--json")
    facts = json.loads(told)
    assert code == 0
    assert facts["kind"] == "JANI model (mdp)"
    assert facts["automata"] == ["main: 1 location, 1 edge"]
    assert facts["variables"] == ["x in {0, …, 5}"]
    words = "the largest probability that `x = 3` is reached (the largest value over all starts)"
    assert facts["properties"] == {"question": words}
    assert facts["rewards"] == []
    code, told, _ = command("inspect", path)
    assert code == 0
    assert "automata: main: 1 location, 1 edge" in told
    assert "rewards" not in told
    assert "notes" not in told


def test_a_network_wired_by_jani2nnet(tmp_path: Path) -> None:
    """Global and local variables, elements of arrays and locations, by the names that the model gives them."""
    walker = automaton(
        "walker",
        edge(goes("b", assign("n", 1)), source="a", action="left"),
        edge(goes("b", assign("n", 2)), source="a", action="right"),
        locations=("a", "b"),
        variables=[variable("n", "int", 7)],
    )
    pair = {"op": "av", "elements": [3, 4]}
    content = model(
        walker,
        actions=("left", "right"),
        variables=[variable("x", "int", 5), variable("a", {"kind": "array", "base": "int"}, pair)],
        elements=[{"automaton": "walker"}, {"automaton": "walker"}],
        syncs=[(("left", None), "left"), (("right", None), "right")],
    )
    path = write(tmp_path, content)
    place = {"name": "walker", "index": 1}
    wiring = {
        "file": "small.nnet",
        "input": [
            {"name": "x", "automaton": None},
            {"name": "a", "automaton": None, "index": 1},
            {"name": "n", "automaton": place},
            place,
        ],
        "output": ["left", "right"],
    }
    network = write(tmp_path, wiring, "small.jani2nnet")
    numbers = "1,4,2,4,\n4,2,\n0,\n-9,-9,-9,-9,\n9,9,9,9,\n0,0,0,0,0,\n1,1,1,1,1,\n"
    layers = "1,0,0,0,\n0,1,0,0,\n0,\n0,\n"
    write(tmp_path, f"// small\n{numbers}{layers}", "small.nnet")
    loaded = load_model(path, policy=network, properties=("never x > 9",))
    (problem,) = loaded.problems.values()
    assert [show_term(t) for t in problem.policy.observe] == ["x", "a[1]", "walker_2.n", "`@walker_2`"]
    assert problem.policy.actions == ("left", "right")
    assert [Path(p).name for p in loaded.inputs] == ["model.jani", "small.jani2nnet", "small.nnet"]


BRAKING = """
name = "braking"
initial = "distance = 5 and speed <= 1"
[variables]
distance = "int 0..5"
speed = "int 0..2"
[[edges]]
action = "coast"
guard = "distance > 0"
chosen = { gust = "int 0..1" }
updates = { distance = "max(0, distance - speed - gust)" }
[[edges]]
action = "go"
updates = { speed = "min(2, speed + 1)" }
[properties]
fast = "Pmax=? [ F speed = 2 ]"
"""


def test_export_of_a_problem_file(tmp_path: Path, command: Command) -> None:
    source = tmp_path / "braking.toml"
    source.write_text(BRAKING, encoding="utf-8")
    target = tmp_path / "braking.jani"
    code, out, told = command("export", source, target)
    assert (code, out, told) == (0, "", f"written: {target}\n")
    (original,) = load_model(source).problems.values()
    (copy,) = load_model(target).problems.values()
    assert copy.property == original.property
    assert copy.environment.variables == original.environment.variables
    assert [e.action for e in copy.environment.components[0].edges] == ["coast", "coast", "go"]
    states = {packed(s) for s in reachable(original.environment)}
    assert {packed(s) for s in reachable(copy.environment)} == states


def test_export_leaves_questions_about_a_policy_out(tmp_path: Path, command: Command) -> None:
    source = tmp_path / "braking.toml"
    source.write_text(BRAKING + '[policy.program]\nbranches = [{ action = "go" }]\n', encoding="utf-8")
    code, _, told = command("export", source, tmp_path / "braking.jani")
    assert code == 0
    assert told.endswith("(without the policy, and without 1 question about it)\n")
    assert json.loads((tmp_path / "braking.jani").read_text())["properties"] == []


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "out.json",
            "FILE: `{}/out.json` does not end in .jani, .toml, or .prism, .nm, .pm, .sm; fix: only JANI, PRISM and problem files are written",
        ),
        ("none/out.jani", "FILE: folder `{}/none` does not exist; fix: create it first"),
    ],
)
def test_export_to_odd_places(tmp_path: Path, command: Command, target: str, message: str) -> None:
    source = tmp_path / "braking.toml"
    source.write_text(BRAKING, encoding="utf-8")
    code, _, told = command("export", source, tmp_path / target)
    assert (code, told) == (2, f"error: {message.format(tmp_path)}\n")
    assert list(tmp_path.iterdir()) == [source]
