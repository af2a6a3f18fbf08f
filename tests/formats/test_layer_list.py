"""Weights that a list of layers connects."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.formats.handmade import linear, torch_file

from surefoot.errors import InvalidProblem
from surefoot.formats.layer_list import connect_layers
from surefoot.formats.policy_file import load_policy
from surefoot.problem.meaning.inference import infer_outputs

DRAW = np.random.default_rng(3)
TENSORS = linear(DRAW, "a", 4, 3) | linear(DRAW, "b", 3, 2)
INPUTS = np.random.default_rng(5).normal(size=(50, 4)).astype(np.float32)
LAYERS = ["linear a", "tanh", "linear b"]


def expected() -> np.ndarray:
    hidden = np.tanh(INPUTS @ TENSORS["a.weight"].T + TENSORS["a.bias"])
    return hidden @ TENSORS["b.weight"].T + TENSORS["b.bias"]


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        ends = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": ends}  # type: ignore[dict-item]
        content += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


@pytest.mark.parametrize("kind", ["torch", "safetensors"])
def test_layers_as_argument_or_beside_the_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "policy.weights"
    path.write_bytes(torch_file(TENSORS) if kind == "torch" else safetensors(TENSORS))
    given = load_policy(path, layers=LAYERS)
    assert given.kind == kind
    assert abs(infer_outputs(given.network, INPUTS) - expected()).max() < 1e-6
    with pytest.raises(InvalidProblem, match=r'layers = \["linear a", "tanh", "linear b"\]'):
        load_policy(path)
    (tmp_path / "policy.wiring.toml").write_text(f'observe = ["x"]\nlayers = {json.dumps(LAYERS)}\n')
    assert load_policy(path).network.digest() == given.network.digest()


def test_scaled_and_clipped() -> None:
    tensors = TENSORS | {"scale": np.float32([2, 0.5])}
    network = connect_layers(tensors, (*LAYERS, "multiply scale", "add 0.25", "clip -1 1"), "made")
    wanted = np.clip(expected() * [2, 0.5] + 0.25, -1, 1)
    assert abs(infer_outputs(network, INPUTS) - wanted).max() < 1e-6


def test_numbered_inputs() -> None:
    tensors = {"t.weight": DRAW.normal(size=(5, 3)).astype(np.float32)} | linear(DRAW, "b", 3, 2)
    network = connect_layers(tensors, ("embedding t", "linear b"), "made")
    assert [(i.place, i.count) for i in network.indices] == [(0, 5)]
    wanted = tensors["t.weight"] @ tensors["b.weight"].T + tensors["b.bias"]
    assert abs(infer_outputs(network, np.arange(5, dtype=np.float32)[:, None]) - wanted).max() < 1e-6
    hot = connect_layers(linear(DRAW, "c", 5, 2), ("one_hot 2 3", "linear c"), "made")
    assert [(i.place, i.count) for i in hot.indices] == [(0, 2), (1, 3)]


def test_layers_for_a_file_that_has_its_own(tmp_path: Path) -> None:
    from tests.formats.onnx_models import dense

    (tmp_path / "net.onnx").write_bytes(dense())
    with pytest.raises(InvalidProblem, match="this file says itself how its weights are connected"):
        load_policy(tmp_path / "net.onnx", layers=LAYERS)
