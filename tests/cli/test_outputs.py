"""Which output of a network is asked about: several outputs, and files that end in a softmax or argmax."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Command
from tests.formats.onnx_models import model, node, runtime

WEIGHTS = {"W": np.float32([[1, 0], [-1, 0.5]]), "b": np.float32([0, 0.25]), "V": np.float32([[2], [2]])}
GEMM = node("Gemm", "x W b", "q", transB=1)
SOFT = model([GEMM, node("Softmax", "q")], (1, 2), WEIGHTS)
BEST = model([GEMM, node("Softmax", "q", "p"), node("ArgMax", "p", axis=1)], (1, 2), WEIGHTS)
TWO = model([GEMM, node("MatMul", "x V", "value")], (1, 2), WEIGHTS, outputs="q value")
NOT_READ = "which is not read as part of it; fix: ask about its scores with --output q\n"

SPECIFICATION = """(declare-const X_0 Real)(declare-const X_1 Real)
(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))
"""
CONTROLLED = """
[variables]
u = "real [-1, 1]"
v = "real [-1, 1]"
[controls]
f = ""
g = ""
[[edges]]
[policy]
file = "net.onnx"
observe = ["u", "v"]
choose = "value"
[properties]
safe = "never f <= -0.5 for 0 steps"
"""
ACTING = """
initial = "u >= 1/4"
[variables]
u = "real [-1, 1]"
v = "real [-1, 1]"
[[edges]]
action = "a"
[[edges]]
action = "b"
[policy]
file = "net.onnx"
observe = ["u", "v"]
actions = ["a", "b"]
[properties]
best = "never chosen(b) for 0 steps"
score = "never output[0] < 0 for 0 steps"
"""


@pytest.fixture
def put(tmp_path: Path):
    def written(network: bytes, text: str, name: str = "model.toml") -> Path:
        (tmp_path / "net.onnx").write_bytes(network)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


@pytest.mark.parametrize("output", [(), ("--output", "y")])
@pytest.mark.parametrize("asked", ["(<= Y_0 -0.1)", "(>= Y_0 1.5)", "(>= Y_0 0.4)"])
def test_a_specification_about_a_softmax_is_refused(
    put, command: Command, asked: str, output: tuple[str, ...]
) -> None:
    spec = put(SOFT, f"{SPECIFICATION}(assert {asked})", "spec.vnnlib")
    arguments = ("vnnlib", spec.with_name("net.onnx"), spec, *output, "--quiet")
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err == f"error: {spec.with_name('net.onnx')}: the network ends in a softmax, {NOT_READ}"
    assert command(*arguments, "--format", "vnncomp")[:2] == (2, "")


def test_a_specification_about_named_scores_is_answered(put, command: Command) -> None:
    spec = put(SOFT, f"{SPECIFICATION}(assert (<= Y_0 -0.5))", "spec.vnnlib")
    arguments = ("vnnlib", spec.with_name("net.onnx"), spec, "--output", "q", "--quiet")
    result = spec.with_name("result.json")
    assert command(*arguments, "--json", result)[0] == 1
    start = json.loads(result.read_text())["verdict"]["trace"]["states"][0]
    point = [float(start["X_0"]), float(start["X_1"])]
    assert runtime(SOFT, point, "q")[0, 0] <= -0.5
    assert runtime(SOFT, point)[0, 0] >= 0
    assert command("certify", result)[0] == 0
    impossible = put(SOFT, f"{SPECIFICATION}(assert (<= Y_0 -1.5))", "spec.vnnlib")
    assert command("vnnlib", impossible.with_name("net.onnx"), impossible, "--output", "q", "--quiet")[0] == 0


@pytest.mark.parametrize(("network", "ends"), [(SOFT, "a softmax"), (BEST, "an argmax")])
def test_what_is_left_out_is_no_control(put, command: Command, network: bytes, ends: str) -> None:
    path = put(network, CONTROLLED)
    for output in ((), ("--output", "y")):
        code, out, err = command("check", path, *output, "--quiet")
        assert (code, out) == (2, "")
        assert err == f"error: {path}:12:11: the network ends in {ends}, {NOT_READ}"
    code, out, _ = command("check", path, "--output", "q", "--quiet")
    assert code == 1
    assert out.startswith("violated")


@pytest.mark.parametrize(("network", "ends"), [(SOFT, "a softmax"), (BEST, "an argmax")])
def test_what_is_left_out_is_not_asked_about(put, command: Command, network: bytes, ends: str) -> None:
    path = put(network, ACTING)
    code, out, err = command("check", path, "--property", "score", "--quiet")
    assert (code, out) == (2, "")
    assert err == f"error: {path}:16:10: the network ends in {ends}, {NOT_READ}"
    named = path.with_name("named.toml")
    named.write_text(ACTING.replace("[properties]", 'output = "q"\n[properties]'))
    assert command("check", named, "--property", "score", "--quiet")[0] == 0


def test_the_best_action_needs_no_name(put, command: Command) -> None:
    path = put(BEST, ACTING.replace("score =", "# score ="))
    corners = [(u, v) for u in (0.25, 1) for v in (-1, 1)]
    assert [runtime(BEST, c).item() for c in corners] == [0, 1, 0, 0]
    assert command("check", path, "--quiet")[0] == 1
    path.write_text(path.read_text().replace("u >= 1/4", "u >= 1/2"))
    assert command("check", path, "--quiet")[0] == 0


def test_one_of_several_outputs_is_checked_and_certified(put, command: Command) -> None:
    path = put(TWO, CONTROLLED)
    code, _, err = command("check", path, "--quiet")
    assert code == 2
    assert err.endswith("net.onnx:outputs: there are 2 outputs: `q`, `value`; fix: --output NAME\n")
    result = path.with_name("result.json")
    assert command("check", path, "--output", "q", "--json", result, "--quiet")[0] == 1
    data = json.loads(result.read_text())
    assert data["source"]["output"] == "q"
    start = data["verdict"]["trace"]["states"][0]
    assert runtime(TWO, [float(start["u"]), float(start["v"])], "q")[0, 0] <= -0.5
    assert command("certify", result)[0] == 0
    code, _, err = command("check", path, "--output", "value", "--quiet")
    assert code == 2
    assert "the network has 1 outputs (0) for 2 controls (f, g)" in err
    path.write_text(CONTROLLED.replace("[properties]", 'output = "q"\n[properties]'))
    assert command("check", path, "--json", result, "--quiet")[0] == 1
    assert command("certify", result)[0] == 0


@pytest.mark.parametrize("output", ["q", "value"])
def test_one_of_several_outputs_is_compared_with_onnxruntime(put, command: Command, output: str) -> None:
    network = put(TWO, "").with_name("net.onnx")
    code, out, _ = command("inspect", network, "--output", output, "--samples", 20, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["outputs"] == {"q": 2, "value": 1}[output]
    assert facts["onnxruntime"]["samples"] == 20
    assert facts["onnxruntime"]["unexplained"] == 0
    assert command("inspect", network)[0] == 2
