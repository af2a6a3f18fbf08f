"""The `data` member of a Stable-Baselines3 zip: only what stands in it as plain text.

Entries beyond JSON are stored as a pickle (`:serialized:`, never decoded) beside their fields, printed with
`str`: a box of actions has `"low": "[-1. -2.]"`. numpy prints 8 digits after the point, so a bound that uses
all of them may have been rounded; a note says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import prod
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported

MOST_BYTES = 32 << 20
_SPACE = re.compile(r"<class '(?:gymnasium|gym)\.spaces\.\w+\.(\w+)'>", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)", re.ASCII)
_FULL_PRECISION = re.compile(r"\.\d{8}", re.ASCII)
_POLICY_MODULES = ("common", "dqn", "sac", "td3")
_FLATTEN = "<class 'stable_baselines3.common.torch_layers.FlattenExtractor'>"
_FIX = "PPO, A2C, DQN, SAC and TD3 with MlpPolicy are read"


@dataclass(frozen=True, slots=True)
class ActionBox:
    """The action space: `Discrete` with `width` choices, or `Box` with `width` numbers and their bounds."""

    kind: str
    width: int
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sb3Settings:
    observations: int  # entries of a flattened observation
    actions: ActionBox
    has_clip_range: bool  # PPO has it, A2C does not
    options_are_clear: bool  # whether policy_kwargs can be read without unpickling
    activation: str | None  # as printed, if it was given
    squash_output: bool
    clip_mean: float | None
    notes: tuple[str, ...]


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
    _check_policy_class(fields, where)
    options = fields.get("policy_kwargs")
    clear = isinstance(options, dict) and not (
        ":serialized:" in options and options.keys() <= {":type:", ":serialized:"}
    )
    options = options if isinstance(options, dict) else {}
    extractor = options.get("features_extractor_class", _FLATTEN)
    if extractor != _FLATTEN:
        raise Unsupported(
            f"features extractor {str(extractor)[:120]}", fix=_FIX, where=f"{where}.policy_kwargs"
        )
    activation, clip_mean = options.get("activation_fn"), options.get("clip_mean")
    actions, notes = _read_actions(fields, f"{where}.action_space")
    return Sb3Settings(
        observations=_observation_width(fields, f"{where}.observation_space"),
        actions=actions,
        has_clip_range="clip_range" in fields,
        options_are_clear=clear,
        activation=None if activation is None else str(activation)[:120],
        squash_output=options.get("squash_output") is True,
        clip_mean=float(clip_mean) if isinstance(clip_mean, int | float) else None,
        notes=notes,
    )


def _check_policy_class(fields: dict[str, Any], where: str) -> None:
    """Refuse a policy class of another package: its forward pass may be anything."""
    entry = fields.get("policy_class")
    module = entry.get("__module__") if isinstance(entry, dict) else None
    if not isinstance(module, str):
        raise Unsupported(
            "the file does not say which policy class it holds", fix=_FIX, where=f"{where}.policy_class"
        )
    if module in (f"stable_baselines3.{name}.policies" for name in _POLICY_MODULES):
        return
    kind = "recurrent policy" if "recurrent" in module else "policy class"
    raise Unsupported(f"{kind} from `{module[:120]}`", fix=_FIX, where=f"{where}.policy_class")


def _read_space(fields: dict[str, Any], name: str, where: str) -> tuple[str, dict[str, Any]]:
    entry = fields.get(name)
    if not isinstance(entry, dict):
        raise InvalidProblem(f"`data` has no {name}", where=where)
    found = _SPACE.fullmatch(str(entry.get(":type:")))
    if not found:
        raise Unsupported(f"{name} of type {str(entry.get(':type:'))[:120]}", where=where)
    return found[1], entry


def _observation_width(fields: dict[str, Any], where: str) -> int:
    kind, entry = _read_space(fields, "observation_space", where)
    if kind == "Discrete":
        return _discrete_width(entry, where)
    if kind == "Dict":
        raise Unsupported("Dict observations (MultiInput policy)", fix="observe a Box", where=where)
    if kind != "Box":
        raise Unsupported(f"{kind} observations", fix="observe a Box", where=where)
    shape = _read_shape(entry, where)
    if entry.get("dtype") == "uint8" and len(shape) == 3:
        raise Unsupported("image observations (CNN policy)", fix="observe a Box of floats", where=where)
    return prod(shape)


def _discrete_width(entry: dict[str, Any], where: str) -> int:
    """The library shows observation i as 1 in entry i and 0 elsewhere; it ignores the start of the space."""
    count = str(entry.get("n"))
    if not re.fullmatch(r"[1-9]\d{0,5}", count, re.ASCII):
        raise InvalidProblem("the number of observations is not readable", where=where)
    return int(count)


def _read_actions(fields: dict[str, Any], where: str) -> tuple[ActionBox, tuple[str, ...]]:
    kind, entry = _read_space(fields, "action_space", where)
    if kind == "Discrete":
        count, start = str(entry.get("n")), str(entry.get("start", 0))
        if not re.fullmatch(r"[1-9]\d{0,5}", count, re.ASCII):
            raise InvalidProblem("the number of actions is not readable", where=where)
        shifted = f"action i is output i: the library ignores the space's start ({start[:20]})"
        return ActionBox(kind, int(count)), (shifted,) if start != "0" else ()
    if kind != "Box":
        raise Unsupported(f"{kind} actions", fix="Discrete and Box actions are read", where=where)
    width = prod(_read_shape(entry, where))
    low, high = (_parse_bounds(entry, name, width, where) for name in ("low", "high"))
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise InvalidProblem("an action bound has low above high", where=where)
    rounded = any(_FULL_PRECISION.search(str(entry[name])) for name in ("low", "high"))
    note = "action bounds are printed in the file with 8 digits after the point; they may have been rounded"
    return ActionBox(kind, width, low, high), (note,) if rounded else ()


def _read_shape(entry: dict[str, Any], where: str) -> tuple[int, ...]:
    shape = entry.get("_shape")
    if not isinstance(shape, list) or not shape or len(shape) > 8:
        raise InvalidProblem("the shape is not readable", where=where)
    if not all(type(n) is int and 0 < n < 1 << 24 for n in shape) or prod(shape) > 1 << 24:
        raise InvalidProblem("the shape is not readable", where=where)
    return tuple(shape)


def _parse_bounds(entry: dict[str, Any], name: str, width: int, where: str) -> tuple[float, ...]:
    """Bounds from the text that numpy prints for an array of any shape."""
    text = entry.get(name)
    if not isinstance(text, str):
        raise Unsupported(f"the bound `{name}` is only there as a pickle", where=where)
    if "..." in text:
        raise Unsupported(f"the bound `{name}` is abbreviated in the file", where=where)
    words = text.replace("[", " ").replace("]", " ").split()
    if len(words) != width or not all(_NUMBER.fullmatch(word) for word in words):
        raise InvalidProblem(f"the bound `{name}` is not a list of {width} numbers", where=where)
    return tuple(float(word) for word in words)
