"""What every policy reader returns: the network and what it takes to read its outputs as actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from surefoot.problem.network import Network


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A network with the meaning of its outputs, as far as the file tells."""

    network: Network
    head: Literal[
        "argmax", "value", "scores"
    ]  # best output wins; outputs are the action; the file does not say
    kind: str  # "onnx", "nnet", "sb3 PPO", ...
    low: tuple[float, ...] | None = (
        None  # bounds of the action, for `value`; the network already respects them
    )
    high: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()  # what the reader did and assumed, for every report
