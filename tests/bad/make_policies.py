"""Writes broken and hostile policy files, one per name; none is kept in the repository.

The number in a name is the row of the catalogue of bad inputs. A payload, if it ran, would create `SENTINEL`
in the folder of the files.
"""

import base64
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.handmade import (
    actor_critic,
    box,
    linear,
    saved_model,
    state_pickle,
    torch_file,
    vec_normalize,
    zipped,
)

SENTINEL = "payload-ran"


class Payload:
    """Unpickling this creates the sentinel."""

    def __init__(self, folder: Path) -> None:
        self.target = folder / SENTINEL

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.target}'",)


def with_call(folder: Path) -> bytes:
    """A state dict whose last entry is a call instead of a tensor."""
    command = f"touch '{folder / SENTINEL}'".encode()
    call = b"X\x01\x00\x00\x00zcposix\nsystem\nX" + struct.pack("<I", len(command)) + command + b"\x85R"
    return state_pickle(actor_critic()).removesuffix(b"u.") + call + b"u."


def in_a_model(folder: Path) -> bytes:
    hostile = torch_file(actor_critic(), with_call(folder))
    return zipped({"data": model_text(saved_model(actor_critic())), "policy.pth": hostile})


def model_text(model: bytes) -> bytes:
    """The `data` member of a saved model."""
    with zipfile.ZipFile(io.BytesIO(model)) as file:
        return file.read("data")


def serialized(folder: Path) -> bytes:
    """A good model in which every base64 entry is a payload."""
    code = base64.b64encode(pickle.dumps(Payload(folder)))
    text = model_text(saved_model(actor_critic())).replace(b'"!"', b'"' + code + b'"')
    assert text.count(code) == 4
    return zipped({"data": text, "policy.pth": torch_file(actor_critic())})


def million_members() -> bytes:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    directory = entry * 10**6
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    return b"PK\x03\x04" + directory + end


def bomb() -> bytes:
    return zipped({"data": b" " * (64 << 20), "policy.pth": b""}, zipfile.ZIP_DEFLATED)


NNET = ["// by hand", "1,2,1,2,", "2,1,", "0,", "-1,-1,", "1,1,", "0,0,0,", "1,1,1,", "1,2,", "0,"]


def nnet(line: int, text: str) -> bytes:
    """A small network with one line (counted from 1) replaced."""
    lines = list(NNET)
    lines[line - 1] = text
    return ("\n".join(lines) + "\n").encode()


LAYERS = linear(np.random.default_rng(0), "a", 2, 3) | linear(np.random.default_rng(1), "b", 3, 1)
LISTS = {
    "empty": "[]",
    "unknown": '["linear a", "tan", "linear b"]',
    "no-tensor": '["linear a", "relu", "linear c"]',
    "order": '["linear b", "relu", "linear a"]',
    "no-start": '["relu", "linear a"]',
    "no-number": '["linear a", "clip -1 one"]',
    "nan": '["linear a", "multiply nan"]',
    "arguments": '["linear a", "clip 1"]',
    "activation-arguments": '["linear a", "gelu 2"]',
    "swapped": '["linear a", "clip 1 -1"]',
    "late-one-hot": '["linear a", "one_hot 3"]',
    "zero": '["linear a", "divide 0"]',
}


def safetensors(header: object, content: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + content


def entry(shape: list[int], ends: list[int], kind: str = "F32") -> dict[str, object]:
    return {"dtype": kind, "shape": shape, "data_offsets": ends}


SAFETENSORS = {
    "37-outside.safetensors": safetensors({"a.weight": entry([1, 1], [0, 4])}),
    "37-shape.safetensors": safetensors({"a.weight": entry([2, 1], [0, 4])}, bytes(4)),
    "37-twice.safetensors": safetensors(b'{"a": {}, "a": {}}', bytes(4)),
    "37-negative.safetensors": safetensors({"a.weight": entry([-1], [0, 4])}, bytes(4)),
    "37-nan.safetensors": safetensors({"a.weight": entry([1], [0, 4])}, struct.pack("<f", float("nan"))),
    "37-damaged.safetensors": safetensors(b'{"a": ', bytes(4)),
}


def make_policies(folder: Path) -> dict[str, Path]:
    """Every file, by name."""
    recurrent = actor_critic() | {"lstm_actor.weight_ih_l0": np.ones((4, 2), np.float32)}
    picture = actor_critic() | {"features_extractor.cnn.0.weight": np.ones((1, 3, 2, 2), np.float32)}
    contents = {
        "30-bare.pkl": pickle.dumps(Payload(folder)),
        "30-bare-old.pkl": pickle.dumps(Payload(folder), 0),
        "30-state.pth": torch_file({}, with_call(folder)),
        "30-model.zip": in_a_model(folder),
        "31-serialized.zip": serialized(folder),
        "32-bomb.zip": bomb(),
        "32-members.zip": million_members(),
        "32-traversal.zip": zipped({"../../policy.pth": b"", "data": b"{}"}),
        "32-nested-bomb.zip": zipped({"data": model_text(saved_model(actor_critic())), "policy.pth": bomb()}),
        "33-recurrent.zip": saved_model(actor_critic(), module="sb3_contrib.ppo_recurrent.policies"),
        "33-recurrent-weights.zip": saved_model(recurrent),
        "33-cnn.zip": saved_model(picture),
        "33-image.zip": saved_model(actor_critic(), observations=box("", "", [3, 36, 36], "uint8")),
        "34-payload.pkl": vec_normalize(np.zeros(2), np.ones(2), venv=Payload(folder)),
        "34-other.pkl": pickle.dumps({"mean": [0.0], "variance": [1.0]}),
        "34-cut.pkl": vec_normalize(np.zeros(2), np.ones(2))[:-5],
        "35-counts.nnet": nnet(3, "2,2,1,"),
        "35-weights.nnet": nnet(9, "1,2,3,"),
        "35-blank.nnet": nnet(2, ""),
        "35-nan.nnet": nnet(9, "nan,2,"),
        "35-short.nnet": "\n".join(NNET[:8]).encode(),
    }
    contents |= {f"36-{name}.pt": torch_file(LAYERS) for name in LISTS} | SAFETENSORS
    for name, text in LISTS.items():
        (folder / f"36-{name}.wiring.toml").write_text(f"layers = {text}\n")
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}
