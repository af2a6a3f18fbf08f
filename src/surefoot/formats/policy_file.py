"""Load a policy from any supported file; what it is is decided by its content, not by its name."""

from __future__ import annotations

import pickletools
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

from surefoot.errors import InvalidProblem, Unsupported, WrongType, locate_errors
from surefoot.formats.layer_list import read_layered_network
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.nnet import read_nnet
from surefoot.formats.normalization import NOT_NORMALISED, Normalization, prepend_normalization
from surefoot.formats.sb3 import is_sb3_archive, read_sb3
from surefoot.formats.untrusted.pickle_opcodes import read_pickle
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.formats.untrusted.safetensors import is_safetensors
from surefoot.formats.untrusted.torch_file import is_torch_archive
from surefoot.formats.untrusted.zip_archive import is_zip, open_archive
from surefoot.formats.wiring import memory_beside
from surefoot.formats.xgboost_json import is_xgboost_json, read_xgboost_network
from surefoot.problem.network import Network
from surefoot.term.arguments import describe_value

__all__ = ["LoadedPolicy", "load_policy"]

SUPPORTED = (
    "ONNX (also gzipped), Stable-Baselines3 .zip, torch and safetensors weights, XGBoost JSON, .nnet are read"
)
_EXPORT = "export the policy to ONNX, or give the .zip that Stable-Baselines3 saved"
_NNET = re.compile(rb"//|\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,?\s*\n")
_GZIP = b"\x1f\x8b"
_WEIGHTS = ("torch", "safetensors")  # which say nothing of activations
# Tags of a ModelProto: ir_version, producer, its version, graph, opset.
_ONNX_FIRST_BYTES = (b"\x08", b"\x12", b"\x1a", b"\x3a", b"\x42")


def load_policy(
    path: str | Path,
    *,
    output: str | None = None,
    normalization: Normalization | None = None,
    activation: str | None = None,
    layers: Sequence[str] | None = None,
    memory: Mapping[str, str] | None = None,
) -> LoadedPolicy:
    """The policy in a file; `output` names an ONNX output, `activation` what an SB3 file keeps to itself.

    `layers` says how the weights of a torch or safetensors file are connected, `memory` which output of an
    ONNX file becomes which of its inputs in the next decision (`{"h0": "hn"}`); without them the file beside
    it (`policy.wiring.toml`) does, or the graph.

    >>> from surefoot import load_policy
    >>> network = load_policy("net.onnx").network
    >>> network.width, network.outputs
    (1, 2)
    """
    if not isinstance(path, str | PathLike):
        raise WrongType(f"{describe_value(path)} is not the path of a file", fix="give a str or a Path")
    path = Path(path)
    data = read_input_bytes(path)
    kind = _detect_format(data, path)
    if activation is not None and kind != "sb3":
        raise InvalidProblem(
            "the activation is written in the file", fix="leave --activation out", where=str(path)
        )
    if output is not None and kind != "onnx":
        raise InvalidProblem("only ONNX files have named outputs", fix="leave --output out", where=str(path))
    if memory is not None and kind != "onnx":
        raise InvalidProblem("only ONNX files have named states", fix="leave the memory out", where=str(path))
    if kind == "sb3":
        return read_sb3(path, normalization=normalization, activation=activation)
    if layers is not None and kind not in _WEIGHTS:
        what = "this file says itself how its weights are connected"
        raise InvalidProblem(what, fix="leave the layers out", where=str(path))
    match kind:
        case "onnx":
            network = _read_onnx(data, path, output, memory)
        case "nnet":
            network = read_nnet(path)
        case "xgboost":
            network = read_xgboost_network(data, path.name.split(".")[0], str(path))
        case _:
            network = read_layered_network(data, path, kind, layers)
    head: Literal["argmax", "scores"] = "argmax" if network.head == "argmax" else "scores"
    if normalization is None:
        return LoadedPolicy(network, head, kind, notes=(*network.notes, NOT_NORMALISED))
    network = prepend_normalization(network, normalization)
    return LoadedPolicy(network, head, kind, notes=network.notes)


def _read_onnx(data: bytes, path: Path, output: str | None, memory: Mapping[str, str] | None) -> Network:
    from surefoot.formats.onnx import read_onnx_bytes
    from surefoot.formats.onnx.protobuf import unpack_model

    told = memory_beside(path) if memory is None else memory
    with locate_errors(str(path)):
        content = unpack_model(data)
        if content[:1] not in _ONNX_FIRST_BYTES:
            raise Unsupported("the gzip file holds no ONNX model", fix=SUPPORTED)
        name = path.name.split(".")[0]
        return read_onnx_bytes(content, name, output=output, folder=path.parent, memory=told)


def _detect_format(data: bytes, path: Path) -> str:
    """What kind of file it is; everything that is not read is an error that says what it is."""
    where = str(path)
    if is_zip(data):
        archive = open_archive(data, where)
        if is_sb3_archive(archive):
            return "sb3"
        if is_torch_archive(archive):
            return "torch"
        raise Unsupported("this zip is no saved policy", fix=SUPPORTED, where=where)
    if is_xgboost_json(data):
        return "xgboost"
    if data.startswith(b"tree\nversion="):
        what = "a model of LightGBM, which adds leaves in float64"
        fix = "convert it with onnxmltools.convert_lightgbm and check the ONNX file"
        raise Unsupported(what, fix=fix, where=where)
    if is_safetensors(data):
        return "safetensors"
    if _NNET.match(data):
        return "nnet"
    if data.startswith(_GZIP) or data[:1] in _ONNX_FIRST_BYTES:
        return "onnx"
    if _is_pickle(data):
        read_pickle(data, permits=lambda symbol: symbol.startswith(_HARMLESS), where=where)
        raise Unsupported("this is a pickle: nothing in it was executed", fix=_EXPORT, where=where)
    raise Unsupported("this is no policy file", fix=SUPPORTED, where=where)


_HARMLESS = (
    "collections.OrderedDict",
    "torch.",
    "numpy.",
    "stable_baselines3.",
    "gymnasium.spaces.",
    "gym.spaces.",
)


def _is_pickle(data: bytes) -> bool:
    """Whether this looks like a pickle: protocol 2 and later by their mark, older ones by their end."""
    if data[0] == 0x80 and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    if not data.rstrip(b"\n").endswith(b"."):
        return False
    try:
        return any(opcode.name in ("GLOBAL", "INST") for opcode, _, _ in pickletools.genops(data[: 1 << 16]))
    except ValueError:
        return False
