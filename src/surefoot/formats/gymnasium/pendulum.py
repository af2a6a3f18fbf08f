"""Pendulum: a torque at its axle has to bring it up and hold it there.

The library computes in doubles, but for the torque: a float32 number, which stays one in the product with its
factor. How far that rounding may be off is a value that the environment chooses here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, pi
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
    shortest_decimal,
)
from surefoot.problem.environment import Choice, Control, Edge, Law, Outcome, Update, Variable
from surefoot.problem.property import Never, Property
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, disjunction_of
from surefoot.term.value_types import Real

ARGUMENTS = {
    "g": GymArgument(10.0),
    "m": GymArgument(1.0, positive=True),
    "l": GymArgument(1.0, positive=True),
    "dt": GymArgument(0.05, positive=True),
    "max_speed": GymArgument(8.0, positive=True),
    "max_torque": GymArgument(2.0, positive=True),
    "x_init": GymArgument(pi, live=False),
    "y_init": GymArgument(1.0, live=False),
    "polynomial_within": GymArgument(0.0, live=False),  # an angle: the model for shields, see below
}
_THETA, _SPEED, _TORQUE = Var("theta"), Var("theta_dot"), Var("torque")


@dataclass(frozen=True, slots=True)
class _Plant:
    """The numbers of a step, each computed as the library computes it."""

    pull: float  # 3 * g / (2 * l)
    gain: float  # 3.0 / (m * l**2)
    step: Const
    fastest: Fraction
    torque: Fraction  # the largest: a float32 number
    rounding: Fraction  # of gain times torque, in float32


def build_pendulum(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    limit, near, plant = values["max_episode_steps"], values["polynomial_within"], _read_plant(values)
    if near < 0:
        raise InvalidProblem("`polynomial_within` is negative", fix="give an angle such as 0.5")
    rest = _largest_rest(plant, near) if near else plant.rounding
    moved = _polynomial_step(plant) if near else _library_step(plant)
    chosen = Choice("rest" if near else "rounding", Real(-rest, rest), Law("uniform", (-rest, rest)))
    edge = Edge(
        chosen=(chosen,), outcomes=(Outcome(updates=moved, rewards=((REWARD, _reward_of_step(values)),)),)
    )
    fast = Real() if near else Real(-plant.fastest, plant.fastest)
    environment = build_environment(
        name,
        (Variable("theta", Real()), Variable("theta_dot", fast)),
        {
            "theta": uniform_start(-values["x_init"], values["x_init"]),
            "theta_dot": uniform_start(-values["y_init"], values["y_init"]),
        },
        [edge],
        controls=[Control("torque", -plant.torque, plant.torque)],
        limit=limit,
        counted=counted,
    )
    properties: dict[str, Property] = {} if limit is None else episode_values(FALSE, limit)
    if near:
        properties = {"safe": Never(_outside_of(plant, near))}
    return GymModel(
        environment,
        (Apply(Op.COS, (_THETA,)), Apply(Op.SIN, (_THETA,)), _SPEED),
        (),
        properties,
        absent=_absent_properties(limit),
        limit=limit,
        outside=_outside_of(plant, near) if near else None,
        facts=_facts_of(plant, near, rest),
    )


def _read_plant(values: Mapping[str, Any]) -> _Plant:
    gain = 3.0 / (values["m"] * values["l"] ** 2)
    torque = Fraction(nearest_float32(values["max_torque"]))
    return _Plant(
        3 * values["g"] / (2 * values["l"]),
        gain,
        nearest_constant(values["dt"]),
        shortest_decimal(values["max_speed"]),
        torque,
        _largest_rounding(gain, torque),
    )


def _library_step(plant: _Plant) -> tuple[Update, ...]:
    """Speed, clipped, and then the angle by the new speed."""
    drive = nearest_constant(plant.gain) * _TORQUE + Var("rounding")
    pull = nearest_constant(plant.pull) * Apply(Op.SIN, (_THETA,))
    speed = _SPEED + (pull + drive) * plant.step
    speed = Apply(Op.MAX, (Const(-plant.fastest), Apply(Op.MIN, (Const(plant.fastest), speed))))
    return Update(_THETA, _THETA + speed * plant.step), Update(_SPEED, speed)


def _polynomial_step(plant: _Plant) -> tuple[Update, ...]:
    """The same with x - x**3/6 for the sine; `rest` is at least what that is off, and roundings.

    The rest that gives the library's acceleration gives its step, bit by bit. Speeds are not clipped, so this
    is the library's step only where the next speed is within its limits.
    """
    pull = nearest_constant(plant.pull) * (_THETA - _THETA**3 / 6)
    speed = _SPEED + (pull + nearest_constant(plant.gain) * _TORQUE + Var("rest")) * plant.step
    return Update(_THETA, _THETA + speed * plant.step), Update(_SPEED, speed)


def _largest_rest(plant: _Plant, near: float) -> Fraction:
    """What the polynomial is off by for angles up to `near`, in units of the acceleration.

    The sine is off by at most near**5 / 120 (the next term of its series, which alternates). A torque that
    is rounded to float32 behind the shield changes it as little as the product's rounding does. All roundings
    of doubles together are far below a billionth of the accelerations.
    """
    series = abs(Fraction(plant.pull)) * Fraction(near) ** 5 / 120
    sizes = abs(Fraction(plant.pull)) + Fraction(plant.gain) * plant.torque + plant.fastest / plant.step.value
    held = rounding_below(plant.torque) * Fraction(plant.gain)
    return series + plant.rounding + held + sizes * Fraction(1, 10**9)


def _outside_of(plant: _Plant, near: float) -> Term:
    """Where the polynomial is not close to the sine, or the speed would be clipped."""
    angle, fastest = nearest_constant(near), plant.fastest
    bad = (
        nearest_constant(-near) > _THETA,
        angle < _THETA,
        Const(-fastest) > _SPEED,
        Const(fastest) < _SPEED,
    )
    return disjunction_of(bad)


def _absent_properties(limit: int | None) -> dict[str, str]:
    """Why there is nothing to be asked by the usual names, and what may be asked instead."""
    no_end, steps = "the library ends no episode early and names no goal", limit or 200
    return {
        "safe": f"{no_end}; what must not happen is yours to say: `never theta_dot > 7 for {steps} steps`",
        "goal": f"{no_end}; one of your own may be `within {steps} cos(theta) >= 0.95`",
        "P goal": f"{no_end}; one of your own may be `P=? [ F<={steps} cos(theta) >= 0.95 ] over avg`",
    }


def _facts_of(plant: _Plant, near: float, rest: Fraction) -> tuple[str, ...]:
    if near:
        return (
            f"x - x**3/6 stands for the sine: for angles up to {near:g} accelerations are off by at most "
            f"{float(rest):.2g} (`rest`), roundings and the torque's float32 included",
            "where a speed would be clipped this is another step: ask for speeds within the limits as well",
        )
    return (
        f"the library rounds {plant.gain:g} times the torque to float32: off by at most "
        f"{float(plant.rounding):.2g} (`rounding`)",
        "rewards agree to nine digits: the library squares the torque in float32",
        SINES,
    )


def _reward_of_step(values: Mapping[str, Any]) -> Term:
    """Minus the costs of the state before the step and of the torque; the angle between -pi and pi."""
    whole = nearest_constant(2 * pi)
    shifted = _THETA + nearest_constant(pi)
    half = nearest_constant(pi)
    angle = shifted - whole * Apply(Op.FLOOR, (shifted / whole,)) - half
    angle = Apply(Op.MAX, (-half, Apply(Op.MIN, (half, angle))))  # where a rounding would leave the range
    costs = angle**2 + nearest_constant(0.1) * _SPEED**2 + nearest_constant(0.001) * _TORQUE**2
    most = pi**2 + 0.1 * values["max_speed"] ** 2 + 0.001 * values["max_torque"] ** 2
    # Nothing is clipped: the limits tell how large the sum of an episode may be.
    return Apply(Op.MAX, (Const(-ceil(most + 0.5)), Apply(Op.MIN, (Const(0), -costs))))


def _largest_rounding(gain: float, torque: Fraction) -> Fraction:
    """Of the gain and of the product, as float32 numbers."""
    own = abs(Fraction(nearest_float32(gain)) - Fraction(gain))
    product = rounding_below((Fraction(gain) + own) * torque)
    return product + own * torque + Fraction(gain) * torque * Fraction(1, 2**50)
