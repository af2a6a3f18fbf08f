"""A player's network that reads sizes and download times and computes the throughputs itself."""

from __future__ import annotations

import numpy as np

from surefoot.problem.network import (
    Combine,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    freeze_indices,
    shift_node_sources,
)

HISTORY = 8
FRONT = 5  # the value that holds bitrate, buffer, throughputs and times


def divide_by_download_time(network: Network) -> Network:
    """The same network with size / time in the place of each throughput.

    Inputs 2 to 9 are then the sizes of the last eight chunks, in the unit that fits the times of inputs 10 to
    17; all others are as before.
    """
    sizes, times = np.arange(2, 2 + HISTORY), np.arange(2 + HISTORY, 2 + 2 * HISTORY)
    front: tuple[Node, ...] = (
        Pick(0, freeze_indices([0, 1])),
        Pick(0, freeze_indices(sizes)),
        Pick(0, freeze_indices(times)),
        Combine(2, 3, Pairing.DIVIDE),
        Join((1, 4, 3)),
    )
    rest = Pick(0, freeze_indices(np.arange(2 + 2 * HISTORY, network.width)))
    nodes = (
        *front,
        rest,
        Join((FRONT, FRONT + 1)),
        *(shift_node_sources(n, FRONT + 2) for n in network.nodes),
    )
    return Network(network.width, nodes, f"{network.name} reading downloads", network.notes)
