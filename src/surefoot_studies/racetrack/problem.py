"""Racetrack: the questions of Deep Statistical Model Checking and of policy predicate abstraction."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from surefoot import api
from surefoot_studies.racetrack.drivers import CRASHED, DRIVEN, FINISHED
from surefoot_studies.racetrack.end_cell import WIDTHS, end_cell_problem
from surefoot_studies.racetrack.model import SLIP, racetrack_environment
from surefoot_studies.racetrack.policies import careful_policy
from surefoot_studies.racetrack.track import Track, shipped_track


def bend_track() -> Track:
    """The small track that comes with this study."""
    return shipped_track("bend")


def crash_probability() -> api.Probability:
    """How likely is a crash: F crashed."""
    return api.Probability(api.Path("F", CRASHED))


def goal_probability() -> api.Probability:
    """How likely is the goal: not crashed until finished."""
    return api.Probability(api.Path("U", FINISHED, ~CRASHED))


def decisions_to_goal() -> api.Expected:
    """How many decisions does it take on average."""
    return api.Expected("decisions", FINISHED)


def never_crashes() -> api.Never:
    """The safety property of policy predicate abstraction: not crashing."""
    return api.Never(CRASHED)


def never_stalls() -> api.Never:
    """No inapplicable choice (definition 4): the accelerations have no guard, so none is possible."""
    return api.Never(api.Var(api.STALLED))


def racetrack_problem(
    asked: api.Property,
    policy: api.AnyPolicy | None = None,
    track: Track | None = None,
    slip: Fraction = SLIP,
    anywhere: bool = False,
) -> api.Problem:
    """A question about a policy on a track (default: the careful controller on our small track)."""
    where = track or bend_track()
    who = policy or careful_policy(where)
    return api.Problem(
        f"racetrack/{where.name}", racetrack_environment(where, slip, anywhere=anywhere), who, asked
    )


PROBLEMS: dict[str, Callable[..., api.Problem]] = {
    "crash-probability": lambda: racetrack_problem(crash_probability()),
    "goal-probability": lambda: racetrack_problem(goal_probability()),
    "goal-probability-slippery": lambda: racetrack_problem(goal_probability(), slip=Fraction(1, 2)),
    "decisions-to-goal": lambda: racetrack_problem(decisions_to_goal()),
    "never-crashes": lambda: racetrack_problem(never_crashes(), slip=Fraction(0)),
    "never-stalls": lambda: racetrack_problem(never_stalls()),
    **DRIVEN,
    **{f"end-cell/{width}": partial(end_cell_problem, width) for width in WIDTHS},
}
