"""Questions about one decision of Pensieve (whiRL 1.0; whiRL 2.0, section VI.B and appendix A).

The papers ask about one download time after the other (4.0, 4.1, …, 15.0 s). `poor_network` does so too. The
other questions are about all download times of a range at once: the throughput that the network reads is then
a quotient, size / time, of which the time is not known. The division becomes part of the network
(`reading_downloads`), as float32 arithmetic like the rest.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot import api
from surefoot_studies.pensieve.throughput import HISTORY, divide_by_download_time

BITRATES = (300, 750, 1200, 1850, 2850, 4300)  # kilobits per second
CHUNK_SECONDS = 4
BUFFER_SECONDS = 4
DOWNLOAD_SECONDS = tuple(Fraction(tenths, 10) for tenths in range(40, 151))
SLOW = (Fraction(4), Fraction(15))  # seconds per download, when the network is poor
FAST = (Fraction(1, 2), Fraction(1))  # … when it is excellent
FASTER_THAN_PLAYBACK = (Fraction(1, 2), Fraction(CHUNK_SECONDS))  # … and when it is good enough
LARGE_BUFFER = (Fraction(20), Fraction(60))  # seconds
UNIT = api.Real(Fraction(0), Fraction(1))
ACTIONS = tuple(f"quality{i}" for i in range(len(BITRATES)))
OUTPUTS = tuple(api.Var(api.network_output_name(i)) for i in range(len(BITRATES)))
REMAINING, BUFFER = api.Var("remaining"), api.Var("buffer")


def chunk_megabytes(bitrate: int) -> Fraction:
    """The size of a chunk at this bitrate, had every second the same size."""
    return Fraction(bitrate * CHUNK_SECONDS, 8 * 1000)


SIZES = tuple(api.term_from_python(chunk_megabytes(b)) for b in BITRATES)


def _pensieve_policy(network: api.Network, download: Fraction) -> api.NeuralPolicy:
    """The observation after eight equally slow downloads, for any of three layouts of the inputs.

    24 inputs: last bitrate, buffer, 8 throughputs, 8 download times, 6 chunk sizes. 25: also the remaining
    chunks. 48: the 6 x 8 matrix with the newest column last, whose last row holds the remaining chunks.
    """
    bitrate, buffer = (
        api.term_from_python(Fraction(BITRATES[1], BITRATES[-1])),
        api.term_from_python(Fraction(BUFFER_SECONDS, 10)),
    )
    throughput, delay = (
        api.term_from_python(chunk_megabytes(BITRATES[1]) / download),
        api.term_from_python(download / 10),
    )
    observe: tuple[api.Term, ...]
    if network.width in (24, 25):
        observe = (bitrate, buffer, *[throughput] * HISTORY, *[delay] * HISTORY, *SIZES)
        observe += (REMAINING,) * (network.width - 24)
    else:
        padding = [api.term_from_python(0)] * (HISTORY - 1)
        rows = (*padding, bitrate), (*padding, buffer), (throughput,) * HISTORY, (delay,) * HISTORY
        observe = tuple(cell for row in rows for cell in row)
        observe = (*observe, *SIZES, api.term_from_python(0), api.term_from_python(0), *padding, REMAINING)
    return api.NeuralPolicy(network, observe, ACTIONS, api.Choose.SAMPLE)


def _snapshot_environment(*more: api.Variable, notes: tuple[str, ...] = ()) -> api.EnvironmentData:
    """Nothing ever happens: the questions are about one decision."""
    sizes = "chunk sizes are bitrate times 4 s; the papers do not give theirs"
    return api.EnvironmentData(
        name="pensieve",
        variables=(api.Variable("remaining", UNIT), *more),
        initial=api.TRUE,
        components=(
            api.Component("player", tuple(api.Edge(action=a, outcomes=(api.Outcome(),)) for a in ACTIONS)),
        ),
        notes=(sizes, *notes),
    )


def likeliest_condition(qualities: tuple[int, ...]) -> api.Term:
    """One of these qualities has the largest output (perhaps not alone)."""
    others = [o for i, o in enumerate(OUTPUTS) if i not in qualities]
    return api.disjunction_of(
        tuple(api.conjunction_of(tuple(OUTPUTS[i] >= o for o in others)) for i in qualities)
    )


def poor_network(network: api.Network, download: Fraction = DOWNLOAD_SECONDS[0]) -> api.Problem:
    """P2 at one download time: with a short buffer the best quality is not the likeliest choice."""
    bad = likeliest_condition((len(BITRATES) - 1,))
    return api.Problem(
        f"pensieve/poor-network-{download}",
        _snapshot_environment(),
        _pensieve_policy(network, download),
        api.Never(bad, 0),
    )


def _after_downloads(
    name: str,
    network: api.Network,
    seconds: tuple[Fraction, Fraction],
    buffer: tuple[Fraction, Fraction],
    last: int,
    independent: bool,
    bad: api.Term,
) -> api.Problem:
    """A question about the decision after eight downloads at quality `last`, each with a time in a range."""
    if network.width != 25:
        raise api.InvalidProblem(f"the network has {network.width} inputs; this question needs 25")
    tens = api.Real(seconds[0] / 10, seconds[1] / 10)
    names = [f"download_{i}" for i in range(HISTORY)] if independent else ["download"] * HISTORY
    times = tuple(api.Variable(n, tens) for n in dict.fromkeys(names))
    how = "each download time by itself" if independent else "all download times equal"
    environment = _snapshot_environment(
        api.Variable("buffer", api.Real(buffer[0] / 10, buffer[1] / 10)),
        *times,
        notes=(
            f"download times in [{seconds[0]}, {seconds[1]}] s, {how}, of chunks at {BITRATES[last]} kbit/s",
            f"buffer in [{buffer[0]}, {buffer[1]}] s; times and buffer are variables in units of 10 s",
        ),
    )
    size = api.term_from_python(chunk_megabytes(BITRATES[last]) / 10)
    bitrate = api.term_from_python(Fraction(BITRATES[last], BITRATES[-1]))
    observe = (bitrate, BUFFER, *[size] * HISTORY, *(api.Var(n) for n in names), *SIZES, REMAINING)
    who = api.NeuralPolicy(
        divide_by_download_time(network),
        observe,
        ACTIONS,
        api.Choose.SAMPLE,
        ("throughput = size / download time",),
    )
    kind = "independent" if independent else "equal"
    return api.Problem(f"pensieve/{name}-{kind}", environment, who, api.Never(bad, 0))


def poor_conditions(
    network: api.Network, independent: bool = False, last: int = 1, seconds: tuple[Fraction, Fraction] = SLOW
) -> api.Problem:
    """P2 at all download times at once: after slow downloads, with a buffer of 4 s, not the best quality."""
    buffer = (Fraction(BUFFER_SECONDS), Fraction(BUFFER_SECONDS))
    bad = likeliest_condition((len(BITRATES) - 1,))
    return _after_downloads("poor-conditions", network, seconds, buffer, last, independent, bad)


def excellent_conditions(
    network: api.Network, independent: bool = False, last: int = 1, seconds: tuple[Fraction, Fraction] = FAST
) -> api.Problem:
    """P1: after fast downloads, with a large buffer, a better quality than the last one is the likeliest."""
    bad = likeliest_condition(tuple(range(last + 1)))
    return _after_downloads("excellent-conditions", network, seconds, LARGE_BUFFER, last, independent, bad)
