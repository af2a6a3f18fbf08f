"""Every network beside the repository, read and compared with onnxruntime on 2,000 random inputs each."""

from pathlib import Path

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime
from surefoot.formats.vnnlib import read_vnnlib_file
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.float32_error import may_overflow_float32
from surefoot.problem.meaning.inference import infer_outputs

SAMPLES = 2_000
FOLDERS = {
    "control/nets": 16,
    "jani/racetrack-policies": 10,
    "policies": 7,
    "queries/acasxu": 43,
    "queries/cersyve": 6,
    "queries/lsnc_relu": 1,
    "queries/nn4sys_pensieve": 2,
    "queries/planted_needles": 30,
    "queries/sat_relu": 49,
}
PARALLEL = "pensieve_small_parallel.onnx"  # divides cubed scores by their sum


@pytest.mark.shared_data
@pytest.mark.parametrize("folder", FOLDERS)
def test_networks_agree_with_onnxruntime(shared_data: Path, folder: str) -> None:
    paths = sorted((shared_data / folder).rglob("*.onnx*"))
    assert len(paths) == FOLDERS[folder]
    for path in paths:
        network = read_onnx_network(path)
        result = compare_with_onnxruntime(path, network, samples=SAMPLES)
        assert result.unexplained == 0, (path.name, result)
        assert result.argmax_differences == result.near_ties, (path.name, result)


@pytest.mark.shared_data
def test_quotients_agree_with_onnxruntime_on_published_boxes(shared_data: Path) -> None:
    """And stay within their bounds, which are less than five times as wide as what samples reach."""
    import onnxruntime

    folder = shared_data / "queries" / "nn4sys_pensieve"
    network = read_onnx_network(folder / PARALLEL)
    session = onnxruntime.InferenceSession(str(folder / PARALLEL))
    random = np.random.default_rng(0)
    specifications = sorted(folder.glob("vnnlib/*parallel*"))
    assert len(specifications) == 8
    for path in specifications:
        specification = read_vnnlib_file(path)
        low, high = (np.array(b, dtype=np.float64) for b in (specification.low, specification.high))
        inputs = (low + random.random((100, network.width)) * (high - low)).astype(np.float32)
        ours = infer_outputs(network, inputs)[:, 0]
        theirs = [session.run(None, {"input": row.reshape(12, 8)})[0].item() for row in inputs]
        np.testing.assert_allclose(ours, theirs, atol=2e-4)
        assert not may_overflow_float32(network, low, high)
        box = linear_bounds(network, low, high)[-1]
        assert box.low[0] < ours.min()
        assert ours.max() < box.high[0]
        assert box.high[0] - box.low[0] < 5 * (ours.max() - ours.min())


@pytest.mark.shared_data
def test_rows_of_the_parallel_network_are_one_input(shared_data: Path) -> None:
    path = shared_data / "queries" / "nn4sys_pensieve" / PARALLEL
    network = read_onnx_network(path)
    assert network.width == 96
    assert "input `input` of shape [12, 8] is read as one input, not as a batch of 12" in network.notes
