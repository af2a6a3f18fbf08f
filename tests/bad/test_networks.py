"""Every bad network file: the exact error, in less than two seconds, without touching any other file."""

import gzip
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.defs import onnx_opset_version
from tests.bad.make_networks import FILES, make_networks
from tests.formats.onnx_models import model, node

from surefoot.errors import SurefootError
from surefoot.formats.onnx import read_onnx_bytes, read_onnx_network
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Affine

AGAIN = "; fix: export the network again"
FLOAT32 = "; fix: export the network in float32"
FIXED = "fix: export with fixed dimensions (only the first may be symbolic, for the batch)"
ONE_FILE = "fix: save the model in one file (onnx.save with save_as_external_data=False)"
COPY = "fix: copy the file that was exported with the model beside it"
OUTSIDE = "which is no file in the folder of the model"
TOO_LARGE = "the network would have more than 33554432 entries; fix: use a smaller network"
NEWEST = onnx_opset_version()
SUPPORTED = "write it with others, such as Gemm, Add, Mul, Relu, Tanh (docs/reference/policies.md lists all)"

# What follows the file name.
MESSAGES = {
    "01-empty": f": the file is empty{AGAIN}",
    "02-truncated": f": not an ONNX model, or cut off{AGAIN}",
    "02-truncated-gzip": ": the gzip file is damaged or cut off; fix: fetch it again",
    "03-random": f": not an ONNX model, or cut off{AGAIN}",
    "03-unknown-fields": ": not an ONNX model: it has no graph; fix: give a .onnx file",
    "04-png": f": not an ONNX model, or cut off{AGAIN}",
    "05-device": ": this is not a regular file; fix: give a .onnx file",
    "05-directory": ": this is a directory; fix: give the .onnx file inside it",
    "05-no-such-file": ": there is no such file; fix: check the path",
    "06-no-outputs": f":outputs: the graph has no outputs{AGAIN}",
    "07-two-outputs": ":outputs: there are 2 outputs: `y`, `z`; fix: --output NAME",
    "08-nan": ":node `layer`:tensor `W`: NaN at index [1, 2]; fix: repair the weights and export again",
    "09-inf": ":node `layer`:tensor `W`: Inf at index [1, 2]; fix: repair the weights and export again",
    "09-inf-attribute": ":node `leak`: attribute `alpha` is not a finite number"
    "; fix: export a network without NaN or Inf",
    "10-overflow-folded": ":node `scale`: a constant overflows float32; fix: scale the weights down",
    "11-unnamed-node": f":node 1 (Tan): operation `Tan` is not supported; fix: {SUPPORTED}",
    "11-unsupported-op": f":node `smooth`: operation `Tan` is not supported; fix: {SUPPORTED}",
    "12-auto-pad": ":node `window`: Conv with an unknown auto_pad; fix: export with explicit pads",
    "12-transA": ":node `layer`: Gemm with transA = 1; fix: transpose the input before it",
    "12-unknown-attribute": f":node `rectify`: Relu has no attribute `strange` at opset 17{AGAIN}",
    "12-wrong-attribute": f":node `layer`: attribute `transB` of Gemm must be an integer{AGAIN}",
    "14-inner-dimension": f":input `x`: shape [?, ?] has an unknown dimension; {FIXED}",
    "14-no-shape": f":input `x`: no shape is given; {FIXED}",
    "14-only-dimension": f":input `x`: shape [?] has an unknown dimension; {FIXED}",
    "15-batch-of-4": ":input `x`: batch size is fixed to 4; fix: export with batch size 1 or a symbolic one",
    "16-float16": f":node `layer`:tensor `W`: float16 numbers are not supported{FLOAT32}",
    "16-float64": f":node `layer`:tensor `W`: float64 numbers are not supported{FLOAT32}",
    "16-float64-input": f":input `x`: float64 input{FLOAT32}",
    "16-int8": f":node `layer`:tensor `W`: int8 numbers are not supported{FLOAT32}",
    "17-quantised": ":node 0 (DynamicQuantizeLinear): "
    f"quantised networks (DynamicQuantizeLinear) are not supported{FLOAT32}",
    "18-control-flow": ":node `fork`: control flow (If) is not supported"
    "; fix: export a network without branches",
    "19-custom-domain": ":node `own`: `Relu` is of the custom domain `com.example`; fix: export plain ONNX",
    "20-cycle": f":node `first`: reads `b` before it is produced: the graph has a cycle{AGAIN}",
    "20-defined-twice": f":node `again`: `y` is defined twice{AGAIN}",
    "20-undefined": f":node `sum`: reads `nowhere` that nothing produces{AGAIN}",
    "20-undefined-output": f":outputs: nothing produces `y`{AGAIN}",
    "23-2gb": ":node `layer`:tensor `W`: shape [65536, 8192] has 536870912 entries, more than 33554432"
    "; fix: use a smaller network",
    "23-expanded": f":node `grow`: {TOO_LARGE}",
    "23-input": ":input `x`: shape [1, 1099511627776] has more than 33554432 entries"
    "; fix: use a smaller input",
    "23-negative": f":node `layer`:tensor `W`: negative dimension in shape [-3, 4]{AGAIN}",
    "23-product-overflow": ":node `layer`:tensor `W`: shape [4611686018427387904, 4] "
    "has 18446744073709551616 entries, more than 33554432"
    "; fix: use a smaller network",
    "23-too-short": f":node `layer`:tensor `W`: shape [3, 4] needs 12 numbers, the file holds 1{AGAIN}",
    "23-wide-product": f":node `product`: {TOO_LARGE}",
    "24-empty-input": f":input `x`: shape [1, 0] has no entries{AGAIN}",
    "24-empty-layer": f":node `nothing`: a weight of shape [4, 0] has no entries{AGAIN}",
    "24-empty-slice": f":node `cut`: `y` of shape [1, 0] has no entries{AGAIN}",
    "25-argmax-axis": ":node `pick`: axis 0 of shape [1, 4] is not the axis of all scores"
    "; fix: export one row of scores, with axis=-1",
    "25-argmax-inside": ":node `pick`: ArgMax is supported only at the end"
    "; fix: choose an output before it (--output)",
    "25-softmax-inside": ":node `soft`: Softmax is supported only at the end"
    "; fix: choose an output before it (--output)",
    "26-argmax-last": ":node `pick`: ArgMax with select_last_index = 1; fix: use the default, 0",
    "28-no-opset": f":opset_import: no opset version is given{AGAIN}",
    "28-opset-too-new": f":opset_import: opset 999 is newer than {NEWEST}, "
    "the newest that the installed onnx package knows"
    "; fix: export with a lower opset, or upgrade onnx",
    "28-opset-too-old": ":opset_import: opset 5 is older than 6; fix: convert with onnx.version_converter",
    "extra-constant-output": ":inputs: output `y` does not depend on any input; fix: choose another output",
    "extra-divides-integers": ":node `ratio`: Div mixes int64 and float32 numbers"
    "; fix: cast them to one type before exporting",
    "extra-hostile-name": ":node `a\\nb\\x1b[31m" + "c" * 65 + "...`: operation `Tan` is not supported"
    f"; fix: {SUPPORTED}",
    "extra-shapes-differ": ":node `product`: "
    f"MatMul does not fit its inputs of shape [1, 5] and [4, 3]{AGAIN}",
    "extra-two-inputs": ":inputs: there are 2 inputs: `x`, `z`; fix: join them into one",
}
_W = ":tensor `W`: external data"
_LONG = "w" * 77 + "..."
MESSAGES |= {
    "22-absolute": "",  # a path of this machine
    "22-hard-link": f"{_W} `hard.bin` is a link, or not a regular file; {COPY}",
    "22-symlink": f"{_W} `link.bin` is a link, or not a regular file; {COPY}",
    "22-in-a-branch": f":tensor `hidden`: external data is not read here; {ONE_FILE}",
    "22-missing": ":tensor `W`: its external data `weights.bin` is not there"
    "; fix: put the file that was exported with the model beside it",
    "22-relative": f"{_W} in `../outside.bin`, {OUTSIDE}; {ONE_FILE}",
    "22-folder": f"{_W} in `.`, {OUTSIDE}; {ONE_FILE}",
    "22-deeper": f"{_W} in `deeper/weights.bin`, {OUTSIDE}; {ONE_FILE}",
    "22-no-name": f"{_W} in ``, {OUTSIDE}; {ONE_FILE}",
    "22-long-name": f"{_W} in `{_LONG}`, {OUTSIDE}; {ONE_FILE}",
    "22-negative-offset": f"{_W} whose offset is `-4`{AGAIN}",
    "22-huge-offset": f"{_W} whose offset is `{'9' * 30}`{AGAIN}",
    "22-wrong-length": f"{_W} of 44 bytes for a tensor of 48{AGAIN}",
    "22-unknown-key": f"{_W} with a key `url` that is unknown, or given twice{AGAIN}",
    "22-twice": f"{_W} with a key `location` that is unknown, or given twice{AGAIN}",
}
ACCEPTED = {"10-overflow-inside"}
OPENED: list[str] = []


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        OPENED.append(str(arguments[0]))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("outer") / "networks"
    folder.mkdir()
    sys.addaudithook(_record)  # cannot be removed; it only appends to a list
    return make_networks(folder)


@pytest.mark.parametrize("name", MESSAGES)
def test_message(bad: dict[str, Path], name: str) -> None:
    path, outer = bad[name], bad["01-empty"].parents[1]
    OPENED.clear()
    started = time.perf_counter()
    with pytest.raises(SurefootError) as caught:
        read_onnx_network(path)
    seconds = time.perf_counter() - started
    if name == "22-absolute":
        assert f"external data in `{str(outer)[:20]}" in str(caught.value)
    else:
        assert str(caught.value) == f"{path}{MESSAGES[name]}"
    assert caught.value.exit_code == 2
    assert seconds < 2
    assert {opened for opened in OPENED if str(outer) in opened} <= {str(path)}, "another file was opened"
    assert str(path) in OPENED or name.startswith("05"), "the record of opened files does not work"


def test_every_bad_file_has_a_message(bad: dict[str, Path]) -> None:
    assert bad.keys() == MESSAGES.keys() | ACCEPTED


def test_weights_that_overflow_inside_are_read_as_they_are() -> None:
    network = read_onnx_bytes(FILES["10-overflow-inside"]())
    assert np.isinf(infer_outputs(network, np.ones((1, 4), np.float32))).all()


def test_subnormal_weights_are_kept() -> None:
    tiny = np.full((4, 1), 1e-42, np.float32)
    (layer,) = read_onnx_bytes(model([node("MatMul", "x W")], (1, 4), {"W": tiny})).nodes
    assert isinstance(layer, Affine)
    assert (layer.weights == np.float32(1e-42)).all()


def test_two_nodes_have_two_names_or_none() -> None:
    """As in onnxruntime, which does not load the first of these files."""
    twins = [node("Relu", "x", "r", name="same"), node("Neg", "r", name="same")]
    with pytest.raises(SurefootError, match="two nodes are called `same`"):
        read_onnx_bytes(model(twins))
    assert len(read_onnx_bytes(model([node("Relu", "x", "r"), node("Neg", "r")])).nodes) == 2


def test_an_unpacked_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.onnx.gz"
    bomb.write_bytes(gzip.compress(bytes(3 * 2**20)))
    monkeypatch.setattr("surefoot.formats.onnx.protobuf.MOST_BYTES", 2**20)
    with pytest.raises(SurefootError) as caught:
        read_onnx_network(bomb)
    assert str(caught.value) == f"{bomb}: larger than 1 MB; fix: export the policy network alone"
