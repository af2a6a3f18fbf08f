"""Every network beside the repository, read and compared with onnxruntime on 10,000 random inputs each."""

from pathlib import Path

import pytest

from surefoot.errors import Unsupported
from surefoot.formats.onnx import read_onnx
from surefoot.formats.onnx.compare import compare_with_onnxruntime

SAMPLES = 10_000
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
# Divides by a sum of cubed scores, which no network node expresses: compared up to that sum.
PARALLEL, BEFORE_DIVISION = "pensieve_small_parallel.onnx", "/ReduceSum_output_0"


@pytest.mark.shared_data
@pytest.mark.parametrize("folder", FOLDERS)
def test_networks_agree_with_onnxruntime(shared_data: Path, folder: str) -> None:
    paths = sorted((shared_data / folder).rglob("*.onnx*"))
    assert len(paths) == FOLDERS[folder]
    for path in paths:
        output = BEFORE_DIVISION if path.name == PARALLEL else None
        network = read_onnx(path, output=output)
        result = compare_with_onnxruntime(path, network, samples=SAMPLES, output=output)
        assert result.unexplained == 0, (path.name, result)
        assert result.argmax_differences == result.near_ties, (path.name, result)


@pytest.mark.shared_data
def test_division_by_a_signal_is_refused(shared_data: Path) -> None:
    path = shared_data / "queries" / "nn4sys_pensieve" / PARALLEL
    with pytest.raises(Unsupported, match="node `/Div`: division by a value that depends on"):
        read_onnx(path)


@pytest.mark.shared_data
def test_rows_of_the_parallel_network_are_one_input(shared_data: Path) -> None:
    path = shared_data / "queries" / "nn4sys_pensieve" / PARALLEL
    network = read_onnx(path, output=BEFORE_DIVISION)
    assert network.width == 96
    assert "input `input` of shape [12, 8] is read as one input, not as a batch of 12" in network.notes
