"""The inverted pendulum of the shield paper (Zhu et al., PLDI 2019, section 2 and Figure 1)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import radians

from surefoot import api

STEP = Fraction(1, 100)  # seconds
MASS, LENGTH, GRAVITY = Fraction(1), Fraction(1), Fraction(10)
START_DEGREES, SAFE_DEGREES, STRICT_DEGREES, CASE_DEGREES = 20, 90, 30, 23
GAIN = (Fraction("-12.05"), Fraction("-5.87"))  # the paper's program: -12.05*eta - 5.87*omega
STRONGEST_ACTION = Fraction(15)
WEAK_START_DEGREES = 3  # with an action within 1 nobody holds what leans by 6 degrees or more
ETA, OMEGA = api.Var("eta"), api.Var("omega")


def exact_radians(degrees: float) -> Fraction:
    """The float64 number of radians, exactly."""
    return Fraction(radians(degrees))


def _pendulum_environment(
    disturbance: Fraction = Fraction(0),
    strongest_action: Fraction | None = STRONGEST_ACTION,
    start_degrees: float = START_DEGREES,
) -> api.EnvironmentData:
    """d(eta)/dt = omega, d(omega)/dt = g/l*(eta - eta^3/6) + a/(m*l^2) + gust, by Euler steps of 0.01 s.

    The action is clipped; the gust is any number within the disturbance, new in every step.
    """
    acceleration: api.Term = GRAVITY / LENGTH * (ETA - ETA**3 / 6) + api.Var("a") / (MASS * LENGTH**2)
    gust = api.Choice(
        "gust", api.Real(-disturbance, disturbance), api.Law("uniform", (-disturbance, disturbance))
    )
    start = exact_radians(start_degrees)
    return api.EnvironmentData(
        name="pendulum",
        variables=(api.Variable("eta", api.Real()), api.Variable("omega", api.Real())),
        initial=api.conjunction_of(tuple((v >= -start) & (v <= start) for v in (ETA, OMEGA))),
        components=(api.Component("plant", (api.Edge(chosen=(gust,) if disturbance else ()),)),),
        controls=(
            api.Control("a", -strongest_action, strongest_action)
            if strongest_action is not None
            else api.Control("a", clipped=False),
        ),
        arithmetic=api.Arithmetic.FLOAT64,
        flow=api.Flow(
            (("eta", OMEGA), ("omega", acceleration + api.Var("gust") if disturbance else acceleration)), STEP
        ),
    )


def stays_upright(
    policy: api.AnyPolicy | None = None,
    degrees: float = SAFE_DEGREES,
    disturbance: Fraction = Fraction(0),
    strongest_action: Fraction | None = STRONGEST_ACTION,
    velocity_degrees: float | None = None,
    start_degrees: float = START_DEGREES,
) -> api.Problem:
    """Angle and angular velocity stay within so many degrees (the paper: 90, and 30 for a Segway).

    `velocity_degrees`: another limit for the velocity; the paper does not say which one its case study within
    23 degrees has.
    """
    limits = exact_radians(degrees), exact_radians(degrees if velocity_degrees is None else velocity_degrees)
    inside = api.conjunction_of(tuple((v > -m) & (v < m) for v, m in zip((ETA, OMEGA), limits, strict=True)))
    return api.Problem(
        f"pendulum/within-{degrees}-degrees",
        _pendulum_environment(disturbance, strongest_action, start_degrees),
        policy or linear_policy(),
        api.Never(~inside),
    )


def linear_policy(gain: tuple[Fraction, Fraction] = GAIN) -> api.ProgramPolicy:
    """A program of one branch: gain[0]*eta + gain[1]*omega."""
    return api.ProgramPolicy((api.Branch(api.TRUE, (gain[0] * ETA + gain[1] * OMEGA,)),))


def pendulum_policy(network: api.Network) -> api.NeuralPolicy:
    """A network from (eta, omega) to the action."""
    return api.NeuralPolicy(network, (ETA, OMEGA), choose=api.Choose.VALUE)


PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    "within-90-degrees": stays_upright,
    "within-30-degrees": lambda: stays_upright(degrees=STRICT_DEGREES),
    "within-23-degrees": lambda: stays_upright(degrees=CASE_DEGREES, velocity_degrees=SAFE_DEGREES),
    "within-90-degrees-weak": lambda: stays_upright(
        strongest_action=Fraction(1), start_degrees=WEAK_START_DEGREES
    ),
    "within-90-degrees-disturbed": lambda: stays_upright(disturbance=Fraction(1, 10)),
}
NEEDS_NETWORK: dict[str, Callable[..., api.Problem]] = {
    "network-within-90-degrees": lambda network: stays_upright(pendulum_policy(network)),
    "network-within-30-degrees": lambda network: stays_upright(pendulum_policy(network), STRICT_DEGREES),
    "network-within-23-degrees": lambda network: stays_upright(
        pendulum_policy(network), CASE_DEGREES, velocity_degrees=SAFE_DEGREES
    ),
}
