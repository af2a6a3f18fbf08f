"""The `data` member of a Stable-Baselines3 zip: only what stands in it as plain text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.untrusted.sb3_spaces import (
    ActionSpace,
    ObservedPart,
    read_action_space,
    read_observation_space,
)

MOST_BYTES = 32 << 20
READ = (
    "PPO, A2C, DQN, SAC, TD3, DDPG, and TRPO, MaskablePPO, RecurrentPPO, QRDQN, TQC, ARS of sb3-contrib are "
    "read"
)
_POLICY_MODULES = (
    *(f"stable_baselines3.{name}.policies" for name in ("common", "dqn", "sac", "td3")),
    *(f"sb3_contrib.common.{name}.policies" for name in ("maskable", "recurrent")),
    *(f"sb3_contrib.{name}.policies" for name in ("qrdqn", "tqc", "ars")),
)
_EXTRACTORS = {
    f"<class 'stable_baselines3.common.torch_layers.{name}'>"
    for name in ("FlattenExtractor", "CombinedExtractor")
}


@dataclass(frozen=True, slots=True)
class Sb3Settings:
    parts: tuple[ObservedPart, ...]  # of an observation, in the order of the first layer
    actions: ActionSpace
    algorithm: str  # as far as the keys and the class tell: "ARS", "MaskablePPO", …; empty: the weights tell
    options_are_clear: bool  # whether policy_kwargs can be read without unpickling
    activation: str | None  # as printed, if it was given
    squash_output: bool | None
    clip_mean: float | None
    linear: bool  # ARS with a single layer, which neither squashes nor has a bias by itself
    notes: tuple[str, ...]

    @property
    def observations(self) -> int:
        """Numbers of an observation, flattened."""
        return sum(part.width for part in self.parts)

    @property
    def features(self) -> int:
        """Inputs of the first layer."""
        return sum(part.features for part in self.parts)


def read_sb3_settings(data: bytes, where: str) -> Sb3Settings:
    """Spaces and policy options of a saved model, from the text alone."""
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"`data` has {len(data)} bytes, more than {MOST_BYTES}", where=where)
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise InvalidProblem("`data` is not JSON", where=where) from problem
    if not isinstance(fields, dict):
        raise InvalidProblem("`data` is not a JSON object", where=where)
    module, about = _read_policy_class(fields, where)
    options = fields.get("policy_kwargs")
    clear = isinstance(options, dict) and not (
        ":serialized:" in options and options.keys() <= {":type:", ":serialized:"}
    )
    options = options if isinstance(options, dict) else {}
    extractor = options.get("features_extractor_class")
    if extractor is not None and extractor not in _EXTRACTORS:
        raise Unsupported(
            f"features extractor {str(extractor)[:120]}", fix=READ, where=f"{where}.policy_kwargs"
        )
    activation, clip_mean = options.get("activation_fn"), options.get("clip_mean")
    actions, notes = read_action_space(fields, f"{where}.action_space")
    squash = options.get("squash_output")
    return Sb3Settings(
        parts=read_observation_space(
            fields,
            f"{where}.observation_space",
            divides_images=options.get("normalize_images") is not False,
        ),
        actions=actions,
        algorithm=_name_algorithm(fields, module),
        options_are_clear=clear,
        activation=None if activation is None else str(activation)[:120],
        squash_output=squash if isinstance(squash, bool) else None,
        clip_mean=float(clip_mean) if isinstance(clip_mean, int | float) else None,
        linear=about.lstrip().startswith("Linear policy network for ARS"),
        notes=notes,
    )


def _read_policy_class(fields: dict[str, Any], where: str) -> tuple[str, str]:
    """Module and description; refuse a class of another package: its forward pass may be anything."""
    entry = fields.get("policy_class")
    module = entry.get("__module__") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(module, str):
        raise Unsupported(
            "the file does not say which policy class it holds", fix=READ, where=f"{where}.policy_class"
        )
    if module in _POLICY_MODULES:
        return module, str(entry.get("__doc__", ""))
    raise Unsupported(f"policy class from `{module[:120]}`", fix=READ, where=f"{where}.policy_class")


def _name_algorithm(fields: dict[str, Any], module: str) -> str:
    """What keys and class tell that the names of the weights do not."""
    for name, part in (("MaskablePPO", "maskable"), ("QRDQN", "qrdqn"), ("TQC", "tqc"), ("ARS", ".ars.")):
        if part in module:
            return name
    if "stable_baselines3.common" in module:
        return "PPO" if "clip_range" in fields else "TRPO" if "cg_max_steps" in fields else "A2C"
    if "td3" in module:
        return "DDPG" if (fields.get("policy_delay"), fields.get("target_noise_clip")) == (1, 0) else "TD3"
    return ""
