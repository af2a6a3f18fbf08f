"""Pensieve, the adaptive video streamer: property 2 of whiRL 2.0 (section VI.B and appendix A)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Real, Variable
from surefoot.problem.names import output_name
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.term import Term, Var, conjunction, term

HISTORY = 8
BITRATES = (300, 750, 1200, 1850, 2850, 4300)  # kilobits per second
CHUNK_SECONDS = 4
BUFFER_SECONDS = 4
DOWNLOAD_SECONDS = tuple(Fraction(tenths, 10) for tenths in range(40, 151))
ACTIONS = tuple(f"quality{i}" for i in range(len(BITRATES)))


def megabytes(bitrate: int) -> Fraction:
    """The size of a chunk at this bitrate, had every second the same size."""
    return Fraction(bitrate * CHUNK_SECONDS, 8 * 1000)


def policy(network: Network, download: Fraction) -> NeuralPolicy:
    """The observation after eight equally slow downloads, for either published layout of the inputs.

    24 inputs: last bitrate, buffer, 8 throughputs, 8 download times, 6 chunk sizes. 48 inputs: the 6 x 8
    matrix with the newest column last, whose last row holds the remaining chunks.
    """
    bitrate, buffer = term(Fraction(BITRATES[1], BITRATES[-1])), term(Fraction(BUFFER_SECONDS, 10))
    throughput, delay = term(megabytes(BITRATES[1]) / download), term(download / 10)
    sizes = tuple(term(megabytes(b)) for b in BITRATES)
    if network.width == 24:
        observe: tuple[Term, ...] = (bitrate, buffer, *[throughput] * HISTORY, *[delay] * HISTORY, *sizes)
    else:
        padding = [term(0)] * (HISTORY - 1)
        rows = (*padding, bitrate), (*padding, buffer), (throughput,) * HISTORY, (delay,) * HISTORY
        observe = tuple(cell for row in rows for cell in row)
        observe = (*observe, *sizes, term(0), term(0), *padding, Var("remaining"))
    return NeuralPolicy(network, observe, ACTIONS, Choose.SAMPLE)


def poor_network(network: Network, download: Fraction = DOWNLOAD_SECONDS[0]) -> Problem:
    """P2: after eight slow downloads with a short buffer, the best quality is not the likeliest choice."""
    outputs = tuple(Var(output_name(i)) for i in range(len(BITRATES)))
    best_is_likeliest = conjunction(tuple(outputs[-1] >= other for other in outputs[:-1]))
    edges = tuple(Edge(action=a, outcomes=(Outcome(),)) for a in ACTIONS)
    environment = Environment(
        name="pensieve",
        variables=(Variable("remaining", Real(Fraction(0), Fraction(1))),),
        initial=(Var("remaining") >= 0) & (Var("remaining") <= 1),
        components=(Component("player", edges),),
        notes=("chunk sizes are bitrate times 4 s; the papers do not give theirs",),
    )
    return Problem(
        f"pensieve/poor-network-{download}",
        environment,
        policy(network, download),
        Never(best_is_likeliest, 0),
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {}
NEEDS_NETWORK: dict[str, Callable[..., Problem]] = {"poor-network": poor_network}
