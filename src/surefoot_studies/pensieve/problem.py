"""Pensieve, the adaptive video streamer (whiRL 1.0; whiRL 2.0, section VI.B): all questions by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.pensieve.decision import (
    BITRATES,
    FASTER_THAN_PLAYBACK,
    SLOW,
    excellent_conditions,
    poor_conditions,
    poor_network,
)
from surefoot_studies.pensieve.streaming import leaves_best, reaches_best

QUESTIONS: dict[str, Callable[..., api.Problem]] = {
    "excellent-conditions-equal": excellent_conditions,
    "excellent-conditions-independent": partial(excellent_conditions, independent=True),
    "faster-than-playback-equal": partial(excellent_conditions, seconds=FASTER_THAN_PLAYBACK),
    "faster-than-playback-independent": partial(
        excellent_conditions, independent=True, seconds=FASTER_THAN_PLAYBACK
    ),
    "poor-conditions-equal": poor_conditions,
    "poor-conditions-independent": partial(poor_conditions, independent=True),
    "poor-conditions-after-best-equal": partial(poor_conditions, last=len(BITRATES) - 1),
    "poor-conditions-after-best-independent": partial(
        poor_conditions, independent=True, last=len(BITRATES) - 1
    ),
    "poor-network": poor_network,
    "leaves-best": leaves_best,
    "leaves-best-from-4-s": partial(leaves_best, seconds=SLOW),
    "reaches-best": reaches_best,
}
POLICY = "pensieve-32x16"


def _shipped_problem(question: str) -> api.Problem:
    """A question about the shipped policy."""
    return QUESTIONS[question](shipped_network("pensieve", POLICY))


PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    f"{question}/{POLICY}": partial(_shipped_problem, question) for question in QUESTIONS
}
NEEDS_NETWORK: dict[str, Callable[..., api.Problem]] = QUESTIONS
