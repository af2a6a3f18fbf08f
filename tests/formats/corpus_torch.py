"""Networks that torch writes: by both ONNX exporters, as a state dict, as safetensors."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.corpus import POINTS, Sample


def sequential(*layers: str) -> Any:
    """A chain with the activations of torch.nn by name, 4 inputs, 3 outputs."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(5)
    nn, parts, width = torch.nn, [], 4
    for name in layers:
        parts += [nn.Linear(width, 32), getattr(nn, name)(*((32,) if name.startswith("LayerNorm") else ()))]
        width = 32
    return nn.Sequential(*parts, nn.Linear(width, 3)).eval()


def convolutional() -> Any:
    import torch

    torch.manual_seed(6)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 2),
        nn.GELU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4, 3),
    ).eval()


def embedding() -> Any:
    """Of a whole number from 0 to 9, as policies of grid worlds have it."""
    import torch

    class Table(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 8)
            self.head = torch.nn.Linear(8, 3)

        def forward(self, index: Any) -> Any:
            return self.head(torch.tanh(self.table(index).flatten(1)))

    torch.manual_seed(7)
    return Table().eval()


def chosen() -> Any:
    """torch.where, clamp, comparisons, minimum and absolute value."""
    import torch

    class Chosen(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            z = torch.where(y > 0.1, y.abs(), torch.sin(y))
            return torch.minimum(z.clamp(-0.5, 0.9), y.sign() + 0.3)

    torch.manual_seed(8)
    return Chosen().eval()


def actor_critic() -> Any:
    """Shared layers, then the scores of actions and a value: two outputs."""
    import torch

    class ActorCritic(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            nn = torch.nn
            self.shared = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
            self.actor, self.critic = nn.Linear(16, 3), nn.Linear(16, 1)

        def forward(self, x: Any) -> Any:
            shared = self.shared(x)
            return self.actor(shared), self.critic(shared)

    torch.manual_seed(14)
    return ActorCritic().eval()


def squashed() -> Any:
    """The actor of CleanRL's continuous control: fc1, fc2, fc_mu, scaled by buffers."""
    import torch

    class Actor(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = torch.nn.Linear(4, 16), torch.nn.Linear(16, 16)
            self.fc_mu = torch.nn.Linear(16, 2)
            self.register_buffer("action_scale", torch.tensor([2.0, 0.5]))
            self.register_buffer("action_bias", torch.tensor([0.0, 0.25]))

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.fc1(x))
            x = torch.relu(self.fc2(x))
            return torch.tanh(self.fc_mu(x)) * self.action_scale + self.action_bias

    torch.manual_seed(9)
    return Actor().eval()


CHAINS = {
    "Tanh, ReLU": ("Tanh", "ReLU"),
    "ELU, SELU": ("ELU", "SELU"),
    "GELU, SiLU": ("GELU", "SiLU"),
    "Mish, Softplus": ("Mish", "Softplus"),
    "Hardswish, Hardtanh": ("Hardswish", "Hardtanh"),
    "LayerNorm, PReLU": ("LayerNorm", "PReLU"),
    "Softsign, CELU": ("Softsign", "CELU"),
}
NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    **{name: (partial(sequential, *layers), (4,)) for name, layers in CHAINS.items()},
    "convolutions and pools": (convolutional, (1, 8, 8)),
    "embedding": (embedding, (1,)),
    "where, clamp, sign": (chosen, (4,)),
    "actor and critic": (actor_critic, (4,)),
}
# What a user gets who says nothing but the file, and with a batch of any size.
DEFAULTS = ("Tanh, ReLU", "convolutions and pools", "actor and critic")


def random_inputs(name: str, shape: tuple[int, ...]) -> Any:
    draw = np.random.default_rng(11)
    if name == "embedding":
        return draw.integers(0, 10, (POINTS, *shape))
    return (draw.normal(size=(POINTS, *shape)) * 2).astype(np.float32)


def evaluate(network: Any, inputs: Any) -> Any:
    import torch

    with torch.no_grad():
        found = network(torch.from_numpy(inputs))
    return (found[0] if isinstance(found, tuple) else found).numpy().reshape(len(inputs), -1)


def make_exporter(name: str, how: str) -> Callable[[Path], Sample]:
    """`how`: the exporter ("script", "dynamo"), "default", or "batch": the default one with any batch."""
    make, shape = NETWORKS[name]

    def write(folder: Path) -> Sample:
        import torch

        network, inputs = make(), random_inputs(name, shape)
        path = folder / "policy.onnx"
        example = torch.from_numpy(inputs[: 2 if how == "batch" else 1])
        more: dict[str, Any] = {"dynamo": True} if how == "dynamo" else {}
        if how == "script":
            more = {"dynamo": False, "opset_version": 17}
        if how == "batch":
            more = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
        output = None
        if name == "actor and critic":
            output = "scores"
            more["output_names"] = ["scores", "value"]
        torch.onnx.export(network, (example,), str(path), verbose=False, **more)
        if how != "script":
            weights = Path(f"{path}.data")  # small tensors stay in the model
            assert weights.exists()
            assert weights.stat().st_size or name not in CHAINS
        outputs = evaluate(network, inputs)
        return Sample(path, inputs.reshape(POINTS, -1).astype(np.float32), outputs, output=output)

    return write


def write_state_dict(folder: Path) -> Sample:
    import torch

    network, inputs = sequential("Tanh", "SiLU"), random_inputs("", (4,))
    path = folder / "policy.pt"
    torch.save(network.state_dict(), path)
    layers = '["linear 0", "tanh", "linear 2", "silu", "linear 4"]'
    (folder / "policy.wiring.toml").write_text(f"layers = {layers}\n")
    return Sample(path, inputs, evaluate(network, inputs))


def write_normalised_state(folder: Path) -> Sample:
    """Inside a checkpoint, with layers that have statistics or slopes of their own."""
    import torch

    torch.manual_seed(12)
    nn = torch.nn
    first, second, last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
    network = nn.Sequential(first, nn.LayerNorm(8), nn.ELU(0.5), second, nn.BatchNorm1d(8), nn.PReLU(8), last)
    network(torch.randn(50, 4))  # moves the statistics
    network.eval()
    inputs = random_inputs("", (4,))
    path = folder / "checkpoint.pth"
    torch.save({"actor": network.state_dict(), "step": 10, "name": "a"}, path)
    layers = (
        '["linear actor.0", "layer_norm actor.1", "elu 0.5", "linear actor.3", "batch_norm actor.4", '
        '"prelu actor.5", "linear actor.6"]'
    )
    (folder / "checkpoint.wiring.toml").write_text(f"layers = {layers}\n")
    return Sample(path, inputs, evaluate(network, inputs))


def write_cleanrl(folder: Path) -> Sample:
    import torch

    network, inputs = squashed(), random_inputs("", (4,))
    path = folder / "td3.cleanrl_model"
    torch.save(network.state_dict(), path)
    layers = (
        '["linear fc1", "relu", "linear fc2", "relu", "linear fc_mu", "tanh", "multiply action_scale", '
        '"add action_bias"]'
    )
    (folder / "td3.wiring.toml").write_text(f"layers = {layers}\n")
    return Sample(path, inputs, evaluate(network, inputs))


def write_safetensors(folder: Path) -> Sample:
    from safetensors.torch import save_file

    network, inputs = sequential("GELU", "ReLU"), random_inputs("", (4,))
    path = folder / "policy.safetensors"
    save_file(network.state_dict(), path)
    layers = '["linear 0", "gelu", "linear 2", "relu", "linear 4"]'
    (folder / "policy.wiring.toml").write_text(f"layers = {layers}\n")
    return Sample(path, inputs, evaluate(network, inputs))


def write_bare_state(folder: Path) -> Sample:
    import torch

    network = sequential("Tanh")
    path = folder / "policy.pt"
    torch.save(network.state_dict(), path)
    return Sample(path, None, None)


def write_whole_module(folder: Path) -> Sample:
    import torch

    path = folder / "policy.pt"
    torch.save(sequential("Tanh"), path)
    return Sample(path, None, None)


def write_recurrent(folder: Path) -> Sample:
    import torch

    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.memory = torch.nn.GRU(4, 8, batch_first=True, bidirectional=True)

        def forward(self, x: Any) -> Any:
            return self.memory(x)[0][:, -1]

    path = folder / "policy.onnx"
    torch.manual_seed(13)
    torch.onnx.export(
        Recurrent().eval(), (torch.zeros(1, 1, 4),), str(path), dynamo=False, opset_version=17, verbose=False
    )
    return Sample(path, None, None)
