"""CartPole: a pole on a cart that is pushed to the left or to the right (Barto, Sutton and Anderson, 1983).

The library computes in doubles, in the order written here; sine and cosine are those of its platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.gymnasium.episode import SINES, build_environment, uniform_start
from surefoot.formats.gymnasium.gym_model import (
    REWARD,
    GymArgument,
    GymModel,
    episode_values,
    nearest_constant,
    step_bounds,
)
from surefoot.problem.environment import Edge, Outcome, Update, Variable
from surefoot.problem.property import Never, Path, Probability
from surefoot.term.term import Apply, Const, Op, Term, Var, disjunction_of, ite
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real

ACTIONS = ("left", "right")
STATE = ("x", "x_dot", "theta", "theta_dot")
ARGUMENTS = {
    "sutton_barto_reward": GymArgument(False, "_sutton_barto_reward"),
    "gravity": GymArgument(9.8),
    "masspole": GymArgument(0.1, positive=True),
    "total_mass": GymArgument(0.1 + 1.0, positive=True),
    "length": GymArgument(0.5, positive=True),
    "polemass_length": GymArgument(0.1 * 0.5, positive=True),
    "force_mag": GymArgument(10.0),
    "tau": GymArgument(0.02, positive=True),
    "kinematics_integrator": GymArgument("euler", known=("euler", "semi-implicit", "semi-implicit euler")),
    "theta_threshold_radians": GymArgument(12 * 2 * pi / 360, positive=True),
    "x_threshold": GymArgument(2.4, positive=True),
    "low": GymArgument(-0.05, live=False),
    "high": GymArgument(0.05, live=False),
}


def build_cart_pole(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    limit = values["max_episode_steps"]
    over = _is_over(values)
    edges = []
    for action, force in zip(ACTIONS, (-values["force_mag"], values["force_mag"]), strict=True):
        after = _next_state(force, values)
        moved = tuple(Update(Var(variable), value) for variable, value in after.items())
        earned = _reward(substitute_names(over, after), values)
        edges.append(Edge(action=action, outcomes=(Outcome(updates=moved, rewards=earned),)))
    reset = uniform_start(values["low"], values["high"])
    environment = build_environment(
        name,
        tuple(Variable(variable, Real()) for variable in STATE),
        dict.fromkeys(STATE, reset),
        edges,
        over=over,
        limit=limit,
        counted=counted,
    )
    stays = Path("G", ~over, bounds=step_bounds(limit))
    return GymModel(
        environment,
        tuple(Var(variable) for variable in STATE),
        ACTIONS,
        {
            "safe": Never(over, limit),
            "P safe": Probability(stays, over="avg"),
            **episode_values(over, limit),
        },
        {"goal": "safe", "P goal": "P safe"},
        limit=limit,
        terminates=over,
        facts=(SINES,),
    )


def _is_over(values: Mapping[str, Any]) -> Term:
    """The cart has left the track, or the pole has fallen."""
    x, theta = Var("x"), Var("theta")
    (left, right), (low, high) = (
        (nearest_constant(-values[key]), nearest_constant(values[key]))
        for key in ("x_threshold", "theta_threshold_radians")
    )
    return disjunction_of((x < left, x > right, theta < low, theta > high))


def _next_state(force: float, values: Mapping[str, Any]) -> dict[str, Term]:
    """One step; every operation has its arguments in the library's order."""
    x, x_dot, theta, theta_dot = (Var(variable) for variable in STATE)
    said = {
        name: nearest_constant(values[name])
        for name in ARGUMENTS
        if isinstance(ARGUMENTS[name].default, float)
    }
    total, length, tau, mass_length = (
        said[name] for name in ("total_mass", "length", "tau", "polemass_length")
    )
    cosine, sine = Apply(Op.COS, (theta,)), Apply(Op.SIN, (theta,))
    push = (nearest_constant(force) + mass_length * theta_dot**2 * sine) / total
    inertia = length * (nearest_constant(4.0 / 3.0) - said["masspole"] * cosine**2 / total)
    turn = (said["gravity"] * sine - cosine * push) / inertia
    move = push - mass_length * turn * cosine / total
    x_speed, speed = x_dot + tau * move, theta_dot + tau * turn
    if values["kinematics_integrator"] == "euler":
        return dict(zip(STATE, (x + tau * x_dot, x_speed, theta + tau * theta_dot, speed), strict=True))
    return dict(zip(STATE, (x + tau * x_speed, x_speed, theta + tau * speed, speed), strict=True))


def _reward(falls: Term, values: Mapping[str, Any]) -> tuple[tuple[str, Term], ...]:
    """1 for every step; with `sutton_barto_reward` -1 for the one by which it falls, and 0 for others."""
    if not values["sutton_barto_reward"]:
        return ((REWARD, Const(1)),)
    return ((REWARD, ite(falls, Const(-1), Const(0))),)


def check_masses(given: Mapping[str, Any]) -> None:
    """The library computes the other two from the mass of the pole when it is made, and never again."""
    if "masspole" in given and not {"total_mass", "polemass_length"} <= set(given):
        raise InvalidProblem(
            "`masspole` alone would leave `total_mass` and `polemass_length` as they are, as in the library",
            fix="give all three of them",
        )
