"""Acrobot: two links that hang from a joint and are swung up by a torque between them (Sutton, 1996).

One step is one step of Runge and Kutta's fourth order, in doubles and in the order written here. As one term
it would have millions of operations; so what it computes in between is written into variables, one after the
other, which are 0 again at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi
from typing import Any

from surefoot.formats.gymnasium.episode import SINES, build_environment, uniform_start
from surefoot.formats.gymnasium.float32_bounds import nearest_float32
from surefoot.formats.gymnasium.gym_model import (
    GymArgument,
    GymModel,
    episode_values,
    nearest_constant,
    shortest_decimal,
    success_properties,
)
from surefoot.problem.environment import Choice, Edge, Law, Outcome, Update, Variable
from surefoot.term.term import Apply, Const, Op, Term, Var, ite
from surefoot.term.value_types import Real

ACTIONS = ("clockwise", "none", "counterclockwise")
TORQUES = (-1.0, 0.0, 1.0)
STATE = ("theta1", "theta2", "theta1_dot", "theta2_dot")
MIDDLE = tuple(f"mid_{name}" for name in STATE)  # where the slopes are looked at next
TOTAL = tuple(f"sum_{name}" for name in STATE)  # the slopes so far, weighed
BETWEEN = (*MIDDLE, *TOTAL, "turn1", "turn2")
_TURN1, _TURN2 = Var("turn1"), Var("turn2")  # the accelerations
ARGUMENTS = {
    "book_or_nips": GymArgument("book", known=("book", "nips")),
    "torque_noise_max": GymArgument(0.0),
    "dt": GymArgument(0.2, positive=True),
    "LINK_LENGTH_1": GymArgument(1.0, positive=True),
    "LINK_MASS_1": GymArgument(1.0, positive=True),
    "LINK_MASS_2": GymArgument(1.0, positive=True),
    "LINK_COM_POS_1": GymArgument(0.5, positive=True),
    "LINK_COM_POS_2": GymArgument(0.5, positive=True),
    "LINK_MOI": GymArgument(1.0, positive=True),
    "MAX_VEL_1": GymArgument(4 * pi, positive=True),
    "MAX_VEL_2": GymArgument(9 * pi, positive=True),
    "low": GymArgument(-0.1, live=False),
    "high": GymArgument(0.1, live=False),
}
_GRAVITY = 9.8
_TURNS = 6  # so often an angle is brought back; where that is not enough the model has no next state


@dataclass(frozen=True, slots=True)
class _Links:
    """The numbers of a step, each computed as the library computes it."""

    book: bool
    fixed1: Const  # m1 * lc1**2
    squares: Const  # l1**2 + lc2**2
    mass2: Const
    arm: Const  # 2 * l1 * lc2
    inertia: Const
    square2: Const  # lc2**2
    lever: Const  # l1 * lc2
    weight2: Const  # m2 * lc2 * g
    spin: Const  # m2 * l1 * lc2
    twice_spin: Const  # 2 * m2 * l1 * lc2
    weight1: Const  # (m1 * lc1 + m2 * l1) * g
    reach2: Const  # m2 * lc2**2 + I2


def build_acrobot(name: str, values: Mapping[str, Any], counted: bool) -> GymModel:
    limit, noise = values["max_episode_steps"], Fraction(values["torque_noise_max"])
    theta1, theta2 = Var("theta1"), Var("theta2")
    over = -Apply(Op.COS, (theta1,)) - Apply(Op.COS, (theta2 + theta1,)) > 1
    links = _read_links(values)
    chosen = (Choice("noise", Real(-noise, noise), Law("uniform", (-noise, noise))),) if noise else ()
    edges = []
    for action, torque in zip(ACTIONS, TORQUES, strict=True):
        push: Term = nearest_constant(torque)
        updates = _write_step(push + Var("noise") if noise else push, links, values)
        edges.append(Edge(action=action, chosen=chosen, outcomes=(Outcome(updates=updates),)))
    angle = shortest_decimal(pi)
    reset = uniform_start(nearest_float32(values["low"]), nearest_float32(values["high"]))
    speeds = [shortest_decimal(values[key]) for key in ("MAX_VEL_1", "MAX_VEL_2")]
    kinds = [Real(-angle, angle)] * 2 + [Real(-speed, speed) for speed in speeds]
    kinds += [Real()] * len(BETWEEN)
    environment = build_environment(
        name,
        [Variable(variable, kind) for variable, kind in zip((*STATE, *BETWEEN), kinds, strict=True)],
        dict.fromkeys(STATE, reset) | dict.fromkeys(BETWEEN, Const(0)),
        edges,
        over=over,
        limit=limit,
        counted=counted,
    )
    cosines = [Apply(op, (angle,)) for angle in (theta1, theta2) for op in (Op.COS, Op.SIN)]
    return GymModel(
        environment,
        (*cosines, Var("theta1_dot"), Var("theta2_dot")),
        ACTIONS,
        success_properties(over, limit) | {"steps": episode_values(over, limit)["steps"]},
        absent={
            "safe": "an episode terminates only where the tip is high enough",
            "return": "it is 1 less than the steps of an episode that arrives, negated; ask for these",
        },
        rewards_after=ite(over, Const(0), Const(-1)),
        limit=limit,
        terminates=over,
        facts=("starts are all numbers in their box; the library starts at float32 numbers in it", SINES),
    )


def _read_links(values: Mapping[str, Any]) -> _Links:
    """Products and sums of constants in the library's order, each rounded once."""
    m1, m2, l1, inertia = (
        float(values[key]) for key in ("LINK_MASS_1", "LINK_MASS_2", "LINK_LENGTH_1", "LINK_MOI")
    )
    lc1, lc2 = (float(values[f"LINK_COM_POS_{number}"]) for number in (1, 2))
    numbers = (
        m1 * lc1**2,
        l1**2 + lc2**2,
        m2,
        2 * l1 * lc2,
        inertia,
        lc2**2,
        l1 * lc2,
        m2 * lc2 * _GRAVITY,
        m2 * l1 * lc2,
        2 * m2 * l1 * lc2,
        (m1 * lc1 + m2 * l1) * _GRAVITY,
        m2 * lc2**2 + inertia,
    )
    return _Links(values["book_or_nips"] == "book", *map(nearest_constant, numbers))


def _write_step(torque: Term, links: _Links, values: Mapping[str, Any]) -> tuple[Update, ...]:
    """Runge and Kutta's step; then angles are wrapped and speeds are clipped."""
    step, found = values["dt"], list[Update]()
    state, middle, total = ([*map(Var, names)] for names in (STATE, MIDDLE, TOTAL))
    seen: Sequence[Var] = state
    for number, ahead in enumerate((step / 2.0, step / 2.0, step, None)):
        _write(found, {_TURN2: _second_turn(seen, torque, links)})
        _write(found, {_TURN1: _first_turn(seen, links)})
        slopes: list[Term] = [*seen[2:], _TURN1, _TURN2]
        weighed: list[Term] = slopes if number in (0, 3) else [2 * slope for slope in slopes]
        sums: list[Term] = weighed if number == 0 else [a + b for a, b in zip(total, weighed, strict=True)]
        if ahead is None:
            _write(found, dict(zip(state, _advance_links(state, step / 6.0, sums), strict=True)))
        else:
            moved = _advance_links(state, ahead, slopes)
            _write(found, dict(zip([*total, *middle], [*sums, *moved], strict=True)))
        seen = middle
    half, whole = nearest_constant(pi), nearest_constant(2 * pi)
    for _ in range(_TURNS):
        _write(found, {angle: ite(angle > half, angle - whole, angle) for angle in state[:2]})
    for _ in range(_TURNS):
        _write(found, {angle: ite(angle < Const(-half.value), angle + whole, angle) for angle in state[:2]})
    limits = [nearest_constant(values[key]) for key in ("MAX_VEL_1", "MAX_VEL_2")]
    clipped: dict[Var, Term] = {
        speed: Apply(Op.MIN, (Apply(Op.MAX, (speed, Const(-most.value))), most))
        for speed, most in zip(state[2:], limits, strict=True)
    }
    _write(found, clipped | dict.fromkeys((*middle, *total, _TURN1, _TURN2), nearest_constant(0.0)))
    return tuple(found)


def _write(found: list[Update], values: Mapping[Var, Term]) -> None:
    """All at once, after what is written before."""
    index = found[-1].index + 1 if found else 0
    found.extend(Update(variable, value, index) for variable, value in values.items())


def _advance_links(start: Sequence[Term], by: float, slopes: Sequence[Term]) -> list[Term]:
    return [value + nearest_constant(by) * slope for value, slope in zip(start, slopes, strict=True)]


def _second_turn(state: Sequence[Term], torque: Term, links: _Links) -> Term:
    """The acceleration of the outer link, by the book's equations (those of the paper leave out a term)."""
    _, theta2, speed1, _ = state
    d1, d2, phi1, phi2 = _coefficients(state, links)
    pushed = torque + d2 / d1 * phi1
    if links.book:
        pushed = pushed - links.spin * speed1**2 * Apply(Op.SIN, (theta2,))
    return (pushed - phi2) / (links.reach2 - d2**2 / d1)


def _first_turn(state: Sequence[Term], links: _Links) -> Term:
    """The acceleration of the inner link, from that of the outer one."""
    d1, d2, phi1, _ = _coefficients(state, links)
    return -(d2 * _TURN2 + phi1) / d1


def _coefficients(state: Sequence[Term], links: _Links) -> tuple[Term, Term, Term, Term]:
    """d1, d2, phi1 and phi2 of the equations."""
    theta1, theta2, speed1, speed2 = state
    quarter = nearest_constant(pi / 2.0)
    cosine, sine = Apply(Op.COS, (theta2,)), Apply(Op.SIN, (theta2,))
    d1 = links.fixed1 + links.mass2 * (links.squares + links.arm * cosine) + links.inertia + links.inertia
    d2 = links.mass2 * (links.square2 + links.lever * cosine) + links.inertia
    phi2 = links.weight2 * Apply(Op.COS, (theta1 + theta2 - quarter,))
    phi1 = (
        Const(-links.spin.value) * speed2**2 * sine
        - links.twice_spin * speed2 * speed1 * sine
        + links.weight1 * Apply(Op.COS, (theta1 - quarter,))
        + phi2
    )
    return d1, d2, phi1, phi2
