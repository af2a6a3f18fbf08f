"""Questions about every driver on our three tracks: trained, hand-made, random, and the best there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.racetrack.model import ACCELERATIONS, SLIP, X, racetrack_environment
from surefoot_studies.racetrack.policies import racetrack_policy, reactive_policy
from surefoot_studies.racetrack.track import Track, shipped_track

CRASHED, FINISHED = (
    api.Var(api.location_name("car", "crashed")),
    api.Var(api.location_name("car", "finished")),
)
QUESTIONS = {
    "crash": api.Probability(api.Path("F", CRASHED), over="values"),
    "goal": api.Probability(api.Path("U", FINISHED, ~CRASHED), over="values"),
}
EARLIER, LATER = 65_003, 75_003  # episodes of the two checkpoints of `driver-big` that are shipped


def driver_question(question: str, track: str, who: str) -> Callable[..., api.Problem]:
    """`question` (crash or goal) about a driver, for every start on the track at velocity 0.

    `who`: the name of a shipped network, `by-hand`, `random` or `best`.
    """

    def build(noise: Fraction = SLIP) -> api.Problem:
        where = shipped_track(track)
        asked = QUESTIONS[question]
        if who == "best":
            asked = replace(asked, optimise="max" if question == "goal" else "min")
        name = f"racetrack/{question}/{track}/{who}"
        return api.Problem(
            name, racetrack_environment(where, noise, anywhere=True), _driver_policy(who, where), asked
        )

    return build


def _driver_policy(who: str, track: Track) -> api.AnyPolicy | None:
    """None: whoever decides best."""
    match who:
        case "best":
            return None
        case "by-hand":
            return reactive_policy(track)
        case "random":
            return random_policy()
        case network:
            return racetrack_policy(shipped_network("racetrack", network), track)


def random_policy() -> api.NeuralPolicy:
    """Every acceleration is as likely as any other: a network without preferences, drawn from."""
    return api.NeuralPolicy(
        _uniform_network(), (X,), api.EdgesOf("car", tuple(range(len(ACCELERATIONS)))), api.Choose.SAMPLE
    )


@cache
def _uniform_network() -> api.Network:
    import numpy as np

    return api.dense_network([(np.zeros((len(ACCELERATIONS), 1)), np.zeros(len(ACCELERATIONS)))])


def _drivers_of_track(track: str) -> dict[str, str]:
    """The drivers of a track: what a problem is called, and who it is."""
    found = {"": f"driver-{track}", "-by-hand": "by-hand", "-random": "random", "-best": "best"}
    if track == "big":
        found |= {f"-after-{n}": f"driver-big-after-{n}" for n in (EARLIER, LATER)}
    if track == "ring":
        found["-line"] = "driver-ring-line"
    return found


DRIVEN: dict[str, Callable[..., api.Problem]] = {
    f"{question}/{track}{end}": driver_question(question, track, who)
    for question in QUESTIONS
    for track in ("small", "big", "ring")
    for end, who in _drivers_of_track(track).items()
}
