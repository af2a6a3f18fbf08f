"""A player's network that reads sizes and download times and computes the throughputs itself."""

from __future__ import annotations

import numpy as np

from surefoot import api

HISTORY = 8
FRONT = 5  # the value that holds bitrate, buffer, throughputs and times


def divide_by_download_time(network: api.Network) -> api.Network:
    """The same network with size / time in the place of each throughput.

    Inputs 2 to 9 are then the sizes of the last eight chunks, in the unit that fits the times of inputs 10 to
    17; all others are as before.
    """
    sizes, times = np.arange(2, 2 + HISTORY), np.arange(2 + HISTORY, 2 + 2 * HISTORY)
    front: tuple[api.Node, ...] = (
        api.Pick(0, api.freeze_indices([0, 1])),
        api.Pick(0, api.freeze_indices(sizes)),
        api.Pick(0, api.freeze_indices(times)),
        api.Combine(2, 3, api.Pairing.DIVIDE),
        api.Join((1, 4, 3)),
    )
    rest = api.Pick(0, api.freeze_indices(np.arange(2 + 2 * HISTORY, network.width)))
    nodes = (
        *front,
        rest,
        api.Join((FRONT, FRONT + 1)),
        *(api.shift_node_sources(n, FRONT + 2) for n in network.nodes),
    )
    return api.Network(network.width, nodes, f"{network.name} reading downloads", network.notes)
