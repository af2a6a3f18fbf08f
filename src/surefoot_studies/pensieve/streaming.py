"""Pensieve over many chunks: each download becomes part of the history that the next decision reads.

The state is the history: sizes and times of the last eight downloads, the last bitrate, the buffer. The
network divides sizes by times itself (`throughput.py`), so that a step is linear although throughputs are
quotients. The environment chooses each download time and each buffer within bounds: more than a real player
can do, where the next buffer follows from the download time.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot.problem.environment import Choice, Component, Edge, Environment, Law, Outcome, Update, Variable
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property, Recurs
from surefoot.problem.window import window
from surefoot.term.term import TRUE, Term, Var, conjunction_of, term_from_python
from surefoot.term.value_types import Real
from surefoot_studies.pensieve.decision import (
    ACTIONS,
    BITRATES,
    BUFFER,
    BUFFER_SECONDS,
    FAST,
    LARGE_BUFFER,
    OUTPUTS,
    REMAINING,
    SIZES,
    UNIT,
    chunk_megabytes,
    likeliest_condition,
)
from surefoot_studies.pensieve.throughput import HISTORY, divide_by_download_time

BITRATE = Var("bitrate")
BEST = (len(BITRATES) - 1,)
SLOWER_THAN_PLAYBACK = (Fraction(6), Fraction(15))  # seconds per download


def leaves_best(network: Network, seconds: tuple[Fraction, Fraction] = SLOWER_THAN_PLAYBACK) -> Problem:
    """P2 over whole runs: while downloads are slow, other qualities than the best are chosen now and then.

    From any history whatever: also one of eight chunks at the best quality. The buffer stays at 4 s, as it
    does if every download takes longer than that.
    """
    buffer = (Fraction(BUFFER_SECONDS), Fraction(BUFFER_SECONDS))
    return _streaming_problem("leaves-best", network, seconds, buffer, Recurs(~likeliest_condition(BEST)))


def reaches_best(network: Network, seconds: tuple[Fraction, Fraction] = FAST) -> Problem:
    """P1 over whole runs: while downloads are fast and the buffer is large, the best quality is reached.

    It must then be the likeliest choice alone: a tie does not count.
    """
    alone = conjunction_of(tuple(OUTPUTS[-1] > other for other in OUTPUTS[:-1]))
    return _streaming_problem("reaches-best", network, seconds, LARGE_BUFFER, Recurs(alone))


def _streaming_problem(
    name: str,
    network: Network,
    seconds: tuple[Fraction, Fraction],
    buffer: tuple[Fraction, Fraction],
    asked: Property,
) -> Problem:
    free: dict[str, tuple[Fraction, Fraction]] = {
        "download": (seconds[0] / 10, seconds[1] / 10),
        "buffer": (buffer[0] / 10, buffer[1] / 10),
        "remaining": (Fraction(0), Fraction(1)),
    }
    sizes = window(
        "size", HISTORY, Real(chunk_megabytes(BITRATES[0]) / 10, chunk_megabytes(BITRATES[-1]) / 10)
    )
    times = window("download", HISTORY, Real(*free["download"]))
    chosen = tuple(Choice(f"new_{n}", Real(*ends), Law("uniform", ends)) for n, ends in free.items())

    def edge(action: str, bitrate: int) -> Edge:
        updates = (
            *sizes.shift(term_from_python(chunk_megabytes(bitrate) / 10)),
            *times.shift(Var("new_download")),
            Update(BITRATE, term_from_python(Fraction(bitrate, BITRATES[-1]))),
            Update(BUFFER, Var("new_buffer")),
            Update(REMAINING, Var("new_remaining")),
        )
        return Edge(action=action, chosen=chosen, outcomes=(Outcome(updates=updates),))

    where = Environment(
        name="pensieve",
        variables=(
            *sizes.variables,
            *times.variables,
            Variable("bitrate", Real(Fraction(BITRATES[0], BITRATES[-1]), Fraction(1))),
            Variable("buffer", Real(*free["buffer"])),
            Variable("remaining", UNIT),
        ),
        initial=TRUE,
        components=(Component("player", tuple(map(edge, ACTIONS, BITRATES))),),
        overapproximate=True,
        notes=(
            f"every download takes [{seconds[0]}, {seconds[1]}] s, the buffer [{buffer[0]}, {buffer[1]}] s",
            "download times and buffer in units of 10 s; chunk sizes are bitrate times 4 s",
            "any buffer in its bounds and any number of remaining chunks may come next",
        ),
    )
    observe: tuple[Term, ...] = (BITRATE, BUFFER, *sizes.terms, *times.terms, *SIZES, REMAINING)
    who = NeuralPolicy(
        divide_by_download_time(network),
        observe,
        ACTIONS,
        Choose.ARGMAX,
        ("throughput = size / download time",),
    )
    return Problem(f"pensieve/{name}", where, who, asked)
