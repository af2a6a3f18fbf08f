"""The wiring of a network to a JANI model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.jani2nnet import Automaton, Jani2NnetWiring, WiredInput, read_jani2nnet
from surefoot.formats.nnet import read_nnet

PLAIN: dict[str, Any] = {
    "file": "net.nnet",
    "filter": True,
    "input": [
        {"index": 0, "name": "satellite"},
        {"automaton": None, "name": "x"},
        {"automaton": None, "name": "A", "index": 3},
        {"automaton": {"name": "car", "index": 1}, "name": "speed"},
    ],
    "elements": [16, 16],
    "output": ["go", "stay"],
}


def read(tmp_path: Path, content: object) -> Jani2NnetWiring:
    path = tmp_path / "net.jani2nnet"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_jani2nnet(path)


def test_all_kinds_of_inputs(tmp_path: Path) -> None:
    assert read(tmp_path, PLAIN) == Jani2NnetWiring(
        network="net.nnet",
        inputs=(
            WiredInput(None, Automaton("satellite", 0)),
            WiredInput("x"),
            WiredInput("A", index=3),
            WiredInput("speed", Automaton("car", 1)),
        ),
        outputs=("go", "stay"),
        hidden=(16, 16),
        filtered=True,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("// text\n{}", ":1:1: not JSON: Expecting value"),
        ('{"file": "a", "file": "b"}', ": a key occurs twice in one object"),
        ("[" * 100_000, ": not JSON"),
        ([], ": an object expected"),
        ({"input": []}, ":input: a list with at least one entry expected"),
        ({"input": [{"automaton": None}]}, ':input[0]: an object with a "name" expected'),
        ({"input": [{"name": "x"}]}, ":input[0]: an index of 0 or more expected"),
        (
            {"input": [{"name": "x", "automaton": "car"}]},
            ":input[0].automaton: an automaton with name and index",
        ),
        ({"input": [{"name": "x", "automaton": None}] * 2}, ":input: two inputs read the same"),
        (
            {"input": [{"name": "x", "automaton": None, "index": -1}]},
            ":input[0]: an index of 0 or more expected",
        ),
        ({"output": ["a", "a"]}, ":output: two outputs mean the same action"),
        ({"output": [{"edges": []}]}, ":output[0]: an output that lists edges; fix: name the action label"),
        ({"output": [1]}, ":output[0]: an action label expected"),
        ({"file": 3}, ":file: the name of the network file is missing"),
        ({"elements": [0]}, ":elements: a list of positive layer sizes expected"),
        ({"filter": "yes"}, ":filter: true or false expected"),
    ],
)
def test_refusals(tmp_path: Path, change: Any, message: str) -> None:
    content = PLAIN | change if isinstance(change, dict) else change
    where = re.escape(f"{tmp_path / 'net.jani2nnet'}{message}")
    with pytest.raises((InvalidProblem, Unsupported), match=f"^{where}"):
        read(tmp_path, content)


@pytest.mark.shared_data
def test_published_wirings_fit_their_networks(shared_data: Path) -> None:
    paths = sorted(
        p for p in (shared_data / "jani" / "plaja").rglob("*.jani2nnet") if "interface" not in p.name
    )
    assert len(paths) == 7
    for path in paths:
        wiring = read_jani2nnet(path)
        network = read_nnet(path.parent / wiring.network)
        assert (network.width, network.outputs) == (len(wiring.inputs), len(wiring.outputs))
        assert network.widths()[1:-1:2] == wiring.hidden
