"""What onnxruntime refuses both readers refuse; what it runs they read alike, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.certify.test_onnx_file import written
from tests.formats.onnx_files import whole_files
from tests.formats.onnx_variants import OPSETS, models
from tests.formats.onnxruntime_says import onnxruntime_says, sample

from surefoot.errors import SurefootError
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.network.evaluate import evaluate_network_batch
from surefoot.problem.network import Network
from surefoot.query.unsat_claim import network_to_json
from surefoot_checker.kernel.network import FlatNetwork as CheckersNetwork
from surefoot_checker.kernel.onnx_file import onnx_to_flat_network
from surefoot_checker.kernel.untrusted_file import ReadError


def ours(data: bytes) -> Network | None:
    try:
        return read_onnx_bytes(data)
    except SurefootError:
        return None


def checkers(data: bytes) -> CheckersNetwork | None:
    try:
        return onnx_to_flat_network(data)
    except ReadError:
        return None


def _close(values: np.ndarray, others: list[float]) -> bool:
    return len(values) == len(others) and np.allclose(values, others, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", OPSETS)
def test_variants_of_every_operator(opset: int, tmp_path: Path) -> None:
    assert compared(list(models(opset)), tmp_path) > 100


def test_files_around_their_nodes(tmp_path: Path) -> None:
    assert compared(list(whole_files()), tmp_path) > 10


def compared(named: list[tuple[str, bytes]], tmp_path: Path) -> int:
    """How many of the files were read, after comparing all of them."""
    pytest.importorskip("onnxruntime")
    wrong, read = [], 0
    for (name, data), said in zip(named, onnxruntime_says([d for _, d in named], tmp_path), strict=True):
        network, other = ours(data), checkers(data)
        if "refused" in said:
            wrong += [f"{name}: read by {who}: {said['refused']}" for who, found in
                      (("the reader", network), ("the checker", other)) if found is not None]  # fmt: skip
            continue
        if other is not None and (network is None or network_to_json(network) != written(other)):
            wrong.append(f"{name}: the readers disagree")
        if network is not None:
            read += 1
            values = evaluate_network_batch(network, sample(data).reshape(1, -1)).outputs[0]
            if said["kind"] != "float32" or not _close(values, said["values"]):
                wrong.append(f"{name}: other values")
    assert not wrong, "\n".join(wrong)
    return read
