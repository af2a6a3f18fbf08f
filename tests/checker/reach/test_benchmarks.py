"""Closed loops of the field's competition: true claims are accepted, those that say too much are refused."""

import base64
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checker.reach.loops import (
    acc,
    airplane,
    single_pendulum,
    tora_relu,
    tora_sigmoid,
    unicycle,
    vcas,
)

from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.network import ActivationNode, AffineNode
from surefoot_checker.kernel.onnx_file import onnx_to_flat_network

pytestmark = pytest.mark.shared_data


@pytest.fixture
def folder(shared_data: Path) -> Path:
    return shared_data / "ainncs"


@pytest.mark.parametrize("make", [single_pendulum, acc, tora_sigmoid, unicycle, tora_relu])
def test_benchmarks_are_accepted(make: Callable[[Path], Any], folder: Path) -> None:
    found = judge_certificate(make(folder))
    assert found.accepted, found.reason
    assert "where the problem comes from" in found.not_certified[0]


def test_variants_are_accepted(folder: Path) -> None:
    assert judge_certificate(acc(folder, kind="tanh")).accepted
    assert judge_certificate(unicycle(folder, gust="0.0001")).accepted


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda f: single_pendulum(f, top="1.2"), "a bad state may be reached"),  # simulated runs violate it
        (lambda f: single_pendulum(f, limit="0.9"), "a bad state may be reached"),
        (lambda f: single_pendulum(f, until="5"), "too early"),
        (lambda f: acc(f, distance="34.5"), "a bad state may be reached"),
        (lambda f: tora_relu(f, limit="1.45"), "a bad state may be reached"),
        (lambda f: tora_relu(f, until="21"), "too early"),
        (lambda f: unicycle(f, goal="0.1"), "the goal is not surely met"),
    ],
)
def test_what_is_false_is_refused(make: Callable[[Path], Any], words: str, folder: Path) -> None:
    found = judge_certificate(make(folder))
    assert not found.accepted
    assert words in found.reason


def test_starts_that_are_left_out_are_seen(folder: Path) -> None:
    written = single_pendulum(folder)
    written["reach"]["regions"][0]["box"]["x1"] = ["1.001", "1.175"]
    assert "not covered" in judge_certificate(written).reason


def test_other_weights_are_refused(folder: Path) -> None:
    """The network that is written out with its last bias changed pushes the pendulum over."""
    network = onnx_to_flat_network((folder / "single_pendulum.onnx").read_bytes())
    nodes: list[Any] = []
    for node in network.nodes:
        if isinstance(node, AffineNode):
            weights, bias = (
                base64.b64encode(struct.pack(f"<{len(x)}f", *x)).decode() for x in (node.weights, node.bias)
            )
            nodes.append(["affine", node.source, len(node.bias), node.columns, weights, bias])
        else:
            assert isinstance(node, ActivationNode)
            nodes.append([node.kind, node.source])
    written = single_pendulum(folder)
    policy = written["claim"]["problem"]["policy"]
    policy["network"] = {"width": network.width, "nodes": nodes}
    assert judge_certificate(written).accepted
    nodes[-1 if nodes[-1][0] == "affine" else -2][5] = base64.b64encode(struct.pack("<f", 1.0)).decode()
    assert not judge_certificate(written).accepted


def test_violation_of_the_pendulum(folder: Path) -> None:
    """From 1.2 the pendulum is above 1 at time 0.5: one run, whatever float32 evaluation."""
    written = single_pendulum(folder, top="1.2")
    walk = written["reach"]
    del walk["regions"]
    walk.update(start={"x1": "1.2", "x2": "0.2"}, chosen=[], at=[10, 0])
    written["claim"]["kind"] = "reach-violation"
    found = judge_certificate(written)
    assert found.accepted, found.reason
    assert "bad state at time 1/2" in found.claim
    for change in (
        {"at": [9, 0]},
        {"at": [11, 0], "start": {"x1": "1", "x2": "0"}},
        {"start": {"x1": "1.3", "x2": 0}},
    ):
        assert not judge_certificate({**written, "reach": {**walk, **change}}).accepted


def test_certificates_say_how_many_cells(folder: Path) -> None:
    found = judge_certificate(tora_relu(folder))
    assert (found.cases, found.steps, found.states) == (1, 40, 2)


def every_way(steps: int) -> list[Any]:
    """Nodes that follow every advisory at every step; the last of them is the root."""
    nodes: list[Any] = [["done"]]
    for number in range(steps):
        nodes.append(["fork", {f"{last}.{new}/{new}/0/": number for last in range(9) for new in range(9)}])
    return nodes


@pytest.mark.parametrize("plant", ["exact", "float64"])
@pytest.mark.parametrize(("rate", "holds"), [("-19.5", True), ("-25.5", False), ("-28.5", False)])
def test_networks_that_are_picked_by_the_last_advisory(
    rate: str, holds: bool, plant: str, folder: Path
) -> None:
    written = vcas(folder, rate, 10, plant)
    written["reach"]["nodes"] = every_way(10)
    found = judge_certificate(written)
    assert found.accepted is holds
    assert not holds or "controlled by 9 networks at every step" in found.claim


def test_violation_of_the_airplane(folder: Path) -> None:
    written = airplane(folder)
    walk = written["reach"]
    del walk["regions"]
    fast = {"u": "0.58", "v": "0.9", "w": "0.68", "phi": "0.93", "theta": "0.86", "psi": "0.99"}
    start = {n: fast.get(n, 0) for n, _ in written["claim"]["problem"]["variables"]}
    walk.update(start=start, chosen=[], at=[17, 0], order=6, taylor=5)
    written["claim"]["kind"] = "reach-violation"
    found = judge_certificate(written)
    assert found.accepted, found.reason
    walk["at"] = [1, 0]
    assert not judge_certificate(written).accepted
