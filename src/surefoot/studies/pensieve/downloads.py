"""A player's network that reads sizes and download times and computes the throughputs itself."""

from __future__ import annotations

import numpy as np

from surefoot.problem.network import Combine, Join, Network, Node, Pairing, Pick, frozen_indices, renumbered

HISTORY = 8
FRONT = 5  # the value that holds bitrate, buffer, throughputs and times


def reading_downloads(network: Network) -> Network:
    """The same network with size / time in the place of each throughput.

    Inputs 2 to 9 are then the sizes of the last eight chunks, in the unit that fits the times of inputs 10 to
    17; all others are as before.
    """
    sizes, times = np.arange(2, 2 + HISTORY), np.arange(2 + HISTORY, 2 + 2 * HISTORY)
    front: tuple[Node, ...] = (
        Pick(0, frozen_indices([0, 1])),
        Pick(0, frozen_indices(sizes)),
        Pick(0, frozen_indices(times)),
        Combine(2, 3, Pairing.DIVIDE),
        Join((1, 4, 3)),
    )
    rest = Pick(0, frozen_indices(np.arange(2 + 2 * HISTORY, network.width)))
    nodes = (*front, rest, Join((FRONT, FRONT + 1)), *(renumbered(n, FRONT + 2) for n in network.nodes))
    return Network(network.width, nodes, f"{network.name} reading downloads", network.notes)
