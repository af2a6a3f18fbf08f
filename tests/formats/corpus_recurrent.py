"""Recurrent policies: their files, and what a library makes of observations and states."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.corpus import POINTS, Sample
from tests.formats.corpus_sb3 import make_model, spaces

READS, STATES, ACTS = 4, 6, 2
CHOOSING = ("SB3 RecurrentPPO",)  # of which choices are compared, not outputs
# Name: module of torch.nn, its layers, time after the batch, the exporter torch.export.
EXPORTS = {
    "LSTM": ("LSTM", 1, False, False),
    "dynamo LSTM": ("LSTM", 1, False, True),
    "LSTM of 2 layers": ("LSTM", 2, True, False),
    "dynamo LSTM of 2 layers": ("LSTM", 2, True, True),
    "GRU": ("GRU", 1, False, False),
    "dynamo GRU": ("GRU", 1, True, True),
    "RNN": ("RNN", 1, False, False),
    "dynamo RNN, memory told": ("RNN", 1, False, True),
    "GRUCell, memory told": ("GRUCell", 1, False, False),
    "dynamo LSTMCell, memory told": ("LSTMCell", 1, False, True),
}
MODULES = {"LSTM": ("lstm", 2), "GRU of 2 layers": ("gru", 2), "RNN": ("rnn", 1), "GRUCell": ("gru", 0)}


def recurrent(kind: str, layers: int, batch_first: bool) -> Any:
    """A module that reads an observation and states, and returns actions and the next states."""
    import torch

    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            own = getattr(torch.nn, kind)
            cell = kind.endswith("Cell")
            self.memory = own(READS, STATES) if cell else own(READS, STATES, layers, batch_first=batch_first)
            self.head = torch.nn.Linear(STATES, ACTS)

        def forward(self, x: Any, *states: Any) -> Any:
            given = states if kind.startswith("LSTM") else states[0]
            if kind.endswith("Cell"):
                found = self.memory(x, given)
                after = found if kind.startswith("LSTM") else (found,)
                return (self.head(after[0]), *after)
            seen, after = self.memory(x, given)
            last = seen[:, -1] if batch_first else seen[-1]
            return (self.head(last), *(after if kind == "LSTM" else (after,)))

    torch.set_num_threads(1)
    torch.manual_seed(31)
    return Recurrent().eval()


def run(network: Any, kind: str, layers: int, batch_first: bool, rows: Any) -> Any:
    """What the module makes of rows of observations and states."""
    import torch

    observed, kept = torch.from_numpy(rows[:, :READS]), torch.from_numpy(rows[:, READS:])
    count = 2 if kind.startswith("LSTM") else 1
    own = kept.reshape(len(rows), count, layers, STATES).permute(1, 2, 0, 3).contiguous()
    if kind.endswith("Cell"):
        found = network(observed, *(state[0] for state in own))
    else:
        found = network(observed[:, None] if batch_first else observed[None], *own)
    parts = [found[0], *(s.reshape(layers, len(rows), STATES).permute(1, 0, 2).flatten(1) for s in found[1:])]
    return torch.cat(parts, dim=1).detach().numpy()


def random_rows(states: int) -> Any:
    draw = np.random.default_rng(32)
    return np.concatenate(
        [draw.normal(size=(POINTS, READS)) * 2, draw.uniform(-1, 1, (POINTS, states))], axis=1
    ).astype(np.float32)


def make_exporter(name: str) -> Callable[[Path], Sample]:
    kind, layers, batch_first, dynamo = EXPORTS[name]

    def write(folder: Path) -> Sample:
        import torch

        network = recurrent(kind, layers, batch_first)
        count = 2 if kind.startswith("LSTM") else 1
        cell = kind.endswith("Cell")
        shape = (1, READS) if cell else (1, 1, READS)
        given = [
            torch.randn(shape),
            *(torch.rand((1, STATES) if cell else (layers, 1, STATES)) for _ in range(count)),
        ]
        before, after = ["h0", "c0"][:count], ["hn", "cn"][:count]
        path = folder / "policy.onnx"
        torch.onnx.export(
            network,
            tuple(given),
            str(path),
            input_names=["obs", *before],
            output_names=["action", *after],
            verbose=False,
            **({"dynamo": True} if dynamo else {"dynamo": False, "opset_version": 17}),
        )
        if "told" in name:
            told = ", ".join(f'{b} = "{a}"' for b, a in zip(before, after, strict=True))
            (folder / "policy.wiring.toml").write_text(f"memory = {{ {told} }}\n")
        rows = random_rows(count * layers * STATES)
        return Sample(path, rows, run(network, kind, layers, batch_first, rows))

    return write


def write_without_memory(folder: Path) -> Sample:
    """torch.export writes an RNN out, so that nothing in the graph says what its state is."""
    sample = make_exporter("dynamo RNN, memory told")(folder)
    (folder / "policy.wiring.toml").unlink()
    return Sample(sample.path, None, None)


def make_state_writer(name: str) -> Callable[[Path], Sample]:
    word, layers = MODULES[name]
    kind = name.split()[0]

    def write(folder: Path) -> Sample:
        import torch

        network = recurrent(kind, max(layers, 1), False)
        path = folder / "policy.pt"
        torch.save(network.state_dict(), path)
        (folder / "policy.wiring.toml").write_text(f'layers = ["{word} memory", "linear head"]\n')
        rows = random_rows((2 if word == "lstm" else 1) * max(layers, 1) * STATES)
        return Sample(path, rows, run(network, kind, max(layers, 1), False, rows))

    return write


def make_sb3_writer(observed_name: str, action_name: str) -> Callable[[Path], Sample]:
    """RecurrentPPO with two layers; what it returns for observations and states."""

    def write(folder: Path) -> Sample:
        known = spaces()
        observed, actions = known[observed_name], known[action_name]
        observed.seed(1)
        model = make_model(
            "RecurrentPPO", observed, actions, {"n_lstm_layers": 2, "lstm_hidden_size": STATES}
        )
        path = folder / "policy.zip"
        model.save(path)
        inputs = np.array([observed.sample() for _ in range(POINTS)])
        states = np.random.default_rng(33).uniform(-1, 1, (2, 2, POINTS, STATES)).astype(np.float32)
        found, after = model.predict(
            inputs, state=tuple(states), episode_start=np.zeros(POINTS, bool), deterministic=True
        )

        def flat(values: Any) -> Any:
            return np.asarray(values).transpose(2, 0, 1, 3).reshape(POINTS, -1)

        rows = np.concatenate([inputs.reshape(POINTS, -1).astype(np.float32), flat(states)], axis=1)
        if action_name == "discrete":
            return Sample(path, rows, found, choices=True)
        return Sample(path, rows, np.concatenate([found, flat(after)], axis=1).astype(np.float32))

    return write
