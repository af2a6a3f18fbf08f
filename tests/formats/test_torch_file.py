"""Tensors come out of a torch file bit for bit, or not at all."""

import re

import numpy as np
import pytest
from tests.formats.handmade import actor_critic, number, symbol, tensor, text, torch_file, zipped

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.untrusted.torch_file import read_state_dict

WEIGHTS = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "a.bias": np.array([0.1, -3e38], np.float32),
}


def entry(value: bytes) -> bytes:
    """The pickle of a state dict with one entry."""
    return b"\x80\x02" + symbol("collections", "OrderedDict") + b")R(" + text("a") + value + b"u."


def test_tensors_by_name_in_order() -> None:
    weights = actor_critic()
    found = read_state_dict(torch_file(weights), "file")
    assert list(found) == list(weights)
    for name, array in weights.items():
        assert found[name].dtype == np.float32
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape
        assert not found[name].flags.writeable


def test_a_view_into_a_larger_storage() -> None:
    content = np.arange(10, dtype=np.float32)
    storage = text("storage") + symbol("torch", "FloatStorage") + text("0") + text("cuda:0") + number(10)
    view = (
        symbol("torch._utils", "_rebuild_tensor_v2")
        + b"(("
        + storage
        + b"tQK\x04K\x02K\x03\x86K\x03K\x01\x86\x89NtR"
    )
    found = read_state_dict(torch_file({"x": content}, entry(view)), "file")
    assert found["a"].tolist() == [[4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (tensor("0", WEIGHTS["a.weight"], extra=1), "file/a: the tensor is larger than its storage"),
        (tensor("9", WEIGHTS["a.weight"]), "file/a: the tensor is larger than its storage"),
        (tensor("0", WEIGHTS["a.weight"].T), "file/a: the tensor is not stored row by row"),
        (
            tensor("0", WEIGHTS["a.weight"], "DoubleStorage"),
            "file/a: the tensor is float64; only float32 is read",
        ),
        (text("b"), "file: the torch file holds something other than named tensors"),
        (
            symbol("posix", "system") + text("x") + b"\x85R",
            "file/data.pkl: `posix.system`: refused, nothing was executed",
        ),
        (
            symbol("torch", "load") + text("x") + b"\x85R",
            "file/data.pkl: `torch.load`: refused, nothing was executed",
        ),
        (
            symbol("torch._utils", "_rebuild_tensor_v2") + b")R",
            "file/a: the tensor is not described as torch does",
        ),
    ],
)
def test_refusals(value: bytes, message: str) -> None:
    with pytest.raises((InvalidProblem, Unsupported), match=f"^{re.escape(message)}"):
        read_state_dict(torch_file(WEIGHTS, entry(value)), "file")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_are_finite(bad: float) -> None:
    array = np.zeros((2, 3), np.float32)
    array[1, 2] = bad
    with pytest.raises(InvalidProblem, match=rf"^file/a: the weight at \[1, 2\] is {bad}"):
        read_state_dict(torch_file({"a": array}), "file")


def test_not_a_torch_file() -> None:
    with pytest.raises(InvalidProblem, match=r"no `data.pkl`"):
        read_state_dict(zipped({"a": b""}), "file")
    with pytest.raises(Unsupported, match="big-endian"):
        read_state_dict(zipped({"a/data.pkl": b"", "a/byteorder": b"big"}), "file")
    with pytest.raises(InvalidProblem, match="holds no state dict"):
        read_state_dict(zipped({"a/data.pkl": b"\x80\x02]."}), "file")
