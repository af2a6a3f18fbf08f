"""Policy files written byte by byte: the opcodes torch writes and the JSON of a saved model."""

import io
import json
import struct
import sys
import types
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

DISCRETE = {
    ":type:": "<class 'gymnasium.spaces.discrete.Discrete'>",
    ":serialized:": "!",
    "n": "3",
    "start": "0",
}
PPO_CLASS = "stable_baselines3.common.policies"


def text(value: str) -> bytes:
    """BINUNICODE: a string on the stack."""
    encoded = value.encode()
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def symbol(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def tensor(key: str, array: np.ndarray, storage: str = "FloatStorage", extra: int = 0) -> bytes:
    """What torch writes for a contiguous tensor that has a storage of its own."""
    size = b"(" + b"".join(number(n) for n in array.shape) + b"t"
    strides = [s // array.itemsize for s in array.strides]
    stride = b"(" + b"".join(number(n) for n in strides) + b"t"
    storage_of = (
        text("storage") + symbol("torch", storage) + text(key) + text("cpu") + number(array.size + extra)
    )
    hooks = symbol("collections", "OrderedDict") + b")R"
    return (
        symbol("torch._utils", "_rebuild_tensor_v2")
        + b"(("
        + storage_of
        + b"tQ"
        + number(0)
        + size
        + stride
        + b"\x89"
        + hooks
        + b"tR"
    )


def state_pickle(weights: Mapping[str, np.ndarray]) -> bytes:
    """Protocol 2: an OrderedDict from names to tensors."""
    entries = b"".join(text(name) + tensor(str(i), array) for i, (name, array) in enumerate(weights.items()))
    return b"\x80\x02" + symbol("collections", "OrderedDict") + b")R(" + entries + b"u."


def torch_file(weights: Mapping[str, np.ndarray], pickle: bytes | None = None) -> bytes:
    """A zip as `torch.save` writes it; `pickle` replaces the list of tensors."""
    members = {
        "archive/data.pkl": state_pickle(weights) if pickle is None else pickle,
        "archive/byteorder": b"little",
    }
    members |= {f"archive/data/{i}": array.tobytes() for i, array in enumerate(weights.values())}
    return zipped(members)


def zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def box(low: str, high: str, shape: list[int], dtype: str = "float32") -> dict[str, Any]:
    kind = "<class 'gymnasium.spaces.box.Box'>"
    return {":type:": kind, ":serialized:": "!", "dtype": dtype, "_shape": shape, "low": low, "high": high}


def saved_model(
    weights: Mapping[str, np.ndarray],
    *,
    actions: Mapping[str, Any] = DISCRETE,
    observations: Mapping[str, Any] | None = None,
    options: object = None,
    module: str = PPO_CLASS,
    more: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
) -> bytes:
    """A Stable-Baselines3 zip; every `:serialized:` entry is `!`, which is not even base64."""
    data = {
        "policy_class": {":type:": "<class 'abc.ABCMeta'>", ":serialized:": "!", "__module__": module},
        "policy_kwargs": {} if options is None else options,
        "observation_space": observations or box("[-1. -1.]", "[1. 1.]", [2]),
        "action_space": dict(actions),
        "clip_range": {":type:": "?", ":serialized:": "!"},
    } | dict(more or {})
    data = {key: value for key, value in data.items() if key not in without}
    return zipped({"data": json.dumps(data).encode(), "policy.pth": torch_file(weights)})


def linear(rng: np.random.Generator, name: str, inputs: int, outputs: int) -> dict[str, np.ndarray]:
    weights = rng.normal(size=(outputs, inputs)).astype(np.float32)
    return {f"{name}.weight": weights, f"{name}.bias": rng.normal(size=outputs).astype(np.float32)}


def actor_critic(seed: int = 0, outputs: int = 3, inputs: int = 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        linear(rng, "mlp_extractor.policy_net.0", inputs, 4)
        | linear(rng, "mlp_extractor.policy_net.2", 4, 5)
        | linear(rng, "mlp_extractor.value_net.0", inputs, 4)
        | linear(rng, "action_net", 5, outputs)
        | linear(rng, "value_net", 4, 1)
    )


def vec_normalize(mean: np.ndarray, variance: np.ndarray, *, protocol: int = 4, **changed: object) -> bytes:
    """A pickle of objects called VecNormalize and RunningMeanStd; their modules exist meanwhile."""
    import pickle

    titles = {"VecNormalize": "vec_env.vec_normalize", "RunningMeanStd": "running_mean_std"}
    names = {title: f"stable_baselines3.common.{rest}" for title, rest in titles.items()}
    modules = {".".join(n.split(".")[:i]) for n in names.values() for i in range(1, n.count(".") + 2)}
    kept = {name: sys.modules.get(name) for name in modules}
    classes = {title: type(title, (), {"__module__": name}) for title, name in names.items()}
    try:
        sys.modules.update({name: types.ModuleType(name) for name in modules})
        for title, kind in classes.items():
            setattr(sys.modules[names[title]], title, kind)
        statistics, wrapper = classes["RunningMeanStd"](), classes["VecNormalize"]()
        statistics.__dict__.update(mean=mean, var=variance, count=6.0001)
        fields = {"norm_obs": True, "obs_rms": statistics, "clip_obs": 10.0, "epsilon": 1e-8}
        wrapper.__dict__.update(fields | changed)
        return pickle.dumps(wrapper, protocol)
    finally:
        for name, module in kept.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
