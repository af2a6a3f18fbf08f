"""Policy files of real libraries: they compute what the library computes, or one line says what to do."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.formats import corpus_sb3
from tests.formats.corpus import Sample

from surefoot.formats.policy_file import load_policy
from surefoot.problem.meaning.inference import infer_outputs

NEAR_TIE, FAR = 1e-5, 2e-5

WRITERS: dict[str, Callable[[Path], Sample]] = {
    **{f"SB3 {name}": corpus_sb3.make_writer(name) for name in corpus_sb3.MODELS}
}


@pytest.mark.train
@pytest.mark.parametrize("name", WRITERS)
def test_the_library_computes_the_same(tmp_path: Path, name: str) -> None:
    pytest.importorskip("sb3_contrib")
    sample = WRITERS[name](tmp_path)
    policy = load_policy(sample.path)
    outputs = infer_outputs(policy.network, sample.inputs)
    if sample.choices:
        assert policy.head == "argmax"
        ranked, differ = np.sort(outputs, axis=1), outputs.argmax(axis=1) != sample.outputs
        assert not (differ & (ranked[:, -1] - ranked[:, -2] > NEAR_TIE)).any()
        assert len(set(sample.outputs.tolist())) > 1
    else:
        assert outputs.shape == sample.outputs.shape
        assert abs(outputs - sample.outputs).max() < FAR * max(1.0, abs(sample.outputs).max())
        assert np.ptp(sample.outputs, axis=0).max() > 0
