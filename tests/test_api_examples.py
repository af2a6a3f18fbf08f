"""The examples of the design of the Python interface, as they are written there."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import surefoot as sf

PENDULUM = """
name = "pendulum"
arithmetic = "float64"
initial = "-0.5 <= theta <= 0.5"
[variables]
theta = "real [-2, 2]"
[controls]
torque = "[-1, 1]"
[flow]
step = 0.125
method = "euler"
derivatives = { theta = "torque" }
[[edges]]
[properties]
upright = "never theta > 1 or theta < -1"
"""


def race() -> dict[str, Any]:
    """A race to 4 that may end at 0: `fast` goes on in half of the cases, `slow` in three of four."""
    place = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 4}
    middle = {
        "op": "∧",
        "left": {"op": "<", "left": 0, "right": "n"},
        "right": {"op": "<", "left": "n", "right": 4},
    }
    steps = {"on": {"op": "+", "left": "n", "right": 1}, "back": {"op": "-", "left": "n", "right": 1}}

    def edge(action: str, chance: float) -> dict[str, Any]:
        chances = {"on": chance, "back": 1 - chance}
        targets = [
            {
                "location": "l",
                "probability": {"exp": chances[way]},
                "assignments": [{"ref": "n", "value": steps[way]}],
            }
            for way in ("on", "back")
        ]
        return {"location": "l", "action": action, "guard": {"exp": middle}, "destinations": targets}

    goal = {"ref": "goal", "value": {"op": "=", "left": "n", "right": 4}}
    return {
        "jani-version": 1,
        "name": "race",
        "type": "mdp",
        "actions": [{"name": "fast"}, {"name": "slow"}],
        "variables": [
            {"name": "n", "type": place},
            {"name": "goal", "type": "bool", "transient": True, "initial-value": False},
        ],
        "restrict-initial": {"exp": middle},
        "properties": [],
        "automata": [
            {
                "name": "car",
                "locations": [{"name": "l", "transient-values": [goal]}],
                "initial-locations": ["l"],
                "edges": [edge("fast", 0.5), edge("slow", 0.75)],
            }
        ],
        "system": {
            "elements": [{"automaton": "car"}],
            "syncs": [{"synchronise": [name], "result": name} for name in ("fast", "slow")],
        },
    }


def save_network(file: str, weights: list[float], bias: list[float]) -> None:
    """Two scores of one number."""
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["s", "w", "b"], ["scores"])],
        "net",
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 1])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2])],
        [
            helper.make_tensor("w", TensorProto.FLOAT, [1, 2], weights),
            helper.make_tensor("b", TensorProto.FLOAT, [2], bias),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, file)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("toy.toml", "toy.onnx"):
        shutil.copy(str(files("surefoot_studies.toy") / "assets" / name), name)
    save_network("net.onnx", [-1.0, 1.0], [0.4, -0.4])  # over x / 9: `up` wins while x <= 3
    save_network("d.onnx", [0.0, 0.0], [1.0, 0.0])  # always `fast`
    Path("d.wiring.toml").write_text('observe = ["n"]\nactions = ["fast", "slow"]\n')
    Path("pendulum.toml").write_text(PENDULUM)
    Path("race.jani").write_text(json.dumps(race()), encoding="utf-8")


def test_load_check_save() -> None:
    p = sf.load("toy.toml", property="below_ten")
    r = sf.check(p, engine="bmc", timeout=60)
    assert isinstance(r.verdict, sf.Violated)
    assert (r.proved, r.violated) == (False, True)
    assert r.trace is not None
    assert [set(state) for state in r.trace.states] == [{"x1", "x2"}] * 3
    if find_spec("pandas") is not None:
        assert len(r.trace.to_pandas()) == 3
    print(r)
    assert "<html" in r._repr_html_()
    assert isinstance(sf.check(p, engine=sf.Bmc(depth=8)).verdict, sf.Violated)
    assert isinstance(sf.check(p, engine=["bmc", "induction"]).verdict, sf.Violated)
    r = sf.check(sf.load("toy.toml", property="below_thirteen"), engine="bmc", timeout=60)
    r.save("r.json")
    assert r.certificate is not None
    r.certificate.save("c.json")
    assert sf.check_certificate("c.json").accepted


def test_environment_policy_property() -> None:
    x = sf.integer("x", 0, 9)
    with pytest.raises(TypeError):
        bool(x == 5)
    env = sf.Environment("counter", start=x == 0)
    env = env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    pi = sf.Policy.from_file("net.onnx", observe=[x / 9], actions=["up", "reset"])
    assert sf.check(env, pi, sf.never((x >= 12) | (x == 5))).proved


def test_shield() -> None:
    s = sf.shield("pendulum.toml", degrees=(2, 4), timeout=120)
    assert s.covered == 1
    s.export_c("guard")
    s.export_python("guard.py")
    assert Path("guard.c").is_file()
    gymnasium = pytest.importorskip("gymnasium")
    import numpy as np

    class Pendulum(gymnasium.Env):  # type: ignore[misc, name-defined]
        observation_space = gymnasium.spaces.Box(-2, 2, (1,), np.float64)
        action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

    gym_env = Pendulum()
    assert s.wrap(gym_env).unwrapped is gym_env


def test_probability() -> None:
    q = sf.probability("race.jani", "Pmax=? [F goal]", policy="d.onnx", engine="statistical", eps=0.01)
    assert q.low is not None
    assert q.high is not None
    assert 0.7 < q.low < q.high < 0.8  # the best start is beside the goal
    q.heatmap("m.svg")
    assert Path("m.svg").read_text().startswith("<svg")
