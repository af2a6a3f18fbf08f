"""The kind of a policy file is decided by its content."""

import gzip
import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.handmade import actor_critic, saved_model, torch_file, vec_normalize, zipped

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.nnet import write_nnet
from surefoot.formats.normalization import Normalization
from surefoot.formats.policy_file import SUPPORTED, load_policy
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import dense_network

NETWORK = dense_network([(np.eye(2), np.ones(2)), (2 * np.eye(2), np.zeros(2))])
POINTS = np.float32([[1, -3], [0.5, 2]])


def onnx_bytes() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = numpy_helper.from_array(np.float32([[1, 2], [3, 4]]), "w")
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weights])
    return bytes(helper.make_model(graph).SerializeToString())


def nnet_bytes(tmp_path: Path) -> bytes:
    write_nnet(NETWORK, tmp_path / "written")
    return (tmp_path / "written").read_bytes()


def put(tmp_path: Path, data: bytes, name: str = "policy.dat") -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


@pytest.mark.parametrize("name", ["a.onnx", "a.zip", "a.nnet", "a"])
def test_names_do_not_decide(tmp_path: Path, name: str) -> None:
    assert load_policy(put(tmp_path, saved_model(actor_critic()), name)).kind == "sb3 PPO"
    assert load_policy(put(tmp_path, nnet_bytes(tmp_path), name)).kind == "nnet"
    assert load_policy(put(tmp_path, onnx_bytes(), name)).kind == "onnx"
    assert load_policy(str(put(tmp_path, gzip.compress(onnx_bytes()), name))).kind == "onnx"


def test_a_nnet_without_comments(tmp_path: Path) -> None:
    data = nnet_bytes(tmp_path).split(b"\n", 1)[1]
    policy = load_policy(put(tmp_path, data))
    assert (policy.kind, policy.head) == ("nnet", "scores")
    assert (infer_outputs(policy.network, POINTS) == infer_outputs(NETWORK, POINTS)).all()


def test_every_policy_says_whether_it_is_normalised(tmp_path: Path) -> None:
    statistics = Normalization(np.zeros(2), np.full(2, 4.0), 0.0, 10, "stats")
    for data in (saved_model(actor_critic()), nnet_bytes(tmp_path), onnx_bytes()):
        path = put(tmp_path, data)
        assert load_policy(path).notes[-1] == "observations are not normalised"
        policy = load_policy(path, normalization=statistics)
        assert policy.notes[-1].startswith("observations are normalised with stats")
        halved = infer_outputs(load_policy(path).network, POINTS / np.float32(2))
        assert infer_outputs(policy.network, POINTS) == pytest.approx(halved, rel=1e-5)


ALL = f"fix: {SUPPORTED}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n", f"this is no policy file; {ALL}"),
        (b"\x89HDF\r\n\x1a\n", f"this is no policy file; {ALL}"),
        (b'{"mean": [1]}', f"this is no policy file; {ALL}"),
        (zipped({"a": b""}), f"this zip is no saved policy; {ALL}"),
        (b"PK\x03\x04", "the zip is damaged or cut short"),
        (
            torch_file({"fc1.weight": np.ones((2, 2), np.float32)}),
            "a file of weights names them (fc1.weight), not how they",
        ),
        (pickle.dumps([1, 2]), "this is a pickle: nothing in it was executed"),
        (vec_normalize(np.zeros(2), np.ones(2)), "this is a pickle: nothing in it was executed"),
        (b"cposix\nsystem\n(S'true'\ntR.", "`posix.system`: refused, nothing was executed"),
        (gzip.compress(b"//"), "the gzip file holds no ONNX model"),
        (gzip.compress(b"\x08" * 99)[:-9], "the gzip file is damaged or cut off"),
        (b"ends with a point.", f"this is no policy file; {ALL}"),
    ],
    ids=(lambda value: value if isinstance(value, str) else "data"),
)
def test_everything_else_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = put(tmp_path, data)
    with pytest.raises((InvalidProblem, Unsupported), match="^" + re.escape(f"{path}: {message}")):
        load_policy(path)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"activation": "relu"}, "the activation is written in the file"),
        ({"output": "y"}, "only ONNX files have named"),
    ],
)
def test_options_that_do_not_apply(tmp_path: Path, option: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        load_policy(put(tmp_path, nnet_bytes(tmp_path)), **option)


def test_no_file_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidProblem, match="this is a folder, not a file"):
        load_policy(tmp_path)
    with pytest.raises(InvalidProblem, match="there is no such file"):
        load_policy(tmp_path / "absent")
    with pytest.raises(SurefootError, match=r"cannot be read|no such file"):
        load_policy("a\0b")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidProblem, match="not a regular file"):
        load_policy(tmp_path / "pipe")

    def forbidden(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(InvalidProblem, match=r"the file cannot be read \(Permission denied\)"):
        load_policy(put(tmp_path, b"//"))
