"""Weights beside an ONNX file: the same network as in one file, and the files are known by their digests."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.formats.onnx_models import dense

from surefoot.errors import SurefootError
from surefoot.formats.onnx import read_onnx_bytes, read_onnx_network
from surefoot.formats.onnx.external_data import list_external_files
from surefoot.formats.policy_file import load_policy


def write_apart(folder: Path, *, together: bool) -> Path:
    model = onnx.load_from_string(dense())
    path = folder / "policy.onnx"
    onnx.save(
        model, str(path), save_as_external_data=True, all_tensors_to_one_file=together,
        location="weights.bin" if together else None, size_threshold=0,
    )  # fmt: skip
    return path


@pytest.mark.parametrize("together", [True, False])
def test_the_same_network(tmp_path: Path, together: bool) -> None:
    path = write_apart(tmp_path, together=together)
    assert read_onnx_network(path).digest() == read_onnx_bytes(dense()).digest()
    assert load_policy(path).network.digest() == read_onnx_bytes(dense()).digest()
    names = {"weights.bin"} if together else {"W", "b"}
    assert {p.name for p in list_external_files(path)} == names


def test_bytes_alone_have_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SurefootError, match="external data is not read here"):
        read_onnx_bytes(write_apart(tmp_path, together=True).read_bytes())


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    path = write_apart(tmp_path, together=True)
    weights = tmp_path / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(SurefootError, match=r"`weights.bin` has \d+ bytes, \d+ are needed"):
        read_onnx_network(path)


def test_infinite_weights_are_refused_there_too(tmp_path: Path) -> None:
    path = write_apart(tmp_path, together=True)
    weights = tmp_path / "weights.bin"
    content = bytearray(weights.read_bytes())
    content[:4] = np.float32(np.inf).tobytes()
    weights.write_bytes(bytes(content))
    with pytest.raises(SurefootError, match="Inf at index"):
        read_onnx_network(path)
