"""Policy files of real libraries: they compute what the library computes, or one line says what to do."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.formats import corpus_other, corpus_recurrent, corpus_sb3, corpus_torch
from tests.formats.corpus import Sample

from surefoot.errors import SurefootError
from surefoot.formats.policy_file import load_policy
from surefoot.problem.meaning.inference import infer_outputs

NEAR_TIE, FAR = 1e-5, 2e-5
Writer = Callable[[Path], Sample]
# By name: the package that has to be there, and what writes the file.
WRITERS: dict[str, tuple[str, Writer]] = {
    **{f"SB3 {name}": ("sb3_contrib", corpus_sb3.make_writer(name)) for name in corpus_sb3.MODELS},
    **{
        f"torch.onnx {name}": ("torch", corpus_torch.make_exporter(name, "script"))
        for name in corpus_torch.NETWORKS
    },
    **{
        f"torch.onnx dynamo {name}": ("onnxscript", corpus_torch.make_exporter(name, "dynamo"))
        for name in corpus_torch.NETWORKS
    },
    **{
        f"torch.onnx default, {name}": ("onnxscript", corpus_torch.make_exporter(name, "default"))
        for name in corpus_torch.DEFAULTS
    },
    **{
        f"torch.onnx default, any batch, {name}": ("onnxscript", corpus_torch.make_exporter(name, "batch"))
        for name in corpus_torch.DEFAULTS
    },
    **{
        f"torch.onnx {name}": (
            "onnxscript" if "dynamo" in name else "torch",
            corpus_recurrent.make_exporter(name),
        )
        for name in corpus_recurrent.EXPORTS
    },
    **{
        f"torch state dict, {name}": ("torch", corpus_recurrent.make_state_writer(name))
        for name in corpus_recurrent.MODULES
    },
    "SB3 RecurrentPPO": ("sb3_contrib", corpus_recurrent.make_sb3_writer("box", "discrete")),
    "SB3 RecurrentPPO, Box actions": ("sb3_contrib", corpus_recurrent.make_sb3_writer("box", "uneven")),
    "SB3 RecurrentPPO of Discrete": ("sb3_contrib", corpus_recurrent.make_sb3_writer("discrete", "uneven")),
    "torch state dict": ("torch", corpus_torch.write_state_dict),
    "torch checkpoint": ("torch", corpus_torch.write_normalised_state),
    "CleanRL TD3 actor": ("torch", corpus_torch.write_cleanrl),
    "safetensors": ("safetensors", corpus_torch.write_safetensors),
    "skl2onnx MLPRegressor": ("skl2onnx", corpus_other.write_sklearn_regressor),
    "skl2onnx RandomForestRegressor": ("skl2onnx", corpus_other.write_sklearn_forest),
    "skl2onnx MLPClassifier": ("skl2onnx", corpus_other.write_sklearn_classifier),
    "tf2onnx Keras, dense": ("tf2onnx", corpus_other.write_keras_dense),
    "tf2onnx Keras, convolutions": ("tf2onnx", corpus_other.write_keras_convolutions),
    "ONNX in the way of tf2onnx": ("onnxruntime", corpus_other.write_keras_like),
    "ONNX, opset 6": ("onnxruntime", corpus_other.write_opset_6),
}
TRUST = "use a file from a source you trust, or export the policy to ONNX"
# Also the end of the line.
REFUSED: dict[str, tuple[str, Writer, str]] = {
    "torch state dict without layers": (
        "torch",
        corpus_torch.write_bare_state,
        'fix: say it in policy.wiring.toml: layers = ["linear 0", "tanh", "linear 2"]',
    ),
    "torch module, pickled whole": (
        "torch",
        corpus_torch.write_whole_module,
        f"refused, nothing was executed; fix: {TRUST}",
    ),
    "torch.onnx GRU that looks back": (
        "torch",
        corpus_torch.write_recurrent,
        "(bidirectional); fix: export a forward layer, time first, with the default activations",
    ),
    "torch.onnx dynamo RNN": (
        "onnxscript",
        corpus_recurrent.write_without_memory,
        'memory = { "h0" = "hn" } in policy.wiring.toml beside it; else join them into one',
    ),
    "skl2onnx MLPClassifier, no output named": (
        "skl2onnx",
        corpus_other.write_sklearn_labels,
        "there are 2 outputs: `label`, `probabilities`; fix: --output NAME",
    ),
    "tf2onnx Keras, GELU": (
        "tf2onnx",
        corpus_other.write_keras_gelu,
        "such as Gemm, Add, Mul, Relu, Tanh (docs/reference/policies.md lists all)",
    ),
}


@pytest.mark.train
@pytest.mark.parametrize("name", WRITERS)
def test_the_library_computes_the_same(tmp_path: Path, name: str) -> None:
    package, write = WRITERS[name]
    pytest.importorskip(package)
    sample = write(tmp_path)
    policy = load_policy(sample.path, output=sample.output)
    outputs = infer_outputs(policy.network, sample.inputs)
    if sample.choices:
        outputs = outputs[:, : policy.network.decided]
        ranked, differ = np.sort(outputs, axis=1), outputs.argmax(axis=1) != sample.outputs
        assert not (differ & (ranked[:, -1] - ranked[:, -2] > NEAR_TIE)).any()
        assert len(set(sample.outputs.tolist())) > 1
    else:
        assert outputs.shape == sample.outputs.shape
        assert abs(outputs - sample.outputs).max() < FAR * max(1.0, abs(sample.outputs).max())
        assert np.ptp(sample.outputs, axis=0).max() > 0


@pytest.mark.train
@pytest.mark.parametrize("name", REFUSED)
def test_one_line_says_what_to_do(tmp_path: Path, name: str) -> None:
    package, write, end = REFUSED[name]
    pytest.importorskip(package)
    sample = write(tmp_path)
    with pytest.raises(SurefootError) as caught:
        load_policy(sample.path)
    said = str(caught.value)
    assert said.startswith(str(sample.path))
    assert "\n" not in said
    assert said.endswith(end)
