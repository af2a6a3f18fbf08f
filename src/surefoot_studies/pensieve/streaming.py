"""Pensieve over many chunks: each download becomes part of the history that the next decision reads.

The state is the history: sizes and times of the last eight downloads, the last bitrate, the buffer. The
network divides sizes by times itself (`throughput.py`), so that a step is linear although throughputs are
quotients. The environment chooses each download time and each buffer within bounds: more than a real player
can do, where the next buffer follows from the download time.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot import api
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

BITRATE = api.Var("bitrate")
BEST = (len(BITRATES) - 1,)
SLOWER_THAN_PLAYBACK = (Fraction(6), Fraction(15))  # seconds per download


def leaves_best(
    network: api.Network, seconds: tuple[Fraction, Fraction] = SLOWER_THAN_PLAYBACK
) -> api.Problem:
    """P2 over whole runs: while downloads are slow, other qualities than the best are chosen now and then.

    From any history whatever: also one of eight chunks at the best quality. The buffer stays at 4 s, as it
    does if every download takes longer than that.
    """
    buffer = (Fraction(BUFFER_SECONDS), Fraction(BUFFER_SECONDS))
    return _streaming_problem("leaves-best", network, seconds, buffer, api.Recurs(~likeliest_condition(BEST)))


def reaches_best(network: api.Network, seconds: tuple[Fraction, Fraction] = FAST) -> api.Problem:
    """P1 over whole runs: while downloads are fast and the buffer is large, the best quality is reached.

    It must then be the likeliest choice alone: a tie does not count.
    """
    alone = api.conjunction_of(tuple(OUTPUTS[-1] > other for other in OUTPUTS[:-1]))
    return _streaming_problem("reaches-best", network, seconds, LARGE_BUFFER, api.Recurs(alone))


def _streaming_problem(
    name: str,
    network: api.Network,
    seconds: tuple[Fraction, Fraction],
    buffer: tuple[Fraction, Fraction],
    asked: api.Property,
) -> api.Problem:
    free: dict[str, tuple[Fraction, Fraction]] = {
        "download": (seconds[0] / 10, seconds[1] / 10),
        "buffer": (buffer[0] / 10, buffer[1] / 10),
        "remaining": (Fraction(0), Fraction(1)),
    }
    sizes = api.window(
        "size", HISTORY, api.Real(chunk_megabytes(BITRATES[0]) / 10, chunk_megabytes(BITRATES[-1]) / 10)
    )
    times = api.window("download", HISTORY, api.Real(*free["download"]))
    chosen = tuple(
        api.Choice(f"new_{n}", api.Real(*ends), api.Law("uniform", ends)) for n, ends in free.items()
    )

    def edge(action: str, bitrate: int) -> api.Edge:
        updates = (
            *sizes.shift(api.term_from_python(chunk_megabytes(bitrate) / 10)),
            *times.shift(api.Var("new_download")),
            api.Update(BITRATE, api.term_from_python(Fraction(bitrate, BITRATES[-1]))),
            api.Update(BUFFER, api.Var("new_buffer")),
            api.Update(REMAINING, api.Var("new_remaining")),
        )
        return api.Edge(action=action, chosen=chosen, outcomes=(api.Outcome(updates=updates),))

    where = api.EnvironmentData(
        name="pensieve",
        variables=(
            *sizes.variables,
            *times.variables,
            api.Variable("bitrate", api.Real(Fraction(BITRATES[0], BITRATES[-1]), Fraction(1))),
            api.Variable("buffer", api.Real(*free["buffer"])),
            api.Variable("remaining", UNIT),
        ),
        initial=api.TRUE,
        components=(api.Component("player", tuple(map(edge, ACTIONS, BITRATES))),),
        overapproximate=True,
        notes=(
            f"every download takes [{seconds[0]}, {seconds[1]}] s, the buffer [{buffer[0]}, {buffer[1]}] s",
            "download times and buffer in units of 10 s; chunk sizes are bitrate times 4 s",
            "any buffer in its bounds and any number of remaining chunks may come next",
        ),
    )
    observe: tuple[api.Term, ...] = (BITRATE, BUFFER, *sizes.terms, *times.terms, *SIZES, REMAINING)
    who = api.NeuralPolicy(
        divide_by_download_time(network),
        observe,
        ACTIONS,
        api.Choose.ARGMAX,
        ("throughput = size / download time",),
    )
    return api.Problem(f"pensieve/{name}", where, who, asked)
