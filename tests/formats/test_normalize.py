"""Statistics are read as data and folded in front of a network."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.handmade import vec_normalize

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.normalization import (
    Normalization,
    clip_nodes,
    prepend_normalization,
    read_normalization,
)
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Combine, Join, Network, Pairing, dense_network

MEAN, VARIANCE = np.array([0.1, -1000.25, 3e-9]), np.array([1.0, 1e-6, 0.0])


def read(tmp_path: Path, data: bytes | dict[str, Any]) -> Normalization:
    path = tmp_path / "statistics"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return read_normalization(path)


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_pickle_is_read_bit_for_bit(tmp_path: Path, protocol: int, dtype: str) -> None:
    mean, variance = MEAN.astype(dtype), VARIANCE.astype(dtype)
    found = read(tmp_path, vec_normalize(mean, variance, protocol=protocol, clip_obs=5.0, epsilon=1e-6))
    assert found.mean.tobytes() == mean.astype(np.float64).tobytes()
    assert found.variance.tobytes() == variance.astype(np.float64).tobytes()
    assert (found.clip, found.epsilon, found.source) == (5.0, 1e-6, str(tmp_path / "statistics"))


def test_a_generator_of_random_numbers_may_stand_in_the_pickle(tmp_path: Path) -> None:
    assert read(tmp_path, vec_normalize(MEAN, VARIANCE, seen=np.random.default_rng(0))).mean.size == 3


def test_json(tmp_path: Path) -> None:
    found = read(tmp_path, {"mean": [1, 2.5], "variance": [4, 9], "epsilon": 0.5, "clip": 3})
    assert (found.mean.tolist(), found.variance.tolist()) == ([1, 2.5], [4, 9])
    assert (found.epsilon, found.clip) == (0.5, 3)
    short = read(tmp_path, {"mean": [1], "variance": [4]})
    assert (short.epsilon, short.clip) == (1e-8, 10)


PAYLOAD = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R."


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PAYLOAD, "`posix.system`: refused, nothing was executed"),
        (pickle.dumps([1]), "the pickle holds no VecNormalize"),
        (vec_normalize(MEAN, VARIANCE, norm_obs=False), "this VecNormalize does not normalise observations"),
        (vec_normalize(MEAN, VARIANCE, obs_rms={}), "statistics of dictionary observations"),
        (vec_normalize(MEAN, VARIANCE, obs_rms=None), "the VecNormalize has no observation statistics"),
        (vec_normalize(MEAN.astype(int), VARIANCE), "obs_rms.mean is not an array of floats"),
        (vec_normalize(MEAN.astype(">f8"), VARIANCE), "obs_rms.mean is not an array of floats"),
        (vec_normalize(MEAN, np.ones(2)), "mean and variance are not two lists of the same length"),
        (vec_normalize(MEAN, -VARIANCE), "a variance is negative, zero without epsilon, or not finite"),
        (vec_normalize(MEAN * np.nan, VARIANCE), "a mean is not a finite float32 number"),
        (
            vec_normalize(MEAN, VARIANCE, epsilon=0.0),
            "a variance is negative, zero without epsilon, or not finite",
        ),
        (
            vec_normalize(MEAN, VARIANCE, clip_obs=0.0),
            "epsilon must not be negative and clip must be positive",
        ),
        (vec_normalize(MEAN, VARIANCE, clip_obs="x"), "`clip_obs` holds something other than finite numbers"),
        (b"{", "the statistics are not JSON"),
        ({"mean": [1]}, "the statistics have no `variance`"),
        ({"mean": [1], "variance": [2], "clip_obs": 5}, "unknown key `clip_obs`"),
        ({"mean": [1], "variance": [2], "eps": 1e-3}, "unknown key `eps`"),
        (b'{"mean": [1], "variance": [2], "clip": 5, "clip": 10}', "a key is given twice"),
        ({"mean": {"a": 1}, "variance": [2]}, "`mean` holds something other than finite numbers"),
        ({"mean": [1], "variance": 2}, "`variance` is not a list of numbers"),
        ({"mean": [1], "variance": [True]}, "`variance` holds something other than finite numbers"),
        ({"mean": [1], "variance": [float("inf")]}, "`variance` holds something other than finite numbers"),
        ({"mean": [10**400], "variance": [1]}, "`mean` holds something other than finite numbers"),
        ({"mean": [], "variance": []}, "mean and variance are not two lists of the same length"),
    ],
)
def test_refusals(tmp_path: Path, data: bytes | dict[str, Any], message: str) -> None:
    with pytest.raises(
        (InvalidProblem, Unsupported), match=re.escape(f"{tmp_path / 'statistics'}: {message}")
    ):
        read(tmp_path, data)


def test_every_byte_may_be_wrong(tmp_path: Path) -> None:
    data = vec_normalize(MEAN, VARIANCE)
    messages = []
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 0xFF
        try:
            read(tmp_path, bytes(changed))
        except (InvalidProblem, Unsupported) as problem:
            messages.append(str(problem))
    assert len(messages) > len(data) / 2
    assert all(message.startswith(str(tmp_path)) for message in messages)


def branching() -> Network:
    """Two layers, joined and multiplied, so that every kind of source must be moved."""
    base = dense_network([(np.eye(3), np.zeros(3)), (np.eye(3), np.ones(3))])
    nodes = (*base.nodes, Combine(0, 3, Pairing.MULTIPLY), Join((4, 0)))
    return Network(3, nodes, notes=("made here",))


def test_folding_equals_the_formula() -> None:
    rng = np.random.default_rng(0)
    statistics = Normalization(MEAN, VARIANCE, 1e-8, 2.0, "stats")
    x = (MEAN + rng.normal(size=(200, 3)) * np.sqrt(VARIANCE + 1e-8)).astype(np.float32)
    network = prepend_normalization(branching(), statistics)
    exact = np.clip((x - MEAN) / np.sqrt(VARIANCE + 1e-8), -2, 2).astype(np.float32)
    assert abs(infer_outputs(network, x) - infer_outputs(branching(), exact)).max() < 1e-5
    assert (abs(exact) == 2).any()
    assert network.notes[0] == "made here"


def test_the_number_of_observations_must_fit() -> None:
    with pytest.raises(
        InvalidProblem, match="stats: statistics for 3 observations, but the network has 2 inputs"
    ):
        prepend_normalization(
            dense_network([(np.eye(2), np.zeros(2))]), Normalization(MEAN, VARIANCE, 1e-8, 2.0, "stats")
        )


@pytest.mark.parametrize(
    ("low", "high", "nodes"),
    [
        ([-1, -1, -1], [1, 1, 1], 1),
        ([-1, 0, -1], [1, 1, 1], 6),
        ([-np.inf, 0, -1], [np.inf, 1, np.inf], 7),
        ([2, -1, 0], [3, 1, 1], 8),  # put back by a permutation that is not its own inverse
        ([-np.inf] * 3, [np.inf] * 3, 0),
    ],
)
def test_clipping_entry_by_entry(low: list[float], high: list[float], nodes: int) -> None:
    bounds = np.float32(low), np.float32(high)
    network = Network(3, tuple(clip_nodes(0, *bounds)))
    x = np.random.default_rng(1).normal(size=(100, 3)).astype(np.float32) * 3
    assert (infer_outputs(network, x) == np.clip(x, *bounds)).all()
    assert len(network.nodes) == nodes
