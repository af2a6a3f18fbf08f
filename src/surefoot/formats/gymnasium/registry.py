"""Names of the library and the models that belong to them: `gym:CartPole-v1?gravity=9.81`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from math import isfinite
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.gymnasium import acrobot, cart_pole, mountain_car, pendulum
from surefoot.formats.gymnasium.gym_model import USUAL, GymArgument, GymKind, GymModel
from surefoot.formats.gymnasium.gym_name import PREFIX, split_gym_name
from surefoot.formats.gymnasium.toy_text import toy_text_kinds

LIMIT = "max_episode_steps"  # the argument of `gymnasium.make`
NO_LIMIT = "none"
_CLASSIC = "gymnasium.envs.classic_control"
_CART_POLE = f"{_CLASSIC}.cartpole:CartPoleEnv"

GYM_MODELS: dict[str, GymKind] = {
    "CartPole-v0": GymKind(
        cart_pole.build_cart_pole, _CART_POLE, 200, cart_pole.ARGUMENTS, cart_pole.check_masses
    ),
    "CartPole-v1": GymKind(
        cart_pole.build_cart_pole, _CART_POLE, 500, cart_pole.ARGUMENTS, cart_pole.check_masses
    ),
    "MountainCar-v0": GymKind(
        mountain_car.build_mountain_car,
        f"{_CLASSIC}.mountain_car:MountainCarEnv",
        200,
        mountain_car.ARGUMENTS,
    ),
    "MountainCarContinuous-v0": GymKind(
        mountain_car.build_continuous_mountain_car,
        f"{_CLASSIC}.continuous_mountain_car:Continuous_MountainCarEnv",
        999,
        mountain_car.CONTINUOUS_ARGUMENTS,
        fixed={"min_action": -1.0, "max_action": 1.0},
    ),
    "Acrobot-v1": GymKind(
        acrobot.build_acrobot,
        f"{_CLASSIC}.acrobot:AcrobotEnv",
        500,
        acrobot.ARGUMENTS,
        fixed={"AVAIL_TORQUE": [-1.0, 0.0, 1.0]},
    ),
    "Pendulum-v1": GymKind(
        pendulum.build_pendulum, f"{_CLASSIC}.pendulum:PendulumEnv", 200, pendulum.ARGUMENTS
    ),
    **toy_text_kinds(),
}


def build_gym_model(
    text: str, constants: Mapping[str, str] | None = None, *, counted: bool = False
) -> GymModel:
    """The model that `gym:NAME?argument=value` means; `constants` are further arguments."""
    name, given = split_gym_name(text)
    kind = find_gym_kind(name)
    if twice := next((key for key in constants or {} if key in given), None):
        raise InvalidProblem(f"`{twice}` is given twice", fix="keep one of them", where=text)
    given |= constants or {}
    values: dict[str, Any] = {key: argument.default for key, argument in kind.arguments.items()}
    values[LIMIT] = kind.limit
    for key, value in given.items():
        if key not in values:
            fix = did_you_mean(key, values)
            raise InvalidProblem(f"{name} has no argument `{key}`", fix=fix, where=text)
        values[key] = _read_limit(value, text) if key == LIMIT else read_gym_value(key, value, kind, text)
    if kind.check_given is not None:
        try:
            kind.check_given(given)
        except InvalidProblem as error:
            raise error.at(text) from None
    with locate_errors(text, InvalidProblem):
        try:
            return _with_notes(kind.build(name, values, counted), kind, values)
        except (ZeroDivisionError, OverflowError):
            what = "with these arguments the model divides by zero, or a number is beyond all doubles"
            raise InvalidProblem(what, fix=USUAL) from None


def _with_notes(model: GymModel, kind: GymKind, values: Mapping[str, Any]) -> GymModel:
    """The model, whose results say which arguments are not the library's defaults."""
    told = [f"{key} = {values[key]}" for key, a in kind.arguments.items() if values[key] != a.default]
    if values[LIMIT] != kind.limit:
        told.append(f"{LIMIT} = {values[LIMIT] or NO_LIMIT}")
    if not told:
        return model
    note = f"{model.environment.name} with {', '.join(told)}"
    environment = replace(model.environment, notes=(note, *model.environment.notes))
    return replace(model, environment=environment)


def find_gym_kind(name: str) -> GymKind:
    """What builds the model of a registered name; other names are refused with what can be done."""
    if (kind := GYM_MODELS.get(name)) is not None:
        return kind
    where = f"{PREFIX}{name}"
    if not name:
        fix = f"write {PREFIX}CartPole-v1; {did_you_mean(name, GYM_MODELS)}"
        raise InvalidProblem("no environment is named", fix=fix, where=where)
    if close := get_close_matches(name, GYM_MODELS, n=1, cutoff=0.75):
        raise Unsupported(f"there is no model of `{name}`", fix=f"did you mean `{close[0]}`?", where=where)
    raise Unsupported(
        f"there is no model of `{name}` (there is of {', '.join(GYM_MODELS)})",
        fix=f"estimate from its episodes: estimate_success({name!r}, policy) of surefoot.integrations.gym; "
        "or write its step as a problem file",
        where=where,
    )


def _read_limit(text: str, where: str) -> int | None:
    if text.lower() == NO_LIMIT:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) == int(text):
        what = f"`{text}` is no number of steps"
        raise InvalidProblem(
            what, fix=f"give a positive whole number, or {NO_LIMIT}", where=f"{where}:{LIMIT}"
        )
    return int(text)


def read_gym_value(key: str, text: str, kind: GymKind, where: str) -> Any:
    """The text as a value of the kind of the default."""
    argument = kind.arguments[key]
    place = f"{where}:{key}"
    if isinstance(argument.default, bool):
        if text.lower() not in ("true", "false"):
            raise InvalidProblem(f"`{text}` is neither true nor false", fix="give one of them", where=place)
        return text.lower() == "true"
    value: Any = text
    if not isinstance(argument.default, str):
        try:
            value = type(argument.default)(text)
        except ValueError:
            wanted = "a whole number" if isinstance(argument.default, int) else "a number such as 9.81"
            raise InvalidProblem(f"`{text}` is no number", fix=f"give {wanted}", where=place) from None
    return check_value(value, argument, place)


def check_value(value: Any, argument: GymArgument, place: str) -> Any:
    """The value, if the model can have it."""
    if argument.known and value not in argument.known:
        known = ", ".join(str(one) for one in argument.known)
        raise InvalidProblem(f"there is no `{value}`", fix=f"one of {known}", where=place)
    if isinstance(value, float) and not (isfinite(value) and (value > 0 or not argument.positive)):
        wanted = "a positive number" if argument.positive else "a finite number"
        raise InvalidProblem(f"`{value}` cannot be meant", fix=f"give {wanted}", where=place)
    return value
