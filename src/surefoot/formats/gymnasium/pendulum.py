"""Pendulum: a torque at its axle has to bring it up and hold it there.

The library computes in doubles, but for the torque: a float32 number, which stays one in the product with its
factor. How far that rounding may be off is a value that the environment chooses here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, pi
from typing import Any

from surefoot.formats.gymnasium.episode import SINES, build_environment
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
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var
from surefoot.term.value_types import Real

ARGUMENTS = {
    "g": GymArgument(10.0),
    "m": GymArgument(1.0, positive=True),
    "l": GymArgument(1.0, positive=True),
    "dt": GymArgument(0.05, positive=True),
    "max_speed": GymArgument(8.0, positive=True),
    "max_torque": GymArgument(2.0, positive=True),
}
_THETA, _SPEED, _TORQUE = Var("theta"), Var("theta_dot"), Var("torque")


def build_pendulum(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    limit = values["max_episode_steps"]
    pull = nearest_constant(3 * values["g"] / (2 * values["l"]))
    gain = 3.0 / (values["m"] * values["l"] ** 2)
    step, most = nearest_constant(values["dt"]), nearest_constant(values["max_speed"])
    torque = Fraction(nearest_float32(values["max_torque"]))
    rounding = _largest_rounding(gain, torque)
    drive = nearest_constant(gain) * _TORQUE + Var("rounding")
    speed = _SPEED + (pull * Apply(Op.SIN, (_THETA,)) + drive) * step
    speed = Apply(Op.MAX, (Const(-most.value), Apply(Op.MIN, (most, speed))))
    moved = (Update(_THETA, _THETA + speed * step), Update(_SPEED, speed))
    chosen = (Choice("rounding", Real(-rounding, rounding), Law("uniform", (-rounding, rounding))),)
    edge = Edge(
        chosen=chosen, outcomes=(Outcome(updates=moved, rewards=((REWARD, _reward_of_step(values)),)),)
    )
    half_turn, fastest = shortest_decimal(pi), shortest_decimal(values["max_speed"])
    environment = build_environment(
        name,
        (Variable("theta", Real()), Variable("theta_dot", Real(-fastest, fastest))),
        {
            "theta": Law("uniform", (-half_turn, half_turn)),
            "theta_dot": Law("uniform", (Fraction(-1), Fraction(1))),
        },
        [edge],
        controls=[Control("torque", -torque, torque)],
        limit=limit,
        counted=counted,
    )
    no_end = "the library ends no episode early and names no goal"
    example = f"`within {limit or 200} cos(theta) >= 0.95`"
    return GymModel(
        environment,
        (Apply(Op.COS, (_THETA,)), Apply(Op.SIN, (_THETA,)), _SPEED),
        (),
        {} if limit is None else episode_values(FALSE, limit),
        absent={
            "safe": f"{no_end}; what must not happen is yours to say: `never theta_dot > 7 for 200 steps`",
            "goal": f"{no_end}; one of your own may be {example}",
            "P goal": f"{no_end}; one of your own may be `P=? [ F<=200 cos(theta) >= 0.95 ] over avg`",
        },
        limit=limit,
        facts=(
            f"the library rounds {gain:g} times the torque to float32: off by at most {float(rounding):.2g} "
            "(`rounding`)",
            "rewards agree to nine digits: the library squares the torque in float32",
            SINES,
        ),
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
