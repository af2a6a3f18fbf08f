"""MountainCar: a car that has to swing itself up a hill (Moore, 1990), with three actions or with a force.

With actions the library computes in doubles. With a force its state is float32, and so is what it computes
from it (from the second step of an episode on): every result is off by roundings of that size. They are
values that the environment chooses here, and never larger than it may choose them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.gymnasium.episode import SINES, build_environment, uniform_start
from surefoot.formats.gymnasium.float32_bounds import nearest_float32, rounding_below
from surefoot.formats.gymnasium.gym_model import (
    REWARD,
    GymArgument,
    GymModel,
    episode_values,
    nearest_constant,
    success_properties,
)
from surefoot.problem.environment import Choice, Control, Edge, Law, Outcome, Update, Variable
from surefoot.term.term import Apply, Const, Op, Term, Var, ite
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real

ACTIONS = ("left", "none", "right")
_TRACK = {
    "min_position": GymArgument(-1.2),
    "max_position": GymArgument(0.6),
    "max_speed": GymArgument(0.07, positive=True),
    "low": GymArgument(-0.6, live=False),
    "high": GymArgument(-0.4, live=False),
}
ARGUMENTS = {
    "goal_velocity": GymArgument(0.0),
    **_TRACK,
    "goal_position": GymArgument(0.5),
    "force": GymArgument(0.001),
    "gravity": GymArgument(0.0025),
}
CONTINUOUS_ARGUMENTS = {
    "goal_velocity": GymArgument(0.0),
    **_TRACK,
    "goal_position": GymArgument(0.45),
    "power": GymArgument(0.0015, positive=True),
}
_X, _V = Var("position"), Var("velocity")
_VARIABLES = (Variable("position", Real()), Variable("velocity", Real()))
_GRAVITY = 0.0025  # with a force, the library has it as a number in its formula
_NO_SAFETY = {"safe": "an episode terminates only where the car arrives"}


def build_mountain_car(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    """The version with three actions."""
    limit = values["max_episode_steps"]
    _check_track(values)
    said = {key: nearest_constant(values[key]) for key in ARGUMENTS}
    edges = []
    for number, action in enumerate(ACTIONS):
        push = nearest_constant((number - 1) * values["force"])  # rounded as the library's product
        pull = Apply(Op.COS, (3 * _X,)) * nearest_constant(-values["gravity"])
        moved = _advance_car(_V + (push + pull), _X, said)
        edges.append(Edge(action=action, outcomes=(Outcome(updates=moved, rewards=((REWARD, Const(-1)),)),)))
    arrives = (said["goal_position"] <= _X) & (said["goal_velocity"] <= _V)
    environment = build_environment(
        name, _VARIABLES, _reset_law(values), edges, over=arrives, limit=limit, counted=counted
    )
    return GymModel(
        environment,
        (_X, _V),
        ACTIONS,
        success_properties(arrives, limit) | episode_values(arrives, limit),
        absent=_NO_SAFETY,
        limit=limit,
        terminates=arrives,
        facts=(SINES,),
    )


def build_continuous_mountain_car(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    """The version with a force."""
    limit = values["max_episode_steps"]
    _check_track(values)
    said = {key: nearest_constant(nearest_float32(values[key])) for key in CONTINUOUS_ARGUMENTS}
    said["power"] = nearest_constant(values["power"])
    largest = _largest_roundings(values)
    chosen = tuple(
        Choice(key, Real(-most, most), Law("uniform", (-most, most))) for key, most in largest.items()
    )
    pull = said["power"] * Var("force") - nearest_constant(_GRAVITY) * Apply(Op.COS, (3 * _X,))
    moved = _advance_car(_V + pull + Var("speed_rounding"), Var("position"), said, Var("position_rounding"))
    arrives = (said["goal_position"] <= _X) & (said["goal_velocity"] <= _V)
    after = {update.target.name: update.value for update in moved if isinstance(update.target, Var)}
    effort = Var("force") ** 2 * nearest_constant(0.1)
    earned = ite(substitute_names(arrives, after), Const(100), Const(0)) - effort
    # Nothing is clipped: the limits tell how large the sum of an episode may be.
    earned = Apply(Op.MAX, (Const(-1), Apply(Op.MIN, (Const(100), earned))))
    edge = Edge(chosen=chosen, outcomes=(Outcome(updates=moved, rewards=((REWARD, earned),)),))
    environment = build_environment(
        name,
        _VARIABLES,
        _reset_law(values),
        [edge],
        over=arrives,
        controls=[Control("force", Fraction(-1), Fraction(1))],
        limit=limit,
        counted=counted,
    )
    return GymModel(
        environment,
        (_X, _V),
        (),
        success_properties(arrives, limit) | episode_values(arrives, limit),
        absent=_NO_SAFETY,
        limit=limit,
        terminates=arrives,
        facts=(
            "the library computes in float32: each speed is off by at most "
            f"{float(largest['speed_rounding']):.2g}, each position by "
            f"{float(largest['position_rounding']):.2g} (`speed_rounding`, `position_rounding`)",
            SINES,
        ),
    )


def _advance_car(
    speed: Term, place: Term, said: Mapping[str, Const], rounding: Term | None = None
) -> tuple[Update, ...]:
    """Both are clipped; at the left wall the car stands still."""
    most = said["max_speed"]
    speed = _clip(speed, Const(-most.value), most)
    place = place + speed if rounding is None else place + speed + rounding
    place = _clip(place, said["min_position"], said["max_position"])
    stopped = (place <= said["min_position"]) & (speed < 0)
    return Update(_X, place), Update(_V, ite(stopped, Const(0), speed))


def _reset_law(values: Mapping[str, Any]) -> dict[str, Law | Const]:
    return {"position": uniform_start(values["low"], values["high"]), "velocity": Const(0)}


def _check_track(values: Mapping[str, Any]) -> None:
    if values["min_position"] >= values["max_position"]:
        what = "`min_position` is not below `max_position`"
        raise InvalidProblem(what, fix="give the ends of the track in their order")


def _clip(value: Term, low: Const, high: Const) -> Term:
    return Apply(Op.MAX, (low, Apply(Op.MIN, (high, value))))


def _largest_roundings(values: Mapping[str, Any]) -> dict[str, Fraction]:
    """What float32 may change, from the sizes of all that is rounded.

    Speed: the sum, push minus pull, the product with the power, the power itself, and 3 * position, which
    moves the cosine by as much. Position: the sum.
    """
    track = max(abs(Fraction(values["min_position"])), abs(Fraction(values["max_position"])))
    top, power, pull = Fraction(values["max_speed"]), Fraction(values["power"]), Fraction(_GRAVITY)
    slack = Fraction(1001, 1000)  # for what roundings add to the sizes themselves
    change = (power + pull) * slack
    speed = rounding_below((top + change) * slack) + rounding_below(change)
    speed += 2 * rounding_below(power * slack) + rounding_below(pull)
    speed += pull * rounding_below(3 * track * slack)
    place = rounding_below((track + top) * slack)
    return {key: size * slack for key, size in (("speed_rounding", speed), ("position_rounding", place))}
