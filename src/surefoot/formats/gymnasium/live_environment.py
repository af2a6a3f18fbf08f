"""A live environment of the library, named as text: what was set on it becomes arguments of its model.

Nothing that may change what an episode is goes unseen: wrappers that are not known to be harmless,
subclasses, methods that were replaced and attributes that a model does not have are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.formats.gymnasium.gym_model import GymKind
from surefoot.formats.gymnasium.gym_name import PREFIX, split_gym_name
from surefoot.formats.gymnasium.registry import (
    GYM_MODELS,
    LIMIT,
    NO_LIMIT,
    check_value,
    find_gym_kind,
    read_gym_value,
)
from surefoot.term.arguments import describe_value

_TIME_LIMIT = "gymnasium.wrappers.common:TimeLimit"
_HARMLESS = frozenset(
    {
        _TIME_LIMIT,
        "gymnasium.wrappers.common:OrderEnforcing",
        "gymnasium.wrappers.common:PassiveEnvChecker",
        "gymnasium.wrappers.common:RecordEpisodeStatistics",
        "gymnasium.wrappers.common:Autoreset",
        "gymnasium.wrappers.rendering:RecordVideo",
        "gymnasium.wrappers.rendering:HumanRendering",
        "gymnasium.wrappers.rendering:RenderCollection",
        "stable_baselines3.common.monitor:Monitor",
        # as the modules were called before version 1.0
        "gymnasium.wrappers.time_limit:TimeLimit",
        "gymnasium.wrappers.order_enforcing:OrderEnforcing",
        "gymnasium.wrappers.env_checker:PassiveEnvChecker",
        "gymnasium.wrappers.record_episode_statistics:RecordEpisodeStatistics",
        "gymnasium.wrappers.record_video:RecordVideo",
        "gymnasium.wrappers.human_rendering:HumanRendering",
    }
)
_METHODS = ("step", "reset", "_dsdt", "_get_obs", "_get_ob", "_terminal")  # that decide what an episode is

_OTHER_FLOATS = ("float16", "float32", "float96", "float128")  # models compute in doubles


def name_live_environment(given: Any) -> str:
    """`gym:NAME?argument=value`, which means the same as the environment does now."""
    plain = getattr(given, "unwrapped", None)
    if plain is None or not callable(getattr(given, "step", None)):
        fix = 'give a name, sf.gym("CartPole-v1"), or what gymnasium.make returns'
        raise WrongType(f"{describe_value(given)} is no environment of Gymnasium", fix=fix)
    limit = _read_wrappers(given, plain)
    implementation = _class_path(plain)
    names = [name for name, kind in GYM_MODELS.items() if kind.implementation == implementation]
    if not names:
        known = ", ".join(GYM_MODELS)
        raise Unsupported(f"there is no model of `{implementation}`", fix=f"there are models of {known}")
    registered = getattr(getattr(plain, "spec", None), "id", None)
    name = registered if registered in names else names[-1]
    kind = GYM_MODELS[name]
    if replaced := [method for method in _METHODS if method in vars(plain)]:
        what = f"`{replaced[0]}` of this {name} was replaced by other code"
        raise Unsupported(what, fix="there are models of what the library executes")
    if first := getattr(getattr(plain, "action_space", None), "start", 0):
        what = f"the actions of this {name} begin with {first}"
        raise Unsupported(what, fix="leave its action_space as the library makes it")
    values = kind.read_live(plain) if kind.read_live is not None else _read_attributes(plain, kind, name)
    told = {key: _value_text(value) for key, value in values.items() if value != kind.arguments[key].default}
    if kind.check_given is not None:
        try:
            kind.check_given(told)
        except InvalidProblem:  # of a text; a live environment has a value for each of them
            told = {key: _value_text(value) for key, value in values.items()}
    if limit != kind.limit:
        told[LIMIT] = NO_LIMIT if limit is None else str(limit)
    return f"{PREFIX}{name}" + ("?" if told else "") + "&".join(f"{k}={v}" for k, v in told.items())


def _read_wrappers(given: Any, plain: Any) -> int | None:
    """The time limit that wrappers set; one that may change observations, actions or rewards is refused."""
    limit: int | None = None
    while given is not plain:
        path = _class_path(given)
        if path not in _HARMLESS:
            what = f"the wrapper `{type(given).__name__}` may change what is seen, done or earned"
            raise Unsupported(what, fix="give the environment without it: env.unwrapped, or its name")
        if path.endswith(":TimeLimit"):
            own = given._max_episode_steps
            limit = own if limit is None else min(limit, own)
        given = given.env
    return limit


def _class_path(given: Any) -> str:
    kind = type(given)
    return f"{kind.__module__}:{kind.__qualname__}"


def _read_attributes(plain: Any, kind: GymKind, name: str) -> Mapping[str, Any]:
    """The values of the arguments, as the environment has them now."""
    for attribute, wanted in kind.fixed.items():
        if getattr(plain, attribute, wanted) != wanted:
            what = f"`{attribute}` of this {name} is {getattr(plain, attribute)!r}, not {wanted!r}"
            raise Unsupported(what, fix="the model has this value only")
    values: dict[str, Any] = {}
    for key, argument in kind.arguments.items():
        own = argument.attribute or key
        found = getattr(plain, own, argument.default) if argument.live else argument.default
        wanted_kind = type(argument.default)
        if (width := str(getattr(found, "dtype", ""))) in _OTHER_FLOATS:
            what = f"`{key}` of this {name} is a {width}, in which numpy then computes whole steps"
            raise Unsupported(what, fix=f"set a float such as {float(found)!r}")
        if not isinstance(found, bool) and wanted_kind is not bool and hasattr(found, "item"):
            found = found.item()  # a number of numpy
        if wanted_kind is float and isinstance(found, int) and not isinstance(found, bool):
            found = float(found)
        if not isinstance(found, wanted_kind):
            what = f"`{key}` of this {name} is {found!r}"
            raise InvalidProblem(what, fix=f"set a value such as {argument.default!r}")
        values[key] = check_value(found, argument, f"{name}:{key}")
    return values


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def set_gym_arguments(plain: Any, text: str, constants: Mapping[str, str]) -> None:
    """Give an unwrapped environment of the library what a text says, but for options of `reset`."""
    name, given = split_gym_name(text)
    kind = find_gym_kind(name)
    for key, value in {**given, **constants}.items():
        if key != LIMIT and kind.arguments[key].live:
            setattr(plain, kind.arguments[key].attribute or key, read_gym_value(key, value, kind, text))
