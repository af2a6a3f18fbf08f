"""Bad policy files: one exact line each, quickly, and no payload ever runs."""

import time
from pathlib import Path

import pytest
from tests.bad.make_policies import SENTINEL, Payload, make_policies

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.normalization import read_normalization
from surefoot.formats.policy_file import load_policy

TRUST = "use a file from a source you trust, or export the policy to ONNX"
READ = (
    "PPO, A2C, DQN, SAC, TD3, DDPG, and TRPO, MaskablePPO, RecurrentPPO, QRDQN, TQC, ARS of sb3-contrib are "
    "read"
)
EXPORT = "export to ONNX (docs/reference/policies.md)"
JSON = 'write them as JSON: {"mean": […], "variance": […], "epsilon": 1e-8, "clip": 10}'
SYSTEM = f"`posix.system`: refused, nothing was executed; fix: {TRUST}"
CONTRIB = "sb3_contrib.ppo_recurrent.policies"
COUNTS = "number of layers, inputs, outputs and largest layer"
MESSAGES = {
    "30-bare.pkl": f": {SYSTEM}",
    "30-bare-old.pkl": f": {SYSTEM}",
    "30-state.pth": f"/data.pkl: {SYSTEM}",
    "30-model.zip": f":policy.pth/data.pkl: {SYSTEM}",
    "32-bomb.zip": ": the member `data` unpacks to more than 200 times its size",
    "32-members.zip": ": the zip has more than 4096 members",
    "32-traversal.zip": ": the zip has a member outside its folder: `../../policy.pth`",
    "32-nested-bomb.zip": ":policy.pth: the member `data` unpacks to more than 200 times its size",
    "33-recurrent.zip": f":data.policy_class: policy class from `{CONTRIB}`; fix: {READ}",
    "33-recurrent-weights.zip": f": `lstm_actor` has not the weights of a recurrent layer; fix: {EXPORT}",
    "33-cnn.zip": f": this is a CNN policy; fix: {READ}",
    "33-image.zip": ":data.observation_space: image observations (CNN policy); fix: observe a Box of floats",
    "34-payload.pkl": f": {SYSTEM}",
    "34-other.pkl": f": the pickle holds no VecNormalize; fix: {JSON}",
    "34-cut.pkl": ": the pickle is damaged or cut short",
    "35-counts.nnet": ":3: 3 layer sizes, 2 expected",
    "35-weights.nnet": ":9: 3 numbers, 2 expected (weights)",
    "35-blank.nnet": f":2: {COUNTS} expected, all positive whole numbers",
    "35-nan.nnet": ":9: `nan` is not a finite decimal number (weights)",
    "35-short.nnet": ": the file ends before weights",
}
EXAMPLE = 'layers = ["linear actor.0", "tanh", "linear actor.2"]'
WRITTEN = {
    "empty": f":layers: the list of layers is empty, or too long; fix: {EXAMPLE}",
    "unknown": ":layers[1]: unknown layer `tan`; fix: did you mean `tanh`?",
    "no-tensor": ":layers[2]: there is no tensor `c.weight`; fix: did you mean `b.weight`?",
    "order": ":layers[2]: `a` has 2 inputs, but it reads 1 numbers; fix: list the layers in their order",
    "no-start": ":layers[0]: the first layer, `relu`, does not say how many inputs there are"
    '; fix: begin with "linear NAME", "lstm NAME", "embedding NAME", "one_hot N" or "inputs N"',
    "no-number": ":layers[1]: `one` is no number, and no tensor of the file; fix: write a number",
    "nan": ":layers[1]: `nan` is no number, and no tensor of the file; fix: write a number",
    "arguments": ":layers[1]: `clip` with 1 arguments; fix: docs/reference/policies.md lists the layers",
    "activation-arguments": ":layers[1]: `gelu` has no arguments here"
    "; fix: leave them out, or export to ONNX",
    "swapped": ":layers[1]: the lower bound is above the upper; fix: swap them",
    "late-one-hot": ":layers[1]: `one_hot` in the middle, or too wide; fix: put it first",
    "zero": ":layers[1]: `0` has 1 numbers for 3, or is zero; fix: name another tensor, or one number",
}
HEADER = ": the header of the safetensors file is damaged"
MESSAGES |= {f"36-{name}.pt": f"36-{name}.wiring.toml{said}" for name, said in WRITTEN.items()}
MESSAGES |= {
    "37-outside.safetensors": "/a.weight: the tensor lies outside of the file",
    "37-shape.safetensors": "/a.weight: the tensor has 4 bytes, its shape asks for another number",
    "37-twice.safetensors": HEADER,
    "37-negative.safetensors": "/a.weight: the tensor is not described as safetensors does",
    "37-nan.safetensors": "/a.weight: a weight is not a finite number",
    "37-damaged.safetensors": HEADER,
}
GOOD = {"31-serialized.zip"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_policies(tmp_path_factory.mktemp("policies"))


def test_every_file_has_its_line(files: dict[str, Path]) -> None:
    assert files.keys() == MESSAGES.keys() | GOOD


@pytest.mark.parametrize("name", MESSAGES)
def test_the_line(files: dict[str, Path], name: str) -> None:
    path = files[name]
    before = set(path.parent.iterdir())
    start = time.perf_counter()
    with pytest.raises((InvalidProblem, Unsupported)) as caught:
        read_normalization(path) if name.startswith("34") else load_policy(path)
    assert time.perf_counter() - start < 2
    place = path.parent / "" if name.startswith("36") else path
    assert str(caught.value) == f"{place}{'/' * name.startswith('36')}{MESSAGES[name]}"
    assert caught.value.exit_code == 2
    assert set(path.parent.iterdir()) == before


@pytest.mark.parametrize("name", [name for name in MESSAGES if name.endswith(".pkl")])
def test_statistics_given_as_a_policy_run_nothing(files: dict[str, Path], name: str) -> None:
    with pytest.raises(SurefootError, match=r"nothing (in it )?was executed|damaged"):
        load_policy(files[name])
    assert not (files[name].parent / SENTINEL).exists()


def test_serialized_entries_are_never_read(files: dict[str, Path]) -> None:
    path = files["31-serialized.zip"]
    assert load_policy(path).kind == "sb3 PPO"
    assert not (path.parent / SENTINEL).exists()


def test_the_payload_is_a_payload(tmp_path: Path) -> None:
    """Without this, an absent sentinel would show nothing."""
    function, arguments = Payload(tmp_path).__reduce__()
    function(*arguments)
    assert (tmp_path / SENTINEL).exists()
